package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Rule P3: one write per pool, else per group, at a time; others run beside it.
func TestWritesToOnePoolFollowEachOther(t *testing.T) {
	var mu sync.Mutex
	var open, most int
	var order []string
	cloud := script{grow: func(ctx context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		time.Sleep(time.Second) // virtual
		mu.Lock()
		open--
		order = append(order, string(r.Group))
		mu.Unlock()
		return provider.GrowResult{Target: r.To}, nil
	}}
	a, b := growCall("a", 0, 1), growCall("b", 0, 1)
	a.Pool, b.Pool = "p", "p"
	out := run(t, cloud, fake.NewClientset(), a, b)
	if most != 1 || !slices.Equal(order, []string{"a", "b"}) || len(out) != 2 {
		t.Errorf("one pool: %d at a time, order %v", most, order)
	}
	most = 0
	run(t, cloud, fake.NewClientset(), growCall("a", 0, 1), growCall("b", 0, 1))
	if most != 2 {
		t.Errorf("two groups: %d at a time, want 2", most)
	}
}

// Writes to one node follow each other, whatever their verbs; those to another
// node, and evictions from the same one, run beside them.
func TestLanesOfNodesAndPods(t *testing.T) {
	verbs := []model.Verb{model.Mark, model.Unmark, model.Taint, model.Cordon, model.Annotate, model.Untaint}
	var calls []model.Call
	for _, verb := range verbs {
		calls = append(calls, model.Call{ID: string(verb), Verb: verb, Node: "n0", Pool: "p", Note: "why"})
	}
	g := newGauge()
	out := run(t, script{}, slowCluster{nodesAndPods(1), g.wait}, calls...)
	if g.most["node"] != 1 {
		t.Errorf("one node: %d at a time", g.most["node"])
	}
	for i, o := range out {
		if o.Err != nil || o.Call.Verb != verbs[i] {
			t.Errorf("%d: %s: %v", i, o.Call.Verb, o.Err)
		}
	}
	g = newGauge()
	calls = append(evictions(3), marks(2)...)
	for i := range calls {
		calls[i].Pool = "p"
	}
	run(t, script{}, slowCluster{nodesAndPods(2), g.wait}, calls...)
	if g.most["pod"] != 3 || g.most["node"] != 2 {
		t.Errorf("at a time: %v", g.most)
	}
	g = newGauge()
	again := evictCall("p0")
	again.PodUID = types.UID("uid-later")
	run(t, script{}, slowCluster{nodesAndPods(0), g.wait}, evictCall("p0"), again)
	if g.most["pod"] != 1 {
		t.Errorf("one pod: %d at a time", g.most["pod"])
	}
}

// Of hundreds of writes to nodes, and of hundreds of evictions, a limited number run at
// once and no more; neither waits for the other, nor the cloud for either.
func TestWritesAreBounded(t *testing.T) {
	const count = 5*atOnce + 1
	g := newGauge()
	last := map[model.Verb]time.Time{}
	synctest.Test(t, func(t *testing.T) {
		a := New(script{grow: grown}, slowCluster{nodesAndPods(count), g.wait}, always, func() {}, Live{}, quiet())
		calls := append(append(evictions(count), marks(count)...), growCall("g", 0, 1))
		for i := range calls {
			calls[i].Deadline = time.Now().Add(time.Minute)
		}
		a.Start(t.Context(), calls[:2*count])
		synctest.Wait()
		a.Start(t.Context(), calls[2*count:])
		a.running.Wait()
		out := a.Collect()
		if len(out) != len(calls) {
			t.Errorf("%d ends of %d calls", len(out), len(calls))
		}
		for _, o := range out {
			if o.Err != nil {
				t.Errorf("%s: %v", o.Call.ID, o.Err)
			}
			if o.Began.After(last[o.Call.Verb]) {
				last[o.Call.Verb] = o.Began
			}
		}
	})
	if g.most["pod"] != atOnce || g.most["node"] != atOnce {
		t.Errorf("at a time: %v", g.most)
	}
	// A call begins when it has its slot: what it waited is no part of it.
	for verb, want := range map[model.Verb]time.Duration{
		model.Evict: 5 * time.Second, model.Mark: 5 * time.Second, model.Grow: 0,
	} {
		if got := last[verb].Sub(start); got != want {
			t.Errorf("the last %s began after %v, want %v", verb, got, want)
		}
	}
}

