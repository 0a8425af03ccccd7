package act

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var errObserves = errors.New("this process only observes")

// Onlooker fills the loop's port Actor for a process that only observes: it begins
// no call. It has no provider and no client, so that there is nothing that it could
// write with. Its methods may be called from any goroutine.
//
// A call is on record in the ledger before it comes here (rule L1), and nobody must
// wait for what nobody does. So each ends at once, as not begun, and at no time at
// all: the ledger then takes the intent back with its next Fold. An end that is
// older than every read of the cloud leaves nothing behind: no group rests for it,
// and what the cloud says counts.
//
// The removals that others have under way are on record, too, as what a leader before
// has left behind. To give such a node back is told as done, with nothing to write:
// the ledger forgets the removal, and finds it anew as long as the node has the taint.
// Otherwise a node that the others have given back would be leaving for good.
type Onlooker struct {
	mu   sync.Mutex
	ends []model.Outcome
}

// NewOnlooker gives one that has been given no call yet.
func NewOnlooker() *Onlooker { return &Onlooker{} }

// Start begins nothing, and tells the end of each call.
func (o *Onlooker) Start(_ context.Context, calls []model.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, call := range calls {
		out := outcome(call, time.Time{})
		if out.Unchanged = call.Verb == model.Untaint; out.Unchanged {
			o.ends = append(o.ends, out)
			continue
		}
		out.Err = callError(call, provider.Transient, "not begun: "+errObserves.Error(), errObserves)
		out.Err.Code = model.CodeNotBegun
		o.ends = append(o.ends, out)
	}
}

// Collect gives the ends since it was last called.
func (o *Onlooker) Collect() []model.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	ends := o.ends
	o.ends = nil
	return ends
}

// Changed never tells: that nothing was begun is no reason to look again.
func (o *Onlooker) Changed() <-chan struct{} { return nil }

// Close has nothing to wait for.
func (o *Onlooker) Close(context.Context) error { return nil }
