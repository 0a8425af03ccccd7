package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// A drain is never changed once it is on record: standings that were given out
// refer to it. What advances it makes a new one.

// noteNode puts a call on a node on record, and opens or advances its drain.
func (l *Ledger) noteNode(s *model.Snapshot, c model.Call) {
	n := l.nodes.of[c.Node]
	if busiesNode(&c) {
		n.Busy = &c
	}
	switch c.Verb {
	case model.Taint, model.Cordon, model.Remove, model.Untaint:
		l.before[c.ID] = n.Drain
		n.Drain = advanced(n.Drain, s.Now, &c)
	case model.Evict:
		if n.Drain == nil {
			break // nothing is emptied that it could be part of
		}
		d := *n.Drain
		d.Evictions = asked(d.Evictions, d.Refused, s, &c)
		n.Drain = &d
	}
	l.nodes.put(c.Node, n)
}

// advanced is a drain, nil if there is none yet, with a further step begun.
func advanced(was *model.Drain, now time.Time, c *model.Call) *model.Drain {
	d := model.Drain{Node: c.Node, Began: now}
	if was != nil && c.Verb != model.Taint {
		d = *was
	}
	d.Group, d.Instance = c.Group, c.Instance
	switch c.Verb {
	case model.Taint:
		d.Stage, d.Since, d.Unready = model.Tainting, now, c.Unready
		d.Occupied, d.Pods = len(c.Known) > 0, c.Known
	case model.Cordon:
		d.Stage, d.Since = model.Cordoning, now
	case model.Remove:
		d.Stage, d.Since = model.Removing, now
	case model.Untaint:
		// What began a rollback stays its reason, whatever else would be one by now.
		if d.Stage != model.RollingBack || d.Code == "" {
			d.Stage, d.Since, d.Why, d.Code = model.RollingBack, now, c.Why, c.Reason
		}
	}
	return &d
}

// asked gives the evictions of a drain with one more that is asked for, or again.
// A pod of the same name that came after another one takes its place.
func asked(all []model.Eviction, refused time.Time, s *model.Snapshot, c *model.Call) []model.Eviction {
	all = slices.Clone(all)
	i, found := slices.BinarySearchFunc(all, c.Pod, func(e model.Eviction, pod string) int { return cmp.Compare(e.Pod, pod) })
	if !found {
		all = slices.Insert(all, i, model.Eviction{})
	}
	if all[i].UID != c.PodUID || !found {
		all[i] = model.Eviction{Pod: c.Pod, UID: c.PodUID, Owner: ownerOf(s, c.Node, c.PodUID), First: s.Now}
		if !refused.IsZero() {
			all[i].First = refused // a leader before us began to ask then
		}
	}
	all[i].Last, all[i].Busy = s.Now, true
	return all
}

// ownerOf is the controller of a pod that is bound to a node, empty if it has
// none or is not there.
func ownerOf(s *model.Snapshot, node string, pod types.UID) types.UID {
	nodes := s.Nodes[:s.Registered()]
	i, found := slices.BinarySearchFunc(nodes, node, func(n model.Node, name string) int { return cmp.Compare(n.Name, name) })
	if !found {
		return ""
	}
	for j := range nodes[i].Bound {
		if p := &nodes[i].Bound[j]; p.UID == pod {
			return p.Owner
		}
	}
	return ""
}

