// Package budget answers whether a node may go now for a reason, and if not, which budget holds it and
// until when.
//
// What flows in: budgets, the groups with their number of nodes, the nodes on their way out, those that
// began to go a short while ago, and an instant. What flows out: an answer for each question, which is
// counted down as nodes are let go. Of several budgets that cover a node each must have room.
//
// Pure. Who may import it: model and what makes budgets, and those who ask.
package budget

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Reason is what a node goes for.
type Reason string

// The reasons. What the cloud takes back is held by no budget: the machine goes in any case.
const (
	Empty         Reason = "Empty"         // it has no pods of its own
	Underutilized Reason = "Underutilized" // its pods have room elsewhere
	Cheaper       Reason = "Cheaper"       // its pods have room on nodes that cost less
	Drifted       Reason = "Drifted"       // it differs from its group's template
	Expired       Reason = "Expired"       // it is old
	Unready       Reason = "Unready"       // it is not ready
	// Interrupted: the cloud is about to take its machine. No budget holds or counts it.
	Interrupted Reason = "Interrupted"
)

// Reasons lists those that budgets may name.
var Reasons = []Reason{Empty, Underutilized, Cheaper, Drifted, Expired, Unready}

// Budget bounds how many nodes go. At least one of Nodes, Rate and Allow says something.
type Budget struct {
	// Name is for people.
	Name string
	// Of is the policy whose groups it covers, all of them together; nil: the whole cluster.
	Of *policy.Policy
	// Reasons are those that it covers; none: all.
	Reasons []Reason
	// Nodes is how many may be on their way out at once; nil: any number.
	Nodes *Amount
	// Rate is how many may begin to go within a time; nil: any number.
	Rate *Rate
	// Windows are when Nodes and Rate count; none: always.
	Windows []window.Window
	// Allow are the only times at which nodes may begin to go; none: always.
	Allow []window.Window
}

// Amount is a number of nodes, or a share of those that are there.
type Amount struct {
	Count int
	// Percent counts if Share; it is rounded up, so that a small group can shrink at all.
	Percent int
	Share   bool
}

func (a Amount) of(nodes int) int {
	if a.Share {
		return (nodes*a.Percent + 99) / 100
	}
	return a.Count
}

// Rate is a number of nodes in any time of a length.
type Rate struct {
	Count int
	Over  time.Duration
}

// LongestRate is the longest time over which one of the budgets counts; 0 if none does.
func LongestRate(all []Budget) time.Duration {
	var most time.Duration
	for i := range all {
		if r := all[i].Rate; r != nil {
			most = max(most, r.Over)
		}
	}
	return most
}

// Exit is nodes of a group that began to go for a reason.
type Exit struct {
	Group  provider.GroupID `json:"group"`
	Reason Reason           `json:"reason"`
	At     time.Time        `json:"at"`
	Count  int              `json:"count"`
}

// Use is what budgets are held against.
type Use struct {
	Now    time.Time
	Groups []*provider.Group
	// Nodes is how many nodes each group has.
	Nodes []int
	// Going are on their way out, and Begun those that began to go within the longest rate.
	Going, Begun []Exit
}

// Book has what budgets leave. It serves one goroutine.
type Book struct {
	now   time.Time
	lines []Line
	index map[provider.GroupID]int
}

// Line is what one budget leaves.
type Line struct {
	*Budget
	// Counts: one of its windows is open, or it has none. Ends is when that changes, and Opens, where nodes
	// may not begin to go at this time, when they may; zero if never.
	Counts      bool
	Ends, Opens time.Time
	Closed      bool
	// Limit is Nodes as a number, of so many Nodes in all; -1: none.
	Limit, Of int
	// Going are on their way out, and Recent those that began to go within the rate, the oldest first.
	Going  int
	Recent []Exit
	covers []bool // by group
}

// Open makes a book.
func Open(all []Budget, u Use) *Book {
	b := &Book{now: u.Now, index: map[provider.GroupID]int{}}
	if len(all) == 0 {
		return b
	}
	for i, g := range u.Groups {
		b.index[g.ID] = i
	}
	for i := range all {
		b.lines = append(b.lines, b.line(&all[i], &u))
	}
	return b
}

func (b *Book) line(of *Budget, u *Use) Line {
	l := Line{Budget: of, Counts: len(of.Windows) == 0, Limit: -1, covers: make([]bool, len(u.Groups))}
	if !l.Counts {
		l.Counts = anyOpen(of.Windows, u.Now)
		l.Ends = turns(of.Windows, u.Now, !l.Counts)
	}
	if len(of.Allow) > 0 && !anyOpen(of.Allow, u.Now) {
		l.Closed, l.Opens = true, turns(of.Allow, u.Now, true)
	}
	for i, g := range u.Groups {
		if l.covers[i] = of.Of == nil || of.Of.Matches(g); l.covers[i] {
			l.Of += u.Nodes[i]
		}
	}
	if of.Nodes != nil {
		l.Limit = of.Nodes.of(l.Of)
	}
	for _, e := range u.Going {
		if l.counts(b.group(e.Group), e.Reason) {
			l.Going += e.Count
		}
	}
	for _, e := range u.Begun {
		if of.Rate != nil && l.counts(b.group(e.Group), e.Reason) && e.At.Add(of.Rate.Over).After(u.Now) {
			l.Recent = append(l.Recent, e)
		}
	}
	slices.SortStableFunc(l.Recent, func(a, b Exit) int { return a.At.Compare(b.At) })
	return l
}

// group is the index of a group, -1 if it is not there any more.
func (b *Book) group(id provider.GroupID) int {
	if i, ok := b.index[id]; ok {
		return i
	}
	return -1
}

