package gardener

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// writes are the requests that change something.
func writes(w *gardenertest.World) []string {
	return slices.DeleteFunc(w.Requests(), func(r string) bool {
		return strings.HasPrefix(r, "list ") || strings.HasPrefix(r, "get ") || strings.HasPrefix(r, "watch ")
	})
}

// gardener/gardener#8142, #2014: a zone is added to a pool that is full. What each zone
// would get of the maximum becomes less than it has, and none of its nodes ends for it;
// what the pool may have as a whole is as before, and the new zone has its part when
// there is room.
func Test8142AZoneIsAdded(t *testing.T) {
	split := []string{"1:3:" + zone(0), "1:3:" + zone(1)}
	shrunk := []string{"1:2:" + zone(0), "1:2:" + zone(1), "0:2:" + zone(2)}
	for name, c := range map[string]struct {
		annotations   []string
		before, after Config
		most          []int // of each zone, when there are three
	}{
		"by the pool's limits":              {limited("2", "6"), anywhere, anywhere, []int{6, 6, 6}},
		"by bounds that Gardener has split": {nil, Config{Namespace: ns, Nodes: split}, Config{Namespace: ns, Nodes: shrunk}, []int{3, 3, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := zones(c.annotations, 3, 3)
			machines := [][]provider.InstanceID{
				live(groupOf(t, connect(t, w, c.before), id(0))), live(groupOf(t, connect(t, w, c.before), id(1))),
			}
			w.Add(gardenertest.NewClass(ns, zone(2), "zonec"),
				gardenertest.NewDeployment(ns, zone(2), "web", "zonec", 0, c.annotations...))
			w.Settle()
			w.ForgetRequests()
			p := connect(t, w, c.after)
			inv := inventory(t, p)
			if got := targets(inv); !slices.Equal(got, []int{3, 3, 0}) || len(writes(w)) != 0 {
				t.Fatalf("targets %v, writes %v", got, writes(w))
			}
			for i, g := range inv.Groups {
				if g.Max != c.most[i] {
					t.Errorf("%s: a maximum of %d, want %d", g.ID, g.Max, c.most[i])
				}
			}
			refusal(t, grow(p, t, id(2), 0, 1), provider.Limit)
			w.Settle()
			for i, want := range machines {
				if got := live(groupOf(t, p, id(i))); !slices.Equal(got, want) {
					t.Errorf("%s has %v, and had %v", zone(i), got, want)
				}
			}
			remove(t, p, id(0), machines[0][0])
			if err := grow(p, t, id(2), 0, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// gardener/gardener#7857, #8534: the zone that would have the pool's one machine has
// none to give. That is known at the next look, the machine is given up by name though
// the pool is at its minimum, and another zone gets one.
func Test7857AnotherZoneHasTheMinimum(t *testing.T) {
	w := zones(limited("1", "1"), 0, 0)
	w.FailCreation(zone(0), v1alpha1.CodeResourceExhausted, "insufficient capacity")
	p := connect(t, w, anywhere)
	if err := grow(p, t, id(0), 0, 1); err != nil {
		t.Fatal(err)
	}
	refusal(t, grow(p, t, id(1), 0, 1), provider.Limit)
	g := groupOf(t, p, id(0))
	if len(g.Instances) != 1 || g.Instances[0].Err == nil || g.Instances[0].Err.Kind != provider.NoCapacity {
		t.Fatalf("%+v", g.Instances)
	}
	r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: live(g), Force: true})
	if err != nil || r.Target != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := grow(p, t, id(1), 0, 1); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if got := live(groupOf(t, p, id(1))); len(got) != 1 || len(live(groupOf(t, p, id(0)))) != 0 {
		t.Errorf("instances %v", got)
	}
}

// gardener/gardener#7057: limits that are changed while a zone is sick, and pools that
// are added for its sake, count at the next look and for the next write, without a change of the command line.
func Test7057LimitsCountAtOnce(t *testing.T) {
	w := zones(limited("0", "2"), 1, 0)
	w.FailCreation(zone(1), v1alpha1.CodeResourceExhausted, "quota exceeded")
	p := connect(t, w, anywhere)
	if err := grow(p, t, id(1), 0, 1); err != nil {
		t.Fatal(err)
	}
	if pool, _ := poolOf(t, p); pool.Max != 2 {
		t.Fatalf("%+v", pool)
	}
	refusal(t, grow(p, t, id(0), 1, 3), provider.Limit)
	for i := range 2 {
		edit(t, w, i, func(d *v1alpha1.MachineDeployment) {
			d.Annotations[v1alpha1.PoolMinimumAnnotation], d.Annotations[v1alpha1.PoolMaximumAnnotation] = "3", "5"
		})
	}
	if err := grow(p, t, id(0), 1, 3); err != nil { // without any look in between
		t.Error(err)
	}
	w.Add(gardenertest.NewClass(ns, "aid", "zonea"),
		gardenertest.NewDeployment(ns, "aid", "aid", "zonea", 0, limited("1", "2")...))
	inv := inventory(t, p)
	if want := []provider.Pool{
		{ID: "aid", Min: 1, Max: 2, Sizing: "Equitable"}, {ID: "web", Min: 3, Max: 5, Sizing: "Equitable"},
	}; !slices.Equal(inv.Pools, want) {
		t.Errorf("pools %+v", inv.Pools)
	}
	if err := grow(p, t, "aid", 0, 1); err != nil {
		t.Error(err)
	}
}

// shoot is a cluster whose nodes are those of a group's machines, changed.
func shoot(w *gardenertest.World, change func(*corev1.Node)) *nodesOf {
	out := &nodesOf{nodes: map[string]*corev1.Node{}}
	for _, m := range w.Machines(zone(0)) {
		n := exampleNode("large", "3900m")
		n.Name = m.Name
		change(n)
		out.nodes[m.Name] = n
	}
	return out
}

// #36: all nodes of a group are cordoned. That is a matter of those nodes: a new one
// will not be, the group is not held, and it grows.
func Test36AllNodesAreCordoned(t *testing.T) {
	w := zones(limited("0", "9"), 2)
	p := connect(t, w, anywhere)
	nodes := shoot(w, func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
			{Key: "by-hand", Effect: corev1.TaintEffectNoSchedule},
		}
	})
	p.examples = newExamples(nodes, time.Now)
	g := groupOf(t, p, id(0))
	if g.Template == nil || nodes.asked == 0 {
		t.Fatalf("asked %d times, %v", nodes.asked, g.TemplateErr)
	}
	if n := g.Template.Node; n.Spec.Unschedulable || len(n.Spec.Taints) != 0 ||
		n.Status.Allocatable.Cpu().String() != "3900m" {
		t.Errorf("a new node: %+v, %v", n.Spec, n.Status.Allocatable)
	}
	if len(g.Holds) != 0 || len(live(g)) != 2 {
		t.Errorf("%+v", g)
	}
	if err := grow(p, t, id(0), 2, 3); err != nil {
		t.Error(err)
	}
}

// #67, gardener/gardener#3290: a second scale-up right after the first is asked for
// without waiting for the first one's node. That one may have registered without its
// labels, or not be ready: what a new node will be like is not learned from it.
func Test67ASecondGrowthRightAfterTheFirst(t *testing.T) {
	for name, young := range map[string]func(*corev1.Node){
		"without labels": func(n *corev1.Node) { n.Labels = nil },
		"not ready":      func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse },
	} {
		t.Run(name, func(t *testing.T) {
			w := zones(limited("0", "9"), 1)
			p := connect(t, w, anywhere)
			want := groupOf(t, p, id(0)).Template.Node
			w.SetTiming(gardenertest.Timing{Boot: time.Hour})
			if err := grow(p, t, id(0), 1, 2); err != nil {
				t.Fatal(err)
			}
			nodes := shoot(w, young)
			p.examples = newExamples(nodes, time.Now)
			g := groupOf(t, p, id(0))
			if nodes.asked == 0 || len(g.Holds) != 0 || g.Target != 2 || len(live(g)) != 2 {
				t.Errorf("asked %d times, %+v", nodes.asked, g)
			}
			if got := g.Template.Node; !maps.Equal(got.Labels, want.Labels) ||
				!got.Status.Allocatable.Cpu().Equal(*want.Status.Allocatable.Cpu()) {
				t.Errorf("a new node: %+v, want %+v", got, want)
			}
			if err := grow(p, t, id(0), 2, 3); err != nil {
				t.Error(err)
			}
			if g := groupOf(t, p, id(0)); g.Target != 3 || g.TargetSince.IsZero() {
				t.Errorf("%+v", g)
			}
		})
	}
}

