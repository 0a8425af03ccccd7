package sim

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// cloudFront is the cloud as one leader's actor calls it: its writes take their time, and meet the
// faults of writes. The leader's reader reads it.
type cloudFront struct{ l *leader }

// Inventory is not called: act reads nothing of the cloud.
func (f cloudFront) Inventory(context.Context) (provider.Inventory, error) {
	return provider.Inventory{}, &provider.Error{Op: provider.OpInventory, Kind: provider.Unsupported}
}

// Grow raises a target.
func (f cloudFront) Grow(ctx context.Context, req provider.GrowRequest) (result provider.GrowResult, err error) {
	w, call := f.l.w, f.l.callOf(model.Grow, func(c *model.Call) bool { return c.Group == req.Group && c.To == req.To })
	sent := w.writeCloud(ctx, model.Grow, req.Group, func() {
		w.judge.causes[""] = call.ID
		result, err = w.cloud.Grow(background, req)
	})
	if sent != nil {
		return provider.GrowResult{}, sent
	}
	return result, err
}

// Cancel lowers a target.
func (f cloudFront) Cancel(ctx context.Context, req provider.CancelRequest) (result provider.CancelResult, err error) {
	w, call := f.l.w, f.l.callOf(model.Cancel, func(c *model.Call) bool { return c.Group == req.Group && c.To == req.To })
	sent := w.writeCloud(ctx, model.Cancel, req.Group, func() {
		result, err = w.cloud.Cancel(background, req)
		w.judge.lowered(call)
	})
	if sent != nil {
		return provider.CancelResult{}, sent
	}
	return result, err
}

// Remove ends instances.
func (f cloudFront) Remove(ctx context.Context, req provider.RemoveRequest) (result provider.RemoveResult, err error) {
	w := f.l.w
	var calls []model.Call
	for _, id := range req.Instances {
		calls = append(calls, f.l.callOf(model.Remove, func(c *model.Call) bool { return c.Instance == id }))
	}
	sent := w.writeCloud(ctx, model.Remove, req.Group, func() {
		for _, call := range calls {
			w.judge.causes[call.Instance], w.judge.causes[""] = call.ID, call.ID
		}
		result, err = w.cloud.Remove(background, req)
	})
	if sent != nil {
		return provider.RemoveResult{}, sent
	}
	return result, err
}

// writeCloud sends a write to the cloud, whose effect is do. The error is a fault's, or that there
// was no answer.
func (w *world) writeCloud(ctx context.Context, verb model.Verb, id provider.GroupID, do func()) error {
	took := w.settings.Lags.Write.draw(w.dice.act)
	r, f := w.meetWrite(verb, w.groups[id], took, func() {
		do()
		w.wrote(verb)
		w.watchCloud()
	})
	if err := ctx.Value(deadlineKey{}).(deadline).send(r); err != nil {
		return err
	}
	if f == nil {
		return nil
	}
	err := f.Err
	err.Op, err.Group = provider.Op(verb), id
	return &err
}

// meetWrite draws which faults a write meets: it takes longer, it does not arrive, or its answer does
// not, or it is refused by the fault that is returned.
func (w *world) meetWrite(verb model.Verb, own *group, took time.Duration, do func()) (request, *fault) {
	zone := ""
	if own != nil {
		zone = zoneOf(own)
	}
	met := func(what What) *fault {
		if f := w.meets(what, own, zone); f != nil && (f.Verb == "" || f.Verb == verb) {
			return f
		}
		return nil
	}
	if met(slow) != nil {
		took += time.Duration(w.dice.act.Int64N(int64(3 * time.Minute)))
	}
	if met(hang) != nil {
		return request{writes: true, lost: true}, nil
	}
	if f := met(refuse); f != nil {
		return request{writes: true, took: took}, f
	}
	return request{writes: true, took: took, lost: met(lose) != nil, serve: do}, nil
}

// wrote notes that a write took effect. A leader that is to die before it has the answer dies now.
func (w *world) wrote(verb model.Verb) {
	w.writes++
	if w.doom.strikes(true, verb) {
		w.Crash(0)
	}
}
