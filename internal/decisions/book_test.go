package decisions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// cycleOf is a turn of the loop on a cluster in the words of scenarios.
func cycleOf(t *testing.T, text string) model.Cycle {
	t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(text); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	var d decide.Decider
	defer d.Close()
	return model.Cycle{Snapshot: snap, Plan: d.Decide(snap, s.Policy), Decided: true}
}

func report(t *testing.T, b *decisions.Book, c model.Cycle) {
	t.Helper()
	if err := b.Report(context.Background(), c); err != nil {
		t.Fatal(err)
	}
}

const grows = `
group g max=10 cpu=4 memory=16Gi
pods web count=3 cpu=3 memory=1Gi
pods giant count=1 cpu=30 memory=1Gi`

// A decision has what it buys, for how many pods, and why the other pods wait; then what became of
// its call, and of its nodes.
func TestADecisionAndWhatBecameOfIt(t *testing.T) {
	b := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
	c := cycleOf(t, grows)
	report(t, b, c)
	d, ok := b.Find(decisions.Last)
	if !ok || d.Summary != "Buys 3: g 0→3" || d.Nodes != 3 || len(d.Calls) != 1 || d.Calls[0].End != "" {
		t.Fatalf("the decision is %+v", d)
	}
	giant := -1
	for i, p := range d.Pending {
		if strings.Contains(p.Class, "giant") {
			giant = i
		}
	}
	if giant < 0 || d.Verdicts[d.Pending[giant].Groups[0].Verdict].Reason != model.InsufficientResources {
		t.Errorf("the verdict on the giant is missing: %+v", d)
	}
	// 1. The call ends: the decision that was handed out stays as it was.
	c.Ended = []model.Outcome{{Call: c.Plan.Calls[0], Began: c.Snapshot.Now, Ended: c.Snapshot.Now.Add(time.Second)}}
	c.Decided = false
	report(t, b, c)
	later, _ := b.Find(d.ID)
	if later.Calls[0].End != decisions.Done || later.Calls[0].TookMillis != 1000 || d.Calls[0].End != "" {
		t.Errorf("the call ended as %+v, and was %+v", later.Calls[0], d.Calls[0])
	}
	// 2. Two nodes come, one with less than the template said.
	there := cycleOf(t, grows+"\nnode n1 group=g\nnode n2 group=g")
	there.Decided = false
	for i := range there.Snapshot.Nodes {
		n := there.Snapshot.Nodes[i]
		if n.Name == "n2" {
			n.Object = n.Object.DeepCopy()
			n.Object.Status.Allocatable["cpu"] = *n.Object.Status.Allocatable.Pods()
			delete(n.Object.Labels, "kubernetes.io/os")
		}
	}
	report(t, b, there)
	later, _ = b.Find(d.ID)
	if len(later.Made) != 2 || later.Made[0].Predicted.MilliCPU != 4000 || later.Made[0].Actual.MilliCPU != 4000 ||
		later.Made[1].Actual.MilliCPU != 110_000 {
		t.Errorf("the new nodes are %+v", later.Made)
	}
	made := later.Made[1].Created
	if by, ok := b.Bought("n2", made); !ok || by.ID != d.ID {
		t.Errorf("n2 was bought by %q (%t), want %q", by.ID, ok, d.ID)
	}
	for name, at := range map[string]time.Time{"n3": made, "n2": made.Add(time.Hour)} {
		if by, ok := b.Bought(name, at); ok {
			t.Errorf("%s of %s, which is not there, was bought by %q", name, at, by.ID)
		}
	}
}

// A node that gets the name of one that was there when it was bought is a new one.
func TestANameThatIsUsedAgain(t *testing.T) {
	b := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
	c := cycleOf(t, grows+"\nnode n1 group=g")
	report(t, b, c)
	d, _ := b.Find(decisions.Last)
	there := cycleOf(t, grows+"\nnode n1 group=g")
	there.Decided = false
	n := there.Snapshot.Nodes[0]
	before := n.Object.CreationTimestamp.Time
	n.Object = n.Object.DeepCopy()
	n.Object.CreationTimestamp.Time = before.Add(time.Minute)
	report(t, b, there)
	if by, ok := b.Bought("n1", before.Add(time.Minute)); !ok || by.ID != d.ID {
		t.Errorf("the new n1 was bought by %q (%t), want %q", by.ID, ok, d.ID)
	}
	if by, ok := b.Bought("n1", before); ok {
		t.Errorf("the n1 that was there before was bought by %q", by.ID)
	}
}