// gardener/gardener#10227: a node that waits for its critical components is still coming up, and is
// not scaled down: its machine is being created, counts, and is neither held nor failed. A new
// node's template does not have that taint.
func Test10227ANodeThatWaitsForItsComponents(t *testing.T) {
	w := zones(limited("0", "9"), 1)
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) {
		d.Spec.Template.Spec.NodeTemplate.Spec.Taints = []corev1.Taint{{
			Key: v1alpha1.CriticalComponentsNotReadyTaint, Effect: corev1.TaintEffectNoSchedule,
		}}
	})
	w.SetTiming(gardenertest.Timing{Boot: time.Hour})
	p := connect(t, w, anywhere)
	if err := grow(p, t, id(0), 1, 2); err != nil {
		t.Fatal(err)
	}
	// It has registered; machine-controller-manager calls it Pending as long as it has
	// the taint.
	young := byAge(w, id(0))[1]
	if err := w.EditMachine(string(young), func(m *v1alpha1.Machine) {
		m.Labels[v1alpha1.NodeLabel] = string(young)
	}); err != nil {
		t.Fatal(err)
	}
	g := groupOf(t, p, id(0))
	at := slices.IndexFunc(g.Instances, func(i provider.Instance) bool { return i.ID == young })
	if at < 0 || g.Target != 2 || len(g.Holds) != 0 {
		t.Fatalf("%+v", g)
	}
	if in := g.Instances[at]; in.State != provider.Creating || in.Err != nil || in.Hold != "" ||
		in.NodeName != string(young) {
		t.Errorf("%+v", in)
	}
	if g.Template == nil || len(g.Template.Node.Spec.Taints) != 0 {
		t.Errorf("%+v", g.Template)
	}
}

