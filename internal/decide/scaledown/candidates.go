package scaledown

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// This file finds the nodes that may go, before anything is known of room elsewhere.

// candidate is a node that may go as far as the node itself tells.
type candidate struct {
	node model.NodeID
	use  float64
	// due: it is to be replaced, and so goes before others.
	due bool
	// waits: the controller of one of its pods has lacked a node for another one for long, and it is the last that
	// serves, or that one came for an evicted pod. The node stays until that one has a node, and takes no room above
	// a minimum from those that could go.
	waits bool
	since time.Time // when it was first found unneeded, zero if it was not
	// judgement is what the rules say of its pods, nil while they have not been asked.
	*judgement
}

func (c *candidate) empty() bool { return !c.occupied }

// candidates lists the nodes that may go in the order in which they are tried:
// empty ones; then those that are to be replaced anyway, or maintained; of each, those that wait for pods
// elsewhere last; then those found unneeded before, the oldest first, so that what was accepted in one
// cycle is in the next; then the least used. The search goes on where the last one stopped.
func (f *finder) candidates() []*candidate {
	s, out := f.Snapshot, f.keeps.list
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Kind == model.Coming {
			continue
		}
		v := &f.verdicts[i]
		v.Node = n.Name
		if n.Group >= 0 {
			v.Group = s.Groups[n.Group].ID
		}
		id := model.NodeID(i)
		if why := f.needed(id); why != nil {
			v.Verdict = *why
			continue
		}
		c := candidate{node: id, since: n.Standing.UnneededSince, due: f.due(id) != nil || f.Policy.Moves.GoesFirst(n)}
		var used *model.Verdict
		if n.Occupants > 0 {
			u := useOf(s, n, f.Policy.ScaleDown)
			v.Use, c.use = u.fraction, u.fraction
			used = cmp.Or(f.onlyEmpty(n.Group), u.tooMuch())
		}
		if f.ofMove(&c) {
			continue
		}
		if used != nil {
			v.Verdict = *used
			f.mayMove(&c)
			continue
		}
		if why := f.blocked(&c); why != nil {
			v.Verdict = *why
			continue
		}
		c.since = f.sinceMoved(&c)
		c.waits = f.waits(&c)
		out = append(out, f.hold(c))
	}
	asBefore(out)
	slices.SortFunc(out, func(a, b *candidate) int {
		return cmp.Or(compareBool(b.empty(), a.empty()), compareBool(b.due, a.due), compareBool(a.waits, b.waits),
			compareBool(!b.since.IsZero(), !a.since.IsZero()),
			a.since.Compare(b.since), cmp.Compare(a.use, b.use), cmp.Compare(a.node, b.node))
	})
	for i, c := range out {
		c.tried = i + 1
	}
	return f.resumed(out)
}

// asBefore puts candidates into the order in which the search before tried them, those that it did not try last: a list
// that is nearly sorted is sorted soon.
func asBefore(list []*candidate) {
	before := make([]*candidate, len(list)+1)
	var fresh []*candidate
	for _, c := range list {
		if at := c.tried; at > 0 && at < len(before) && before[at] == nil {
			before[at] = c
		} else {
			fresh = append(fresh, c)
		}
	}
	at := 0
	for _, c := range before {
		if c != nil {
			list[at] = c
			at++
		}
	}
	copy(list[at:], fresh)
}

// chunk is how many candidates are allocated at a time.
const chunk = 1024

// hold puts a candidate where it stays.
func (f *finder) hold(c candidate) *candidate {
	if len(f.held) == cap(f.held) {
		f.held = make([]candidate, 0, chunk)
	}
	f.held = append(f.held, c)
	return &f.held[len(f.held)-1]
}

// sinceMoved is since when a candidate is unneeded: not before a pod came that was made for an evicted
// one, whatever node was planned for it. Otherwise that pod would move from one such node to the next.
func (f *finder) sinceMoved(c *candidate) time.Time {
	if c.since.IsZero() || len(f.Snapshot.Displaced) == 0 {
		return c.since
	}
	since := c.since
	for _, p := range c.moving {
		if made := time.Unix(p.Created, 0); made.After(since) && f.Room.Replaces(p) {
			since = made
		}
	}
	return since
}