// What neither acts nor changes a verdict is not kept; a new verdict of one node is.
func TestOnlyNewsAreKept(t *testing.T) {
	b := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
	const still = `
group g max=10 cpu=4 memory=16Gi
node n1 group=g
node n2 group=g
pods web count=1 cpu=3 memory=1Gi node=n1`
	for range 3 {
		report(t, b, cycleOf(t, still))
	}
	if got := b.List(10); len(got) != 1 {
		t.Fatalf("%d decisions are kept", len(got))
	}
	report(t, b, cycleOf(t, still+"\npods db count=1 cpu=3 memory=1Gi node=n2"))
	got := b.List(10)
	if len(got) != 2 || len(got[0].Changed) != 1 || got[0].Changed[0].Node != "n2" || got[0].ID <= got[1].ID {
		t.Errorf("the decisions are %+v", got)
	}
	if at, ok := b.At(got[0].Time); !ok || at.ID != got[0].ID {
		t.Errorf("at that time stood %v", at.ID)
	}
	if since := b.Since(got[1].ID); len(since) != 1 || since[0].ID != got[0].ID {
		t.Errorf("since then: %+v", since)
	}
}

// Each cycle that acts is kept, also where it makes the calls of the one before again, so that what became of each
// can be read. An observer, which begins none, says the same once.
func TestEachAttemptIsKept(t *testing.T) {
	for name, x := range map[string]struct {
		err  *provider.Error
		want int
	}{
		"failed":    {&provider.Error{Kind: provider.NoCapacity, Message: "none left"}, 3},
		"not begun": {&provider.Error{Kind: provider.Transient, Code: model.CodeNotBegun, Message: "only observing"}, 1},
	} {
		b := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
		for i := range 3 {
			c := cycleOf(t, grows)
			call := c.Plan.Calls[0]
			call.ID = fmt.Sprint("attempt ", i)
			c.Plan.Calls = []model.Call{call}
			report(t, b, c)
			c.Decided = false
			c.Ended = []model.Outcome{{Call: call, Err: x.err}}
			report(t, b, c)
		}
		got := b.List(10)
		if len(got) != x.want {
			t.Errorf("%s: %d decisions are kept of 3, want %d", name, len(got), x.want)
		}
		for i, d := range got {
			want := fmt.Sprint("attempt ", len(got)-1-i)
			if call := d.Calls[0]; call.ID != want || call.End == "" || !strings.Contains(call.Error, x.err.Message) {
				t.Errorf("%s: the call ended as %+v, want the end of %s", name, call, want)
			}
		}
	}
}

// TestAtASecond: the time that a list prints, which is cut to the second, finds the decision.
func TestAtASecond(t *testing.T) {
	b := decisions.New(5, 60_000, nil, prometheus.NewRegistry())
	for _, after := range []time.Duration{100 * time.Millisecond, 1900 * time.Millisecond, 3 * time.Second} {
		c := cycleOf(t, grows)
		c.Snapshot.Now = c.Snapshot.Now.Truncate(time.Second).Add(after)
		report(t, b, c)
	}
	list := b.List(3)
	for i, d := range list {
		if at, ok := b.At(d.Time.Truncate(time.Second)); !ok || at.ID != d.ID {
			t.Errorf("%d: at %s it is %q, not %s", i, d.Time.Truncate(time.Second), at.ID, d.ID)
		}
	}
	if at, ok := b.At(list[1].Time.Add(-time.Millisecond)); !ok || at.ID != list[2].ID {
		t.Errorf("a millisecond before %s it is %q", list[1].ID, at.ID)
	}
}

// The book forgets the oldest: what is too many, and what is too large.
func TestTheBookIsBounded(t *testing.T) {
	const count, bytes = 5, 60_000
	metrics := prometheus.NewRegistry()
	b := decisions.New(count, bytes, nil, metrics)
	for i := range 8 {
		report(t, b, cycleOf(t, fmt.Sprintf("%s\npods more count=%d cpu=30 memory=1Gi", grows, i+1)))
	}
	if n := len(b.List(100)); n != count {
		t.Errorf("%d decisions are kept, not %d", n, count)
	}
	for i := range 3 {
		c := cycleOf(t, grows)
		c.Plan.Pending[0].Groups[0].Detail = strings.Repeat("x", 25_000) + fmt.Sprint(i)
		c.Plan.Pending[0].Left += i
		report(t, b, c)
	}
	list := b.List(100)
	text, err := json.Marshal(list)
	if err != nil || len(text) > bytes+1000 || len(list) < 2 {
		t.Errorf("%d decisions of %d bytes are kept (%v)", len(list), len(text), err)
	}
	for limit, want := range map[string]float64{"count": 6, "bytes": 3} {
		if n := value(t, metrics, "plimsoll_decisions_forgotten_total", limit); n != want {
			t.Errorf("%v were forgotten by %s, not %v", n, limit, want)
		}
	}
}

// A growth that failed has no nodes to come: those that come later are not its.
func TestAFailedGrowthHasNoNodes(t *testing.T) {
	b := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
	c := cycleOf(t, grows)
	report(t, b, c)
	c.Ended = []model.Outcome{{Call: c.Plan.Calls[0], Err: &provider.Error{Kind: provider.NoCapacity, Message: "none"}}}
	c.Decided = false
	report(t, b, c)
	there := cycleOf(t, grows+"\nnode n1 group=g")
	there.Decided = false
	report(t, b, there)
	d, _ := b.Find(decisions.Last)
	if d.Calls[0].End != decisions.Failed || d.Calls[0].Error == "" || len(d.Made) != 0 {
		t.Errorf("the decision is %+v", d)
	}
}
