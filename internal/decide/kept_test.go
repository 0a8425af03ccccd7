package decide_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// thinning is a small cluster with room to spare that changes at random, seen through the stores that watches fill.
type thinning struct {
	t        *rapid.T
	scene    *observe.Scene
	cloud    provider.Inventory
	standing model.Standing
	policy   model.Policy
	now      time.Time
}

const thinningNodes = 6

func newThinning(t *rapid.T) *thinning {
	k := testkit.New()
	for _, zone := range []string{"a", "b"} {
		k.Group(zone, 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: zone}))
	}
	for i := range thinningNodes {
		zone := string(rune('a' + i%2))
		k.AddNode(testkit.Node(fmt.Sprintf("n%d", i), "4", "16Gi", map[string]string{corev1.LabelTopologyZone: zone}), zone)
	}
	var objects []runtime.Object
	for _, o := range k.Objects() {
		objects = append(objects, observe.Cut(o))
	}
	scene, err := observe.NewScene(objects, observe.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	c := &thinning{t: t, scene: scene, cloud: k.Inventory(), policy: testkit.Policy(), now: testkit.Start,
		standing: model.Standing{Nodes: map[string]model.NodeStanding{}}}
	c.policy.ScaleDown.Threshold, c.policy.ScaleDown.MaxDrains = 1.1, 3
	for range c.below(12, "pods") {
		c.put(c.pod())
	}
	return c
}

func (c *thinning) below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

func (c *thinning) node() string { return fmt.Sprintf("n%d", c.below(thinningNodes, "node")) }

func (c *thinning) put(o runtime.Object) {
	if err := c.scene.Put(observe.Cut(o)); err != nil {
		c.t.Fatal(err)
	}
}

// change does one thing to the cluster, to what the ledger knows or to the policy.
func (c *thinning) change() {
	switch c.below(13, "change") {
	case 0, 1, 2, 3:
		c.put(c.pod())
	case 4:
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d", c.below(12, "pod"))}}
		if err := c.scene.Drop(p); err != nil {
			c.t.Fatal(err)
		}
	case 5, 6:
		name := fmt.Sprintf("b%d", c.below(3, "budget"))
		c.put(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.app()}}},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(c.below(3, "allowed"))},
		})
	case 7:
		c.now = c.now.Add(time.Duration(1+c.below(40, "minutes")) * time.Minute)
	case 8:
		c.standing.Nodes = map[string]model.NodeStanding{
			c.node(): {UnneededSince: c.now}, c.node(): {UnneededSince: testkit.Start},
		}
	case 9:
		c.policy.ScaleDown.Drain.SkipSystem = c.below(2, "system") == 0
		c.policy.ScaleDown.Drain.MinReplicas = 3 * c.below(2, "replicas")
	case 10:
		c.policy.Rules.ExpendableBelow = int32(-20 * c.below(2, "cutoff"))
	case 11:
		again := c.now.Add(-time.Duration(c.below(20, "minutes")) * time.Minute)
		c.standing.Displaced = map[types.UID]model.Displaced{
			testkit.Pod("default", c.app(), "", "", nil).OwnerReferences[0].UID: {
				First: again, Last: again, Again: again, Resting: testkit.Start.Add(-time.Hour), Times: 1, Came: true},
		}
	case 12:
		n := testkit.Node(c.node(), "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"})
		n.Spec.ProviderID = "test:" + n.Name
		n.Status.Conditions[0].Status = rapid.SampledFrom([]corev1.ConditionStatus{"True", "False"}).Draw(c.t, "ready")
		c.put(n)
	}
}

func (c *thinning) app() string { return rapid.SampledFrom([]string{"x", "y"}).Draw(c.t, "app") }

// pod is a pod of one of a few kinds, on some node or on none.
func (c *thinning) pod() *corev1.Pod {
	app := c.app()
	namespace := rapid.SampledFrom([]string{"default", "default", metav1.NamespaceSystem}).Draw(c.t, "namespace")
	p := testkit.Pod(namespace, app, rapid.SampledFrom([]string{"500m", "1", "2"}).Draw(c.t, "cpu"), "1Gi",
		map[string]string{"app": app})
	p.Name = fmt.Sprintf("p%d", c.below(12, "pod"))
	p.UID, p.Spec.NodeName = types.UID(p.Name), c.node()
	switch c.below(12, "kind") {
	case 0:
		p.OwnerReferences = nil
	case 1:
		p.OwnerReferences[0].Kind = "StatefulSet"
	case 2:
		p.OwnerReferences[0].Kind = "DaemonSet"
	case 3:
		long := rapid.SampledFrom([]string{"true", "30m"}).Draw(c.t, "long")
		p.Annotations = map[string]string{model.AnnotationDoNotDisrupt: long}
	case 4:
		p.Spec.Priority = new(int32(-15))
	case 5:
		p.DeletionTimestamp = &metav1.Time{Time: c.now.Add(time.Minute)}
	case 6:
		p.Spec.NodeName = ""
	case 7:
		testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, map[string]string{"app": "x"})
	}
	return p
}

// TestKeptSavesWorkOnly: whatever changes, a Decider that has decided before makes the plan of one that has not.
func TestKeptSavesWorkOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newThinning(t)
		var d decide.Decider
		defer d.Close()
		var prev *model.Snapshot
		for turn := range rapid.IntRange(2, 10).Draw(t, "turns") {
			for range c.below(3, "changes") {
				c.change()
			}
			c.cloud.AsOf = c.now
			seen, err := c.scene.Observe(c.cloud, nil, c.now)
			if err != nil {
				t.Fatal(err)
			}
			prev = snapshot.New(prev, seen, c.standing, c.policy.Rules)
			warm := d.Decide(prev, c.policy)
			cold := decide.Decide(snapshot.New(nil, seen, c.standing, c.policy.Rules), c.policy)
			if differs := decide.Differences(warm, cold); len(differs) > 0 {
				t.Fatalf("turn %d: %v differ\n%+v\nfrom nothing\n%+v", turn, differs, warm, cold)
			}
		}
	})
}
