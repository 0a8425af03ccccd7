package scaledown

import (
	"fmt"
	"reflect"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// This file is about what the rules say of the pods of a node, and keeps that from search to search: most nodes have
// the pods that they had.

// judgement is what the rules say of the pods of one node.
type judgement struct {
	node       string
	row        *model.Node // as the snapshot had it
	generation uint64
	on         rules.Condition
	// moving are the pods that are to be evicted, and housed all that must find room elsewhere.
	moving, housed []*model.Pod
	// occupied: some pods keep the node. On an empty one there are none of these.
	occupied bool
	// blocks says which pods may not be moved, nil if all may.
	blocks *model.Verdict
	// asks are what the pods that move ask of the budgets, once that was looked up (asked). refusal is the answer to
	// one of them, by its index, nil if there was none.
	asks    []rules.Ask
	asked   bool
	refused int
	refusal *model.Verdict
	// tried is the node's place among the candidates of the search that last had it among them, from 1.
	tried int
}

// Kept is what one search leaves to the next to save work: the judgements on the pods of nodes that do not change by
// time, or by what happens elsewhere. The zero Kept leaves nothing.
type Kept struct {
	// The judgements are by these parts of the policy, and what is asked of budgets by these budgets.
	expendableBelow int32
	drain           model.DrainPolicy
	budgets         []model.Budget
	judged          []*judgement // in the order of the nodes' names
	// held and list are memory for candidates. Nothing of them is read again.
	held []candidate
	list []*candidate
}

// takeOver begins what this search leaves, and drops what the one before has left that was judged by another policy.
func (f *finder) takeOver() {
	p, was := &f.Policy, &f.Kept
	if was.expendableBelow != p.Rules.ExpendableBelow || !reflect.DeepEqual(was.drain, p.ScaleDown.Drain) {
		was.judged = nil
	}
	if !sameList(was.budgets, f.Snapshot.Budgets) {
		for _, j := range was.judged {
			j.asks, j.asked, j.refusal = nil, false, nil
		}
	}
	f.keeps = Kept{
		expendableBelow: p.Rules.ExpendableBelow, drain: p.ScaleDown.Drain, budgets: f.Snapshot.Budgets,
		judged: make([]*judgement, 0, len(f.Snapshot.Nodes)), held: was.held, list: was.list,
	}
	if n := len(f.Snapshot.Nodes); cap(was.held) < n || cap(was.held) > 2*n+chunk {
		f.keeps.held, f.keeps.list = make([]candidate, 0, n), make([]*candidate, 0, n)
	}
	clear(f.keeps.held[:cap(f.keeps.held)])
	clear(f.keeps.list[:cap(f.keeps.list)])
	f.held = f.keeps.held
}

// sameList reports whether two lists of budgets are the very same: an observed list is never changed.
func sameList(a, b []model.Budget) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// judged is the judgement on a node's pods. Nodes are asked for in their order. With a verdict, which is one of the
// moment, the judgement may lack pods.
func (f *finder) judged(n *model.Node) (*judgement, *model.Verdict) {
	if j := f.kept(n); j != nil {
		f.keeps.judged = append(f.keeps.judged, j)
		return j, f.movedLately(n, j.moving...)
	}
	j, fleeting, why := f.judge(n)
	if !fleeting && why == nil && n.Generation > 0 {
		f.keeps.judged = append(f.keeps.judged, j)
	}
	return j, why
}

// kept is the judgement of the search before, nil where there is none that still holds.
func (f *finder) kept(n *model.Node) *judgement {
	left := f.Kept.judged
	if len(left) > 0 && left[0].row == n {
		f.Kept.judged = left[1:]
		return left[0]
	}
	for len(left) > 0 && left[0].node < n.Name {
		left = left[1:]
	}
	f.Kept.judged = left
	if len(left) == 0 {
		return nil
	}
	if j := left[0]; j.node == n.Name && j.generation == n.Generation && j.on == rules.ConditionOf(n) {
		j.row = n
		return j
	}
	return nil
}

// judge asks the rules about each pod of a node. Fleeting: the answers may be others at another time.
func (f *finder) judge(n *model.Node) (j *judgement, fleeting bool, why *model.Verdict) {
	j = &judgement{node: n.Name, row: n, generation: n.Generation, on: rules.ConditionOf(n)}
	if n.Occupants > 0 {
		j.moving = make([]*model.Pod, 0, n.Occupants)
	}
	more, alike := 0, true // alike: all that are housed move
	for i := range n.Bound {
		p := &n.Bound[i]
		a := f.Room.Rules.Apply(j.on, p)
		fleeting = fleeting || a.Fleeting
		if reserve.NeedsRoom(a, f.Snapshot.Contents.Facts[p.Facts]) {
			if a.Kind != rules.Moves && alike {
				j.housed, alike = append([]*model.Pod(nil), j.moving...), false
			}
			if !alike {
				j.housed = append(j.housed, p)
			}
		}
		switch a.Kind {
		case rules.Blocks:
			if j.blocks != nil {
				more++
				continue
			}
			v := a.Verdict // a copy, or the answer for every pod would be allocated
			j.blocks = &v
		case rules.Moves:
			if why := f.movedLately(n, p); why != nil {
				return j, fleeting, why
			}
			j.moving, j.occupied = append(j.moving, p), true
		case rules.Ends:
			most := f.Policy.ScaleDown.Drain.Most(f.Snapshot.Contents.Specs[p.Spec].Priority) + rules.OverdueAfter
			if left := a.Until.Sub(f.Snapshot.Now); left > most && !f.interrupted(n) {
				return j, fleeting, &model.Verdict{Reason: model.PodEnding, Until: a.Until.Add(-most), Fix: "its end",
					Detail: fmt.Sprintf("pod %s is being deleted and has %s left", p.Name, left.Round(time.Second))}
			}
			f.wakeAt(a.Until)
			j.occupied = true
		}
	}
	if alike {
		j.housed = j.moving
	}
	if j.blocks != nil && more > 0 {
		j.blocks.Detail += "; so do " + spelling.Count(more, "more pod")
	}
	return j, fleeting, nil
}

// overBudget says which budget does not let the pods of a node go, of what budgets have left; nil if all do.
func (f *finder) overBudget(j *judgement, left rules.Budgets) *model.Verdict {
	if !j.asked {
		j.asks, j.asked = f.Room.Rules.Asks(j.moving), true
	}
	at := left.Refused(j.asks)
	if at < 0 {
		return nil
	}
	if j.refusal == nil || j.refused != at {
		j.refused, j.refusal = at, f.Room.Rules.Refusal(&j.asks[at])
	}
	return j.refusal
}
