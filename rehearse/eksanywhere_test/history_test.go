package eksanywhere_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// history is all that an object has ever been, as far as a function reads it.
type history struct {
	w      world
	object *unstructured.Unstructured
	read   func(*unstructured.Unstructured) string

	mu      sync.Mutex
	seen    []string
	at      string        // the resource version that was seen last
	err     error         // what is wrong with the record
	changed chan struct{} // closed when any of these changes
	ended   bool          // by us
}

// follow records what a function reads of an object, from now on, without
// repetitions. Nothing is missed: it is a watch, and a test whose watch has failed
// or ended fails.
func (w world) follow(u *unstructured.Unstructured, read func(*unstructured.Unstructured) string) *history {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(u.GroupVersionKind())
	// The test's own context ends before its cleanup: then the end of the watch would
	// look like a failure.
	events, err := w.admin.Watch(context.WithoutCancel(w.t.Context()), list, client.InNamespace(u.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", u.GetName())})
	if err != nil {
		w.t.Fatal(err)
	}
	h := &history{w: w, object: u, read: read, changed: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for e := range events.ResultChan() {
			h.take(e)
		}
		h.fail(errors.New("the watch ended"))
	}()
	w.t.Cleanup(func() {
		h.mu.Lock()
		h.ended = true
		h.mu.Unlock()
		events.Stop()
		<-over
		if h.err != nil {
			w.t.Errorf("follow %s: %v", u.GetName(), h.err)
		}
	})
	return h
}

func (h *history) take(e watch.Event) {
	object, ok := e.Object.(*unstructured.Unstructured)
	if e.Type == watch.Error || !ok {
		h.fail(errors.Join(errors.New("the watch failed"), apierrors.FromObject(e.Object)))
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.read(object); len(h.seen) == 0 || h.seen[len(h.seen)-1] != now {
		h.seen = append(h.seen, now)
	}
	h.at = object.GetResourceVersion()
	h.tell()
}

func (h *history) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.err = errors.Join(h.err, err)
	h.tell()
}

// tell wakes who waits. The caller holds the lock.
func (h *history) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// all is the history up to what is written by now.
func (h *history) all() []string {
	h.w.t.Helper()
	if err := h.catchUp(); err != nil {
		h.w.t.Fatalf("follow %s: %v", h.object.GetName(), err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

// catchUp returns once the watch has seen what is written by now.
func (h *history) catchUp() error {
	ctx, cancel := context.WithTimeout(h.w.t.Context(), patience)
	defer cancel()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(h.object.GroupVersionKind())
	if err := h.w.admin.Get(ctx, client.ObjectKeyFromObject(h.object), live); err != nil {
		return fmt.Errorf("find out how far the watch must come: %w", err)
	}
	for {
		h.mu.Lock()
		at, err, changed := h.at, h.err, h.changed
		h.mu.Unlock()
		if err != nil {
			return err
		}
		if order, err := resourceversion.CompareResourceVersion(at, live.GetResourceVersion()); err == nil && order >= 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until the watch has come from resource version %q to %s: %w",
				at, live.GetResourceVersion(), ctx.Err())
		}
	}
}

func (h *history) String() string { return strings.Join(h.all(), "; ") }
