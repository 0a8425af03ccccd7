package clusterapi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Who applies replicas would put them back, but for the controller that hands them
// over to the autoscaler.
func TestReplicasManager(t *testing.T) {
	for manager, want := range map[string]string{"gitops": "gitops", handsOver: ""} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}})
		if got := replicasManager(o); got != want {
			t.Errorf("%s: got %q, want %q", manager, got, want)
		}
	}
}
