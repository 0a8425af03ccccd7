package workers_test

import (
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
		Wanted: &zero, Replicas: 5, Ready: 4, Available: 3, UpToDate: 2, NotReady: true, MinSize: &minSize,
		Applied: workers.Fields{"f:metadata": map[string]any{"f:annotations": map[string]any{}}},
	}
	tests := []struct {
		name, version, status string
		rolling               workers.Answer
	}{
		{"v1beta2", "v1beta2", `
status: {observedGeneration: 3, replicas: 5, readyReplicas: 4, availableReplicas: 3, upToDateReplicas: 2, updatedReplicas: 9, conditions: [
  {type: Ready, status: "True"}, {type: Available, status: "False"}, {type: RollingOut, status: "True"}]}`, workers.Yes},
		{"v1beta2, not rolling", "v1beta2", `
status: {observedGeneration: 3, replicas: 5, readyReplicas: 4, availableReplicas: 3, upToDateReplicas: 2, conditions: [
  {type: Available, status: "False"}, {type: RollingOut, status: "False"}]}`, workers.No},
		{"v1beta2, the old condition beside the new ones says nothing", "v1beta2", `
status: {observedGeneration: 3, replicas: 5, readyReplicas: 4, availableReplicas: 3, upToDateReplicas: 2, conditions: [
  {type: Available, status: "False"}, {type: RollingOut, status: Unknown}], deprecated: {v1beta1: {conditions: [{type: Ready, status: "True"}]}}}`, workers.Unknown},
		{"v1beta1", "v1beta1", `
status: {observedGeneration: 3, replicas: 5, readyReplicas: 4, availableReplicas: 3, updatedReplicas: 2, upToDateReplicas: 9, conditions: [
  {type: Ready, status: "False"}, {type: Available, status: "True"}]}`, workers.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object := parse(t, head+tt.status)
			got := workers.Read(object, tt.version)
			want := want
			want.RollingOut, want.Object = tt.rolling, object
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("nothing there yet", func(t *testing.T) {
		got := workers.Read(parse(t, `{metadata: {name: x}, spec: {clusterName: c9}, status: {replicas: "many", conditions: [1]}}`), "v1beta2")
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
	f := workers.Fields{"f:spec": map[string]any{"f:replicas": map[string]any{}, "f:template": map[string]any{"f:spec": map[string]any{"f:version": map[string]any{}}}}}
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
		return v1alpha1.Condition{Type: "WorkersReady", Status: "False", Reason: reason, LastTransitionTime: "2026-01-01T00:00:00Z"}
	}
	wrote := func(reason string) workers.Wrote {
		return workers.Wrote{Last: workers.Recorded([]v1alpha1.Condition{condition(reason), workers.Record(condition(reason))})}
	}
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", Subresource: "status", FieldsV1: metav1.NewFieldsV1(fields)}
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
		{"nobody has written it", []metav1.ManagedFieldsEntry{entry("eks-a", list)}, v1alpha1.Condition{}, a, workers.Wrote{}, ""},
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
