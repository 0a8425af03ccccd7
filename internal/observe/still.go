package observe

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Kind is one kind of object that the observer reads.
type Kind struct {
	// Resource is its name in permissions, in the plural.
	Resource string
	// Example is an empty object of the kind.
	Example runtime.Object
}

// Kinds lists what the observer reads.
func Kinds() []Kind {
	var out []Kind
	for _, s := range unwatched(Settings{}).sources {
		out = append(out, Kind{s.resource, s.example})
	}
	return out
}

// unwatched is an observer that nothing fills but its caller.
func unwatched(s Settings) *Observer {
	return New(&kubernetes.Clientset{}, nil, s, slog.New(slog.DiscardHandler))
}

// Still makes an Observation of objects that are cut down (Cut) and of a picture of the cloud, by the
// same stores that watches fill. cloudErr says why there is no picture of the cloud; nil if there is
// one.
func Still(
	objects []runtime.Object, cloud provider.Inventory, cloudErr error, s Settings, now time.Time,
) (model.Observation, error) {
	o := unwatched(s)
	byKind := map[reflect.Type][]any{}
	for _, obj := range objects {
		if m, ok := obj.(*corev1.ConfigMap); ok && m.Namespace != s.Namespace {
			continue
		}
		kind := reflect.TypeOf(obj)
		byKind[kind] = append(byKind[kind], obj)
	}
	for _, source := range o.sources {
		if err := (tracked{source.into, source}).Replace(byKind[reflect.TypeOf(source.example)], ""); err != nil {
			return model.Observation{}, fmt.Errorf("observe: take in %s: %w", source.resource, err)
		}
	}
	o.deliver(cloud, cloudErr)
	return o.Observe(context.Background(), now)
}

// List reads the cluster once, in pages, and cuts it down. unread has the kinds that could not be read;
// nothing of those is in the list.
func List(
	ctx context.Context, client kubernetes.Interface, s Settings,
) (objects []runtime.Object, unread map[string]error) {
	unread = map[string]error{}
	for _, source := range New(client, nil, s, slog.New(slog.DiscardHandler)).sources {
		var found []runtime.Object
		lister := cache.ToListerWatcherWithContext(source.lister)
		err := pager.New(lister.ListWithContext).EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
			if cut := Cut(obj); cut != nil {
				found = append(found, cut)
			}
			return nil
		})
		if err != nil {
			unread[source.resource] = err
			continue
		}
		objects = append(objects, found...)
	}
	return objects, unread
}