// counts reports whether a node of a group that goes for a reason counts here. One of a group that is gone counts
// where all groups do.
func (l *Line) counts(group int, reason Reason) bool {
	if reason == Interrupted || len(l.Reasons) > 0 && !slices.Contains(l.Reasons, reason) {
		return false
	}
	if group < 0 {
		return l.Budget.Of == nil
	}
	return l.covers[group]
}

// Began is how many nodes began to go within the rate.
func (l *Line) Began() int {
	n := 0
	for _, e := range l.Recent {
		n += e.Count
	}
	return n
}

// Held is why a node may not go now.
type Held struct {
	// Budget is the name of the one that holds it; Detail has its numbers.
	Budget, Detail string
	// Until is when time alone changes that, zero if it is no matter of time.
	Until time.Time
	Fix   string
}

// Ask says why so many more nodes of a group, by its index, may not go now for a reason; nil if they may. Of several
// budgets that hold them, the one speaks that does so for longest.
func (b *Book) Ask(group int, reason Reason, count int) *Held {
	var out *Held
	for i := range b.lines {
		l := &b.lines[i]
		if !l.counts(group, reason) {
			continue
		}
		for _, h := range [...]*Held{l.closed(), l.full(count), l.fast(count)} {
			if h != nil && (out == nil || h.Until.After(out.Until)) {
				out = h
			}
		}
	}
	return out
}

func (l *Line) closed() *Held {
	if !l.Closed {
		return nil
	}
	return &Held{Budget: l.Name, Detail: "nodes may begin to go in its windows only", Until: l.Opens, Fix: "time"}
}

func (l *Line) full(count int) *Held {
	if l.Limit < 0 || !l.Counts || l.Going+count <= l.Limit {
		return nil
	}
	h := &Held{Budget: l.Name, Fix: "their end, or a larger budget",
		Detail: fmt.Sprintf("%d of at most %s at a time on the way out", l.Going, spelling.Count(l.Limit, "node"))}
	if count > l.Limit {
		h.Until, h.Fix = l.Ends, l.larger()
	}
	return h
}

// larger is what helps where no node's end does.
func (l *Line) larger() string {
	if l.Ends.IsZero() {
		return "a larger budget"
	}
	return "the end of its window, or a larger budget"
}

func (l *Line) fast(count int) *Held {
	if l.Rate == nil || !l.Counts {
		return nil
	}
	began := l.Began()
	over := began + count - l.Rate.Count
	if over <= 0 {
		return nil
	}
	h := &Held{Budget: l.Name, Fix: l.larger(), Until: l.Ends,
		Detail: fmt.Sprintf("%d of at most %s within %s began to go", began,
			spelling.Count(l.Rate.Count, "node"), l.Rate.Over)}
	for _, e := range l.Recent {
		if over -= e.Count; over <= 0 {
			if t := e.At.Add(l.Rate.Over); h.Until.IsZero() || t.Before(h.Until) {
				h.Until, h.Fix = t, "time, or a larger budget"
			}
			break
		}
	}
	return h
}

// Most is how many nodes of a group may go at once for a reason when nothing else goes.
func (b *Book) Most(group int, reason Reason) int {
	most := int(^uint(0) >> 1)
	for i := range b.lines {
		l := &b.lines[i]
		if !l.Counts || !l.counts(group, reason) {
			continue
		}
		if l.Limit >= 0 {
			most = min(most, l.Limit)
		}
		if l.Rate != nil {
			most = min(most, l.Rate.Count)
		}
	}
	return most
}

// Take counts nodes that begin to go.
func (b *Book) Take(group int, reason Reason, count int) {
	for i := range b.lines {
		if l := &b.lines[i]; l.counts(group, reason) {
			l.Going += count
			if l.Rate != nil {
				l.Recent = append(l.Recent, Exit{Reason: reason, At: b.now, Count: count})
			}
		}
	}
}

// Lines gives what each budget leaves, in their order.
func (b *Book) Lines() []Line { return b.lines }

// anyOpen reports whether a window is open.
func anyOpen(all []window.Window, at time.Time) bool {
	return slices.ContainsFunc(all, func(w window.Window) bool { return w.Open(at) })
}

// turns is the first instant after another at which one of the windows is open, or none; zero if that is not within
// sight.
func turns(all []window.Window, at time.Time, open bool) time.Time {
	for range 1000 {
		var next time.Time
		for _, w := range all {
			if t, ok := w.Next(at); ok && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
		if next.IsZero() || anyOpen(all, next) == open {
			return next
		}
		at = next
	}
	return time.Time{}
}

// Record adds nodes that begin to go to those that began before, and forgets what is older than the longest rate. Of
// very many, those that are older than an hour are put together by ten minutes: each counts for longer than it must.
func Record(begun []Exit, e Exit, longest time.Duration) []Exit {
	const many, coarse = 500, 10 * time.Minute
	var out []Exit
	for _, x := range begun {
		if x.At.Add(longest).After(e.At) {
			out = append(out, x)
		}
	}
	out = append(out, e)
	if len(out) <= many {
		return out
	}
	type bucket struct {
		group  provider.GroupID
		reason Reason
		at     time.Time
	}
	at := map[bucket]int{}
	kept := out[:0]
	for _, x := range out {
		if x.At.Add(time.Hour).After(e.At) {
			kept = append(kept, x)
			continue
		}
		key := bucket{x.Group, x.Reason, x.At.Truncate(coarse)}
		if i, ok := at[key]; ok {
			kept[i].Count += x.Count
			if x.At.After(kept[i].At) {
				kept[i].At = x.At
			}
			continue
		}
		at[key] = len(kept)
		kept = append(kept, x)
	}
	return kept
}
