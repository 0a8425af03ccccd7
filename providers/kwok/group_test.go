package kwok

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aNode is a live node as a kubelet leaves it: with a past, an identity and
// all that a template must not inherit.
func aNode(name string, labels map[string]string) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "4711", Generation: 3,
			CreationTimestamp: metav1.NewTime(time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)),
			OwnerReferences:   []metav1.OwnerReference{{Kind: "Machine", Name: name}},
			Finalizers:        []string{"example.com/keep"},
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
			Labels:            map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
			Annotations:       map[string]string{"node.alpha.kubernetes.io/ttl": "0"},
		},
		Spec: corev1.NodeSpec{
			PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24"}, ProviderID: "real://" + name, Unschedulable: true,
			Taints: []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
				{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
				{Key: "ToBeDeletedByClusterAutoscaler", Value: "1714521600", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Capacity:    resources("8", "32Gi", "110"),
			Allocatable: resources("7800m", "30Gi", "110"),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}},
			Images:      []corev1.ContainerImage{{Names: []string{"busybox"}}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: "abc", KubeletVersion: "v1.37.0", Architecture: "amd64", OperatingSystem: "linux",
			},
			Phase: corev1.NodeRunning,
		},
	}
	for k, v := range labels {
		n.Labels[k] = v
	}
	return n
}

func resources(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse(pods),
	}
}

func clusterOf(nodes ...*corev1.Node) source {
	src := source{
		name:  "the cluster",
		rules: rules{ofCluster: true, suffix: clusterSuffix, keys: []nameKey{{key: labelGKEPool}, {key: labelEKSGroup}}},
	}
	for _, n := range nodes {
		src.nodes = append(src.nodes, template{where: "node \"" + n.Name + "\"", node: n})
	}
	return src
}

func mustBuild(t *testing.T, src source) []group {
	t.Helper()
	groups, _, err := buildGroups(src)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func groupNames(groups []group) []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

var drawn = regexp.MustCompile(`^kwok-[a-z]{8}$`)

// Example 1 of the provider's proposal: on a kind cluster no node tells its
// group, so each gets one of its own, under a drawn name that lasts.
func TestExample1Kind(t *testing.T) {
	controlPlane := aNode("kind-control-plane", map[string]string{"node-role.kubernetes.io/control-plane": ""})
	controlPlane.Spec.Taints = append(controlPlane.Spec.Taints, corev1.Taint{
		Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule,
	})
	worker := aNode("worker-node-1", nil)

	groups := mustBuild(t, clusterOf(controlPlane, worker))

	if len(groups) != 2 {
		t.Fatalf("groups %v, want one for each of the two nodes", groupNames(groups))
	}
	for _, g := range groups {
		if !drawn.MatchString(g.name) {
			t.Errorf("name %q is not a drawn one", g.name)
		}
		if g.counts != (counts{0, 200, 0}) {
			t.Errorf("%s: counts %+v, want 0, 200, 0", g.name, g.counts)
		}
		if m := g.node.ObjectMeta; m.Name != "" || m.UID != "" || m.ResourceVersion != "" || m.Generation != 0 ||
			!m.CreationTimestamp.IsZero() {
			t.Errorf("%s: the template was not sanitised: %+v", g.name, m)
		}
	}
	again := mustBuild(t, clusterOf(worker, controlPlane))
	if diff := cmp.Diff(groupNames(groups), groupNames(again)); diff != "" {
		t.Errorf("the next start draws other names, or the order of the LIST matters:\n%s", diff)
	}
	worker.Labels["new"] = "label"
	worker.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("30000000Ki")
	if diff := cmp.Diff(groupNames(groups), groupNames(mustBuild(t, clusterOf(controlPlane, worker)))); diff != "" {
		t.Errorf("a live node that changed a little lost its group:\n%s", diff)
	}
}

// Example 2 of the provider's proposal: on GKE the node pools become groups,
// named apart from the real ones, with the first node of each as template.
func TestExample2GKE(t *testing.T) {
	pool := func(name string) map[string]string { return map[string]string{labelGKEPool: name} }
	first, second := aNode("gke-cluster-1-default-pool-abc", pool("default-pool")), aNode("gke-cluster-1-default-pool-xyz",
		pool("default-pool"))
	second.Status.Allocatable = resources("1", "1Gi", "10")
	third := aNode("gke-cluster-1-pool-1-lmn", pool("pool-1"))

	groups, notices, err := buildGroups(clusterOf(third, second, first))

	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default-pool-kwok", "pool-1-kwok"}, groupNames(groups)); diff != "" {
		t.Fatal(diff)
	}
	for _, g := range groups {
		if g.counts != (counts{0, 200, 0}) {
			t.Errorf("%s: counts %+v, want 0, 200, 0", g.name, g.counts)
		}
		if diff := cmp.Diff([]string{labelGKEPool}, g.ownLabels); diff != "" {
			t.Errorf("%s: own labels:\n%s", g.name, diff)
		}
	}
	if got := groups[0].node.Status.Allocatable.Cpu().String(); got != "7800m" {
		t.Errorf("default-pool-kwok has %s CPU: its template is not the first node by name", got)
	}
	if len(notices) != 1 || !strings.Contains(notices[0].Message, "gke-cluster-1-default-pool-xyz") {
		t.Errorf("notices %v, want one that names the node that differs", notices)
	}
}

