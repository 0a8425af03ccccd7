package decisions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// What a decision holds at most of each list.
const (
	mostCalls   = 200
	mostClasses = 50
	mostGroups  = 20 // verdicts of groups on one class
	mostChanged = 100
	mostMade    = 100
	mostDiffers = 10
)

// seen is what one decision leaves to compare the next with.
type seen struct {
	snapshot       *model.Snapshot
	unneeded, kept []model.NodeVerdict
	pending        string
	calls          string
	// vain: none of its calls was begun, as those of an observer.
	vain bool
}

func seenOf(c *model.Cycle) seen {
	return seen{snapshot: c.Snapshot, unneeded: c.Plan.Unneeded, kept: c.Plan.Kept, pending: pendingSaid(c),
		calls: callsSaid(c.Plan.Calls)}
}

// pendingSaid is what must differ for the answers on pending pods to have changed: reasons and
// numbers of pods. Details are no part of it: an age changes by itself.
func pendingSaid(c *model.Cycle) string {
	var b strings.Builder
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		fmt.Fprint(&b, c.Snapshot.Classes[v.Class].Key, v.Left, v.Planned)
		for _, own := range []*model.Verdict{v.Skipped, v.Disagrees} {
			if own != nil {
				b.WriteString(string(own.Reason))
			}
		}
		for _, g := range v.Groups {
			b.WriteString(string(g.Group) + string(g.Reason))
		}
	}
	return b.String()
}

// callsSaid is what the calls are about. Soft taints and annotations follow the verdicts, and are
// left out.
func callsSaid(calls []model.Call) string {
	var b strings.Builder
	for i := range calls {
		if c := &calls[i]; c.Verb != model.Mark && c.Verb != model.Unmark && c.Verb != model.Annotate {
			fmt.Fprintln(&b, c.Verb, c.Group, c.Node, c.Instance, c.Pod, c.From, c.To)
		}
	}
	return b.String()
}

// maker makes one decision of a cycle.
type maker struct {
	cycle    *model.Cycle
	before   *seen // nil for the first
	numbers  map[Verdict]int
	decision Decision
}

