package gardenertest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

var beginning = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// clock is one that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func names(machines []*v1alpha1.Machine) []string {
	var out []string
	for _, m := range machines {
		out = append(out, m.Name)
	}
	return out
}

func replicas(t *testing.T, w *World, n int32) {
	t.Helper()
	if err := w.EditDeployment("d", func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = n }); err != nil {
		t.Fatal(err)
	}
}

// going are the machines that are being deleted.
func going(w *World) []string {
	return names(slices.DeleteFunc(w.Machines("d"), func(m *v1alpha1.Machine) bool { return m.DeletionTimestamp == nil }))
}

func world(t *testing.T, n int) (*World, *clock, []string) {
	t.Helper()
	c := &clock{beginning}
	w := New(c.now, "n")
	w.Add(NewClass("n", "d", "z"), NewDeployment("n", "d", "pool", "z", n))
	w.Settle()
	w.SetTiming(Timing{Boot: time.Minute, End: time.Minute})
	return w, c, names(w.Machines("d"))
}

// Machines go in the order of package mcm, and what is alike goes in the order in which it
// was made.
func TestWhoGoes(t *testing.T) {
	w, _, all := world(t, 5)
	for i, change := range map[int]func(*v1alpha1.Machine){
		0: func(m *v1alpha1.Machine) {
			m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: beginning.Add(time.Hour)}
		},
		3: func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = v1alpha1.MachineUnknown },
		4: func(m *v1alpha1.Machine) { m.Annotations[v1alpha1.PriorityAnnotation] = v1alpha1.PriorityDelete },
	} {
		if err := w.EditMachine(all[i], change); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range [][]int{{4}, {3, 4}, {1, 3, 4}, {1, 2, 3, 4}} {
		replicas(t, w, int32(4-n))
		var names []string
		for _, i := range want {
			names = append(names, all[i])
		}
		if got := going(w); !slices.Equal(got, names) {
			t.Errorf("at %d: %v go, want %v of %v", 4-n, got, names, all)
		}
	}
}

// A mark ends its machine by itself if its time is not after the last change, and is
// taken away once the machine is going.
func TestMarks(t *testing.T) {
	w, c, all := world(t, 3)
	if err := w.EditDeployment("d", func(d *v1alpha1.MachineDeployment) {
		d.Annotations[v1alpha1.TriggerDeletionAnnotation] = all[2] + "~2030-01-01T00:05:00Z,gone~2030-01-01T00:05:00Z"
	}); err != nil {
		t.Fatal(err)
	}
	if got := going(w); len(got) != 0 {
		t.Errorf("without a change, %v go", got)
	}
	if d := w.Deployment("d"); d.Annotations[v1alpha1.TriggerDeletionAnnotation] != all[2]+"~2030-01-01T00:05:00Z" {
		t.Errorf("%v", d.Annotations)
	}
	if err := w.EditDeployment("d", func(d *v1alpha1.MachineDeployment) {
		d.Annotations[v1alpha1.LastReplicaChangeAnnotation] = "2030-01-01T00:05:00Z"
	}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.at = c.at.Add(time.Second)
		w.Machines("d")
	}
	w.Reconcile()
	if got := going(w); !slices.Equal(got, all[2:]) {
		t.Errorf("%v go, want %v", got, all[2:])
	}
	if d := w.Deployment("d"); d.Annotations[v1alpha1.TriggerDeletionAnnotation] != "" {
		t.Errorf("%v", d.Annotations)
	}
	if now := w.Machines("d"); len(now) != 4 { // replicas are still three
		t.Errorf("%v", names(now))
	}
}

// A bare name is dated with the last change, or, if there was none, with now; so it is
// obeyed at once, whatever the replicas are. A time that a machine has stays.
func TestBareNames(t *testing.T) {
	for _, last := range []string{"", "2029-12-31T23:00:00Z"} {
		w, c, all := world(t, 3)
		if err := w.EditMachine(all[1], func(m *v1alpha1.Machine) {
			m.Annotations[v1alpha1.MarkedForDeletionAnnotation] = "2030-01-01T00:05:00Z" // not yet
		}); err != nil {
			t.Fatal(err)
		}
		if err := w.EditDeployment("d", func(d *v1alpha1.MachineDeployment) {
			d.Annotations[v1alpha1.TriggerDeletionAnnotation] = all[2] + "," + all[1] + ",too~many~times"
			if last != "" {
				d.Annotations[v1alpha1.LastReplicaChangeAnnotation] = last
			}
		}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.at = c.at.Add(time.Second)
			w.Machines("d")
		}
		w.Reconcile()
		if got := going(w); !slices.Equal(got, all[2:]) {
			t.Errorf("last change %q: %v go, want %v", last, got, all[2:])
		}
		want := cmp.Or(last, "2030-01-01T00:00:00Z")
		if got := w.Deployment("d").Annotations; got[v1alpha1.LastReplicaChangeAnnotation] != want ||
			got[v1alpha1.TriggerDeletionAnnotation] != all[1]+"~"+want {
			t.Errorf("%v", got)
		}
	}
}