// machine-controller-manager#754, #802, #816, #826: replicas that are lowered during a
// rollout end machines of any MachineSet, and once ended all. So nothing is lowered:
// neither by a removal, forced or not, nor by taking back; and no machine is marked.
func Test754NothingIsLoweredDuringARollout(t *testing.T) {
	for _, m := range []marker{timestamped, names, priority} {
		t.Run(string(m), func(t *testing.T) {
			w, _, machines := three(t)
			cfg := anywhere
			cfg.DeletionMarker = string(m)
			p := connect(t, w, cfg)
			edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 5 })
			w.Settle()
			w.SetTiming(gardenertest.Timing{Boot: time.Hour})
			w.Roll(zone(0))
			w.ForgetRequests()
			for _, force := range []bool{false, true} {
				_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:2], Force: force})
				refusal(t, err, provider.Conflict)
			}
			if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 5, To: 0}); err != nil ||
				r.Cancelled != 0 || r.Target != 5 {
				t.Errorf("%+v, %v", r, err)
			}
			if got := writes(w); len(got) != 0 {
				t.Errorf("writes %v", got)
			}
		})
	}
}

// gardener/gardener#11132: some want nodes gone at once. What a group says is taken as
// it is, down to nothing at all.
func Test11132NoTimeIsRaised(t *testing.T) {
	for value, want := range map[string]time.Duration{"0s": 0, "1s": time.Second, "30s": 30 * time.Second} {
		w := zones(limited("0", "9", v1alpha1.OptionPrefix+"scale-down-unneeded-time", value), 1)
		inv := inventory(t, connect(t, w, anywhere))
		if got := inv.Groups[0].Options.ScaleDownUnneededTime; got == nil || *got != want || len(inv.Notices) != 0 {
			t.Errorf("%s: %v, notices %v", value, got, inv.Notices)
		}
	}
}
