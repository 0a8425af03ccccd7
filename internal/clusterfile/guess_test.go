package clusterfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// node is a node of a group as kubectl prints it; more are further lines of it.
func nodeOf(name, label, zone, age, ready string, more ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Node
metadata:
  name: %[1]s
  creationTimestamp: %[4]s
  labels: {%[2]s, topology.kubernetes.io/zone: %[3]s, kubernetes.io/hostname: %[1]s, size: %[1]s}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "%[5]s"}]
spec:
  providerID: cloud:///%[1]s
%[6]s---
`, name, label, zone, age, ready, strings.Join(more, ""))
}

// TestGuessGroups: groups by the nodes' labels, with the newest ready node as a template without what is its
// own, and with all zones that its nodes are in.
func TestGuessGroups(t *testing.T) {
	const eks, gke = "eks.amazonaws.com/nodegroup: web", "cloud.google.com/gke-nodepool: db"
	c := mustRead(t, nodeOf("w1", eks, "a", "2026-01-01T00:00:00Z", "True")+
		nodeOf("w2", eks, "b", "2026-01-02T00:00:00Z", "True", "  taints: [{key: dedicated, effect: NoSchedule}, "+
			"{key: node.kubernetes.io/memory-pressure, effect: NoSchedule}]\n")+
		nodeOf("w3", eks, "a", "2026-01-03T00:00:00Z", "False")+
		nodeOf("w4", eks, "b", "2026-01-03T00:00:00Z", "True", "  unschedulable: true\n")+
		nodeOf("d1", gke, "a", "2026-01-01T00:00:00Z", "True")+
		nodeOf("master", "role: control-plane", "a", "2026-01-01T00:00:00Z", "True")+
		`apiVersion: v1
kind: Pod
metadata: {namespace: kube-system, name: proxy-w2, annotations: {kubernetes.io/config.mirror: x}}
spec: {nodeName: w2, containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
`)
	labels := c.GuessGroups()
	want := []string{"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	var told []string
	for _, g := range c.Inventory.Groups {
		node := g.Template.Node
		told = append(told, fmt.Sprintf("%s min=%d target=%d instances=%d own=%v template=%v taints=%v places=%v static=%d",
			g.ID, g.Min, g.Target, len(g.Instances), g.OwnLabels, node.Labels, node.Spec.Taints, g.Template.Places,
			len(g.Template.Pods)))
		if node.Name != "" || node.Spec.ProviderID != "" || len(node.Status.Conditions) > 0 || g.Max < 1e6 {
			t.Errorf("group %s: template %v, maximum %d", g.ID, node, g.Max)
		}
	}
	if diff := cmp.Diff([]string{
		"db min=0 target=1 instances=1 own=[cloud.google.com/gke-nodepool] " +
			"template=map[cloud.google.com/gke-nodepool:db size:d1 topology.kubernetes.io/zone:a] taints=[] places=[] static=0",
		"web min=0 target=4 instances=4 own=[eks.amazonaws.com/nodegroup] " +
			"template=map[eks.amazonaws.com/nodegroup:web size:w2] " +
			"taints=[{dedicated  NoSchedule <nil>}] places=[{a map[topology.kubernetes.io/zone:a]} {b " +
			"map[topology.kubernetes.io/zone:b]}] static=1",
	}, told); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	// They are groups that grow: a pod that fits nowhere buys one.
	c.Objects = append(c.Objects, mustRead(t, `apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: p}
spec: {nodeSelector: {topology.kubernetes.io/zone: b}, containers: [{name: c, resources: {requests: {cpu: 3900m}}}],
  tolerations: [{key: dedicated, operator: Exists}]}
