package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func TestDecision(t *testing.T) {
	d := decisions.Decision{
		ID: "20260102T150405.000Z", Time: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Summary: "Buys 2: g 0→2",
		Triggers: []decisions.Trigger{decisions.PodsWait}, TookMillis: 7, Nodes: 2, LowerBound: 1,
		Grow: []decisions.Growth{{Group: "g", From: 0, To: 2, Max: 5, Pods: 3, Why: "the only group"}},
		Moves: []model.MoveState{{Text: "2 nodes for 1 of g", Goes: []string{"n3", "n4"}, Reason: model.CheaperElsewhere,
			Pods: 5, Before: 1, After: 0.4}},
		Calls: []decisions.Call{{Verb: model.Grow, Group: "g", Reason: model.Fits, End: decisions.Failed,
			Error: "no machines\nthere"}},
		Verdicts: []decisions.Verdict{{Reason: model.GroupAtMax, Detail: "5 of 5", Fix: "a higher maximum"}},
		Pending:  []decisions.Pending{{Class: "shop/api", Pods: 4, Left: 1, Groups: []decisions.GroupVerdict{{Group: "g"}}}},
		Changed:  []decisions.Node{{Node: "n1", Group: "g"}}, MoreChanged: 3,
		Made: []decisions.Made{{Node: "n2", Group: "g",
			Predicted: decisions.Room{MilliCPU: 4000, Memory: 16 << 30, Pods: 110},
			Actual:    decisions.Room{MilliCPU: 3900, Memory: 15 << 30, Pods: 110}}},
		Stays: map[model.Reason]int{model.NotUnderutilized: 2},
	}
	const want = `Decision 20260102T150405.000Z: Buys 2: g 0→2
Made 2026-01-02 15:04:05Z in 7 ms because of PodsWait; buys 2 nodes (lower bound 1)

GROUP  NODES   MAX  PODS  WHY
g      0 -> 2  5    3     the only group

MOVE THAT BEGINS    NODES THAT GO  REASON            PODS  COST/H
2 nodes for 1 of g  n3, n4         CheaperElsewhere  5     1.00 → 0.40

CALL  ON  REASON  END
Grow  g   Fits    Failed no machines there

NEW NODE  GROUP  EXPECTED                      REAL                            DIFFERS
n2        g      cpu 4, memory 16Gi, pods 110  cpu 3.9, memory 15Gi, pods 110  -

PODS      WITHOUT ROOM  GROUP  REASON      DETAIL  WOULD CHANGE WITH
shop/api  1 of 4        g      GroupAtMax  5 of 5  a higher maximum

OTHER VERDICT  GROUP  REASON      DETAIL  WOULD CHANGE WITH
n1             g      GroupAtMax  5 of 5  a higher maximum
and 3 more

STAYS BECAUSE     NODES
NotUnderutilized  2
`
	var b bytes.Buffer
	if err := Decision(&b, d, Table); err != nil || b.String() != want {
		t.Errorf("%v:\n%s", err, b.String())
	}
	b.Reset()
	if err := Decisions(&b, []decisions.Decision{d, d}, JSON); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := Decisions(&b, []decisions.Decision{d}, Table); err != nil ||
		b.String() != "2026-01-02 15:04:05Z  20260102T150405.000Z  Buys 2: g 0→2  (PodsWait)\n" {
		t.Errorf("%v: %s", err, b.String())
	}
}