func TestClusterNamesInOrder(t *testing.T) {
	everything := aNode("a", map[string]string{labelGKEPool: "gke", labelEKSGroup: "eks", "team": "blue"})
	everything.Annotations[annotationGroup] = "ours"
	src := clusterOf(everything,
		aNode("b", map[string]string{labelGKEPool: "gke", labelEKSGroup: "eks", "team": "blue"}),
		aNode("c", map[string]string{labelEKSGroup: "eks", "team": "blue"}),
		aNode("d", map[string]string{"team": "blue"}))
	src.rules.keys = append(src.rules.keys, nameKey{key: "team", required: true})
	if diff := cmp.Diff([]string{"blue-kwok", "eks-kwok", "gke-kwok", "ours"}, groupNames(mustBuild(t, src))); diff != "" {
		t.Error(diff)
	}
}

func TestOwnNodesAreNeverTemplates(t *testing.T) {
	g := mustBuild(t, clusterOf(aNode("worker", map[string]string{labelGKEPool: "pool"})))[0]
	src := clusterOf(aNode("worker", map[string]string{labelGKEPool: "pool"}), nodeOf(g, "pool-kwok-bcdfg"))
	if diff := cmp.Diff([]string{"pool-kwok"}, groupNames(mustBuild(t, src))); diff != "" {
		t.Error(diff)
	}
	if _, _, err := buildGroups(clusterOf(nodeOf(g, "pool-kwok-bcdfg"))); err == nil {
		t.Error("a cluster of nothing but simulated nodes made groups")
	}
}

func TestSanitised(t *testing.T) {
	original := aNode("worker", map[string]string{
		"keep": "me", "alpha.eksctl.io/instance-id": "i-1", corev1.LabelTopologyZone: "z1",
	})
	keep := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	original.Spec.Taints = append(original.Spec.Taints, keep)
	before := original.DeepCopy()

	g := mustBuild(t, clusterOf(original))[0]
	node := nodeOf(g, "some-name")

	want := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "some-name",
			Labels: map[string]string{"keep": "me", corev1.LabelOSStable: "linux", corev1.LabelTopologyZone: "z1",
				corev1.LabelHostname: "some-name"},
			Annotations: map[string]string{annotationFake: "fake", annotationGroup: g.name,
				annotationMetrics: "/metrics/nodes/some-name/metrics/resource"},
		},
		Spec: corev1.NodeSpec{ProviderID: "kwok:some-name", Taints: []corev1.Taint{keep}},
		Status: corev1.NodeStatus{
			Capacity: before.Status.Capacity, Allocatable: before.Status.Allocatable,
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "fake", Architecture: "amd64", OperatingSystem: "linux"},
		},
	}
	if diff := cmp.Diff(want, node); diff != "" {
		t.Errorf("created node (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, original); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
	if g.node.Name != "" || g.node.Labels[corev1.LabelHostname] != "" {
		t.Errorf("making a node changed the template: %+v", g.node.ObjectMeta)
	}
}

func TestNodesThatCannotBeTemplatesAreSkippedInACluster(t *testing.T) {
	joining := aNode("joining", nil)
	joining.Status = corev1.NodeStatus{}
	groups, notices, err := buildGroups(clusterOf(joining, aNode("ready", map[string]string{labelEKSGroup: "g"})))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"g-kwok"}, groupNames(groups)); diff != "" {
		t.Error(diff)
	}
	if len(notices) != 1 || !strings.Contains(notices[0].Message, `node "joining": status.allocatable[cpu]`) {
		t.Errorf("notices: %v", notices)
	}
}

func TestAKeyThatNoNodeHas(t *testing.T) {
	src := clusterOf(aNode("a", map[string]string{"team": "blue"}), aNode("b", map[string]string{"rack": "7"}))
	src.rules.keys = append(src.rules.keys, nameKey{key: "taem", required: true})
	_, _, err := buildGroups(src)
	want := `the cluster: no node has the label "taem" by which groups are to be named; the keys that do exist are kubernetes.io/hostname, kubernetes.io/os, rack, team`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}
