package gardener

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// heldFor are the instances of a group that are held for the sake of another, whose
// name and remedy their hold tells.
func heldFor(g provider.Group, rival provider.InstanceID) []provider.InstanceID {
	var out []provider.InstanceID
	for _, i := range g.Instances {
		if strings.Contains(i.Hold, string(rival)) && strings.Contains(i.Hold, v1alpha1.PriorityAnnotation) &&
			strings.Contains(i.Hold, v1alpha1.PriorityDefault) {
			out = append(out, i.ID)
		}
	}
	return out
}

// A removal that would be refused for the sake of another machine is not begun: the
// Inventory says so, and of each instance just what Remove would say.
func TestRivalsHoldTheOthers(t *testing.T) {
	all := map[marker]gardenertest.Marks{
		timestamped: gardenertest.Times, names: gardenertest.Names, priority: gardenertest.Neither,
	}
	for name, c := range map[string]struct {
		first  []string // priorities of the oldest machines
		named  bool     // the oldest is named, by hand
		rivals map[marker][]int
	}{
		"no machine is first":    {first: []string{"2", "soon"}},
		"below the mark":         {first: []string{"0"}, rivals: map[marker][]int{timestamped: {0}, names: {0}, priority: {0}}},
		"two below the mark":     {first: []string{"0", "-3"}, rivals: map[marker][]int{timestamped: {0, 1}, names: {0, 1}, priority: {0, 1}}},
		"marked":                 {first: []string{"1"}, rivals: map[marker][]int{names: {0}, priority: {0}}},
		"one of each":            {first: []string{"1", "0"}, rivals: map[marker][]int{timestamped: {1}, names: {0, 1}, priority: {0, 1}}},
		"named and not paid for": {named: true, rivals: map[marker][]int{names: {0}, priority: {0}}},
	} {
		for m, marks := range all {
			t.Run(name+", "+string(m), func(t *testing.T) {
				scene := func() (*gardenertest.World, *Provider, []provider.InstanceID) {
					w, _, machines := three(t)
					w.Understands(marks)
					w.SetTiming(gardenertest.Timing{Observe: time.Hour})
					for i, value := range c.first {
						setPriority(t, w, machines[i], value)
					}
					if c.named {
						edit(t, w, 0, func(d *v1alpha1.MachineDeployment) {
							d.Annotations[v1alpha1.TriggerDeletionAnnotation] = string(machines[0])
						})
					}
					cfg := anywhere
					cfg.DeletionMarker = string(m)
					return w, connect(t, w, cfg), machines
				}
				_, p, machines := scene()
				g := groupOf(t, p, id(0))
				for _, rival := range c.rivals[m] {
					others := without(machines, machines[rival])
					if len(c.rivals[m]) > 1 { // each hold tells of one
						others = slices.DeleteFunc(others, func(id provider.InstanceID) bool {
							return !slices.Contains(heldFor(g, machines[rival]), id)
						})
					}
					if got := heldFor(g, machines[rival]); !slices.Equal(got, others) {
						t.Errorf("held for %s: %v, want %v", machines[rival], got, others)
					}
				}
				for i, machine := range machines {
					at := slices.IndexFunc(g.Instances, func(in provider.Instance) bool { return in.ID == machine })
					rivals := slices.DeleteFunc(slices.Clone(c.rivals[m]), func(rival int) bool { return rival == i })
					if hold := g.Instances[at].Hold; (hold != "") != (len(rivals) > 0) {
						t.Errorf("the hold of machine %d is %q", i, hold)
					}
					_, p, machines := scene()
					_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[i : i+1]})
					if (err != nil) != (len(rivals) > 0) {
						t.Errorf("machine %d is held for %v, and its removal says %v", i, rivals, err)
					}
				}
			})
		}
	}
}

// The marks of a removal under way hold no machine: the others are being drained, and would be
// restored for a hold of a second. Marks that it leaves behind do.
func TestARemovalUnderWayHoldsNoMachine(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = string(priority)
	p := connect(t, w, cfg)
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Times: 1, Mishap: kubetest.Broken, Then: func() {
		if got := prioritiesOf(w); got[0] != v1alpha1.PriorityDelete {
			t.Errorf("priorities %v", got)
		}
		if g := groupOf(t, p, id(0)); g.Target != 3 || len(heldFor(g, machines[0])) != 0 {
			t.Errorf("held while replicas are about to fall: %+v", g.Instances)
		}
	}})
	if _, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:1]}); err == nil {
		t.Fatal("no error")
	}
	if got, want := heldFor(groupOf(t, p, id(0)), machines[0]), without(machines, machines[0]); !slices.Equal(got, want) {
		t.Errorf("held after it: %v, want %v", got, want)
	}
}

