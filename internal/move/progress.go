package move

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Seen is what moves are compared with.
type Seen struct {
	Now time.Time
	// Ask is a scale-up in flight, or one that is over since the last look; ok is false for one that is unknown.
	Ask func(group provider.GroupID, id string) (a model.Ask, ok bool)
	// Ready are the nodes of a group that are ready and were made after an instant.
	Ready func(group provider.GroupID, since time.Time) []string
	// Held reports whether a budget keeps a node from going now.
	Held func(name string) bool
	// HasNode reports whether the cluster has a node of that name.
	HasNode func(name string) bool
}

// Progress brings moves up to date with what is seen. Ended are those that came to their end, well or
// not; changed reports whether anything is told of a move that was not before.
func Progress(list []model.Move, seen Seen) (left, ended []model.Move, changed bool) {
	left = model.CopyMoves(list)[:0]
	for _, m := range model.CopyMoves(list) {
		before := m
		short := purchases(&m, seen)
		gone(&m, seen)
		waits(&m, seen)
		stands := true
		for _, e := range happened(&m, seen.Now, short) {
			if m, stands = Advance(m, e); !stands {
				break
			}
		}
		if !stands {
			changed = true
			continue
		}
		if changed = changed || m.Stage != before.Stage || len(m.Gone) != len(before.Gone); before.Open() && !m.Open() {
			ended = append(ended, m)
		}
		left = append(left, m)
	}
	return left, ended, changed
}

// purchases takes in which nodes have come, and says what does not come, empty if nothing lacks.
// They may come while old nodes are drained that could not wait for them.
func purchases(m *model.Move, seen Seen) (short string) {
	if !m.Open() {
		return ""
	}
	for i := range m.Comes {
		p := &m.Comes[i]
		if len(p.Nodes) == p.Count {
			continue
		}
		var why string
		coming := 0
		p.Nodes = p.Nodes[:0]
		// Of a scale-up that was refused, nothing is known.
		a, _ := seen.Ask(p.Group, p.Ask)
		for j := range a.Units {
			switch u := &a.Units[j]; u.State {
			case model.UnitReady:
				p.Nodes = append(p.Nodes, u.Node)
				coming++
			case model.UnitGivenUp, model.UnitKept:
				why = ": " + u.Why
			default:
				coming++
			}
		}
		if coming < p.Count && why == "" {
			coming += others(m, p, seen)
		}
		slices.Sort(p.Nodes)
		if coming < p.Count {
			return fmt.Sprintf("%d of %s of group %s did not come%s", p.Count-coming, spelling.Count(p.Count, "node"), p.Group,
				why)
		}
	}
	return ""
}

// others counts nodes as those that were asked for though they came unseen: after a restart they are
// there, and no scale-up knows of them. They may be nodes that another client asked for, and then have
// room as well.
func others(m *model.Move, p *model.Purchase, seen Seen) (came int) {
	for _, name := range seen.Ready(p.Group, m.Began) {
		if len(p.Nodes) < p.Count && !slices.Contains(p.Nodes, name) {
			p.Nodes = append(p.Nodes, name)
			came++
		}
	}
	return came
}

// gone takes in which nodes have left. They stay gone, since a cloud may use their names again.
func gone(m *model.Move, seen Seen) {
	for _, name := range m.Going() {
		if !seen.HasNode(name) {
			m.Gone, m.Last = append(m.Gone, name), seen.Now
		}
	}
}

// waits gives a move more time while a budget holds it: it goes on when there is room again, and what was bought for
// it is there. It does so when half of its time is over, since what is remembered is not to change with each look.
func waits(m *model.Move, seen Seen) {
	half := LateAt(m).Add(-m.Patience / 2)
	if m.Stage == model.MoveEmptying && !seen.Now.Before(half) && slices.ContainsFunc(m.Going(), seen.Held) {
		m.Last = seen.Now
	}
}

// happened lists the events that are due, in the order in which they count.
func happened(m *model.Move, now time.Time, short string) (list []Event) {
	came := !slices.ContainsFunc(m.Comes, func(p model.Purchase) bool { return len(p.Nodes) < p.Count })
	add := func(k Kind, yes bool, why string) {
		if yes {
			list = append(list, Event{k, now, why})
		}
	}
	add(Pressed, m.Presses(now), "")
	add(Short, short != "", short)
	add(Came, came, "")
	add(Left, len(m.Going()) == 0, "its nodes are gone already")
	add(Late, !now.Before(LateAt(m)), fmt.Sprintf("no node has left for %s", m.Patience))
	add(Rested, !m.Open() && !now.Before(m.Rests()), "")
	return list
}

// LateAt is when a move has waited for too long for the next of its nodes to leave.
func LateAt(m *model.Move) time.Time { return model.Latest(m.Entered, m.Last).Add(m.Patience) }

// Mended is a list of moves whose times do not lie ahead: what was remembered may be by another clock.
func Mended(list []model.Move, now time.Time) []model.Move {
	list = model.CopyMoves(list)
	for i := range list {
		for _, t := range []*time.Time{&list[i].Began, &list[i].Entered, &list[i].Last} {
			*t = model.Earlier(*t, now)
		}
		list[i].DrainAt = model.Earlier(list[i].DrainAt, now.Add(model.SpotNotice))
	}
	return list
}
