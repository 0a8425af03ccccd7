package explain_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// fatal is a test, of whatever kind.
type fatal interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// cluster is one as an operator has it: objects, groups and flags.
type cluster struct {
	objects []runtime.Object
	cloud   provider.Inventory
	policy  model.Policy
}

func (c *cluster) cycle(t fatal) model.Cycle {
	scene, err := observe.NewScene(c.objects, observe.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := scene.Observe(c.cloud, nil, testkit.Start)
	if err != nil {
		t.Fatal(err)
	}
	s := snapshot.New(nil, seen, model.Standing{}, c.policy.Rules)
	return model.Cycle{Snapshot: s, Plan: decide.Decide(s, c.policy)}
}

// apply does what a fix says, as a person would. The pods are those that wait, and all of their kind.
func (c *cluster) apply(t fatal, fix *explain.Fix, waiting, all map[string]bool) {
	for _, change := range fix.Changes {
		n, _ := strconv.Atoi(change.To)
		switch change.Of {
		case explain.OfGroup:
			at := slices.IndexFunc(c.cloud.Groups, func(g provider.Group) bool { return string(g.ID) == change.Name })
			c.cloud.Groups[at].Max = n
		case explain.OfPool:
			c.cloud.Pools = slices.Clone(c.cloud.Pools)
			if change.Field == "sizing" {
				c.cloud.Pools[0].Sizing = change.To
				break
			}
			c.cloud.Pools[0].Max = n
		case explain.OfFlag:
			switch change.Name {
			case "--max-nodes-total":
				c.policy.ScaleUp.MaxNodesTotal = n
			case "--cores-total":
				c.policy.ScaleUp.MaxCoresTotal = int64(n)
			default:
				t.Fatalf("no user can set %s", change.Name)
			}
		case explain.OfPods, explain.OfWorkload:
			of := waiting
			if change.Of == explain.OfWorkload {
				of = all
			}
			for _, obj := range c.objects {
				if p, ok := obj.(*corev1.Pod); ok && of[p.Namespace+"/"+p.Name] {
					edit(t, &p.Spec, change)
				}
			}
		default:
			t.Fatalf("no user can do %+v", change)
		}
	}
}

func edit(t fatal, spec *corev1.PodSpec, c explain.Change) {
	field, at, _ := strings.Cut(c.Field, "/")
	number, what, _ := strings.Cut(at, "/")
	i, _ := strconv.Atoi(number)
	switch {
	case strings.HasPrefix(field, "requests."):
		name := corev1.ResourceName(strings.TrimPrefix(field, "requests."))
		spec.Containers[0].Resources.Requests[name] = resource.MustParse(c.To)
	case field == "tolerations":
		for _, taint := range strings.Split(c.To, ", ") {
			keyValue, effect, _ := strings.Cut(taint, ":")
			key, value, _ := strings.Cut(keyValue, "=")
			spec.Tolerations = append(spec.Tolerations,
				corev1.Toleration{Key: key, Operator: corev1.TolerationOpEqual, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	case field == "nodeSelector":
		for _, pair := range strings.Split(c.From, ", ") {
			key, _, _ := strings.Cut(pair, "=")
			delete(spec.NodeSelector, key)
		}
	case field == "priority":
		n, _ := strconv.Atoi(c.To)
		spec.Priority = new(int32(n))
	case field == "volumes":
		spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == c.From })
	case field == "hostPort":
		spec.Containers[0].Ports = nil
	case field == "podAffinity":
		terms := &spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*terms = slices.Delete(*terms, i, i+1)
	case field == "podAntiAffinity":
		terms := &spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*terms = slices.Delete(*terms, i, i+1)
	case what == "maxSkew":
		n, _ := strconv.Atoi(c.To)
		spec.TopologySpreadConstraints[i].MaxSkew = int32(n)
	case what == "whenUnsatisfiable":
		spec.TopologySpreadConstraints[i].WhenUnsatisfiable = corev1.ScheduleAnyway
	default:
		t.Fatalf("no user can do %+v", c)
	}
}

// TestFixesWork: when a person does to the cluster what a fix says, the plan serves all pods that it is for.
func TestFixesWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		make := func() *cluster {
			built := drawn.Build(testkit.InOrder)
			return &cluster{built.Objects(), built.Inventory(), drawn.Policy}
		}
		if rapid.IntRange(0, 3).Draw(t, "expendable") == 0 {
			drawn.Policy.Rules.ExpendableBelow = 1
		}
		before := make().cycle(t)
		s := before.Snapshot
		for i := range before.Plan.Pending {
			v := &before.Plan.Pending[i]
			if v.Left == 0 || v.Skipped != nil && v.Skipped.Reason != model.Expendable {
				continue
			}
			waiting, all := map[string]bool{}, map[string]bool{}
			name := func(p *model.Pod) string { return s.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name }
			first := ""
			for _, q := range s.Pending {
				for _, p := range q.Pods {
					if q.Class == v.Class {
						waiting[name(p)], all[name(p)], first = true, true, name(p)
					}
				}
			}
			for n := range s.Nodes {
				for b := range s.Nodes[n].Bound {
					if c, ok := s.ClassOf(&s.Nodes[n].Bound[b]); ok && c == v.Class {
						all[name(&s.Nodes[n].Bound[b])] = true
					}
				}
			}
			answer, err := explain.PodOf(before, drawn.Policy, first)
			if err != nil {
				t.Fatal(err)
			}
			fixes := []*explain.Fix{answer.Pending.Fix}
			for _, g := range answer.Pending.Groups {
				fixes = append(fixes, g.WorksIf)
			}
			for _, fix := range fixes {
				if fix == nil || fix.Changes[0].Of == explain.OfTime {
					continue
				}
				changed := make()
				changed.apply(t, fix, waiting, all)
				after := changed.cycle(t)
				if left := leftOf(after, first, waiting); left != 0 {
					t.Fatalf("%s: %q leaves %d pods\n%s\n%s", first, fix.Text, left, before.Plan.Text(s),
						after.Plan.Text(after.Snapshot))
				}
			}
		}
	})
}

