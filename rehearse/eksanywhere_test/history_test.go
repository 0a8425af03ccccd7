package eksanywhere_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// history is all that an object has ever been, as far as a function reads it.
type history struct {
	t    *testing.T
	mu   sync.Mutex
	seen []string
	end  func()
}

// follow records what a function reads of an object, from now on, without
// repetitions. Nothing is missed: it is a watch.
func (w world) follow(u *unstructured.Unstructured, read func(*unstructured.Unstructured) string) *history {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(u.GroupVersionKind())
	watch, err := w.admin.Watch(w.t.Context(), list, client.InNamespace(u.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", u.GetName())})
	if err != nil {
		w.t.Fatal(err)
	}
	h := &history{t: w.t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range watch.ResultChan() {
			object, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			h.mu.Lock()
			if now := read(object); len(h.seen) == 0 || h.seen[len(h.seen)-1] != now {
				h.seen = append(h.seen, now)
			}
			h.mu.Unlock()
		}
	}()
	h.end = func() { watch.Stop(); <-ended }
	w.t.Cleanup(h.end)
	return h
}

func (h *history) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

func (h *history) String() string { return strings.Join(h.all(), "; ") }
