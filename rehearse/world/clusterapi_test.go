package world

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
)

// The world is not ready before Plimsoll's first look would find what a machine has.
func TestTemplatesTellBeforePlimsollLooks(t *testing.T) {
	told := objects.MachineTemplate(clusterAPINamespace, "told", kwokapi.KwokMachineSpec{})
	told.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	late := objects.MachineTemplate(clusterAPINamespace, "late", kwokapi.KwokMachineSpec{})
	looks := 0
	c := fake.NewClientBuilder().WithScheme(objects.Scheme()).WithObjects(told,
		late).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if looks++; looks == 3 {
				for i := range list.(*kwokapi.KwokMachineTemplateList).Items {
					list.(*kwokapi.KwokMachineTemplateList).Items[i].Status.Capacity = told.Status.Capacity
				}
			}
			return err
		},
	}).Build()
	if err := templatesTold(t.Context(), c); err != nil || looks != 3 {
		t.Errorf("it returned %v after %d looks, want 3", err, looks)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := templatesTold(ended, c); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "[late]") {
		t.Errorf("in the end it said %v", err)
	}
}
