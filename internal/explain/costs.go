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
	fleet := a.then.Clone()
	there := map[string]*model.Node{} // in the fleet
	for i := range a.snap.Nodes {
		if n := a.snap.Nodes[i]; n.Kind != model.Leaving {
			there[n.Name] = n
		}
	}
	lose := func(name string) {
		if n := there[name]; n != nil {
			fleet.Add(n.Group, n.Shape, -1)
			delete(there, name)
		}
	}
	for i := range p.Remove {
		r := &p.Remove[i]
		if r.When == Now {
			delete(there, r.Node) // not in the sum any more
		}
		if r.When == Later && !slices.ContainsFunc(p.Moves, func(m model.MoveState) bool {
			return slices.Contains(m.Goes, r.Node)
		}) {
			lose(r.Node)
		}
	}
	o := &Costs{Now: *p.Before.CostPerHour, AfterRemovals: fleet.Cost()}
	for i := range p.Moves {
		m := &p.Moves[i]
		if m.Over() {
			continue
		}
		for _, name := range m.Goes {
			lose(name)
		}
		if asked := slices.ContainsFunc(a.snap.Moves, func(x model.Move) bool {
			return x.Open() && slices.Equal(x.Goes, m.Goes)
		}); asked {
			continue // of those under way, what comes is in the sums
		}
		for _, c := range m.Comes {
			at := a.group(c.Group)
			fleet.Add(at, a.snap.Groups[at].Shape, c.Count)
		}
	}
	o.AfterMoves = fleet.Cost()
	o.Now, o.AfterRemovals, o.AfterMoves = cents(o.Now), cents(o.AfterRemovals), cents(o.AfterMoves)
	o.AtLeast = a.fleetBound(o)
	return o
}

// fleetBound is nil where the price of a group or of a node is not known, and where it says nothing, since a fleet may
// cost nothing.
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
	if least = cents(min(least, o.AfterMoves)); least <= 0 {
		return nil
	}
	return &least
}
