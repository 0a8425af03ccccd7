package story

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// catchUpLimit bounds how long a watch may be behind.
const catchUpLimit = time.Minute

// record is all that objects of a namespace have been, from watches: nothing that was
// ever written is missed, or the record has an error.
type record struct {
	of        string // what is watched, for errors
	admin     client.WithWatch
	namespace string
	// keep takes in an object, with the lock held.
	keep func(o client.Object, gone bool) error
	// state tells what is in the record in one line, for errors.
	state func() string

	mu      sync.Mutex
	changed chan struct{}        // closed, and replaced, at each change
	at      map[types.UID]string // the resource version of each object
	err     error
	stop    func()
}

func newRecord(of string, admin client.WithWatch, namespace string) *record {
	return &record{of: of, admin: admin, namespace: namespace, changed: make(chan struct{}), at: map[types.UID]string{}}
}

// watch begins to watch the kinds of these lists.
func (r *record) watch(ctx context.Context, lists ...client.ObjectList) error {
	var watches []watch.Interface
	var running sync.WaitGroup
	ending := make(chan struct{})
	r.stop = sync.OnceFunc(func() {
		close(ending)
		for _, w := range watches {
			w.Stop()
		}
		running.Wait()
	})
	for _, list := range lists {
		w, err := r.admin.Watch(ctx, list, client.InNamespace(r.namespace))
		if err != nil {
			r.stop()
			return fmt.Errorf("watch %s: %w", r.of, err)
		}
		watches = append(watches, w)
		running.Go(func() {
			for event := range w.ResultChan() {
				r.take(event)
			}
			select {
			case <-ending:
			default:
				r.note(func() error {
					return errors.New("the API server ended a watch, so that the record has a gap; play the story again")
				})
			}
		})
	}
	return nil
}

// end ends the watches, if they have begun.
func (r *record) end() {
	if r.stop != nil {
		r.stop()
	}
}

// take takes in one event.
func (r *record) take(event watch.Event) {
	r.note(func() error {
		o, ok := event.Object.(client.Object)
		if event.Type == watch.Error || !ok {
			return fmt.Errorf("watch %s: %v", r.of, event.Object)
		}
		r.at[o.GetUID()] = o.GetResourceVersion()
		return r.keep(o, event.Type == watch.Deleted)
	})
}

// note runs f with the lock held, and wakes all goroutines that wait.
func (r *record) note(f func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, f())
	close(r.changed)
	r.changed = make(chan struct{})
}

// look returns when to look again, and what is wrong with the record.
func (r *record) look() (<-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed, r.err
}

// catchUp returns once the record has all that has been written by now to the objects of
// these lists.
func (r *record) catchUp(ctx context.Context, lists ...client.ObjectList) error {
	ctx, cancel := context.WithTimeoutCause(ctx, catchUpLimit, fmt.Errorf("the limit of %s is over", catchUpLimit))
	defer cancel()
	written := map[types.UID]string{}
	for _, list := range lists {
		if err := r.admin.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
			return fmt.Errorf("list %s: %w", r.of, err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			written[o.(client.Object).GetUID()] = o.(client.Object).GetResourceVersion()
			return nil
		}); err != nil {
			return fmt.Errorf("list %s: %w", r.of, err)
		}
	}
	for {
		r.mu.Lock()
		behind, err, changed := r.behind(written), r.err, r.changed
		r.mu.Unlock()
		if err != nil || !behind {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until the watch has seen all that was written: %w", context.Cause(ctx))
		}
	}
}

// behind reports whether an object's newest state that was seen is older than the one
// that was written. The caller holds the lock.
func (r *record) behind(written map[types.UID]string) bool {
	for uid, version := range written {
		if order, err := resourceversion.CompareResourceVersion(r.at[uid], version); err != nil || order < 0 {
			return true
		}
	}
	return false
}