// What fails is tried again after as long as its code says. The provider id of a machine
// that is made at last comes before its status.
func TestCreationIsTriedAgain(t *testing.T) {
	for code, wait := range map[string]time.Duration{
		v1alpha1.CodeUnavailable: 5 * time.Second, v1alpha1.CodeInternal: 3 * time.Minute,
		v1alpha1.CodeResourceExhausted: 10 * time.Minute,
	} {
		w, c, _ := world(t, 0)
		w.FailCreation("d", code, "no")
		replicas(t, w, 1)
		w.Reconcile()
		look := func() v1alpha1.Machine { return *w.Machines("d")[0] }
		if m := look(); m.Status.CurrentStatus.Phase != v1alpha1.MachineCrashLoopBackOff ||
			m.Status.LastOperation.ErrorCode != code || m.Spec.ProviderID != "" {
			t.Fatalf("%s: %+v", code, m)
		}
		w.CreateAgain("d")
		c.at = c.at.Add(wait - time.Second)
		if m := look(); m.Spec.ProviderID != "" {
			t.Errorf("%s: made after %s already", code, wait-time.Second)
		}
		c.at = c.at.Add(time.Second)
		w.Settle()
		if m := look(); m.Status.CurrentStatus.Phase != v1alpha1.MachineRunning || m.Spec.ProviderID == "" {
			t.Errorf("%s: %+v", code, m)
		}
	}
}

// Annotations go to the newest MachineSet alone, and only the safety rule freezes a MachineDeployment.
func TestWhatIsCopiedAndWhatIsUndone(t *testing.T) {
	w, _, _ := world(t, 2)
	w.Roll("d")
	const at = "2030-01-01T00:00:00Z"
	if err := w.EditDeployment("d", func(d *v1alpha1.MachineDeployment) {
		d.Annotations[v1alpha1.LastReplicaChangeAnnotation] = at
		d.Labels[v1alpha1.FreezeLabel] = v1alpha1.FreezeValue
	}); err != nil {
		t.Fatal(err)
	}
	w.Reconcile()
	var have []string
	w.EditSets("d", func(s *v1alpha1.MachineSet) {
		have = append(have, s.Annotations[v1alpha1.LastReplicaChangeAnnotation])
	})
	if !slices.Equal(have, []string{"", at}) {
		t.Errorf("the sets have %q", have)
	}
	if _, frozen := w.Deployment("d").Labels[v1alpha1.FreezeLabel]; frozen {
		t.Error("a label set by hand stays")
	}
	w.EditSets("d", func(s *v1alpha1.MachineSet) { s.Labels[v1alpha1.FreezeLabel] = v1alpha1.FreezeValue })
	if err := w.EditDeployment("d", func(d *v1alpha1.MachineDeployment) {
		d.Labels[v1alpha1.FreezeLabel] = v1alpha1.FreezeValue
	}); err != nil {
		t.Fatal(err)
	}
	w.Reconcile()
	if _, frozen := w.Deployment("d").Labels[v1alpha1.FreezeLabel]; !frozen {
		t.Error("the label is gone from the deployment of a frozen set")
	}
}

// During a rollout what is taken away is taken from all MachineSets, whatever is
// named.
func TestShrinkingDuringARollout(t *testing.T) {
	w, _, all := world(t, 3)
	w.Roll("d")
	if got := names(w.Machines("d")); len(got) != 4 {
		t.Fatalf("%v", got)
	}
	replicas(t, w, 2)
	if got := going(w); len(got) != 1 || !slices.Contains(all, got[0]) {
		t.Errorf("%v go, want one of the old %v", got, all)
	}
	w.Settle()
	if got := names(w.Machines("d")); len(got) != 2 || slices.ContainsFunc(got, func(n string) bool {
		return slices.Contains(all, n)
	}) {
		t.Errorf("%v are left", got)
	}
}

// What fails to be made says so, and goes on failing; what is frozen makes none.
func TestWhatIsNotMade(t *testing.T) {
	w, _, _ := world(t, 1)
	w.FailCreation("d", v1alpha1.CodeResourceExhausted, "none left")
	replicas(t, w, 2)
	w.Settle()
	if m := w.Machines("d")[1]; m.Status.CurrentStatus.Phase != v1alpha1.MachineCrashLoopBackOff ||
		m.Status.LastOperation.ErrorCode != v1alpha1.CodeResourceExhausted || m.Labels[v1alpha1.NodeLabel] != "" {
		t.Errorf("%+v", m.Status)
	}
	w.EditSets("d", func(s *v1alpha1.MachineSet) { s.Labels[v1alpha1.FreezeLabel] = v1alpha1.FreezeValue })
	replicas(t, w, 4)
	if got := names(w.Machines("d")); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
