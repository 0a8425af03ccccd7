package explain

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// mayMove reports whether nodes of any group may go for cheaper ones.
func (a *answer) mayMove() bool {
	return slices.ContainsFunc(a.snap.Groups, func(g model.Group) bool {
		own := a.policy.Moves.Of(&g)
		return own.Cheaper()
	})
}

// costs is nil where no price is known.
func (a *answer) costs(p *Plan) *Costs {
	if p.Before.CostPerHour == nil || p.After.CostPerHour == nil {
		return nil
	}
	o := &Costs{Now: *p.Before.CostPerHour, AfterRemovals: *p.After.CostPerHour}
	leaves := map[string]float64{} // by node that is there and goes for a move
	for i := range a.snap.Nodes {
		n := &a.snap.Nodes[i]
		if price := a.nodePrice(n); price != nil && n.Kind != model.Leaving {
			leaves[n.Name] = *price
		}
	}
	for i := range p.Remove {
		r := &p.Remove[i]
		if r.When == Later && r.PricePerHour != nil && !slices.ContainsFunc(p.Moves, func(m model.MoveState) bool {
			return slices.Contains(m.Goes, r.Node)
		}) {
			o.AfterRemovals -= *r.PricePerHour
		}
		if r.When == Now {
			delete(leaves, r.Node) // not in the sum any more
		}
	}
	o.AfterMoves = o.AfterRemovals
	for i := range p.Moves {
		m := &p.Moves[i]
		if m.Over() {
			continue
		}
		for _, name := range m.Goes {
			o.AfterMoves -= leaves[name]
			delete(leaves, name)
		}
		if asked := slices.ContainsFunc(a.snap.Moves, func(x model.Move) bool {
			return x.Open() && slices.Equal(x.Goes, m.Goes)
		}); !asked {
			o.AfterMoves += m.After // of those under way, what comes is in the sums
		}
	}
	o.Now, o.AfterRemovals, o.AfterMoves = cents(o.Now), cents(o.AfterRemovals), cents(o.AfterMoves)
	o.AtLeast = a.fleetBound(o)
	return o
}

// fleetBound is nil where the price of a group or of a node is not known.
func (a *answer) fleetBound(o *Costs) *float64 {
	var more []model.Batch
	for i := range a.plan.Pending {
		v := &a.plan.Pending[i]
		if served := v.Existing + v.Upcoming + v.Planned; v.Skipped == nil && served > 0 {
			more = append(more, model.Batch{Class: v.Class, Count: served})
		}
	}
	w := schedsim.Load(nil, a.snap)
	defer w.Close()
	least, ok := scaleup.FleetBound(w, a.snap, more, boundSteps)
	if !ok {
		return nil
	}
	// Fractions of a price unit may have been rounded the other way in the sum.
	least = cents(min(least, o.AfterMoves))
	return &least
}