// What waits for a slot has not begun: the end of the lease, its deadline and
// Close stop it, and what is under way goes on.
func TestWaitingForASlotIsNotBegun(t *testing.T) {
	const count = atOnce + 3
	for name, c := range map[string]struct {
		patience time.Duration // of the calls that wait
		told     time.Duration // when their end is told
		stop     func(*testing.T, *Actor, context.CancelCauseFunc)
		why      string
	}{
		// Close follows, and tells the ends of those that wait; without it they are told at their turn.
		"the lease is lost": {time.Minute, time.Second, func(_ *testing.T, _ *Actor,
			cancel context.CancelCauseFunc) {
			cancel(errors.New("the lease is lost"))
		}, "the lease is lost"},
		"the deadline": {time.Second / 2, time.Second / 2, func(*testing.T, *Actor, context.CancelCauseFunc) {},
			"its deadline passed"},
		"close": {time.Minute, 0, func(t *testing.T, a *Actor, _ context.CancelCauseFunc) {
			for range 2 {
				if err := a.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}, "this process is ending"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := New(script{}, slowCluster{nodesAndPods(count), newGauge().wait}, always, func() {}, Live{}, quiet())
				calls := marks(count)
				for i := range calls {
					calls[i].Deadline = time.Now().Add(time.Minute)
					if i >= atOnce {
						calls[i].Deadline = time.Now().Add(c.patience)
					}
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				a.Start(ctx, calls[:atOnce])
				synctest.Wait()
				a.Start(ctx, calls[atOnce:])
				synctest.Wait()
				c.stop(t, a, cancel)
				a.running.Wait()
				begun := 0
				for _, o := range a.Collect() {
					if o.Err == nil {
						begun++
						continue
					}
					if o.Err.Code != model.CodeNotBegun || o.Err.MayHaveHappened || !strings.Contains(o.Err.Error(), c.why) {
						t.Errorf("%s: %+v", o.Call.ID, o.Err)
					}
					if told := o.Ended.Sub(start); told != c.told {
						t.Errorf("%s: told after %v, want %v", o.Call.ID, told, c.told)
					}
				}
				if begun != atOnce {
					t.Errorf("%d calls were carried out, want %d", begun, atOnce)
				}
			})
		})
	}
}

// A lease that was lost while a call waited for its slot is found out right
// before it begins.
func TestLeaseIsAskedForAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		may := func() error {
			if time.Since(began) >= time.Second {
				return errors.New("another leads")
			}
			return nil
		}
		a := New(script{}, slowCluster{nodesAndPods(2 * atOnce), newGauge().wait}, may, func() {}, Live{}, quiet())
		calls := evictions(2 * atOnce)
		for i := range calls {
			calls[i].Deadline = time.Now().Add(time.Minute)
		}
		a.Start(t.Context(), calls)
		a.running.Wait()
		done := 0
		for _, o := range a.Collect() {
			if o.Err == nil {
				done++
			}
		}
		if done != atOnce || atOnce-a.podSlots.free != 0 {
			t.Errorf("%d calls were carried out, want %d; %d slots are taken", done, atOnce, atOnce-a.podSlots.free)
		}
	})
}

// A node is read before it is written. If the lease is lost meanwhile, nothing is written.
func TestLeaseIsAskedForBeforeANodeIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		may := func() error {
			if time.Since(start) >= time.Second {
				return errors.New("another leads")
			}
			return nil
		}
		client := nodesAndPods(1)
		a := New(script{}, slowCluster{client, newGauge().wait}, may, func() {}, Live{}, quiet())
		calls := marks(1)
		calls[0].Deadline = time.Now().Add(time.Minute)
		a.Start(t.Context(), calls)
		a.running.Wait()
		out := a.Collect()[0]
		if out.Err == nil || out.Err.Code != model.CodeNotBegun || out.Err.MayHaveHappened {
			t.Errorf("%+v", out)
		}
		if n := len(client.Actions()); n != 1 {
			t.Errorf("%d requests, want the read alone", n)
		}
	})
}

// At an eviction's deadline it is unknown whether it happened.
func TestEvictionThatIsNotAnswered(t *testing.T) {
	out := run(t, script{}, slowCluster{nodesAndPods(0), func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}}, evictCall("p"))[0]
	if e := out.Err; e == nil || e.Kind != provider.Unavailable || !e.MayHaveHappened || out.Unchanged {
		t.Errorf("%+v", out)
	}
	if took := out.Ended.Sub(out.Began); took != time.Minute {
		t.Errorf("it took %v", took)
	}
}

