package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is the Lease that a replica waits for. It tries for ever, so that a refusal must say
// what to grant: nothing else in the log would.
type lease struct {
	resourcelock.Interface
	namespace, name string
	observes        bool // it is an observer's
	// inLead: leading has begun and not ended, so that writes may be under way.
	inLead *atomic.Bool
}

func (l lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	return record, raw, l.hint(err)
}

func (l lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.hint(l.Interface.Create(ctx, record))
}

// Update renews the lease, or gives it away: then the record names no holder. The election
// gives it away when a renewal has failed, too, and does not wait for the writes under way.
// That is refused, so that no other process leads before the lease has lapsed.
func (l lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.inLead.Load() {
		return errors.New("give the lease away: it is held until the writes under way have ended, or it lapses")
	}
	return l.hint(l.Interface.Update(ctx, record))
}

func (l lease) hint(err error) error {
	switch {
	case !apierrors.IsForbidden(err):
		return err
	case l.observes:
		return fmt.Errorf("%w (an observer has a Lease of its own, which the rights of one that acts do not name: "+
			"give its account create on leases in namespace %s, and get and update on the one named %s, as in "+
			"docs/observe.md#rights)", err, l.namespace, l.name)
	}
	return fmt.Errorf("%w (give its account create on leases in namespace %s, and get and update on the one named %s, as "+
		"in docs/install.md#rights)", err, l.namespace, l.name)
}