// endNode closes a call on a node or on one of its pods.
func (l *Ledger) endNode(o model.Outcome, unknown bool) {
	before := l.before[o.Call.ID]
	delete(l.before, o.Call.ID)
	n := l.nodes.of[o.Call.Node]
	if n.Busy != nil && n.Busy.ID == o.Call.ID {
		n.Busy = nil
	}
	// Where nothing had to be written, too, what was read must be seen first: until
	// then the node may look as if it had to be.
	if o.ResourceVersion != "" && o.Call.Verb != model.Evict {
		n.AwaitVersion = o.ResourceVersion
	}
	if marks(o.Call.Verb) {
		n.MarkAfter = time.Time{}
		if o.Err != nil {
			n.MarkAfter = o.Ended.Add(marksRest)
		}
	}
	switch {
	case n.Drain == nil:
	case marks(o.Call.Verb):
		// Whether it was written shows on the node; nothing depends on it.
	case o.Call.Verb == model.Evict:
		n.Drain = l.answered(n.Drain, o, unknown)
	case o.Err != nil && o.Err.Code == model.CodeNotBegun && !busyLook(o):
		n.Drain = back(n.Drain, before, o)
	case o.Call.Verb == model.Taint && o.Err != nil && !unknown:
		// Nothing was written: there is nothing to take back.
		n.Drain = nil
		l.failed(o.Call.Group, o.Ended, o.Err.Error())
	case o.Call.Verb == model.Untaint && o.Err == nil:
		n = l.givenBack(n, o.Ended)
	default:
		d := *n.Drain
		switch o.Call.Verb {
		case model.Taint:
			d.Stage, d.Since = model.Tainted, o.Ended
		case model.Cordon:
			d = cordoned(d, before, o, unknown)
		case model.Untaint:
			// The taint may still be there: it is tried again, not at once.
			d.NotBefore = o.Ended.Add(retry)
		case model.Remove:
			d = l.removed(d, before, o, unknown)
		}
		n.Drain = &d
	}
	l.nodes.put(o.Call.Node, n)
}

// marksRest is how long a node rests after a mark could not be written.
const marksRest = time.Minute

// marks tells whether a call writes what nothing depends on.
func marks(v model.Verb) bool { return v == model.Mark || v == model.Unmark || v == model.Annotate }

// answered gives a drain in which one eviction has ended. A refusal is no
// failure: it may be asked for again.
func (l *Ledger) answered(d *model.Drain, o model.Outcome, unknown bool) *model.Drain {
	i := slices.IndexFunc(d.Evictions, func(e model.Eviction) bool { return e.Pod == o.Call.Pod && e.UID == o.Call.PodUID })
	if i < 0 {
		return d
	}
	next := *d
	next.Evictions = slices.Clone(d.Evictions)
	e := &next.Evictions[i]
	asked := e.Last
	e.Last, e.Busy = o.Ended, false
	for _, c := range l.calls {
		// That of a drain before this one may still be under way.
		e.Busy = e.Busy || c.Verb == model.Evict && c.Node == o.Call.Node && c.Pod == o.Call.Pod && c.PodUID == o.Call.PodUID
	}
	if (o.Err == nil || unknown) && e.Owner != "" {
		// The pod that comes for it may be there before the answer is.
		l.displace(e.Owner, asked)
	}
	switch {
	case o.Err == nil:
		e.Granted = true
	case unknown || o.Err.Code == model.CodeNotBegun:
		e.Why = o.Err.Message
	default:
		// It may have been granted once, to no effect; now it is not.
		e.Granted, e.Why = false, o.Err.Message
		if o.Err.Code == model.CodeRightMissing {
			l.refuse(o) // the next node's pods would fare no better
		}
	}
	return &next
}

// settled is how long after an eviction its controller is looked at for the pod
// that is to come in its place. One that makes none by then has fewer to make.
const settled = 30 * time.Minute

// displace notes that a pod of a controller was evicted. It outlives the drain: other
// nodes have pods of the same controller.
func (l *Ledger) displace(owner types.UID, at time.Time) {
	d, ok := l.displaced[owner]
	if !ok {
		d.First = at
	}
	d.Last = at
	l.displaced[owner] = d
}

