package gardener

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest/door"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// A machine that another client has given the lowest priority does not hold the removal of ours.
func TestAnotherClientsPriority(t *testing.T) {
	w, p, machines := three(t)
	if err := w.EditMachine(string(machines[0]), func(m *v1alpha1.Machine) {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDelete)
	}); err != nil {
		t.Fatal(err)
	}
	remove(t, p, id(0), machines[1])
	left(t, w, p, 2, without(machines, machines[1]))

	// Where priorities are all there is, it would be.
	w, _, machines = three(t)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = "priority"
	p = connect(t, w, cfg)
	if err := w.EditMachine(string(machines[0]), func(m *v1alpha1.Machine) {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDelete)
	}); err != nil {
		t.Fatal(err)
	}
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[1:2]})
	refusal(t, err, provider.Conflict)
	remove(t, p, id(0), machines[0])
	left(t, w, p, 2, without(machines, machines[0]))
}

// With priorities, marks on machines are taken back when replicas were certainly not lowered, and
// stay when that is unknown.
func TestPrioritiesAreTakenBack(t *testing.T) {
	cfg := anywhere
	cfg.DeletionMarker = "priority"
	first := func(w *gardenertest.World) []provider.InstanceID {
		var out []provider.InstanceID
		for _, m := range w.Machines(zone(0)) {
			if prioritised(m) {
				out = append(out, provider.InstanceID(m.Name))
			}
		}
		return out
	}
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	p := connect(t, w, cfg)
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Mishap: kubetest.Forbid})
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[1:]})
	refusal(t, err, provider.Denied)
	if got := first(w); len(got) != 0 {
		t.Errorf("marked: %v", got)
	}
	w.Disarm()
	ctx, cancel := context.WithCancel(t.Context())
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Mishap: kubetest.Hang, Then: cancel})
	_, err = p.Remove(ctx, provider.RemoveRequest{Group: id(0), Instances: machines[2:]})
	if e := provider.AsError("", "", err); e == nil || !e.MayHaveHappened {
		t.Fatal(err)
	}
	w.Disarm()
	if got := first(w); !slices.Equal(got, machines[2:]) {
		t.Errorf("marked: %v", got)
	}
	// It is not gone by that: the target was not lowered. The next attempt does.
	if g := groupOf(t, p, id(0)); g.Target != 3 || len(live(g)) != 3 {
		t.Errorf("%+v", g)
	}
	remove(t, p, id(0), machines[2])
	left(t, w, p, 2, without(machines, machines[2]))
}

// setPriority gives a machine a priority by hand, or takes it away.
func setPriority(t *testing.T, w *gardenertest.World, machine provider.InstanceID, value string) {
	t.Helper()
	if err := w.EditMachine(string(machine), func(m *v1alpha1.Machine) {
		delete(m.Annotations, v1alpha1.PriorityAnnotation)
		if value != "" {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, value)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// prioritiesOf are the priorities of a group's machines, the oldest first.
func prioritiesOf(w *gardenertest.World) []string {
	var out []string
	for _, m := range w.Machines(zone(0)) {
		value, ok := m.Annotations[v1alpha1.PriorityAnnotation]
		if !ok {
			value = "none"
		}
		out = append(out, value)
	}
	return out
}

// The value that was there before is restored, regardless of its writer, and not what the machine
// controller would write. A value that another client has set meanwhile stays.
func TestPrioritiesAreGivenBackAsTheyWere(t *testing.T) {
	for name, c := range map[string]struct {
		before []string
		fault  func(t *testing.T, w *gardenertest.World, machines []provider.InstanceID)
		want   []string
	}{
		"another's, one that is no number, and none":        {[]string{"2", "soon", ""}, nil, []string{"2", "soon", "none"}},
		"the first to go already, which is nothing to undo": {[]string{"1", "-4", "3"}, nil, []string{"1", "-4", "3"}},
		"set by hand meanwhile": {
			[]string{"2", "3", "3"}, func(t *testing.T, w *gardenertest.World, machines []provider.InstanceID) {
				setPriority(t, w, machines[0], "5")
			}, []string{"5", "3", "3"},
		},
		"another writes to each first": {
			[]string{"2", "3", "7"}, func(t *testing.T, w *gardenertest.World, _ []provider.InstanceID) {
				w.Arm(kubetest.Fault{Verb: "patch", Resource: "machines", Times: 3, Mishap: kubetest.Conflict})
			}, []string{"2", "3", "7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, machines := three(t)
			w.Understands(gardenertest.Neither)
			for i, value := range c.before {
				setPriority(t, w, machines[i], value)
			}
			cfg := anywhere
			cfg.DeletionMarker = "priority"
			p := connect(t, w, cfg)
			w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Mishap: kubetest.Forbid, Then: func() {
				if got := prioritiesOf(w); len(slices.DeleteFunc(got, func(s string) bool { return s == "1" || s == "-4" })) != 0 {
					t.Errorf("the target was to fall before all were marked: %v", got)
				}
				if c.fault != nil {
					c.fault(t, w, machines)
				}
			}})
			_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines})
			if e := refusal(t, err, provider.Denied); strings.Contains(e.Message, "stay the first to go") {
				t.Error(e)
			}
			if got := prioritiesOf(w); !slices.Equal(got, c.want) {
				t.Errorf("priorities %v, want %v", got, c.want)
			}
		})
	}
}

