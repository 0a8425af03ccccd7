package gardener

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest/door"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// three is a zone of three machines, the oldest first.
func three(t *testing.T) (*gardenertest.World, *Provider, []provider.InstanceID) {
	t.Helper()
	w := zones(limited("0", "9"), 3)
	p := connect(t, w, anywhere)
	machines := byAge(w, id(0))
	if len(machines) != 3 {
		t.Fatalf("machines %v", machines)
	}
	return w, p, machines
}

// left checks which machines a group has, once all is done.
func left(t *testing.T, w *gardenertest.World, p *Provider, target int, want []provider.InstanceID) {
	t.Helper()
	w.Settle()
	if g := groupOf(t, p, id(0)); g.Target != target || !slices.Equal(live(g), want) {
		t.Errorf("target %d, instances %v, want %d and %v", g.Target, live(g), target, want)
	}
}

// The newest goes, though machine-controller-manager would take the oldest; in one
// patch, of nothing but replicas and the two annotations.
func TestTheNewestOfThreeGoes(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	if err := w.Edit(v1alpha1.KindMachineDeployment, ns, zone(0), func(o kubetest.Object) {
		kubetest.Set(o, "kept", "spec", "aFieldOfTomorrow")
	}); err != nil {
		t.Fatal(err)
	}
	w.ForgetRequests()
	if r := remove(t, p, id(0), machines[2]); r.Target != 2 {
		t.Errorf("%+v", r)
	}
	writes := slices.DeleteFunc(w.Requests(), func(r string) bool { return strings.HasPrefix(r, "list") })
	if want := []string{"patch machinedeployments " + ns + " " + zone(0)}; !slices.Equal(writes, want) {
		t.Errorf("writes %v, want %v", writes, want)
	}
	o := w.Get(v1alpha1.KindMachineDeployment, ns, zone(0))
	if kubetest.Text(o, "spec", "aFieldOfTomorrow") != "kept" {
		t.Error("a field that this provider does not know is gone")
	}
	d := w.Deployment(zone(0))
	marks, last := parseMarks(d.Annotations[v1alpha1.TriggerDeletionAnnotation]), lastChange(d)
	if len(marks) != 1 || marks[0].machine != string(machines[2]) || !marks[0].at.Equal(last) || last.IsZero() {
		t.Errorf("annotations %v", d.Annotations)
	}
	// It counts as gone at once.
	if g := groupOf(t, p, id(0)); !slices.Equal(live(g), without(machines, machines[2])) {
		t.Errorf("live %v", live(g))
	}
	left(t, w, p, 2, without(machines, machines[2]))
}

// None of them is counted twice (machine-controller-manager#1078).
func TestTwoDeletionsAtOnce(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	// Of one request, and of two without a look in between.
	remove(t, p, id(0), machines[2], machines[1])
	if d := w.Deployment(zone(0)); d.Spec.Replicas != 1 ||
		len(parseMarks(d.Annotations[v1alpha1.TriggerDeletionAnnotation])) != 2 {
		t.Errorf("%+v", d.Annotations)
	}
	left(t, w, p, 1, machines[:1])

	w, p, machines = three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	remove(t, p, id(0), machines[1])
	remove(t, p, id(0), machines[2])
	left(t, w, p, 1, machines[:1])
}

// Replicas go down and up within a second: machine-controller-manager sees the same
// number as before, and ends the named machine all the same. The one that was asked
// for comes, and no node stays cordoned for ever (machine-controller-manager#1084, #1085,
// #1087, and #401).
func TestDeleteThenGrowWithinASecond(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	remove(t, p, id(0), machines[2])
	if err := grow(p, t, id(0), 2, 3); err != nil {
		t.Fatal(err)
	}
	if g := groupOf(t, p, id(0)); g.Target != 3 || len(live(g)) != 2 {
		t.Errorf("target %d, live %v: one is to come", g.Target, live(g))
	}
	w.Settle()
	g := groupOf(t, p, id(0))
	if got := live(g); g.Target != 3 || len(got) != 3 || slices.Contains(got, machines[2]) ||
		!slices.Contains(got, machines[0]) || !slices.Contains(got, machines[1]) {
		t.Errorf("target %d, instances %v of %v", g.Target, got, machines)
	}
}

