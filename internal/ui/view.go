package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// View is what is made of one cycle. The API and the page render it.
type View struct {
	State  State
	Pods   []Class
	Nodes  []Node // by group, zone, and load, the fullest first
	Groups []Group
}

// State is the cluster in numbers.
type State struct {
	// Time is when the cluster was seen, CloudTime when the cloud was read.
	Time      time.Time `json:"time"`
	CloudTime time.Time `json:"cloudTime,omitzero"`
	// Unhealthy says why nothing is bought or removed; nil if the cluster is healthy.
	Unhealthy *decisions.Verdict `json:"unhealthy,omitempty"`
	// CloudError is why the cloud was not read again.
	CloudError string `json:"cloudError,omitempty"`
	Nodes      Counts `json:"nodes"`
	// PodsOnNodes counts the pods that have a node, PodsWaiting those without one, since Longest.
	PodsOnNodes int       `json:"podsOnNodes"`
	PodsWaiting int       `json:"podsWaiting"`
	Longest     time.Time `json:"longest,omitzero"`
	// CPU, Memory and Accelerators are the shares of what ready nodes offer that pods request.
	CPU          float64 `json:"cpu"`
	Memory       float64 `json:"memory"`
	Accelerators float64 `json:"accelerators,omitempty"`
	Cost         Cost    `json:"cost"`
	DecideMillis float64 `json:"decideMillis"`
	// Notices are what a person should know of the configuration.
	Notices []provider.Notice `json:"notices,omitempty"`
	// Moves are those under way, those that would be worth it, and those that are over and whose nodes rest.
	Moves []model.MoveState `json:"moves,omitempty"`
	// Budgets is what each budget leaves.
	Budgets []budget.State `json:"budgets,omitempty"`
}

// Counts are nodes by state.
type Counts struct {
	Ready   int `json:"ready"`
	Coming  int `json:"coming"`
	Leaving int `json:"leaving"`
	Unready int `json:"unready"`
}

// All counts the nodes that exist.
func (c Counts) All() int { return c.Ready + c.Leaving + c.Unready }

func (c *Counts) add(s NodeState) {
	switch s {
	case Coming:
		c.Coming++
	case Leaving:
		c.Leaving++
	case Unready:
		c.Unready++
	default:
		c.Ready++
	}
}

// Cost is what nodes cost per hour.
type Cost = model.Cost

// Class is pods without a node that are equal in all that counts.
type Class struct {
	// Name says what made the pods, Digest the class itself.
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// First is the name of one of the pods.
	First    string    `json:"first"`
	Pods     int       `json:"pods"`
	Requests string    `json:"requests"`
	Since    time.Time `json:"since"`
	// Pods = Existing + Upcoming + Planned + Left + Delayed.
	Existing int `json:"existing,omitempty"`
	Upcoming int `json:"upcoming,omitempty"`
	Planned  int `json:"planned,omitempty"`
	Left     int `json:"left,omitempty"`
	Delayed  int `json:"delayed,omitempty"`
	// Tried is the nearest change with which all of them get a node, once it was tried. The first of Own or of Answers
	// is what it changes, and has it for a fix.
	Tried string      `json:"tried,omitempty"`
	Trial model.Trial `json:"trial,omitempty"`
	// Own are verdicts on the class itself.
	Own []decisions.Verdict `json:"own,omitempty"`
	// Answers are the groups', the nearest to a yes first; groups with the same answer stand together.
	Answers []Answer `json:"answers,omitempty"`
}

// Pod is one of the pods, as namespace/name.
func (c *Class) Pod() string {
	namespace, _, _ := strings.Cut(c.Name, "/")
	return namespace + "/" + c.First
}

// Verdict is the first thing to say of the class; nil if its pods have room.
func (c *Class) Verdict() *decisions.Verdict {
	var first decisions.Verdict
	switch {
	case len(c.Own) > 0:
		first = c.Own[0]
	case c.Left > 0 && len(c.Answers) > 0:
		first = c.Answers[0].Verdict
		first.Fix = c.Trial.Mark(first.Fix, "")
	default:
		return nil
	}
	return &first
}