// A read that began while a removal was under way shows no hold of its marks, though
// the removal is over when it ends.
func TestARemovalThatEndsDuringARead(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = string(priority)
	p := connect(t, w, cfg)
	marked, listed, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Times: 1, Mishap: kubetest.Forbid,
		Then: func() { close(marked); <-listed }})
	ended := make(chan error, 1)
	go func() {
		_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:1]})
		ended <- err
		close(release)
	}()
	<-marked
	w.Arm(kubetest.Fault{Verb: "list", Resource: "machinesets", Times: 1, Then: func() { close(listed); <-release }})
	if g := groupOf(t, p, id(0)); len(heldFor(g, machines[0])) != 0 {
		t.Errorf("%+v", g.Instances)
	}
	refusal(t, <-ended, provider.Denied)
}

// A deadline between the marks and the target: nothing was lowered, so that the marks
// are taken back, though the context is over.
func TestPrioritiesAreGivenBackAfterADeadline(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	setPriority(t, w, machines[1], "2")
	before := prioritiesOf(w)
	cfg := anywhere
	cfg.DeletionMarker = string(priority)
	p := connect(t, w, cfg)
	p.settling = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := p.Remove(ctx, provider.RemoveRequest{Group: id(0), Instances: machines[1:2]})
		done <- err
	}()
	for prioritiesOf(w)[1] != v1alpha1.PriorityDelete {
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if e := provider.AsError("", "", <-done); e == nil || !e.MayHaveHappened ||
		strings.Contains(e.Message, "stay the first to go") {
		t.Errorf("error %v", e)
	}
	if got := prioritiesOf(w); !slices.Equal(got, before) {
		t.Errorf("priorities %v, want %v", got, before)
	}
	if d := w.Deployment(zone(0)); d.Spec.Replicas != 3 {
		t.Errorf("replicas %d", d.Spec.Replicas)
	}
}

// The first attempt marks one machine and meets a conflict with the next, which the
// second finds marked: the first mark has still to be seen.
func TestTheTargetWaitsForMarksOfAnEarlierAttempt(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = string(priority)
	p := connect(t, w, cfg)
	p.settling = time.Hour
	w.Arm(kubetest.Fault{
		Verb: "patch", Resource: "machines", Name: string(machines[1]), Times: 1, Mishap: kubetest.Conflict, Then: func() {
			setPriority(t, w, machines[1], v1alpha1.PriorityDelete)
		},
	})
	w.Arm(kubetest.Fault{
		Verb: "patch", Resource: "machinedeployments", Met: func() { t.Error("replicas fall before the marks were seen") },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := p.Remove(ctx, provider.RemoveRequest{Group: id(0), Instances: machines[:2]}); err == nil {
		t.Error("it did not wait")
	}
}

// A mark whose answer was lost is restored. One that was refused is not ours, even if another client sets it.
func TestPrioritiesWhoseAnswerWasLost(t *testing.T) {
	for name, c := range map[string]struct {
		mishap kubetest.Mishap
		after  bool
		want   string
	}{
		"a conflict with itself": {kubetest.Conflict, true, "2"},
		"a server's error":       {kubetest.Broken, true, "2"},
		"refused, and set since": {kubetest.Forbid, false, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, machines := three(t)
			w.Understands(gardenertest.Neither)
			setPriority(t, w, machines[0], "2")
			cfg := anywhere
			cfg.DeletionMarker = string(priority)
			p := connect(t, w, cfg)
			w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Mishap: kubetest.Forbid})
			w.Arm(kubetest.Fault{Verb: "patch", Resource: "machines", Times: 1, Mishap: c.mishap, After: c.after, Then: func() {
				if !c.after {
					setPriority(t, w, machines[0], v1alpha1.PriorityDelete)
				}
			}})
			if _, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:1]}); err == nil {
				t.Fatal("no error")
			}
			if got := prioritiesOf(w)[0]; got != c.want {
				t.Errorf("priority %s, want %s", got, c.want)
			}
		})
	}
}

// A conflict of replicas can be one with our own write, whose answer was lost. If no read succeeds
// before the deadline, the marks stay: replicas may have been lowered for them.
func TestPrioritiesStayWhereTheTargetMayHaveFallen(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	cfg := anywhere
	cfg.DeletionMarker = string(priority)
	p := connect(t, w, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.Arm(kubetest.Fault{
		Verb: "patch", Resource: "machinedeployments", Times: 1, Mishap: kubetest.Conflict, After: true, Then: func() {
			w.Arm(kubetest.Fault{Verb: "list", Times: 1, Mishap: kubetest.Hang, Then: cancel})
		},
	})
	_, err := p.Remove(ctx, provider.RemoveRequest{Group: id(0), Instances: machines[2:]})
	if e := provider.AsError("", "", err); e == nil || !e.MayHaveHappened {
		t.Errorf("error %v", err)
	}
	left(t, w, connect(t, w, cfg), 2, without(machines, machines[2]))
}