status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: q}
spec: {nodeName: w2, containers: [{name: c, resources: {requests: {cpu: 3800m}}}]}
`).Objects...)
	cycle := decide(t, c, testkit.Policy())
	if grown := cycle.Plan.Grow; len(grown) != 1 || grown[0].Group != "web" || grown[0].To != 5 {
		t.Errorf("plan: %s", cycle.Plan.Text(cycle.Snapshot))
	}
}

// TestTwoLabelsWithOneValue: groups of two clouds that have one name are two groups. A name that only one has is
// kept as it is.
func TestTwoLabelsWithOneValue(t *testing.T) {
	const at = "2026-01-01T00:00:00Z"
	c := mustRead(t, nodeOf("e1", "eks.amazonaws.com/nodegroup: workers", "a", at, "True")+
		nodeOf("g1", "cloud.google.com/gke-nodepool: workers", "b", at, "True")+
		nodeOf("g2", "cloud.google.com/gke-nodepool: workers", "b", at, "True")+
		nodeOf("g3", "cloud.google.com/gke-nodepool: db", "b", at, "True"))
	c.GuessGroups()
	var got []string
	for _, g := range c.Inventory.Groups {
		got = append(got, fmt.Sprint(g.ID, " ", g.Target, " ", g.OwnLabels))
	}
	want := []string{
		"db 1 [cloud.google.com/gke-nodepool]",
		"workers@cloud.google.com/gke-nodepool 2 [cloud.google.com/gke-nodepool]",
		"workers@eks.amazonaws.com/nodegroup 1 [eks.amazonaws.com/nodegroup]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestNoGroupsToGuess: without a label of a group there are none.
func TestNoGroupsToGuess(t *testing.T) {
	c := mustRead(t, nodeYAML)
	if labels := c.GuessGroups(); labels != nil || c.Inventory != nil {
		t.Errorf("labels %v, groups %v", labels, c.Inventory)
	}
}

// TestNotes: what is missing is told with what it means, and a dump says what the cluster really lacks.
func TestNotes(t *testing.T) {
	c := mustRead(t, nodeYAML+"---\n"+podYAML+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")
	want := []string{
		"no CSINodes: limits on volumes of a node are unknown",
		"no DaemonSets: new nodes are taken to have no DaemonSet pods",
		"no Namespaces: affinity by the labels of namespaces finds none",
		"no PersistentVolumeClaims: pods with claims cannot be placed",
		"no PersistentVolumes: zones of volumes are unknown",
		"no PodDisruptionBudgets: all evictions look allowed",
		"no StorageClasses: it is unknown where new volumes can be made",
		"left out, since deciding does not read them: Secret (1)",
	}
	if diff := cmp.Diff(want, c.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	c.Listed = strings.Fields("csinodes daemonsets namespaces persistentvolumeclaims persistentvolumes storageclasses")
	c.Unread = map[string]string{"poddisruptionbudgets": "forbidden", clusterfile.TheMemory: "forbidden, too"}
	c.Skipped = nil
	want = []string{
		"poddisruptionbudgets could not be read (forbidden): all evictions look allowed",
		"the leader's memory could not be read (forbidden, too): timers and backoffs begin again",
	}
	if diff := cmp.Diff(want, c.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestNotesOfTwoClusters: objects that another file has, too, are counted, since the files may be of two clusters.
func TestNotesOfTwoClusters(t *testing.T) {
	one, other := filepath.Join(t.TempDir(), "one.json"), filepath.Join(t.TempDir(), "other.json")
	for _, file := range []string{one, other} {
		if err := os.WriteFile(file, []byte(nodeJSON+podJSON), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := clusterfile.Read(t.Context(), []string{one, other}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "2 objects are replaced by a later one of the same name, such as Node n1 by that of " + other +
		": are the files of one cluster?"
	if notes := c.Notes(); len(c.Objects) != 2 || !slices.Contains(notes, want) {
		t.Errorf("%d objects, want 2, and the notes have no %q:\n%s", len(c.Objects), want, strings.Join(notes, "\n"))
	}
}

// TestATargetAboveTheMaximumIsTold: such a group looks as if it could grow, and does not.
func TestATargetAboveTheMaximumIsTold(t *testing.T) {
	groups := []provider.Group{{ID: "a", Max: 2, Target: 2}, {ID: "b", Max: 2, Target: 3}}
	c := clusterfile.Cluster{Inventory: &provider.Inventory{Groups: groups}}
	want := "group b is asked for 3 nodes, and its maximum is 2: it does not grow, and nothing is removed for a maximum"
	if notes := c.Notes(); notes[len(notes)-1] != want || strings.Contains(fmt.Sprint(notes), "group a") {
		t.Errorf("notes %q, want %q", notes, want)
	}
}
