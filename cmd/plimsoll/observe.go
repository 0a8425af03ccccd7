package main

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/act"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// hand is the loop's Actor as its host needs it.
type hand interface {
	loop.Actor
	// Changed says that a call has ended; Close waits for those under way.
	Changed() <-chan struct{}
	Close(context.Context) error
}

// newHand gives what carries out the plans on a cloud. On one that can only be
// read, that is an onlooker, which carries out nothing.
func newHand(
	cloud provider.Provider, client kubernetes.Interface, may func() error, ended func(), log *slog.Logger,
) hand {
	if _, only := cloud.(readOnly); only {
		return act.NewOnlooker()
	}
	return act.New(cloud, client, may, ended, act.Live{}, log)
}

// newRecorder gives what sends events, if any are to be sent, and what ends it.
func newRecorder(mode config.Mode, client kubernetes.Interface) (record.EventRecorder, func()) {
	if mode.Observe && !mode.Events {
		return report.Silent(), func() {}
	}
	return report.NewRecorder(client)
}

// readOnly is a cloud that can only be read. It holds no provider, but the parts of
// one that read: no caller can reach the others, nor those that a process uses when
// it begins to lead or ends (provider.Starter, provider.Closer).
type readOnly struct {
	inventory func(context.Context) (provider.Inventory, error)
	notify    func(context.Context, func()) error // nil: it reports no changes
}

var (
	_ provider.Provider = readOnly{}
	_ provider.Notifier = readOnly{}
)

// onlyRead gives what may be seen of a cloud.
func onlyRead(cloud provider.Provider) readOnly {
	r := readOnly{inventory: cloud.Inventory}
	if n, ok := cloud.(provider.Notifier); ok {
		r.notify = n.Notify
	}
	return r
}

// watched gives what an observer of the cluster needs of a cloud, and reports each read
// that fails. A read that ends because no caller waits for it any more has not failed.
func watched(cloud provider.Provider, failed func(error)) readOnly {
	r := onlyRead(cloud)
	read := r.inventory
	r.inventory = func(ctx context.Context) (inventory provider.Inventory, err error) {
		err = errPanicked // what stands if the read does not return: who asked recovers
		defer func() {
			if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
				failed(err)
			}
		}()
		return read(ctx)
	}
	return r
}

var errPanicked = errors.New("the provider panicked")

// Inventory is the cloud's own.
func (r readOnly) Inventory(ctx context.Context) (provider.Inventory, error) { return r.inventory(ctx) }

// Notify is the cloud's own, if it has that.
func (r readOnly) Notify(ctx context.Context, changed func()) error {
	if r.notify == nil {
		<-ctx.Done()
		return nil
	}
	return r.notify(ctx, changed)
}

// Grow grows nothing.
func (r readOnly) Grow(_ context.Context, q provider.GrowRequest) (provider.GrowResult, error) {
	return provider.GrowResult{}, refusal(provider.OpGrow, q.Group)
}

// Remove removes nothing.
func (r readOnly) Remove(_ context.Context, q provider.RemoveRequest) (provider.RemoveResult, error) {
	return provider.RemoveResult{}, refusal(provider.OpRemove, q.Group)
}

// Cancel cancels nothing.
func (r readOnly) Cancel(_ context.Context, q provider.CancelRequest) (provider.CancelResult, error) {
	return provider.CancelResult{}, refusal(provider.OpCancel, q.Group)
}

func refusal(op provider.Op, group provider.GroupID) *provider.Error {
	return &provider.Error{
		Op: op, Group: group, Kind: provider.Unsupported, Message: "this process only observes (--mode=observe)",
	}
}