// forgetDisplaced drops controllers whose pods were evicted long ago, and that have
// no pod without a node which may have come for one of them.
func (l *Ledger) forgetDisplaced(seen *model.Observation) {
	old := false
	for _, d := range l.displaced {
		old = old || seen.Now.Sub(d.Last) > settled
	}
	if !old {
		return
	}
	waits := map[types.UID]bool{}
	for i := range seen.Unbound {
		p := &seen.Unbound[i]
		d, ok := l.displaced[p.Owner]
		if ok && p.Flags&(model.Finished|model.Terminating) == 0 && !time.Unix(p.Created, 0).Add(time.Second).Before(d.First) {
			waits[p.Owner] = true
		}
	}
	before := len(l.displaced)
	maps.DeleteFunc(l.displaced, func(owner types.UID, d model.Displaced) bool {
		return seen.Now.Sub(d.Last) > settled && !waits[owner]
	})
	l.news = l.news || len(l.displaced) < before
}

// back undoes the intent of a call that never began: the drain stands where it
// did, and the call is not made again at once.
func back(d, before *model.Drain, o model.Outcome) *model.Drain {
	if before == nil {
		return nil
	}
	was := *before
	was.Evictions = d.Evictions // some may have ended meanwhile
	was.NotBefore = o.Ended.Add(retry)
	return &was
}

// cordoned is a drain after the end of its Cordon.
func cordoned(d model.Drain, before *model.Drain, o model.Outcome, unknown bool) model.Drain {
	switch {
	case o.Err == nil:
		d.Stage, d.Since = model.Evicting, o.Ended
	case unknown:
		// It is asked for again, which does no harm if it was done.
		d.Stage, d.NotBefore = model.Tainted, o.Ended.Add(retry)
		if before != nil {
			d.Since = before.Since
		}
	default:
		d = rollBack(d, o)
	}
	return d
}

// mostTries is how often the removal of an emptied node is asked for again because the
// cloud could not do it just then: after 5, 10, 20, 40 and 80 seconds, or as long as it
// says. To give the node back would cost the pods that left it another move.
const mostTries = 5

// mostRest is how long a cloud may ask to be left alone between two of them.
const mostRest = 2 * time.Minute

// busyLook tells whether a removal was not begun because the API server could not tell
// just then what is on the node.
func busyLook(o model.Outcome) bool {
	return o.Call.Verb == model.Remove && (o.Err.Kind == provider.Throttled || o.Err.Kind == provider.Unavailable)
}

// passing tells whether a refusal is of the moment, and none of this removal.
func passing(e *provider.Error) bool {
	return e.Kind == provider.Throttled || e.Kind == provider.Unavailable || e.Kind == provider.Transient
}

// removed is a drain after the end of its Remove.
func (l *Ledger) removed(d model.Drain, before *model.Drain, o model.Outcome, unknown bool) model.Drain {
	switch {
	case o.Err == nil:
		g := l.group(o.Call.Group)
		g.refused, g.refusals = model.Backoff{}, 0
		d.Stage, d.Since = model.Removed, o.Ended
		l.last.removal, l.group(o.Call.Group).last.removal = o.Ended, o.Ended
	case unknown:
		// A read that began after this says whether it is gone (rule L2).
		d.Stage, d.Since = model.Removing, o.Ended
	case passing(o.Err) && len(o.Landed) == 0 && before != nil && d.Tries < mostTries:
		again := *back(&d, before, o)
		again.Tries = d.Tries + 1
		again.NotBefore = o.Ended.Add(max(retry<<d.Tries, min(o.Err.RetryAfter, mostRest)))
		l.failed(o.Call.Group, o.Ended, o.Err.Error()) // no further node is emptied meanwhile
		return again
	default:
		d = rollBack(d, o)
		l.failed(o.Call.Group, o.Ended, d.Why)
		if len(o.Landed) == 0 && o.Err.Kind != provider.Conflict && o.Err.Code != model.CodeNotBegun {
			l.refuse(o)
		}
	}
	return d
}

// burst is how long refusals count as one: of many nodes, all are refused at once.
const burst = 30 * time.Second