// Where a mark alone does not end a machine, the growth waits. The marker priority is for
// forks without the annotation (deckhouse/deckhouse#13500).
func TestDeleteThenGrowWithOlderMarkers(t *testing.T) {
	for m, marks := range map[marker]gardenertest.Marks{names: gardenertest.Names, priority: gardenertest.Neither} {
		w, _, machines := three(t)
		w.Understands(marks)
		cfg := anywhere
		cfg.DeletionMarker = string(m)
		p := connect(t, w, cfg)
		w.SetTiming(gardenertest.Timing{Observe: time.Hour})
		remove(t, p, id(0), machines[2])
		refusal(t, grow(p, t, id(0), 2, 3), provider.Conflict)
		w.Reconcile()
		if err := grow(p, t, id(0), 2, 3); err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		w.Settle()
		if got := live(groupOf(t, p, id(0))); len(got) != 3 || slices.Contains(got, machines[2]) {
			t.Errorf("%s: instances %v of %v", m, got, machines)
		}
	}
}

// With the wrong marker the wrong machine goes: that is why there is a flag.
func TestTheMarkerMatters(t *testing.T) {
	w, p, machines := three(t)
	w.Understands(gardenertest.Names)
	remove(t, p, id(0), machines[2])
	w.Settle()
	if got := byAge(w, id(0)); slices.Contains(got, machines[0]) {
		t.Errorf("a machine-controller-manager that takes name~time for a name ended the right one: %v of %v", got, machines)
	}
}

// Another client changes replicas, before our look and after it.
func TestAnExternalEditInTheMiddle(t *testing.T) {
	w, p, machines := three(t)
	inventory(t, p)
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 5 })
	refusal(t, grow(p, t, id(0), 3, 4), provider.Conflict)
	if d := w.Deployment(zone(0)); d.Spec.Replicas != 5 {
		t.Fatalf("replicas %d: a person's choice was overwritten", d.Spec.Replicas)
	}
	// A removal goes by what there is now.
	w.Settle()
	if r := remove(t, p, id(0), machines[2]); r.Target != 4 {
		t.Errorf("%+v", r)
	}
	// In between: the patch meets a conflict, and what is written is decided again.
	w.Settle()
	w.Arm(kubetest.Fault{Verb: "patch", Times: 1, Then: func() {
		edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 7 })
	}})
	refusal(t, grow(p, t, id(0), 4, 6), provider.Conflict)
	if d := w.Deployment(zone(0)); d.Spec.Replicas != 7 {
		t.Errorf("replicas %d", d.Spec.Replicas)
	}
	w.Settle()
	w.Arm(kubetest.Fault{Verb: "patch", Times: 1, Then: func() {
		edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 6 })
	}})
	if r := remove(t, p, id(0), machines[1]); r.Target != 5 {
		t.Errorf("%+v", r)
	}
}

// What is under way is in the control cluster: another process finds it there (#341,
// machine-controller-manager#965).
func TestARestartInTheMiddleOfADeletion(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour, End: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	w.Arm(kubetest.Fault{Verb: "patch", Mishap: kubetest.Hang, After: true, Then: cancel})
	_, err := p.Remove(ctx, provider.RemoveRequest{Group: id(0), Instances: machines[2:]})
	if e := provider.AsError("", "", err); e == nil || !e.MayHaveHappened {
		t.Fatalf("error %v", err)
	}
	w.Disarm()
	next := connect(t, w, anywhere)
	if g := groupOf(t, next, id(0)); g.Target != 2 || !slices.Equal(live(g), without(machines, machines[2])) {
		t.Errorf("target %d, live %v", g.Target, live(g))
	}
	remove(t, next, id(0), machines[2]) // again, and nothing more
	w.Reconcile()
	if g := groupOf(t, next, id(0)); g.Target != 2 || len(g.Instances) != 3 || len(live(g)) != 2 {
		t.Errorf("while it ends: %+v", g.Instances)
	}
	left(t, w, next, 2, without(machines, machines[2]))
}

