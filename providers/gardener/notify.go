package gardener

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// longestRest bounds how long changes are not reported after one was.
const longestRest = 5 * time.Minute

// Notify watches the namespace and reports changes until ctx ends. What an informer
// remembers is used for nothing else, and kept as small as it can be.
func (p *Provider) Notify(ctx context.Context, changed func()) error {
	events := make(chan struct{}, 1)
	poke := func(any) {
		select {
		case events <- struct{}{}:
		default: // one is enough
		}
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(p.client, 0, p.settings.namespace, nil)
	for _, resource := range []string{v1alpha1.ResourceMachineDeployments, v1alpha1.ResourceMachineSets,
		v1alpha1.ResourceMachines, v1alpha1.ResourceMachineClasses} {
		informer := factory.ForResource(v1alpha1.Resource(resource)).Informer()
		if err := prepare(informer, poke, func(err error) {
			p.log.Debug("a watch ended, and begins again", "resource", resource, "error", err)
		}); err != nil {
			return fmt.Errorf("watch %s: %w", resource, err)
		}
	}
	factory.Start(ctx.Done())
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-events:
			changed()
			_ = kube.Wait(ctx, p.memory.Rest(longestRest)) // the loop looks at ctx
		}
	}
	factory.Shutdown()
	return ctx.Err()
}

func prepare(informer cache.SharedIndexInformer, poke func(any), ended func(error)) error {
	if err := informer.SetTransform(slim); err != nil {
		return err
	}
	if err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { ended(err) }); err != nil {
		return err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: poke, DeleteFunc: poke,
		UpdateFunc: func(_, now any) { poke(now) },
	})
	return err
}

// slim leaves of an object what an informer needs to tell it from others.
func slim(o any) (any, error) {
	whole, ok := o.(metav1.Object)
	if !ok {
		return o, nil
	}
	small := &unstructured.Unstructured{}
	small.SetNamespace(whole.GetNamespace())
	small.SetName(whole.GetName())
	small.SetUID(whole.GetUID())
	small.SetResourceVersion(whole.GetResourceVersion())
	return small, nil
}