// refuse lets the removals of a group rest from the second refusal in a row on, longer
// each time: to empty nodes that cannot be ended moves pods for nothing, and to taint and
// cordon nodes whose pods Plimsoll may not evict is as vain.
func (l *Ledger) refuse(o model.Outcome) {
	g := l.group(o.Call.Group)
	if g.refusals > 0 && o.Ended.Sub(g.refusedAt) < burst {
		return
	}
	g.refusals, g.refusedAt = g.refusals+1, o.Ended
	if g.refusals < 2 {
		return // the delay after a failure is enough
	}
	rest := l.rules.BackoffFirst
	if g.refused.Duration > 0 {
		rest = min(2*g.refused.Duration, l.rules.BackoffMost)
	}
	rest = max(rest, leastRest)
	g.refused = model.Backoff{Until: o.Ended.Add(rest), Duration: rest, Since: o.Ended, Kind: o.Err.Kind, Code: o.Err.Code, Message: saying(o.Err)}
}

// rollBack is a drain that cannot go on, because act has refused its last call,
// or failed in it.
func rollBack(d model.Drain, o model.Outcome) model.Drain {
	d.Stage, d.Since = model.RollingBack, o.Ended
	d.Code, d.Why = model.DrainFailed, o.Err.Error()
	if len(o.Landed) > 0 {
		d.Code, d.Why = model.PodLanded, "pods are on it that had not been known: "+firstOf(o.Landed)
	}
	return d
}

// firstOf names the first few.
func firstOf(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// givenBack closes the drain of a node that stays. Its time begins anew, and if
// its removal has failed, that is on record.
func (l *Ledger) givenBack(n model.NodeStanding, at time.Time) model.NodeStanding {
	d := n.Drain
	n.Drain, n.UnneededSince = nil, time.Time{}
	if d.Code.FailedRemoval() || d.Code == model.AllOrNothing && moved(d) {
		n.Failed = failedAgain(n.Failed, at, d)
		l.failed(d.Group, at, fmt.Sprintf("node %q: %s: %s", d.Node, d.Code, d.Why))
	}
	return n
}

// What was in the way of a removal is mostly there still when it is begun again, and
// pods are moved in vain each time. After the first time the delay after a failure is
// enough; then a node rests, three times as long after each further time. Forgiven is
// how long after a rest it must have gone well for the next failure to be the first.
const (
	firstNodeRest = 30 * time.Minute
	mostNodeRest  = 6 * time.Hour
	forgiven      = 6 * time.Hour
)

// moved reports whether pods were moved for a removal, in vain if the node stays.
func moved(d *model.Drain) bool {
	return !d.Moved.IsZero() || slices.ContainsFunc(d.Evictions, func(e model.Eviction) bool { return e.Granted })
}

func failedAgain(was model.Failure, at time.Time, d *model.Drain) model.Failure {
	why := fmt.Sprintf("%s: %s", d.Code, d.Why)
	f := model.Failure{At: at, Why: strings.ToValidUTF8(why[:min(len(why), mostWhy)], ""), Times: was.Times, Rest: was.Rest}
	switch {
	case d.Code == model.DrainFailed && !moved(d): // the cloud or the API server refused it, and no pod: its group rests
	case was.Times == 0:
		f.Times = 1
	default:
		f.Times, f.Rest = was.Times+1, min(max(firstNodeRest, 3*was.Rest), mostNodeRest)
	}
	return f
}

// forgotten reports whether a failure is too long ago to matter to the next one.
func forgotten(f model.Failure, now time.Time) bool {
	return !f.At.IsZero() && now.Sub(f.Until()) > f.Rest+forgiven
}

// failed puts a removal that failed on record.
func (l *Ledger) failed(id provider.GroupID, at time.Time, why string) {
	why = strings.ToValidUTF8(why[:min(len(why), mostWhy)], "")
	l.last.failure, l.last.why = at, why
	if g, ok := l.groups[id]; ok {
		g.last.failure, g.last.why = at, why
	}
}
