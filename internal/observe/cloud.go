package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// refreshGap is the least time between the beginnings of two reads of the
// cloud while pokes keep coming.
const refreshGap = time.Second

// cloud reads the provider's inventory in the background: each interval, and
// soon after a poke.
type cloud struct {
	provider provider.Provider
	interval time.Duration
	deadline time.Duration // of one read
	poked    chan struct{}
	// deliver takes the end of each read.
	deliver func(provider.Inventory, error)
	log     *slog.Logger
}

// refresh asks for a read that begins after this moment. Pokes coalesce.
func (c *cloud) refresh() {
	select {
	case c.poked <- struct{}{}:
	default:
	}
}

// run reads until ctx ends.
func (c *cloud) run(ctx context.Context) {
	for {
		began := time.Now()
		inventory, err := c.read(ctx)
		if ctx.Err() != nil {
			return
		}
		c.deliver(inventory, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(c.interval))):
			continue
		case <-c.poked:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(refreshGap))):
		}
		// Pokes that came while waiting are answered by the read that follows.
		select {
		case <-c.poked:
		default:
		}
	}
}

func (c *cloud) read(ctx context.Context) (inventory provider.Inventory, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, fmt.Errorf("the cloud did not answer within %s", c.deadline))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading the cloud's inventory: the provider panicked: %v", p)
		}
	}()
	inventory, err = c.provider.Inventory(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return inventory, err
}

// notice lets a provider that notices changes by itself cause a read. If it fails, the interval
// still causes reads.
func (c *cloud) notice(ctx context.Context) {
	n, ok := c.provider.(provider.Notifier)
	if !ok {
		return
	}
	if err := n.Notify(ctx, c.refresh); err != nil && ctx.Err() == nil {
		c.log.Warn("the provider no longer reports changes; the next scan will find them", "interval",
			c.interval, "err", err)
	}
}
