package mcm

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

var epoch = time.Unix(1_700_000_000, 0).UTC()

// at is a time that many minutes after the epoch, as annotations have it.
func at(minute int) string {
	return epoch.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339)
}

// machine is one of an age rank, 0 the oldest.
func machine(name string, rank int, phase v1alpha1.MachinePhase, edits ...func(*v1alpha1.Machine)) v1alpha1.Machine {
	m := v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(rank) * time.Hour)),
		Annotations: map[string]string{},
	}}
	m.Status.CurrentStatus.Phase = phase
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func named(minute int) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) {
		m.Annotations[v1alpha1.PriorityAnnotation] = v1alpha1.PriorityDelete
		m.Annotations[v1alpha1.MarkedForDeletionAnnotation] = at(minute)
	}
}

// today is later than all that happens here.
var today = epoch.Add(24 * time.Hour)

func kept(m *v1alpha1.Machine) {
	m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: today.Add(time.Hour)}
}

const (
	running          = v1alpha1.MachineRunning
	pending          = v1alpha1.MachinePending
	unknown          = v1alpha1.MachineUnknown
	failed           = v1alpha1.MachineFailed
	crashing         = v1alpha1.MachineCrashLoopBackOff
	terminatingPhase = v1alpha1.MachineTerminating
)

func TestVictimOrder(t *testing.T) {
	low := func(m *v1alpha1.Machine) { m.Annotations[v1alpha1.PriorityAnnotation] = "2" }
	odd := func(m *v1alpha1.Machine) { m.Annotations[v1alpha1.PriorityAnnotation] = "soon" }
	auto := func(m *v1alpha1.Machine) { kept(m); m.Annotations[v1alpha1.PreserveAnnotation] = autoPreserved }
	over := func(m *v1alpha1.Machine) { m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: today} }
	want := []v1alpha1.Machine{
		machine("named first", 5, running, named(1)),
		machine("named later", 4, failed, named(2)),
		machine("of low priority", 9, running, low),
		machine("without a phase", 4, ""),
		machine("of a phase that the table lacks", 5, "InPlaceUpdating"),
		machine("of that phase, made in the same second", 5, "InPlaceUpdating"),
		machine("failed", 9, failed),
		machine("without quota", 9, crashing),
		machine("lost", 9, unknown),
		machine("old and pending", 3, pending),
		machine("oldest", 0, running),
		machine("old", 1, running, odd),
		machine("new", 2, running),
		machine("preserved until now", 3, running, over),
		machine("preserved by itself", 1, running, auto),
		machine("preserved by a person", 0, failed, kept),
	}
	got := slices.Concat(want[7:], want[:7]) // the two that are alike keep their order
	slices.SortStableFunc(got, func(a, b v1alpha1.Machine) int { return victimOrder(a, b, today) })
	for i := range want {
		if got[i].Name != want[i].Name {
			t.Errorf("place %d: %q, want %q", i, got[i].Name, want[i].Name)
		}
	}
}

func TestPlanOf(t *testing.T) {
	three := []v1alpha1.Machine{machine("a", 0, running), machine("b", 1, running), machine("c", 2, running)}
	with := func(edit func(*v1alpha1.Machine), i int) []v1alpha1.Machine {
		all := []v1alpha1.Machine{machine("a", 0, running), machine("b", 1, running), machine("c", 2, running)}
		edit(&all[i])
		return all
	}
	phase := func(p v1alpha1.MachinePhase) func(*v1alpha1.Machine) {
		return func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = p }
	}
	for _, test := range []struct {
		name     string
		want     int
		blocked  bool
		changed  string
		machines []v1alpha1.Machine
		plan     Plan
	}{
		{"nothing", 3, false, "", three, Plan{}},
		{"too few", 5, false, "", three, Plan{Make: 2}},
		{"far too few", 500, false, "", three, Plan{Make: 100}},
		{"too few, frozen", 5, true, "", three, Plan{}},
		{"too many, frozen", 2, true, "", three, Plan{End: []string{"a"}}},
		{"too many: the oldest", 1, false, "", three, Plan{End: []string{"a", "b"}}},
		{"too many: the newest was named", 2, false, at(5), with(named(5), 2), Plan{End: []string{"c"}}},
		{"named, and resized to less meanwhile", 1, false, at(5), with(named(5), 2), Plan{End: []string{"a", "c"}}},
		{"named, and grown again meanwhile", 3, false, at(5), with(named(5), 2), Plan{End: []string{"c"}}},
		{"named by a resizing that the set does not know of yet", 3, false, at(4), with(named(5), 2), Plan{}},
		{"named, and too few besides: first what is missing", 4, false, at(5), with(named(5), 2), Plan{Make: 1}},
		{"one ends already", 3, false, "", with(phase(terminatingPhase), 0), Plan{Make: 1}},
		{"one failed", 3, false, "", with(phase(failed), 1), Plan{End: []string{"b"}}},
		{"one failed and is preserved", 3, false, "", with(func(m *v1alpha1.Machine) { phase(failed)(m); kept(m) }, 1), Plan{}},
	} {
		got := PlanOf(Demand{test.want, test.blocked, test.changed, today}, test.machines)
		if got.Make != test.plan.Make || !slices.Equal(got.End, test.plan.End) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.plan)
		}
	}
}