// machine-controller-manager drops a mark as soon as the machine is Terminating: a
// list of machines from just before does not bring it back.
func TestAMarkIsDroppedBetweenTwoLists(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour, End: time.Hour})
	remove(t, p, id(0), machines[2])
	lists := 0
	w.Arm(kubetest.Fault{Verb: "list", Resource: "machinesets", Then: func() { // right after the machines
		if lists++; lists == 1 {
			w.Reconcile()
		}
	}})
	if g := groupOf(t, p, id(0)); len(live(g)) != 2 {
		t.Errorf("live %v", live(g))
	}
	if d := w.Deployment(zone(0)); d.Annotations[v1alpha1.TriggerDeletionAnnotation] != "" {
		t.Fatalf("the mark is still there, and nothing was tried: %v", d.Annotations)
	}
}

// A machine that never registered, while a rollout is under way: to lower replicas
// would end a machine of the old MachineSet, with pods on it. So it waits, others do
// not wait for it, and it goes when the rollout is over (machine-controller-manager#1014).
func TestARolloutWithAMachineThatNeverRegistered(t *testing.T) {
	w := zones(limited("0", "9"), 3, 2)
	p := connect(t, w, anywhere)
	old := byAge(w, id(0))
	w.SetTiming(gardenertest.Timing{Boot: time.Hour})
	w.Roll(zone(0))
	g := groupOf(t, p, id(0))
	at := slices.IndexFunc(g.Instances, func(i provider.Instance) bool { return i.State == provider.Creating })
	if at < 0 || !held(g, provider.OpRemove, holdRollout) || !held(g, provider.OpCancel, holdRollout) ||
		held(g, provider.OpGrow, holdRollout) {
		t.Fatalf("%+v", g)
	}
	never := g.Instances[at].ID
	_, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: id(0), Instances: []provider.InstanceID{never}, Force: true,
	})
	if e := refusal(t, err, provider.Conflict); !strings.Contains(e.Message, "rolled out") {
		t.Error(e)
	}
	w.Reconcile()
	if got := live(groupOf(t, p, id(0))); !slices.Equal(without(got, never), without(old)) {
		t.Errorf("instances %v, of %v none was to go", got, old)
	}
	remove(t, p, id(1), live(groupOf(t, p, id(1)))[0]) // the other zone goes on
	if err := grow(p, t, id(0), 3, 4); err != nil {
		t.Error(err)
	}
	w.Settle()
	if g := groupOf(t, p, id(0)); len(g.Holds) != 0 || g.Target != 4 {
		t.Errorf("%+v", g)
	}
	remove(t, p, id(0), never)
}

// Machines that came all the same, while the target was lowered, are kept.
func TestCancelMakesRoom(t *testing.T) {
	w, p, _ := three(t)
	w.Starve(zone(0))
	if err := grow(p, t, id(0), 3, 5); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	w.Arm(kubetest.Fault{Verb: "patch", Times: 1, Then: func() {
		set := w.List(v1alpha1.KindMachineSet)[0]
		late := w.List(v1alpha1.KindMachine)[0]
		kubetest.Set(late, "late", "metadata", "name")
		kubetest.Set(late, "uid-late", "metadata", "uid")
		kubetest.Set(late, []any{kubetest.OwnerReference(set)}, "metadata", "ownerReferences")
		w.Apply(late)
	}})
	r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 5, To: 3})
	if err != nil || r.Target != 4 || r.Cancelled != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if g := groupOf(t, p, id(0)); g.Target != 4 || len(live(g)) != 4 {
		t.Errorf("target %d, instances %v", g.Target, live(g))
	}
}

// Before its controllers have seen a scale-up, or as long as they make machines, nothing
// of it is taken back.
func TestCancelWaitsForControllers(t *testing.T) {
	w, p, _ := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	if err := grow(p, t, id(0), 3, 5); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 5, To: 3}); err != nil ||
		r.Cancelled != 0 || r.Target != 5 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A machine that could not be made is made while it is being marked: it stays, and so
