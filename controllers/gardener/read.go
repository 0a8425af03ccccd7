package gardener

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
)

// seen is what there is in a Worker's namespace, as a reader has it.
func (r *reconciler) seen(ctx context.Context, from client.Reader, worker v1alpha1.Worker) (pools.Seen, error) {
	var s pools.Seen
	deployments := &unstructured.UnstructuredList{}
	deployments.SetGroupVersionKind(deploymentKind)
	if err := from.List(ctx, deployments, client.InNamespace(worker.Namespace)); err != nil {
		return s, fmt.Errorf("list machine deployments in namespace %s: %w", worker.Namespace, err)
	}
	for _, item := range deployments.Items {
		s.MachineDeployments = append(s.MachineDeployments, pools.Read(item.Object))
	}
	classes := &metav1.PartialObjectMetadataList{}
	classes.SetGroupVersionKind(classKind)
	if err := r.reader.List(ctx, classes, client.InNamespace(worker.Namespace)); err != nil {
		return s, fmt.Errorf("list machine classes in namespace %s: %w", worker.Namespace, err)
	}
	for _, c := range classes.Items {
		s.MachineClasses = append(s.MachineClasses, pools.MachineClass{
			Name: c.Name, Created: c.CreationTimestamp.UTC().Format(time.RFC3339), Deleting: c.DeletionTimestamp != nil,
		})
	}
	if state := worker.Status.State; state != nil {
		s.Restored = map[string]int32{}
		for name, d := range state.MachineDeployments {
			s.Restored[name] = d.Replicas
		}
	}
	return s, nil
}
