package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
)

// Pods that fit a ready node and that the scheduler refuses are told of everywhere:
// once in the log and by an event on each pod, in a metric, and in the status.
func TestTheSchedulerDisagrees(t *testing.T) {
	d := newDesk()
	s := snapshot(2)
	plan := model.Plan{Pending: []model.PendingVerdict{{Class: 0, Pods: 2, Existing: 2, Disagrees: &model.Verdict{
		Reason: model.SchedulerDisagrees, Since: s.Now, Detail: `2 of 2 pods fit node n; it says: "no"`,
	}}}}
	c := model.Cycle{Decided: true, Snapshot: s, Plan: plan}
	for range 2 {
		d.report(t, c)
	}
	told := 0
	for _, line := range d.takeLog() {
		if strings.Contains(line, "the scheduler refuses pods that fit") && strings.Contains(line, "fit node n") {
			told++
		}
		if strings.Contains(line, "pods stay pending") {
			t.Errorf("they are told of as left: %s", line)
		}
	}
	if told != 1 {
		t.Errorf("told %d times in the log", told)
	}
	notes := d.pad.take()
	if len(notes) != 2 || !strings.Contains(notes[0],
		`Pod ns/web-000 Normal NotTriggerScaleUp: pod didn't trigger scale-up: SchedulerDisagrees (2 of 2 pods fit node n; it says: "no")`) {
		t.Errorf("events: %q", notes)
	}
	_, page := d.page(t, "/metrics")
	for _, line := range []string{`plimsoll_pending_pods{fate="refused"} 2`,
		`plimsoll_pending_pods{fate="existing"} 0`} {
		if !strings.Contains(page, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	doc := status.Of(s.Now, c, status.Document{})
	if len(doc.Disagreements) != 1 || doc.Disagreements[0].Pods != "ns/web" || doc.Disagreements[0].Count != 2 ||
		!strings.Contains(doc.Disagreements[0].Message, "it says") {
		t.Errorf("status: %+v", doc.Disagreements)
	}
}