// Answer is one verdict of some groups.
type Answer struct {
	Groups            []provider.GroupID `json:"groups"`
	decisions.Verdict `json:",inline"`
}

// NodeState is where a node is.
type NodeState string

// The states of a node.
const (
	Ready   NodeState = "Ready"
	Coming  NodeState = "Coming" // asked for, or booting
	Leaving NodeState = "Leaving"
	Unready NodeState = "Unready"
)

// Node is one node.
type Node struct {
	Name  string           `json:"name"`
	Group provider.GroupID `json:"group,omitempty"`
	Zone  string           `json:"zone,omitempty"`
	State NodeState        `json:"state"`
	// CPU, Memory and Accelerators are the shares of what it offers that pods request; Pods counts those.
	CPU          float64   `json:"cpu"`
	Memory       float64   `json:"memory"`
	Accelerators float64   `json:"accelerators,omitempty"`
	Pods         int       `json:"pods"`
	Since        time.Time `json:"since,omitzero"` // when it was made
	// Stage is how far its removal is.
	Stage model.Stage `json:"stage,omitempty"`
	// Unneeded: it goes once nothing holds it. Verdict is what holds it.
	Unneeded bool               `json:"unneeded,omitempty"`
	Verdict  *decisions.Verdict `json:"verdict,omitempty"`
	Price    *float64           `json:"price,omitempty"`
}

// Load is the largest share, and what it is of.
func (n *Node) Load() (share float64, of string) {
	share, of = n.CPU, "CPU"
	if n.Memory > share {
		share, of = n.Memory, "memory"
	}
	if n.Accelerators >= share && n.Accelerators > 0 {
		share, of = n.Accelerators, "accelerators"
	}
	return share, of
}

// Group is a node group.
type Group struct {
	ID     provider.GroupID `json:"id"`
	Min    int              `json:"min"`
	Max    int              `json:"max"`
	Target int              `json:"target"`
	Nodes  Counts           `json:"nodes"`
	// Offers is what a new node offers; nil if the template is not known.
	Offers *Offer   `json:"offers,omitempty"`
	Price  *float64 `json:"price,omitempty"`
	Cost   Cost     `json:"cost"`
	// Held are the reasons for which it does not grow or shrink now.
	Held []decisions.Verdict `json:"held,omitempty"`
	// Sources says where each part of the template comes from.
	Sources map[string]string `json:"sources,omitempty"`
}

// Offer is a new node in words.
type Offer struct {
	Resources string            `json:"resources"`
	Labels    map[string]string `json:"labels,omitempty"`
	Taints    []string          `json:"taints,omitempty"`
}

// maker makes a View.
type maker struct {
	cycle  model.Cycle
	snap   *model.Snapshot
	policy model.Policy
	view   *View
	fleet  *model.Fleet
	// offered and used are sums over ready nodes.
	offered, used [3]float64
}