// TestFiveReasons: pods fit nowhere for five different reasons; one after the other is explained, and the fix
// applied. In the end all get a node.
func TestFiveReasons(t *testing.T) {
	policy := testkit.Policy()
	label := func(pool, zone string) map[string]string {
		return map[string]string{"pool": pool, corev1.LabelTopologyZone: zone}
	}
	made := func() *cluster {
		c := testkit.New()
		c.Group("batch", 0, 10, testkit.Node("", "8", "32Gi", label("batch", "a"),
			corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}))
		c.Group("full", 0, 1, testkit.Node("", "4", "16Gi", label("full", "a"),
			corev1.Taint{Key: "dedicated", Value: "full", Effect: corev1.TaintEffectNoSchedule}))
		c.Group("general", 0, 10, testkit.Node("", "4", "16Gi", label("general", "a")))
		for name, change := range map[string]func(*corev1.Pod){
			"huge":    func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("6") },
			"tainted": func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "batch"} },
			"picky":   func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} },
			"crowd": func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{"pool": "full"}
				p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: "full"}}
			},
			"apart": func(p *corev1.Pod) { testkit.Apart(p, corev1.LabelTopologyZone, map[string]string{"app": "apart"}) },
		} {
			p := testkit.Pod("shop", name, "3", "1Gi", map[string]string{"app": name})
			change(p)
			c.Pending(p, 3)
		}
		return &cluster{c.Objects(), c.Inventory(), policy}
	}()
	for _, x := range [][2]string{
		{"crowd", "GroupAtMax: raise full.max 1 → 3 (+2 nodes)"},
		{"tainted", "TaintNotTolerated: toleration of dedicated=batch:NoSchedule (+2 nodes)"},
		{"picky", "NodeAffinity: nodeSelector without disk=ssd (+3 nodes)"},
		{"apart", "PodAffinity: pod anti-affinity over topology.kubernetes.io/zone preferred, not required (+2 nodes)"},
		{"huge", "InsufficientResources: request cpu ≤ 4 (+3 nodes)"},
	} {
		name, want := x[0], x[1]
		pods := map[string]bool{}
		for i := range 3 {
			pods[fmt.Sprintf("shop/%s-%06d", name, i+1)] = true
		}
		answer, err := explain.PodOf(made.cycle(t), policy, fmt.Sprintf("shop/%s-%06d", name, 1))
		if err != nil {
			t.Fatal(err)
		}
		q := answer.Pending
		if q.Fix == nil {
			t.Fatalf("%s: no fix: %+v", name, q.Groups)
		}
		if got := string(q.Verdict.Reason) + ": " + q.Fix.Text; got != want || q.Outlook != explain.Blocked {
			t.Errorf("%s: %s %s\nwant %s", name, q.Outlook, got, want)
		}
		made.apply(t, q.Fix, pods, pods)
	}
	after := made.cycle(t)
	for _, v := range after.Plan.Pending {
		if v.Left > 0 {
			t.Errorf("%d pods are left:\n%s", v.Left, after.Plan.Text(after.Snapshot))
		}
	}
}

