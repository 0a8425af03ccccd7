package ledger

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// end closes a call, and gives its end to the life that it is part of.
func (l *Ledger) end(o model.Outcome) {
	if _, open := l.calls[o.Call.ID]; !open {
		return // it was told before, or is another leader's
	}
	delete(l.calls, o.Call.ID)
	unknown := o.Err != nil && o.Err.MayHaveHappened
	if endsAmiss(o.Call) && (o.Err == nil || unknown) {
		l.group(o.Call.Group).Ended(o.Ended)
	}
	switch {
	case o.Call.Verb == model.Grow:
		l.endGrow(o)
	case o.Call.Verb == model.Cancel, o.Call.Verb == model.Remove && o.Call.Node == "":
		l.group(o.Call.Group).Repaired(o)
	case o.Call.Verb == model.Remove:
		l.group(o.Call.Group).Written(o)
		l.endNode(o)
	default:
		l.endNode(o)
	}
}

// underWay counts what calls under way may do: a later leader never hears how they end. Machines that they end because
// something is amiss with them count as ended, and a growth as one that took place. It errs to waiting.
func (l *Ledger) underWay(m *model.Memory) {
	for _, c := range l.calls {
		if endsAmiss(c) {
			m.Ended(c.Group, c.Deadline)
		}
		if c.Verb != model.Grow {
			continue
		}
		if m.LastGrowth = model.Latest(m.LastGrowth, c.Deadline); !c.Reason.OfMove() {
			m.LastDemand = model.Latest(m.LastDemand, c.Deadline)
		}
	}
}

func (l *Ledger) endGrow(o model.Outcome) {
	g := l.group(o.Call.Group)
	asked := g.AskedAt(o.Call.ID)
	mayCome, outage := g.Grown(&l.fold, o)
	if mayCome {
		l.last.Grew(o)
	}
	if g.Expected <= o.Call.From {
		l.unbrake(o.Call.Group, asked)
	}
	if outage {
		for _, g := range l.groups {
			g.Outage(o.Ended)
		}
	}
}

// unbrake lifts the brakes that came with a scale-up of which nothing was granted: there is
// no node that could show whether it helps.
func (l *Ledger) unbrake(group provider.GroupID, asked time.Time) {
	if asked.IsZero() {
		return
	}
	l.brakes = slices.DeleteFunc(slices.Clone(l.brakes), func(k model.Brake) bool {
		return k.Group == group && k.Reason == model.SchedulerDisagrees && k.Node == "" && k.Since.Equal(asked)
	})
}

// targets takes over observed targets where no write by Plimsoll is newer, and forgets groups
// that are not heard of any more.
func (l *Ledger) targets() {
	inv := &l.fold.Seen.Inventory
	if inv.AsOf.IsZero() {
		return
	}
	for i := range inv.Groups {
		pg := &inv.Groups[i]
		l.group(pg.ID).Target(&l.fold, pg, l.busy(pg.ID))
	}
	if len(inv.Groups) == 0 {
		return // an answer without groups forgets nothing
	}
	var gone []provider.GroupID
	for id, g := range l.groups {
		busy := l.busy(id)
		if g.CountAbsence(&l.fold, busy); g.Forgotten(&l.fold, busy) {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone) // changes are reported in this order
	for _, id := range gone {
		left, more := l.groups[id].Forget(&l.fold)
		if delete(l.groups, id); left != nil {
			l.groups[id] = left
		}
		if more {
			l.fold.Changes = append(l.fold.Changes, model.Change{Kind: model.GroupForgotten, Group: id})
		}
	}
}