func TestTrigger(t *testing.T) {
	machines := []v1alpha1.Machine{
		machine("new", 2, running), machine("marked", 1, running, named(3)), machine("marked before", 1, running, named(3)),
		machine("ends", 0, terminatingPhase), machine("failed", 0, failed), machine("bare", 4, running),
	}
	text := "new~" + at(5) + ",bare,marked~" + at(3) + ",new~noon~" + at(1) + ",marked before~" + at(4) + ",gone~" +
		at(3) + ",ends~" + at(3) + ",failed~" + at(3)
	mark, stay := Follow(ReadTrigger(text, at(6)), machines)
	if want := "new~" + at(5) + ",bare~" + at(6); WriteTrigger(mark) != want {
		t.Errorf("marks %s, want %s", WriteTrigger(mark), want)
	}
	if want := "new~" + at(5) + ",bare~" + at(6) + ",marked~" + at(3) + ",marked before~" +
		at(4); WriteTrigger(stay) != want {
		t.Errorf("keeps %s, want %s", WriteTrigger(stay), want)
	}
	// One that has a time, and lost its priority, is marked with the time that it has.
	lost := machine("lost", 1, running, named(3))
	delete(lost.Annotations, v1alpha1.PriorityAnnotation)
	if mark, _ := Follow(ReadTrigger("lost", at(6)), []v1alpha1.Machine{lost}); WriteTrigger(mark) != "lost~"+at(3) {
		t.Errorf("marks %s", WriteTrigger(mark))
	}
	if mark, stay := Follow(ReadTrigger("", at(6)), machines); len(mark)+len(stay) > 0 {
		t.Errorf("of nothing comes %v, %v", mark, stay)
	}
}

func TestRetryAfter(t *testing.T) {
	for code, want := range map[string]time.Duration{
		v1alpha1.CodeUnavailable: 5 * time.Second, v1alpha1.CodeAborted: 5 * time.Second,
		v1alpha1.CodeInternal: 3 * time.Minute, "": 3 * time.Minute, v1alpha1.CodeResourceExhausted: 10 * time.Minute,
	} {
		if got := RetryAfter(code); got != want {
			t.Errorf("%q: tried again after %s, want %s", code, got, want)
		}
	}
}

// Versions that knew no times take what the annotation has for names, and mark each once.
func TestNamesAlone(t *testing.T) {
	a, b := machine("a", 0, running), machine("b", 1, running)
	mark, stay := Follow(ReadNames("a,b~"+at(1)), []v1alpha1.Machine{a, b})
	if WriteTrigger(mark) != "a" || WriteTrigger(stay) != "a" {
		t.Fatalf("marks %v, keeps %v", mark, stay)
	}
	mark[0].Mark(&a)
	if _, dated := a.Annotations[v1alpha1.MarkedForDeletionAnnotation]; dated || priority(a) != 1 {
		t.Errorf("marked with %v", a.Annotations)
	}
	if mark, _ := Follow(ReadNames("a"), []v1alpha1.Machine{a}); len(mark) > 0 {
		t.Errorf("marks %v again", mark)
	}
}
