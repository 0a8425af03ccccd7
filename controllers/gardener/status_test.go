package gardener

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestALostRaceHidesNothing: if another client wrote the status first, the objects are read again
// without an error. A machine deployment that could not be written before is still reported.
func TestALostRaceHidesNothing(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	refused := fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)
	b.writer = interceptor.NewClient(b.api.WithWatch, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused },
		SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return apierrors.NewConflict(schema.GroupResource{Group: workerKind.Group, Resource: "workers"}, "s",
				errors.New("changed"))
		},
	})
	result, err := b.Reconcile(t.Context(), request)
	if !errors.Is(err, refused) || result.RequeueAfter != 0 {
		t.Errorf("got %v, %v", result, err)
	}
}