// Requests that hang beyond their deadline, against all rules, keep their own
// nodes busy, and block no other node's slots.
func TestHungWritesGiveTheirSlotsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		seen := map[string]int{}
		a := New(script{}, slowCluster{nodesAndPods(atOnce + 1), func(_ context.Context, what string) error {
			mu.Lock()
			seen[what]++
			mu.Unlock()
			if what != fmt.Sprint("node n", atOnce) {
				<-release
			}
			return nil
		}}, always, func() {}, Live{}, quiet())
		calls := append(marks(atOnce+1), marks(1)...)
		for i := range calls {
			calls[i].Deadline = time.Now().Add(time.Minute)
		}
		for i := range calls[atOnce:] {
			calls[atOnce+i].Deadline = time.Now().Add(5 * time.Minute)
		}
		a.Start(t.Context(), calls[:atOnce])
		synctest.Wait()
		a.Start(t.Context(), calls[atOnce:])
		time.Sleep(2 * time.Minute)
		ends := a.Collect()
		if len(ends) != atOnce+1 {
			t.Fatalf("%d ends", len(ends))
		}
		for _, o := range ends {
			if hung := o.Call.Node != fmt.Sprint("n", atOnce); hung != (o.Err != nil && o.Err.MayHaveHappened) {
				t.Errorf("%s: %v", o.Call.ID, o.Err)
			}
		}
		mu.Lock()
		if seen["node n0"] != 1 {
			t.Errorf("%d writes to a node whose first hangs", seen["node n0"])
		}
		mu.Unlock()
		close(release)
		a.running.Wait()
		if out := a.Collect(); len(out) != 1 || out[0].Err != nil || atOnce-a.nodeSlots.free != 0 {
			t.Errorf("%+v; %d slots are taken", out, atOnce-a.nodeSlots.free)
		}
	})
}

// held is a Runtime whose jobs run when a test says so.
type held struct {
	Live
	jobs []func()
}

func (h *held) Go(job func()) { h.jobs = append(h.jobs, job) }

// A call that was taken from its lane while Close came does not begin either, though it has a slot.
func TestNothingBeginsAfterClose(t *testing.T) {
	run := &held{}
	a := New(script{}, nodesAndPods(1), always, func() {}, run, quiet())
	calls := []model.Call{marks(1)[0], evictCall("p0"), growCall("g", 0, 1)}
	for i := range calls {
		calls[i].Deadline = time.Now().Add(time.Minute)
	}
	a.Start(t.Context(), calls)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Close(ctx); err == nil {
		t.Error("Close did not wait for the jobs")
	}
	for _, job := range run.jobs {
		job()
	}
	out := a.Collect()
	for _, o := range out {
		if o.Err == nil || !errors.Is(o.Err, errEnding) {
			t.Errorf("%s: %v", o.Call.ID, o.Err)
		}
	}
	if len(out) != len(calls) || a.nodeSlots.free != atOnce || a.podSlots.free != atOnce || len(a.lanes) > 0 {
		t.Errorf("%d ends, %d and %d free slots, lanes %v", len(out), a.nodeSlots.free, a.podSlots.free, a.lanes)
	}
}

// Of the calls in one lane that wait for a slot, each is told at its own deadline.
func TestLaneThatWaitsForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(script{}, slowCluster{nodesAndPods(atOnce + 1), newGauge().wait}, always, func() {}, Live{}, quiet())
		first := marks(atOnce)
		for i := range first {
			first[i].Deadline = time.Now().Add(time.Minute)
		}
		mark, annotate := marks(atOnce + 1)[atOnce], marks(atOnce + 1)[atOnce]
		mark.Deadline, annotate.Deadline = time.Now().Add(300*time.Millisecond), time.Now().Add(600*time.Millisecond)
		annotate.Verb = model.Annotate
		a.Start(t.Context(), append(first, mark, annotate))
		time.Sleep(700 * time.Millisecond)
		out := a.Collect()
		if len(out) != 2 || out[0].Ended.Sub(start) != 300*time.Millisecond ||
			out[1].Ended.Sub(start) != 600*time.Millisecond {
			t.Errorf("%+v", out)
		}
		a.running.Wait()
		if len(a.lanes) > 0 || len(a.nodeSlots.waiting) > 0 {
			t.Errorf("lanes %v, waiting %v", a.lanes, a.nodeSlots.waiting)
		}
	})
}
