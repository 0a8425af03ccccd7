package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestReplaysAreTold: what came of replays is counted, and what the filters do not allow is logged.
func TestReplaysAreTold(t *testing.T) {
	d := newDesk()
	for _, r := range []*model.Replay{
		nil, {Pods: 3, Asked: 3, Steps: 12, Ended: true}, {Pods: 9, Steps: 2},
		{Pods: 3, Asked: 1, Steps: 4, Ended: true, Refused: &model.Disallowed{Pod: "ns/web-0", Node: "n7",
			Verdict: model.Verdict{Reason: model.PodAffinity, Detail: "so they say"}}},
	} {
		d.report(t, model.Cycle{Snapshot: snapshot(0), Replay: r})
	}
	told := 0
	for _, line := range d.takeLog() {
		if strings.Contains(line, "the scheduler's filters do not allow") && strings.Contains(line, "ns/web-0") &&
			strings.Contains(line, "n7") && strings.Contains(line, "so they say") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times in the log", told)
	}
	_, page := d.page(t, "/metrics")
	for _, line := range []string{`plimsoll_plan_replays_total{result="allowed"} 1`,
		`plimsoll_plan_replays_total{result="unfinished"} 1`, `plimsoll_plan_replays_total{result="refused"} 1`,
		`plimsoll_decide_steps_total{kind="replay"} 18`} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}
