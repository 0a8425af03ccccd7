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

// Onlooker fills the loop's port Actor for a process that only observes: it begins no call. It has
// no provider and no client, so it cannot write. Its methods may be called from any goroutine.
//
// A call is in the ledger before it comes here (rule L1), and must not be awaited. So each ends at
// once, as not begun, at the zero time: the ledger then withdraws the intent with its next Fold. An
// end older than every read of the cloud leaves nothing behind: no group backs off for it, and the
// cloud's answer counts.
//
// Removals by others are in the ledger, too, as if an earlier leader had left them. Their rollback
// is reported as done, with nothing to write: the ledger forgets the removal, and finds it again as
// long as the node has the taint. Otherwise a node that the others rolled back would be leaving for
// ever.
type Onlooker struct {
	mu   sync.Mutex
	ends []model.Outcome
}

// NewOnlooker makes an Onlooker.
func NewOnlooker() *Onlooker { return &Onlooker{} }

// Start begins nothing, and reports the end of each call.
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

// Collect returns the ends since it was last called.
func (o *Onlooker) Collect() []model.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	ends := o.ends
	o.ends = nil
	return ends
}

// Changed never signals: a call that did not begin is no reason to look again.
func (o *Onlooker) Changed() <-chan struct{} { return nil }

// Close has nothing to wait for.
func (o *Onlooker) Close(context.Context) error { return nil }
