package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// hostile are things that a tenant may make, and that fit nowhere: a DaemonSet and pods of 500 cores, all
// different, and a budget that nothing can meet.
const hostile = `daemonset evil cpu=500 memory=1Gi
pods evil%d count=2 cpu=%d memory=1Gi`

// TestNoTenantHarms decides again and again in random worlds, from what was seen, with and without what a
// hostile tenant makes (rule N15): the plan for others is the same, and costs little more.
func TestNoTenantHarms(t *testing.T) {
	var plans, calls atomic.Int32
	t.Run("worlds", func(t *testing.T) {
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
				t.Parallel()
				p, c := playTenant(t, seed+1)
				plans.Add(int32(p))
				calls.Add(int32(c))
			})
		}
	})
	t.Logf("%d plans with %d calls", plans.Load(), calls.Load())
	if calls.Load() < 20 {
		t.Errorf("that is too little to show anything")
	}
}

// playTenant plays a world for a while, and compares each of its plans that does something.
func playTenant(t *testing.T, seed uint64) (plans, calls int) {
	text, lasts := drawScript(seed)
	s := newScript()
	if err := s.Add(text); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	defer w.Close()
	w.Timeline().Quiet()
	var last *model.Snapshot
	for w.Now() < min(lasts, 40*time.Minute) {
		if err := w.Run(700 * time.Millisecond); err != nil {
			t.Errorf("%v", err)
			break
		}
		if w.leader == nil || w.leader.again.held.Snapshot == last || len(w.leader.again.held.Plan.Calls) == 0 {
			continue
		}
		last = w.leader.again.held.Snapshot
		was, is := decideBoth(t, w)
		plans++
		calls += len(was.Calls)
		if a, b := callsOf(&was), callsOf(&is); !slices.Equal(a, b) {
			t.Errorf("at %s: with a hostile tenant it is\n%s\nand without\n%s", w.Now(), strings.Join(b, "\n"),
				strings.Join(a, "\n"))
		}
		if most := 2*was.Work.Steps + 5000; is.Work.Steps > most {
			t.Errorf("at %s: with a hostile tenant it takes %d steps, and without %d", w.Now(), is.Work.Steps, was.Work.Steps)
		}
	}
	return plans, calls
}

// decideBoth decides from what the leader saw last, and from the same with what a hostile tenant makes.
func decideBoth(t *testing.T, w *world) (was, is model.Plan) {
	t.Helper()
	from, policy := w.leader.again.from, w.leader.again.policy
	_, was = from.plan(policy)
	seen := &from.seen
	lines := []string{strings.Split(hostile, "\n")[0]}
	for i := range 30 {
		lines = append(lines, fmt.Sprintf(strings.Split(hostile, "\n")[1], i, 500+i))
	}
	for _, line := range lines {
		scratch, err := scratchpad(w, strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		o := scratch.Observation()
		seen.DaemonSets = append(slices.Clip(seen.DaemonSets), o.DaemonSets...)
		seen.Unbound = append(slices.Clip(seen.Unbound), o.Unbound...)
	}
	seen.Budgets = append(slices.Clip(seen.Budgets), model.Budget{Namespace: "evil", Name: "evil",
		Selector: labels.Everything()})
	seen.Contents = w.catalog.Contents()
	_, is = from.plan(policy)
	return was, is
}

// callsOf are what a plan asks for, a line each, sorted.
func callsOf(p *model.Plan) (out []string) {
	for _, c := range p.Calls {
		if c.Verb != model.Annotate {
			out = append(out, fmt.Sprintf("%s %s %s %s %s %d to %d", c.Verb, c.Group, c.Instance, c.Node, c.Pod, c.From, c.To))
		}
	}
	slices.Sort(out)
	return out
}