// TestOverheadIsLeftOut: a smaller request is what the containers may ask for, and leaves room for the pod's overhead.
func TestOverheadIsLeftOut(t *testing.T) {
	for _, x := range []struct {
		cpu, memory, overhead string // of the pod
		want                  string
	}{
		{"6", "1Gi", "250m", "request cpu ≤ 3750m beside the overhead of cpu 250m (+2 nodes)"},
		{"3900m", "1Gi", "250m", "request cpu ≤ 3750m beside the overhead of cpu 250m (+2 nodes)"},
		{"6", "20Gi", "250m", "request cpu ≤ 3750m, memory ≤ 16284Mi beside the overhead of cpu 250m, memory 100Mi (+2 nodes)"},
		{"1", "1Gi", "4", ""},
	} {
		c := testkit.New()
		c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
		p := testkit.Pod("shop", "web", x.cpu, x.memory, nil)
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(x.overhead),
			corev1.ResourceMemory: resource.MustParse("100Mi")}
		c.Pending(p, 2)
		made := &cluster{c.Objects(), c.Inventory(), testkit.Policy()}
		answer, err := explain.PodOf(made.cycle(t), made.policy, "shop/web-000001")
		if err != nil {
			t.Fatal(err)
		}
		fix := answer.Pending.Fix
		if x.want == "" && fix == nil {
			continue
		}
		if fix == nil || fix.Text != x.want {
			t.Errorf("fix %+v, want %s", fix, x.want)
			continue
		}
		pods := map[string]bool{"shop/web-000001": true, "shop/web-000002": true}
		made.apply(t, fix, pods, pods)
		if after := made.cycle(t); leftOf(after, "shop/web-000001", pods) != 0 {
			t.Errorf("%q leaves pods\n%s", fix.Text, after.Plan.Text(after.Snapshot))
		}
	}
}

// TestWhatAPolicySets: a pause ends where it was made, and a maximum is raised in the policy that it comes from.
func TestWhatAPolicySets(t *testing.T) {
	for _, x := range []struct {
		settled     policy.Resolved
		text, short string
	}{
		{policy.Resolved{MaxFrom: "night"}, "raise g.max 1 → 3, in policy night and in the cloud if it has less (+2 nodes)",
			"max ≥ 3 (policy night)"},
		{policy.Resolved{Pause: &policy.Pause{From: policy.FromCommand}},
			"plimsoll resume, and raise g.max 1 → 3 (+3 nodes)", "plimsoll resume, and max ≥ 3"},
	} {
		c := testkit.New()
		c.Group("g", 0, 1, testkit.Node("", "4", "16Gi", nil))
		c.Pending(testkit.Pod("shop", "web", "3", "1Gi", nil), 3)
		s := (&cluster{c.Objects(), c.Inventory(), testkit.Policy()}).cycle(t).Snapshot
		s.Groups[0].Settled = x.settled
		cycle := model.Cycle{Snapshot: s, Plan: decide.Decide(s, testkit.Policy())}
		answer, err := explain.PodOf(cycle, testkit.Policy(), "shop/web-000001")
		if err != nil {
			t.Fatal(err)
		}
		if fix := answer.Pending.Fix; fix == nil || fix.Text != x.text || fix.Short != x.short {
			t.Errorf("want %s\ngot %+v", x.text, fix)
		}
	}
}

