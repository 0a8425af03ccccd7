package story

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

func wrote(name, pool string, replicas int32) watch.Event {
	return watch.Event{Type: watch.Modified, Object: &machinev1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{machinev1.PoolLabel: pool}},
		Spec:       machinev1.MachineDeploymentSpec{Replicas: replicas},
	}}
}

func TestPoolRecordSumsAtEachWrite(t *testing.T) {
	r := newPoolRecord("n")
	for _, event := range []watch.Event{
		wrote("a1", "a", 2), wrote("a2", "a", 1), wrote("b1", "b", 9), wrote("a1", "a", 0),
	} {
		r.take(event)
	}
	r.mindLeast()
	changed, _ := r.look()
	r.take(wrote("a2", "a", 4))
	select {
	case <-changed:
	default:
		t.Error("no waiter was woken")
	}
	gone := wrote("a2", "a", 4)
	gone.Type = watch.Deleted
	for _, event := range []watch.Event{wrote("a1", "a", 1), gone, wrote("b1", "b", 1)} {
		r.take(event)
	}
	now := r.now()
	_, err := r.look()
	// a: 2, 3, 1, and from here on 4, 5, 1.
	if err != nil || now.most["a"] != 5 || now.most["b"] != 9 || now.least["a"] != 1 || now.least["b"] != 1 ||
		now.targets["a1"].replicas != 1 {
		t.Errorf("got %+v, %v", now, err)
	}
	r.take(watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}})
	if _, err := r.look(); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("a watch that failed: %v", err)
	}
	r = newPoolRecord("n")
	r.take(wrote("e1", "equitable", gardenerMax))
	if _, err := r.look(); err != nil {
		t.Errorf("at its maximum: %v", err)
	}
	r.take(wrote("e2", "equitable", 1))
	r.take(wrote("e2", "equitable", 0))
	if _, err := r.look(); err == nil || !strings.Contains(err.Error(), "equitable") {
		t.Errorf("above its maximum for a moment: %v", err)
	}
}

func TestLimitsOfTheGardenerStory(t *testing.T) {
	all := func(n int) map[string]int {
		sums := map[string]int{}
		for _, p := range gardenerSizings {
			sums[p.pool] = n
		}
		return sums
	}
	one := all(gardenerMax)
	one["equitable"]++
	if withinMaximum(all(gardenerMax)) != nil || withinMaximum(one) == nil ||
		!strings.Contains(withinMaximum(one).Error(), "equitable") {
		t.Errorf("at most: %v, %v", withinMaximum(all(gardenerMax)), withinMaximum(one))
	}
	one = all(gardenerMin)
	one["lax-greedy"]--
	if withinMinimum(all(gardenerMin)) != nil || withinMinimum(one) == nil || withinMinimum(nil) == nil {
		t.Errorf("at least: %v, %v", withinMinimum(all(gardenerMin)), withinMinimum(one))
	}
}

func TestRefusals(t *testing.T) {
	r := refusals{pools: map[string]bool{}}
	say := func(source, reason, pod string) {
		r.take(&corev1.Event{
			Source: corev1.EventSource{Component: source}, Reason: reason,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod},
		})
	}
	say(eventSource, notTriggered, "lax-greedy-1-a")
	say(eventSource, notTriggered, "equitable-1-a")
	say(eventSource, "TriggeredScaleUp", "backward-compatible-1-a")
	say("default-scheduler", notTriggered, "backward-compatible-1-a")
	if r.all() || len(r.pools) != 2 {
		t.Errorf("got %v", r.pools)
	}
	if say(eventSource, notTriggered, "backward-compatible-1-a"); !r.all() {
		t.Errorf("got %v", r.pools)
	}
}

func TestWithoutOthers(t *testing.T) {
	for text, want := range map[string]string{
		"leaves 1 pending: shoot-a-z1: NodeAffinity (x=a wanted, the node has b); shoot-b-z1: PoolAtMax (1 pod on 1 new " +
			"node; then pool b); shoot-c-z1: NodeAffinity (x=a wanted, the " +
			"node has c)": "leaves 1 pending: shoot-b-z1: PoolAtMax (1 pod on 1 new node; then pool b)",
		"cut: shoot-b-z1: PoolAtMax (pool b); shoot-c-z1: NodeAffinity (x=a wan ...": "cut: shoot-b-z1: PoolAtMax (pool b)",
		"nothing of the kind": "nothing of the kind",
		"event on pod p: NotTriggerScaleUp: pod didn't trigger scale-up: none": "",
	} {
		if got := withoutOthers(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func testPools() poolsRows {
	return poolsRows{Zones: []string{"zone-a", "zone-b"}, Pools: []poolsRow{
		{Name: "lax", Min: 3, Max: 4, Zones: []poolZone{{Asked: 1}, {Asked: 3, Nodes: stage.Nodes{All: 3, Ready: 2}}}},
		{Name: "equitable", Min: 3, Max: 4, Zones: []poolZone{{}, {Asked: 2, Nodes: stage.Nodes{All: 3, Ready: 3, Leaving: 1}}}},
	}}
}

func TestPoolsRows(t *testing.T) {
	p := testPools()
	want := []string{
		"  pools   ■ ready  □ starting  ▨ leaving  · asked for",
		"               zone-a        zone-b        asked  nodes  limits",
		"    lax        ·             ■■□               4      3  3 to 4",
		"    equitable                ■■▨               2      3  3 to 4",
	}
	if got := p.lines(p.width()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := p.line(), "nodes by zone: lax 0(asked 1)+2(asked 3), equitable 0+3(asked 2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScreenEdits(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, nil)
	s.Edit(func(line string) string { return strings.TrimPrefix(line, "drop") })
	for _, line := range []string{"drop", "drop one", "two"} {
		s.Tell(line)
	}
	s.Edit(nil)
	s.Tell("drop three")
	if want := " one\ntwo\ndrop three\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