// makeDecision is the cycle's decision, as far as it is worth keeping: it acts, or changes a verdict.
func makeDecision(c *model.Cycle, before *seen, now *seen) (Decision, bool) {
	m := maker{cycle: c, before: before, numbers: map[Verdict]int{}}
	d := &m.decision
	m.changed()
	acts := now.calls != "" && (before == nil || before.calls != now.calls || !before.vain)
	if before != nil && !acts && len(d.Changed) == 0 && before.pending == now.pending {
		return Decision{}, false
	}
	d.Time = c.Snapshot.Now.UTC()
	d.Triggers = m.triggers()
	d.TookMillis = millis(c.Took.Decide)
	d.Steps, d.StepsAllowed = c.Plan.Work.Steps, c.Plan.Work.Allowed
	d.Nodes, d.LowerBound = c.Plan.Nodes, c.Plan.LowerBound
	m.calls()
	m.pending()
	for _, list := range [][]model.NodeVerdict{c.Plan.Kept, c.Plan.Unneeded} {
		for i := range list {
			if d.Stays == nil {
				d.Stays = map[model.Reason]int{}
			}
			d.Stays[list[i].Reason]++
		}
	}
	d.Summary = d.summary()
	return *d, true
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// number is where the verdict stands in the decision.
func (m *maker) number(v model.Verdict) int {
	said := VerdictOf(v)
	n, ok := m.numbers[said]
	if !ok {
		n = len(m.decision.Verdicts)
		m.numbers[said] = n
		m.decision.Verdicts = append(m.decision.Verdicts, said)
	}
	return n
}

// VerdictOf is a verdict with JSON tags.
func VerdictOf(v model.Verdict) Verdict {
	return Verdict{v.Reason, v.Detail, v.Since.UTC(), v.Until.UTC(), v.Fix}
}

// changed lists the nodes whose verdict has another reason than before. The first decision has
// nothing to compare with, and counts them only.
func (m *maker) changed() {
	if m.before == nil {
		return
	}
	p := &m.cycle.Plan
	m.compare(p.Unneeded, m.before.unneeded)
	m.compare(p.Kept, m.before.kept)
}

// compare walks two lists that are sorted by node.
func (m *maker) compare(now, before []model.NodeVerdict) {
	d := &m.decision
	for i := range now {
		v := &now[i]
		for len(before) > 0 && before[0].Node < v.Node {
			before = before[1:]
		}
		if len(before) > 0 && before[0].Node == v.Node && before[0].Reason == v.Reason {
			continue
		}
		if len(d.Changed) == mostChanged {
			d.MoreChanged++
			continue
		}
		d.Changed = append(d.Changed, Node{v.Node, v.Group, v.Use, m.number(v.Verdict)})
	}
}

func (m *maker) triggers() (out []Trigger) {
	c := m.cycle
	if m.before == nil {
		return []Trigger{Started}
	}
	was, is := m.before.snapshot, c.Snapshot
	if len(c.Ended) > 0 {
		out = append(out, CallEnded)
	}
	if was.Generation != is.Generation {
		if waiting(is) > waiting(was) {
			out = append(out, PodsWait)
		}
		same := func(a, b *model.Node) bool { return a.Name == b.Name && a.Kind == b.Kind }
		if !slices.EqualFunc(is.Nodes, was.Nodes, same) {
			out = append(out, NodesChanged)
		}
		if len(out) == 0 {
			out = append(out, ClusterChanged)
		}
	}
	if len(out) == 0 && !was.AsOf.Equal(is.AsOf) {
		out = append(out, CloudRead)
	}
	if len(out) == 0 {
		out = append(out, TimePassed)
	}
	return out
}

func waiting(s *model.Snapshot) (n int) {
	for i := range s.Pending {
		n += len(s.Pending[i].Pods)
	}
	return n
}

func (m *maker) calls() {
	c, d := m.cycle, &m.decision
	most := map[string]int{}
	for i := range c.Plan.Calls {
		call := &c.Plan.Calls[i]
		if call.Verb == model.Grow {
			most[string(call.Group)] = call.MaxTo
		}
		if len(d.Calls) == mostCalls {
			d.MoreCalls++
			continue
		}
		d.Calls = append(d.Calls, Call{
			ID: call.ID, Verb: call.Verb, Group: call.Group, Node: call.Node, Instance: call.Instance, Pod: call.Pod,
			From: call.From, To: call.To, Reason: call.Reason, Why: call.Why,
		})
	}
	begin := model.Cycle{Snapshot: &model.Snapshot{}, Plan: model.Plan{Moves: c.Plan.Moves}}
	d.Moves = begin.MoveStates()
	for _, g := range c.Plan.Grow {
		pods := 0
		for _, b := range g.Pods {
			pods += b.Count
		}
		d.Grow = append(d.Grow, Growth{g.Group, g.From, g.To, most[string(g.Group)], pods, g.Why})
	}
}

func (m *maker) pending() {
	s, d := m.cycle.Snapshot, &m.decision
	if len(m.cycle.Plan.Pending) == 0 {
		return
	}
	names := s.ClassNames()
	for i := range m.cycle.Plan.Pending {
		v := &m.cycle.Plan.Pending[i]
		if len(d.Pending) == mostClasses {
			d.MoreClass++
			continue
		}
		p := Pending{
			Class: names[v.Class], Digest: s.Classes[v.Class].Digest(), Since: v.Since.UTC(), Pods: v.Pods,
			Existing: v.Existing, Upcoming: v.Upcoming, Planned: v.Planned, Left: v.Left, Delayed: v.Delayed,
		}
		for _, own := range []*model.Verdict{v.Skipped, v.Disagrees} {
			if own != nil {
				p.Groups = append(p.Groups, GroupVerdict{"", m.number(*own)})
			}
		}
		for _, g := range nearest(v.Groups) {
			p.Groups = append(p.Groups, GroupVerdict{g.Group, m.number(g.Verdict)})
		}
		d.Pending = append(d.Pending, p)
	}
}

// nearest are the groups' verdicts, the nearest to a yes first, as many as a decision holds.
func nearest(groups []model.GroupVerdict) []model.GroupVerdict {
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b model.GroupVerdict) int { return a.Reason.Distance() - b.Reason.Distance() })
	return sorted[:min(len(sorted), mostGroups)]
}