// TestTheClaimIsNamed: of two claims it is the one whose volume is elsewhere that keeps a pod out.
func TestTheClaimIsNamed(t *testing.T) {
	policy := testkit.Policy()
	c := testkit.New()
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}))
	p := testkit.Pod("shop", "db", "1", "1Gi", nil)
	for _, claim := range []string{"here", "there"} {
		c.Claim(p, claim, true)
	}
	c.Volumes.Persistent[1].Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}
	c.Pending(p, 1)
	made := &cluster{c.Objects(), c.Inventory(), policy}
	answer, err := explain.PodOf(made.cycle(t), policy, "shop/db-000001")
	if err != nil {
		t.Fatal(err)
	}
	if fix := answer.Pending.Fix; fix == nil || fix.Text != "no volume there (claim there) (+1 node)" {
		t.Fatalf("%+v", answer.Pending)
	}
	only := map[string]bool{"shop/db-000001": true}
	made.apply(t, answer.Pending.Fix, only, only)
	if after := made.cycle(t); leftOf(after, "shop/db-000001", only) != 0 {
		t.Error(after.Plan.Text(after.Snapshot))
	}
}

// leftOf is how many pods of a pod's class a plan leaves, -1 if it does not know the pod. Pods that have become equal
// to some of another class are interchangeable with those, which may be left as before.
func leftOf(c model.Cycle, pod string, waiting map[string]bool) int {
	for i := range c.Snapshot.Pending {
		q := &c.Snapshot.Pending[i]
		asked, others := false, 0
		for _, p := range q.Pods {
			name := c.Snapshot.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name
			asked = asked || name == pod
			if !waiting[name] {
				others++
			}
		}
		for _, v := range c.Plan.Pending {
			if asked && v.Class == q.Class {
				return max(0, v.Left-others)
			}
		}
	}
	return -1
}

// TestFixesAreFound: in most random worlds some fix is known for pods that are left, or the property above
// proves nothing.
func TestFixesAreFound(t *testing.T) {
	found, asked := 0, 0
	kinds := map[string]int{}
	for seed := range 150 {
		drawn := rapid.Custom(testkit.DrawWorld).Example(seed)
		built := drawn.Build(testkit.InOrder)
		s := snapshot.New(nil, built.Observation(), model.Standing{}, drawn.Policy.Rules)
		cycle := model.Cycle{Snapshot: s, Plan: decide.Decide(s, drawn.Policy)}
		for _, v := range cycle.Plan.Pending {
			if v.Left == 0 || v.Skipped != nil {
				continue
			}
			i := slices.IndexFunc(s.Pending, func(q model.Pending) bool { return q.Class == v.Class })
			a, err := explain.PodOf(cycle, drawn.Policy, "default/"+s.Pending[i].Pods[0].Name)
			if err != nil {
				t.Fatal(err)
			}
			asked++
			if a.Pending.Fix == nil {
				kinds["none for "+string(a.Pending.Verdict.Reason)]++
				continue
			}
			found++
			for _, c := range a.Pending.Fix.Changes {
				kinds[fmt.Sprintf("%s %s", c.Of, c.Field)]++
			}
		}
	}
	t.Logf("%d of %d: %v", found, asked, kinds)
	if 10*found < 7*asked {
		t.Errorf("a fix was found for %d of %d classes of pods: %v", found, asked, kinds)
	}
}