func viewOf(c model.Cycle) *View {
	m := maker{cycle: c, snap: c.Snapshot, policy: c.Policy, view: &View{}, fleet: c.Snapshot.Fleet()}
	m.groups()
	m.nodes()
	m.pods()
	s := &m.view.State
	s.Time, s.CloudTime, s.CloudError = m.snap.Now.UTC(), m.snap.AsOf.UTC(), m.snap.InventoryErr
	s.DecideMillis = float64(c.Took.Decide.Microseconds()) / 1000
	s.Notices = slices.Concat(m.snap.Notices, c.Plan.Notices)
	s.Moves, s.Budgets = c.MoveStates(), m.snap.Book(c.Policy.Budgets).States()
	if m.snap.Unhealthy != nil {
		v := decisions.VerdictOf(*m.snap.Unhealthy)
		s.Unhealthy = &v
	}
	s.CPU, s.Memory, s.Accelerators = ratio(m.used[0], m.offered[0]), ratio(m.used[1], m.offered[1]),
		ratio(m.used[2], m.offered[2])
	return m.view
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func (m *maker) groups() {
	for i := range m.snap.Groups {
		g := &m.snap.Groups[i]
		least, most := m.cycle.Plan.Bounds(g)
		out := Group{ID: g.ID, Min: least, Max: most, Target: g.Expected, Held: m.held(g)}
		if g.HasTemplate {
			shape := m.snap.Contents.Shapes[g.Shape]
			out.Offers = &Offer{Resources: shape.Allocatable.String(), Labels: shape.Node.Labels}
			for _, t := range shape.Node.Spec.Taints {
				out.Offers.Taints = append(out.Offers.Taints, t.ToString())
			}
			if price, ok := m.fleet.Next(i); ok {
				out.Price = &price
			}
		}
		if g.Template != nil {
			out.Sources = g.Template.Sources
		}
		m.view.Groups = append(m.view.Groups, out)
	}
}

// held are the reasons for which a group rests or is left alone, as explain has them, and that it is full.
func (m *maker) held(g *model.Group) (out []decisions.Verdict) {
	for _, h := range explain.HoldsOf(m.snap, g) {
		out = append(out, decisions.Verdict{Reason: h.Reason, Detail: h.What + ": " + h.Detail, Fix: h.Fix,
			Since: utc(h.Since), Until: utc(h.Until)})
	}
	if g.Expected >= g.Max && g.Max > 0 {
		out = append(out, decisions.Verdict{Reason: model.GroupAtMax})
	}
	return out
}

// utc leaves the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

func (m *maker) nodes() {
	s := m.snap
	verdicts := map[string]Node{}
	for _, list := range []struct {
		of       []model.NodeVerdict
		unneeded bool
	}{{m.cycle.Plan.Unneeded, true}, {m.cycle.Plan.Kept, false}} {
		for i := range list.of {
			v := decisions.VerdictOf(list.of[i].Verdict)
			verdicts[list.of[i].Node] = Node{Unneeded: list.unneeded, Verdict: &v}
		}
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		if m.justJoined(n) {
			continue
		}
		out := verdicts[n.Name]
		out.Name, out.State = n.Name, stateOf(n)
		shape := s.Contents.Shapes[n.Shape]
		out.Zone = shape.Node.Labels[corev1.LabelTopologyZone]
		if n.Object != nil {
			out.Since = n.Object.CreationTimestamp.UTC()
		}
		if d := n.Standing.Drain; d != nil {
			out.Stage = d.Stage
		}
		m.fill(&out, n, shape)
		if n.Group >= 0 {
			out.Group = s.Groups[n.Group].ID
			m.view.Groups[n.Group].Nodes.add(out.State)
		}
		m.price(&out, n)
		m.view.State.Nodes.add(out.State)
		m.view.Nodes = append(m.view.Nodes, out)
	}
	slices.SortFunc(m.view.Nodes, func(a, b Node) int {
		x, _ := a.Load()
		y, _ := b.Load()
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Zone, b.Zone), cmp.Compare(y, x),
			cmp.Compare(a.Name, b.Name))
	})
}

// justJoined reports whether a node is younger than the last read of the cloud. Until the next one its
// group is unknown; there a node that was asked for stands for it.
func (m *maker) justJoined(n *model.Node) bool {
	return n.Group < 0 && n.Kind == model.Unready && n.Object != nil &&
		!n.Object.CreationTimestamp.Time.Before(m.snap.AsOf.Truncate(time.Second))
}

func stateOf(n *model.Node) NodeState {
	switch n.Kind {
	case model.Booting, model.Coming:
		return Coming
	case model.Leaving:
		return Leaving
	case model.Unready:
		return Unready
	}
	return Ready
}

