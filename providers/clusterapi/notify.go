package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

const (
	// watchAgain is how long a watch that ended waits before it begins again,
	// watchDenied how long one that may not begin.
	watchAgain  = time.Second
	watchDenied = 5 * time.Minute
	// kindsAgain is how long to wait before it is asked again what is served.
	kindsAgain = 10 * time.Second
	// watchFor makes the API server end a watch now and then, so that none is
	// dead for long without being noticed.
	watchFor = 10 * time.Minute
)

// Notify watches groups and Machines, and reports changes until ctx ends. What
// may not be watched is left to the caller's own interval.
func (p *Provider) Notify(ctx context.Context, changed func()) error {
	var k kinds
	for {
		var err error
		if k, err = p.directory.kinds(ctx, p.settings); err == nil {
			break
		}
		p.log.Info("changes of Cluster API's objects cannot be watched yet", "error", err)
		if kube.Wait(ctx, kindsAgain) != nil {
			return ctx.Err()
		}
	}
	namespaces := p.settings.namespaces()
	if namespaces[0] == "" && p.memory.isNarrow(p.now()) {
		namespaces = p.settings.narrowed()
	}

	events := make(chan struct{}, 1)
	poke := func() {
		select {
		case events <- struct{}{}:
		default: // one is enough
		}
	}
	var wg sync.WaitGroup
	for _, what := range []kind{machineDeployment, machineSet, machinePool, machineKind} {
		if !k.has(what) {
			continue
		}
		for _, namespace := range namespaces {
			wg.Go(func() { p.watch(ctx, what, namespace, poke, false) })
		}
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-events:
			changed()
			_ = kube.Wait(ctx, p.memory.Rest(watchFor)) // the loop looks at ctx
		}
	}
	wg.Wait()
	return ctx.Err()
}

// watch reports every change of a kind until ctx ends. In which version the kind is
// served is asked each time: an upgrade of Cluster API may end the one before. What
// changed before it began is reported first, if missed says that something may have.
func (p *Provider) watch(ctx context.Context, what kind, namespace string, changed func(), missed bool) {
	gone := false
	for ; ctx.Err() == nil; missed = true {
		err := p.watchKind(ctx, what, namespace, changed, missed)
		if fallback := p.settings.narrowed(); apierrors.IsForbidden(err) && namespace == "" && len(fallback) > 0 {
			var wg sync.WaitGroup // as the census does
			for _, one := range fallback {
				wg.Go(func() { p.watch(ctx, what, one, changed, true) })
			}
			wg.Wait()
			return
		}
		wait, wasGone := watchAgain, gone
		gone = apierrors.IsNotFound(err)
		switch {
		case gone && !wasGone:
			p.directory.forget(p.settings.keys.group) // the version is served no more
		case kube.Withheld(err):
			wait = watchDenied
		}
		if err != nil && ctx.Err() == nil {
			p.log.Debug("a watch ended", "kind", what, "namespace", namespace, "again", wait, "error", err)
		}
		if kube.Wait(ctx, wait) != nil {
			return
		}
	}
}

func (p *Provider) watchKind(ctx context.Context, what kind, namespace string, changed func(), missed bool) error {
	k, err := p.directory.kinds(ctx, p.settings)
	if err != nil {
		return err
	}
	if !k.has(what) {
		return fmt.Errorf("find %s in %s/%s: %w", what, p.settings.keys.group, k.version, kube.ErrNotServed)
	}
	return p.watchOnce(ctx, k.resources[what], namespace, changed, missed)
}

// watchOnce watches from now on. What changed before is reported first.
func (p *Provider) watchOnce(
	ctx context.Context, r schema.GroupVersionResource, namespace string, changed func(), missed bool,
) error {
	client := p.client.Resource(r).Namespace(namespace)
	// One item is enough to learn where the watch is to begin.
	now, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("find out where to begin: %w", err)
	}
	seconds := int64(watchFor / time.Second)
	w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: now.GetResourceVersion(), TimeoutSeconds: &seconds})
	if err != nil {
		return err
	}
	defer w.Stop()
	if missed {
		changed()
	}
	for e := range w.ResultChan() {
		switch e.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			changed()
		case watch.Error:
			return errors.Join(errors.New("the watch was ended"), apierrors.FromObject(e.Object))
		}
	}
	return nil
}