// waits reports whether a candidate has to stay since a pod elsewhere has lacked a node for long.
func (f *finder) waits(c *candidate) bool {
	return len(f.Snapshot.Displaced) > 0 && slices.ContainsFunc(c.moving, func(p *model.Pod) bool {
		return f.Room.LacksForLong(p.Owner)
	}) || f.Snapshot.Nodes[c.node].Kind == model.Ready && f.Room.LastForLong(c.moving)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// resumed lets the search begin, among those that were not found unneeded
// before, with the candidate that the last one had no steps for.
func (f *finder) resumed(list []*candidate) []*candidate {
	first := slices.IndexFunc(list, func(c *candidate) bool { return !c.empty() && c.since.IsZero() })
	at := slices.IndexFunc(list, func(c *candidate) bool { return f.Snapshot.Nodes[c.node].Name == f.Snapshot.Resume })
	if first < 0 || at <= first {
		return list
	}
	return slices.Concat(list[:first], list[at:], list[first:at])
}

// blocked asks the rules about the pods of a node. A nil verdict means that each
// may be moved, or ends with the node, or by itself.
func (f *finder) blocked(c *candidate) *model.Verdict {
	n := f.Snapshot.Nodes[c.node]
	var why *model.Verdict
	if c.judgement, why = f.judged(n); why != nil {
		return why
	}
	if c.blocks != nil {
		return c.blocks
	}
	if why := f.disputed(c.housed); why != nil {
		return why
	}
	if n.Nominated > 0 {
		return &model.Verdict{Reason: model.Reserved,
			Detail: fmt.Sprintf("%s %s nominated to it", spelling.Count(n.Nominated, "pod"),
				spelling.Are(n.Nominated)), Fix: "they are bound"}
	}
	return nil
}

// movedLately keeps the pods of a node where they are while others of their controller were moved lately, but not where
// the cloud is about to take its machine: they would end with it.
func (f *finder) movedLately(n *model.Node, pods ...*model.Pod) *model.Verdict {
	if len(f.Snapshot.Displaced) == 0 || n.Kind != model.Ready || f.interrupted(n) {
		return nil
	}
	for _, p := range pods {
		if until := f.Snapshot.Displaced[p.Owner].Rest(p.Created); until.After(f.Snapshot.Now) {
			return &model.Verdict{Reason: model.MovedLately, Until: until, Fix: "time",
				Detail: fmt.Sprintf("pod %s has come from one node after the other", p.Name)}
		}
	}
	return nil
}

// interrupted reports whether the cloud is about to take a node's machine.
func (f *finder) interrupted(n *model.Node) bool {
	return f.Snapshot.InterruptedBy(&f.Policy.Moves, n) != ""
}

// known are the pods that keep a node.
func (f *finder) known(c *candidate) []types.UID {
	n := f.Snapshot.Nodes[c.node]
	on := rules.ConditionOf(n)
	var out []types.UID
	for i := range n.Bound {
		if k := f.Room.Rules.Apply(on, &n.Bound[i]).Kind; k == rules.Moves || k == rules.Ends {
			out = append(out, n.Bound[i].UID)
		}
	}
	return out
}

// housed are the pods of a candidate that must find room elsewhere, by class. Each of them takes room. So where all
// pods on the node are, the snapshot has counted them.
func (f *finder) housed(c *candidate) []model.Batch {
	n := f.Snapshot.Nodes[c.node]
	if len(c.housed) == len(n.Bound) && n.Nominated == 0 {
		return n.Batches
	}
	return reserve.Batches(f.Snapshot, c.housed)
}

// doubts are the classes that the scheduler leaves waiting on nodes that they fit, and since when; and when the next
// one is among them, zero if none will be.
func doubts(s *model.Snapshot) (out map[model.ClassID]time.Time, next time.Time) {
	out = map[model.ClassID]time.Time{}
	for i := range s.Pending {
		q := &s.Pending[i]
		d, ok := model.Doubt{Since: q.Oldest}, q.Awaits
		if !ok && len(s.Doubts) > 0 {
			d, ok = s.Doubts[s.Classes[q.Class].Digest()]
		}
		switch at := d.Counts(); {
		case !ok:
		case !at.After(s.Now):
			out[q.Class] = d.Since
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return out, next
}

// disputed keeps pods where they run if the scheduler leaves others like them waiting: what would come
// for these would wait, too.
func (f *finder) disputed(pods []*model.Pod) *model.Verdict {
	if len(f.doubts) == 0 {
		return nil
	}
	for _, b := range reserve.Batches(f.Snapshot, pods) {
		if since, ok := f.doubts[b.Class]; ok {
			return &model.Verdict{Reason: model.SchedulerDisagrees,
				Detail: fmt.Sprintf("pod %s: others like it fit ready nodes, and the scheduler leaves them waiting since %s",
					reserve.PodOf(f.Snapshot, pods, b.Class), since.UTC().Format(time.TimeOnly)),
				Fix: "the scheduler binds those that wait: its events, its plugins, its version"}
		}
	}
	return nil
}