// fill sums what the pods of a node request.
func (m *maker) fill(out *Node, n *model.Node, shape *model.Shape) {
	var want model.Resources
	for _, list := range [][]model.Batch{n.Batches, n.Expendable} {
		for _, b := range list {
			want = want.Plus(m.snap.Classes[b.Class].Spec.Requests, int64(b.Count))
			out.Pods += b.Count
		}
	}
	has := shape.Allocatable
	out.CPU = ratio(float64(want.MilliCPU), float64(has.MilliCPU))
	out.Memory = ratio(float64(want.Memory), float64(has.Memory))
	var most, used float64
	for _, a := range has.Extended {
		if !model.IsAccelerator(a.Name) {
			continue
		}
		most += float64(a.Value)
		used += float64(want.Value(a.Name))
		out.Accelerators = max(out.Accelerators, ratio(float64(want.Value(a.Name)), float64(a.Value)))
	}
	m.view.State.PodsOnNodes += out.Pods
	if out.State == Ready {
		for i, x := range [...][2]float64{{float64(want.MilliCPU), float64(has.MilliCPU)},
			{float64(want.Memory), float64(has.Memory)}, {used, most}} {
			m.used[i] += x[0]
			m.offered[i] += x[1]
		}
	}
}

// price counts what a node that exists costs.
func (m *maker) price(out *Node, n *model.Node) {
	if n.Object == nil {
		return
	}
	var c Cost
	if price, ok := m.fleet.Mean(n.Group, n.Shape); ok {
		out.Price = &price
		c = model.CostAt(price, out.CPU, out.Memory)
	} else {
		c.Unknown = 1
	}
	m.view.State.Cost.Add(c)
	if n.Group >= 0 {
		m.view.Groups[n.Group].Cost.Add(c)
	}
}

func (m *maker) pods() {
	s := m.snap
	names := s.ClassNames()
	said := map[model.ClassID]*model.PendingVerdict{}
	for i := range m.cycle.Plan.Pending {
		said[m.cycle.Plan.Pending[i].Class] = &m.cycle.Plan.Pending[i]
	}
	for i := range s.Pending {
		q := &s.Pending[i]
		class := &s.Classes[q.Class]
		out := Class{Name: names[q.Class], Digest: class.Digest(), First: q.Pods[0].Name, Pods: len(q.Pods),
			Requests: class.Spec.Requests.String(), Since: q.Oldest.UTC()}
		if v := said[q.Class]; v != nil {
			out.Existing, out.Upcoming, out.Planned = v.Existing, v.Upcoming, v.Planned
			out.Left, out.Delayed = v.Left, v.Delayed
			for _, own := range []*model.Verdict{v.Skipped, v.Disagrees} {
				if own != nil {
					out.Own = append(out.Own, decisions.VerdictOf(*own))
				}
			}
			out.answer(v)
			if out.Left > 0 {
				out.Trial = v.Trial(s.Now)
			}
		}
		m.view.State.PodsWaiting += out.Pods
		if l := m.view.State.Longest; l.IsZero() || out.Since.Before(l) {
			m.view.State.Longest = out.Since
		}
		m.view.Pods = append(m.view.Pods, out)
	}
	// Pods that no room is found for come first, then those that wait longest.
	slices.SortStableFunc(m.view.Pods, func(a, b Class) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
}

func rank(c *Class) int {
	if c.Verdict() != nil {
		return 0
	}
	return 1
}

// answer puts groups with equal answers together, the nearest to a yes first. A fix that was tried stands with the
// group that it begins with, before all others, or with what is said of the class itself.
func (c *Class) answer(v *model.PendingVerdict) {
	at := map[[3]string]int{}
	for _, g := range v.Groups {
		said, own := decisions.VerdictOf(g.Verdict), ""
		if v.Tried != nil && v.Tried.Group == g.Group {
			c.Tried, said.Fix, own = v.Tried.Text, v.Tried.Text, string(g.Group)
		}
		key := [3]string{string(g.Reason), g.Detail, own}
		i, ok := at[key]
		if !ok {
			i = len(c.Answers)
			at[key] = i
			c.Answers = append(c.Answers, Answer{Verdict: said})
		}
		c.Answers[i].Groups = append(c.Answers[i].Groups, g.Group)
	}
	far := func(a Answer) int {
		if v.Tried != nil && a.Groups[0] == v.Tried.Group {
			return -1
		}
		return a.Reason.Distance()
	}
	slices.SortStableFunc(c.Answers, func(a, b Answer) int { return far(a) - far(b) })
	if v.Tried != nil && v.Tried.Group == "" && v.Skipped != nil {
		c.Tried, c.Own[0].Fix = v.Tried.Text, v.Tried.Text
	}
}
