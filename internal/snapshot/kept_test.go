package snapshot_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// changing is a small cluster that changes at random, seen through the stores that watches fill.
type changing struct {
	t        *rapid.T
	scene    *observe.Scene
	cloud    provider.Inventory
	standing model.Standing
	rules    model.Rules
	now      time.Time
	template *provider.Template
}

func newChanging(t *rapid.T) *changing {
	c := testkit.New()
	c.Group("a", 0, 10, testkit.Node("", "4", "16Gi", map[string]string{"promised": "yes"}))
	c.Group("b", 0, 10, testkit.Node("", "4", "16Gi", nil))
	for i := range 3 {
		n := testkit.Node(nodeName(i), "4", "16Gi", nil)
		if i == 0 {
			n.Spec.Taints = starting
		}
		c.AddNode(n, []string{"a", "b", ""}[i%3])
	}
	var objects []runtime.Object
	for _, o := range c.Objects() {
		objects = append(objects, observe.Cut(o))
	}
	scene, err := observe.NewScene(objects, observe.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	out := &changing{t: t, scene: scene, cloud: c.Inventory(), template: c.Groups[0].Template,
		now: testkit.Start, rules: testkit.Policy().Rules,
		standing: model.Standing{Nodes: map[string]model.NodeStanding{}}}
	out.rules.StartupTime = out.startup()
	if out.below(2, "template") == 0 {
		out.cloud.Groups[0].Template = nil
	}
	return out
}

// starting is what a node carries while it is not complete.
var starting = []corev1.Taint{{
	Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule,
}}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

func (c *changing) below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

func (c *changing) one(of ...string) string { return rapid.SampledFrom(of).Draw(c.t, "of") }

// change does one thing to the cluster.
func (c *changing) change() {
	switch c.below(14, "change") {
	case 0, 1, 2, 3, 4:
		c.must(c.scene.Put(observe.Cut(c.pod())))
	case 5:
		c.must(c.scene.Drop(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: c.podName()}}))
	case 6:
		n := testkit.Node(nodeName(c.below(4, "node")), c.one("4", "8"), "16Gi", nil)
		n.CreationTimestamp = metav1.NewTime(testkit.Start.Add(-time.Hour))
		n.Spec.ProviderID = testkit.Node(nodeName(c.below(4, "machine")), "4", "16Gi", nil).Spec.ProviderID
		n.Status.Conditions[0].Status = corev1.ConditionStatus(c.one("True", "False"))
		if c.below(3, "starts") == 0 {
			n.Spec.Taints = starting
		}
		c.must(c.scene.Put(observe.Cut(n)))
	case 7:
		c.must(c.scene.Drop(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(c.below(4, "node"))}}))
	case 8:
		c.cloud.Groups = slices.Clone(c.cloud.Groups)
		g := &c.cloud.Groups[c.below(2, "group")]
		if c.below(3, "template") == 0 {
			g.Template = map[bool]*provider.Template{true: c.template}[g.Template == nil]
			break
		}
		g.Instances = slices.Clone(g.Instances)
		if n := len(g.Instances); n > 0 && c.below(2, "less") == 0 {
			g.Instances = slices.Delete(g.Instances, 0, 1)
			break
		}
		name := nodeName(c.below(4, "node"))
		g.Instances = append(g.Instances, provider.Instance{ID: provider.InstanceID("i-" + name), NodeName: name})
	case 9:
		c.now = c.now.Add(rapid.SampledFrom([]time.Duration{-1, 1, 10, 30}).Draw(c.t, "minutes") * time.Minute)
	case 10, 13:
		name, st := nodeName(c.below(4, "node")), model.NodeStanding{UnneededSince: c.now}
		if c.below(2, "drained") == 0 {
			st.Drain = &model.Drain{Stage: model.Tainted, Unready: c.below(2, "unready") == 0}
		}
		c.standing.Nodes = map[string]model.NodeStanding{name: st}
	case 12:
		c.standing.Arrivals = nil
		if c.below(2, "arrives") == 0 {
			c.standing.Arrivals = []model.Arrival{{Node: nodeName(c.below(2, "node")), Ready: c.now}}
		}
	case 11:
		c.rules.ExpendableBelow = int32(-20 * c.below(2, "cutoff"))
		c.rules.StartupTime = c.startup()
	}
}

// startup is how long a node may take: what the first nodes have had, or more.
func (c *changing) startup() time.Duration {
	return time.Duration(1+2*c.below(2, "startup")) * time.Hour
}

func (c *changing) podName() string { return fmt.Sprintf("p%d", c.below(8, "pod")) }

// pod is a pod of one of a few kinds, on some node, on none, or on one that is not there.
func (c *changing) pod() *corev1.Pod {
	name := c.podName()
	p := testkit.Pod("default", name, c.one("1", "2"), "1Gi", map[string]string{"app": c.one("x", "y"), "name": name})
	p.Name, p.UID = name, types.UID(name)
	p.Spec.Priority = new(int32(-10 * c.below(2, "priority")))
	if c.below(3, "spread") == 0 {
		testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, map[string]string{c.one("app", "name"): "x"})
	}
	if c.below(2, "ends") == 0 {
		p.DeletionTimestamp = &metav1.Time{Time: testkit.Start.Add(time.Minute)}
	}
	if c.below(3, "daemon") == 0 {
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d", Controller: new(true),
		}}
	}
	if c.below(3, "bound") > 0 {
		p.Spec.NodeName = nodeName(c.below(4, "node"))
		return p
	}
	if c.below(4, "calm") == 0 {
		p.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	}
	if c.below(3, "nominated") == 0 {
		p.Status.NominatedNodeName = nodeName(c.below(4, "node"))
	}
	return p
}

func (c *changing) must(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}

// rows are the nodes of a snapshot, copied.
func rows(s *model.Snapshot) (out []model.Node) {
	if s == nil {
		return nil
	}
	for _, n := range s.Nodes {
		out = append(out, *n)
	}
	return out
}

// TestKeptIsCounted: whatever changes, a snapshot that takes over from the one before is the one that takes over
// nothing, and the one before stays as it was.
func TestKeptIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChanging(t)
		var prev *model.Snapshot
		var was string // its nodes
		for range rapid.IntRange(2, 20).Draw(t, "turns") {
			for range c.below(4, "changes") {
				c.change()
			}
			c.cloud.AsOf = c.now
			seen, err := c.scene.Observe(c.cloud, nil, c.now)
			c.must(err)
			warm := snapshot.New(prev, seen, c.standing, c.rules)
			cold := snapshot.New(nil, seen, c.standing, c.rules)
			if kept := fmt.Sprintf("%+v", rows(prev)); prev != nil && kept != was {
				t.Fatalf("the snapshot before was\n%s\nand is now\n%s", was, kept)
			}
			prev, was = warm, fmt.Sprintf("%+v", rows(warm))
			x, y := reflect.ValueOf(*warm), reflect.ValueOf(*cold)
			for i := range x.NumField() {
				if a, b := x.Field(i).Interface(), y.Field(i).Interface(); !reflect.DeepEqual(a, b) {
					t.Fatalf("%s: with the snapshot before\n%+v\nwithout\n%+v", x.Type().Field(i).Name, a, b)
				}
			}
		}
	})
}