// does its priority.
func TestAMachineThatRecoversIsNotEnded(t *testing.T) {
	for _, how := range []marker{timestamped, names, priority} {
		t.Run(string(how), func(t *testing.T) {
			w, _, machines := three(t)
			w.Understands(map[marker]gardenertest.Marks{names: gardenertest.Names, priority: gardenertest.Neither}[how])
			cfg := anywhere
			cfg.DeletionMarker = string(how)
			p := connect(t, w, cfg)
			d := door.Door{World: w}
			if err := d.Fail(machines[1]); err != nil {
				t.Fatal(err)
			}
			// With priorities it recovers before the second look, after it was marked; else
			// before the first.
			looks, recoversAt := 0, 1
			if how == priority {
				recoversAt = 2
			}
			w.Arm(kubetest.Fault{Verb: "list", Resource: "machines", Then: func() {
				if looks++; looks == recoversAt {
					if err := d.Recover(machines[1]); err != nil {
						t.Error(err)
					}
				}
			}})
			r, err := p.Remove(t.Context(), provider.RemoveRequest{
				Group: id(0), Instances: machines[1:2], If: provider.StillFailed,
			})
			if err != nil || r.Target != 3 || r.Instances[0].Err == nil || r.Instances[0].Err.Kind != provider.Conflict {
				t.Fatalf("%+v, %v", r, err)
			}
			w.Disarm()
			left(t, w, p, 3, without(machines))
			for _, m := range w.Machines(zone(0)) {
				if prioritised(m) {
					t.Errorf("%s is the first to go still", m.Name)
				}
			}
		})
	}
}

// machine-controller-manager writes the provider id of a machine that it has made at last
// before the status, which tells of the failure until then.
func TestAMachineWithAProviderIDWasMade(t *testing.T) {
	w := zones(limited("0", "9"), 0)
	w.FailCreation(zone(0), v1alpha1.CodeUnavailable, "not now")
	p := connect(t, w, anywhere)
	if err := grow(p, t, id(0), 0, 1); err != nil {
		t.Fatal(err)
	}
	in := groupOf(t, p, id(0)).Instances[0]
	if in.Err == nil {
		t.Fatalf("%+v", in)
	}
	if err := w.EditMachine(string(in.ID), func(m *v1alpha1.Machine) { m.Spec.ProviderID = "test:///it" }); err != nil {
		t.Fatal(err)
	}
	if in = groupOf(t, p, id(0)).Instances[0]; in.Err != nil || in.Retry != 0 {
		t.Errorf("%+v", in)
	}
	only := func(condition provider.Condition) *provider.Error {
		r, err := p.Remove(t.Context(), provider.RemoveRequest{
			Group: id(0), Instances: []provider.InstanceID{in.ID}, If: condition,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Instances[0].Err
	}
	if e := only(provider.StillFailed); e == nil || e.Kind != provider.Conflict {
		t.Errorf("%v", e)
	}
	// It has no node yet, and goes for that when its time is over.
	if e := only(provider.StillWithoutNode); e != nil {
		t.Error(e)
	}
}

// The whole of it: the cloud refuses once, machine-controller-manager tries again, and the
// machine that runs by then is not ended for the failure before.
func TestOneTransientErrorKillsNoMachine(t *testing.T) {
	w := zones(limited("0", "9"), 0)
	w.SetTiming(gardenertest.Timing{Boot: time.Hour})
	w.FailCreation(zone(0), v1alpha1.CodeUnavailable, "the API is overloaded")
	p := connect(t, w, anywhere)
	if err := grow(p, t, id(0), 0, 1); err != nil {
		t.Fatal(err)
	}
	seen := groupOf(t, p, id(0)).Instances[0]
	if seen.Err == nil || seen.Retry != 5*time.Second {
		t.Fatalf("%+v", seen)
	}
	w.CreateAgain(zone(0))
	w.Settle()
	r, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: id(0), Instances: []provider.InstanceID{seen.ID}, If: provider.StillFailed, Force: true,
	})
	if err != nil || r.Target != 1 || r.Instances[0].Err == nil || r.Instances[0].Err.Kind != provider.Conflict {
		t.Errorf("%+v, %v", r, err)
	}
	w.Settle()
	left(t, w, p, 1, []provider.InstanceID{seen.ID})
}
