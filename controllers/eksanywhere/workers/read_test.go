package workers_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

// TestRead: both versions of a machine deployment say the same, each with its own
// fields and conditions.
func TestRead(t *testing.T) {
	const head = `
metadata:
  name: c1-a
  uid: u
  resourceVersion: "12"
  generation: 4
  labels: {cluster.x-k8s.io/cluster-name: c1}
  annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1"}
  managedFields:
  - {manager: kubectl, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: plimsoll-eks-anywhere, operation: Update, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: plimsoll-eks-anywhere, operation: Apply, fieldsV1: {"f:metadata": {"f:annotations": {}}}}
spec: {clusterName: c1, replicas: 0}
`
	minSize, zero := "1", 0
	want := workers.MachineDeployment{
		Name: "c1-a", Cluster: "c1", UID: "u", ResourceVersion: "12", Generation: 4, ObservedGeneration: 3,
		Wanted: &zero, Replicas: 5, Ready: 4, Available: 3, NotReady: true, MinSize: &minSize,
		Applied: workers.Fields{"f:metadata": map[string]any{"f:annotations": map[string]any{}}},
	}
	const (
		counts = `observedGeneration: 3, replicas: 5, readyReplicas: 4, availableReplicas: 3`
		// What Cluster API writes of machines whose nodes are of another version than it
		// was told, such as images with a version of their own, or none at all.
		kubelet = `{type: RollingOut, status: "True", message: "Rolling out 5 not up-to-date replicas\n* Node.status.nodeInfo.kubeletVersion v1.33.0-eks-1, v1.33.0 required"}`
		both    = `{type: RollingOut, status: "True", message: "Rolling out 5 not up-to-date replicas\n* KwokMachine is not up-to-date\n* Node.status.nodeInfo.kubeletVersion v1.33.0-eks-1,  required"}`
		inPlace = `{type: RollingOut, status: "True", message: "Rolling out 1 not up-to-date replicas\n* In-place update in progress"}`
		silent  = `{type: RollingOut, status: "True", message: "Rolling out 1 not up-to-date replicas"}`
		other   = `{type: RollingOut, status: "False"}`
		down    = `{type: Available, status: "False"}`
	)
	updated := func(n int) string { return fmt.Sprintf(`deprecated: {v1beta1: {updatedReplicas: %d}}`, n) }
	tests := []struct {
		name, version, status string
		upToDate              int
		rolling               bool
	}{
		// By the machine sets: how many machines are of the present template.
		{"v1beta1", "v1beta1", `updatedReplicas: 2, upToDateReplicas: 9, conditions: [{type: Ready, status: "False"}, {type: Available, status: "True"}]`, 2, true},
		{"v1beta1, all replaced", "v1beta1", `updatedReplicas: 5, conditions: [{type: Ready, status: "False"}]`, 5, false},
		{"some are of an older template, though no machine says so yet", "v1beta2", `upToDateReplicas: 5, conditions: [` + down + `, ` + other + `], ` + updated(2), 2, true},
		{"none is yet of the present template", "v1beta2", `upToDateReplicas: 5, conditions: [` + down + `, ` + other + `], ` + updated(0), 0, true},
		{"growing: new machines do not know yet that they are up to date", "v1beta2", `upToDateReplicas: 2, conditions: [` + down + `, ` + other + `], ` + updated(5), 5, false},
		{"nodes of another version than the machines", "v1beta2", `upToDateReplicas: 0, conditions: [` + down + `, ` + kubelet + `], ` + updated(5), 5, false},
		{"replaced in place", "v1beta2", `upToDateReplicas: 4, conditions: [` + down + `, ` + inPlace + `], ` + updated(5), 5, true},
		{"the old conditions beside the new ones say nothing", "v1beta2", `upToDateReplicas: 5, conditions: [` + down + `, ` + other + `],
  deprecated: {v1beta1: {updatedReplicas: 5, conditions: [{type: Ready, status: "True"}, {type: RollingOut, status: "True"}]}}`, 5, false},

		// Once Cluster API no longer counts that: by what machines say of themselves.
		{"by the condition", "v1beta2", `upToDateReplicas: 2, updatedReplicas: 9, conditions: [{type: Ready, status: "True"}, ` + down + `, ` + silent + `]`, 2, true},
		{"by the condition, growing", "v1beta2", `upToDateReplicas: 2, conditions: [` + down + `, ` + other + `]`, 2, false},
		{"by the condition, nodes of another version", "v1beta2", `upToDateReplicas: 0, conditions: [` + down + `, ` + kubelet + `]`, 0, false},
		{"by the condition, and they are replaced as well", "v1beta2", `upToDateReplicas: 0, conditions: [` + down + `, ` + both + `]`, 0, true},
		{"without the condition", "v1beta2", `upToDateReplicas: 2, conditions: [` + down + `, {type: RollingOut, status: Unknown}]`, 2, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object := parse(t, head+"status: {"+counts+", "+tt.status+"}")
			got := workers.Read(object, tt.version)
			want := want
			want.UpToDate, want.Rolling, want.Object = tt.upToDate, tt.rolling, object
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("nothing there yet", func(t *testing.T) {
		got := workers.Read(
			parse(t, `{metadata: {name: x}, spec: {clusterName: c9}, status: {replicas: "many", conditions: [1]}}`), "v1beta2",
		)
		want := workers.MachineDeployment{Name: "x", Cluster: "c9", Object: got.Object}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// parse reads YAML as a client reads objects: whole numbers are int64.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return whole(object).(map[string]any)
}

func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = whole(item)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case float64:
		return int64(v)
	}
	return v
}

func TestFieldsHas(t *testing.T) {
	f := workers.Fields{"f:spec": map[string]any{
		"f:replicas": map[string]any{}, "f:template": map[string]any{"f:spec": map[string]any{"f:version": map[string]any{}}},
	}}
	tests := []struct {
		name   string
		fields workers.Fields
		path   []string
		want   bool
	}{
		{"a leaf", f, []string{"spec", "replicas"}, true},
		{"not there", f, []string{"spec", "paused"}, false},
		{"below a field that is owned as a whole", f, []string{"spec", "replicas", "deeper"}, true},
		{"above leaves", f, []string{"spec", "template"}, true},
		{"nothing owned", nil, []string{"spec"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.fields.Has(tt.path...); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestOtherWriter: who else writes the condition, where lists of conditions are
// owned as a whole, as EKS Anywhere's are, and where they are owned by item.
func TestOtherWriter(t *testing.T) {
	condition := func(reason string) v1alpha1.Condition {
		return v1alpha1.Condition{
			Type: "WorkersReady", Status: "False", Reason: reason, LastTransitionTime: "2026-01-01T00:00:00Z",
		}
	}
	wrote := func(reason string) workers.Wrote {
		return workers.Wrote{
			Last: workers.Recorded([]v1alpha1.Condition{condition(reason), workers.Record(condition(reason))}),
		}
	}
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: "Update", Subresource: "status", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const (
		list     = `{"f:status":{"f:conditions":{}}}`
		item     = `{"f:status":{"f:conditions":{"k:{\"type\":\"WorkersReady\"}":{".":{},"f:status":{}}}}}`
		sibling  = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}}}}`
		elsewhat = `{"f:status":{"f:observedGeneration":{}}}`
	)
	a, b := condition("A"), condition("B")
	tests := []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		live    v1alpha1.Condition
		wanted  v1alpha1.Condition
		wrote   workers.Wrote
		want    string
	}{
		{"it has no owner", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, v1alpha1.Condition{}, a, workers.Wrote{}, ""},
		{"it is ours", []metav1.ManagedFieldsEntry{entry("eks-a", elsewhat), entry(workers.FieldManager, list)}, a, b, workers.Wrote{}, ""},
		{"the list is another's, and another condition stands there", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, b, a, wrote("A"), "eks-a"},
		{"the list is another's, and ours still stands there", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, a, b, wrote("A"), ""},
		{"the list is another's, and nothing is remembered", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, a, b, workers.Wrote{}, "eks-a"},
		{"nothing is remembered, and there is nothing to write", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, a, a, workers.Wrote{}, ""},
		{"one who wrote another before and agrees now", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, a, a, workers.Wrote{Contested: "eks-a"}, "eks-a"},
		{"owned by item: another's", []metav1.ManagedFieldsEntry{entry("eks-a", item)}, a, a, wrote("A"), "eks-a"},
		{"owned by item: ours", []metav1.ManagedFieldsEntry{entry("eks-a", sibling), entry(workers.FieldManager, item)}, a, b, wrote("A"), ""},
		{"owned by item: another's is another condition", []metav1.ManagedFieldsEntry{entry("eks-a", sibling)}, a, b, workers.Wrote{}, ""},
		{"fields that cannot be read", []metav1.ManagedFieldsEntry{entry("eks-a", `{`)}, a, b, workers.Wrote{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := workers.OtherWriter(tt.entries, tt.live, tt.wanted, tt.wrote); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