// A conflict of the target makes the whole look again, and what was there before the
// first attempt is what is restored.
func TestPrioritiesOfTheFirstAttempt(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	setPriority(t, w, machines[1], "2")
	cfg := anywhere
	cfg.DeletionMarker = "priority"
	p := connect(t, w, cfg)
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Mishap: kubetest.Forbid})
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Times: 2, Mishap: kubetest.Conflict})
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[1:2]})
	refusal(t, err, provider.Denied)
	if got, want := prioritiesOf(w), []string{"3", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("priorities %v, want %v", got, want)
	}
}

// What cannot be restored is reported, by name.
func TestPrioritiesThatStay(t *testing.T) {
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = "priority"
	p := connect(t, w, cfg)
	w.Arm(kubetest.Fault{Verb: "patch", Resource: "machinedeployments", Mishap: kubetest.Forbid, Then: func() {
		w.Arm(kubetest.Fault{Verb: "patch", Resource: "machines", Mishap: kubetest.Forbid})
	}})
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:1]})
	if e := refusal(t, err, provider.Denied); !strings.Contains(e.Message, "stay the first to go: "+string(machines[0])) {
		t.Error(e)
	}
	// It is still marked, and no other is removed in its place.
	w.Disarm()
	_, err = p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[1:2]})
	refusal(t, err, provider.Conflict)
}

// A priority below that of marked machines would let its machine go in their place,
// whatever the marker is.
func TestAPriorityBelowTheMark(t *testing.T) {
	for m, marks := range map[marker]gardenertest.Marks{
		timestamped: gardenertest.Times, names: gardenertest.Names, priority: gardenertest.Neither,
	} {
		t.Run(string(m), func(t *testing.T) {
			for _, value := range []string{"0", "-1"} {
				w, _, machines := three(t)
				w.Understands(marks)
				setPriority(t, w, machines[0], value)
				cfg := anywhere
				cfg.DeletionMarker = string(m)
				p := connect(t, w, cfg)
				_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[1:2]})
				if e := refusal(t, err, provider.Conflict); !strings.Contains(e.Message, string(machines[0])) ||
					!strings.Contains(e.Message, fmt.Sprintf("%q", v1alpha1.PriorityDefault)) {
					t.Error(e)
				}
				left(t, w, p, 3, without(machines))
				remove(t, p, id(0), machines[0])
				left(t, w, p, 2, without(machines, machines[0]))
			}
		})
	}
}

// madeAfterAll asks for the end of the failed machines among three, from one on, of which all
// are made after they have been marked. The mark of the last cannot be restored.
func madeAfterAll(t *testing.T, from int) (w *gardenertest.World, ended []provider.InstanceResult, looks int) {
	t.Helper()
	w, _, machines := three(t)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = "priority"
	p := connect(t, w, cfg)
	d := door.Door{World: w}
	failed := machines[from:]
	for _, m := range failed {
		if err := d.Fail(m); err != nil {
			t.Fatal(err)
		}
	}
	w.Arm(kubetest.Fault{Verb: "list", Resource: "machines", Then: func() {
		if looks++; looks == 2 {
			w.Arm(kubetest.Fault{Verb: "patch", Resource: "machines", Name: string(machines[2]), Mishap: kubetest.Forbid})
			for _, m := range failed {
				if err := d.Recover(m); err != nil {
					t.Error(err)
				}
			}
		}
	}})
	r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: failed, If: provider.StillFailed})
	if err != nil || r.Target != 3 || len(r.Instances) != len(failed) {
		t.Fatalf("%+v, %v", r, err)
	}
	return w, r.Instances, looks
}

// A machine is made after all while it is marked, and its mark cannot be restored. That is
// told of the machine: the removal itself has ended as it should.
func TestAMarkThatStaysOnAMachineThatStays(t *testing.T) {
	_, ended, _ := madeAfterAll(t, 2)
	if e := ended[0].Err; e == nil || e.Kind != provider.Conflict ||
		!strings.Contains(e.Message, "stays the first to go: "+string(ended[0].ID)) {
		t.Errorf("%+v", e)
	}
}

// The marks of all machines that stay are restored together: one after the other would
// take the time for giving back as often as there are machines.
func TestMarksOfMachinesThatStayAreGivenBackTogether(t *testing.T) {
	w, ended, looks := madeAfterAll(t, 1)
	for i, stays := range []bool{false, true} {
		const told = "stays the first to go: "
		if e := ended[i].Err; e == nil || strings.Contains(e.Message, told) != stays {
			t.Errorf("%s: %+v", ended[i].ID, e)
		}
	}
	if got, want := prioritiesOf(w), []string{"3", "3", "1"}; !slices.Equal(got, want) {
		t.Errorf("priorities %v, want %v", got, want)
	}
	if looks != 3 {
		t.Errorf("%d looks at the machines, want 3: two for the removal, and one for giving back", looks)
	}
}
