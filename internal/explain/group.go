package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Group says how a node group stands: its limits, what came of its growth, what holds it, what it says to the
// pods that wait, and how far its template tells the truth.
type Group struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Time       time.Time        `json:"time"`
	Group      provider.GroupID `json:"group"`
	Pool       provider.PoolID  `json:"pool,omitempty"`
	Min        int              `json:"min"`
	Max        int              `json:"max"`
	// Target is what is expected of the cloud. The others count its nodes.
	Target       int      `json:"target"`
	Ready        int      `json:"ready"`
	Booting      int      `json:"booting,omitempty"`
	Coming       int      `json:"coming,omitempty"`
	Unready      int      `json:"unready,omitempty"`
	Leaving      int      `json:"leaving,omitempty"`
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	// Missing is how many nodes its target has and the cluster has not, and since when.
	Missing      int       `json:"missing,omitempty"`
	MissingSince time.Time `json:"missingSince,omitzero"`
	LastGrowth   time.Time `json:"lastGrowth,omitzero"`
	LastRemoval  time.Time `json:"lastRemoval,omitzero"`
	// BoughtLast is there where too many of its nodes were interrupted.
	BoughtLast *BoughtLast `json:"boughtLast,omitempty"`
	// Growth are the scale-ups in flight, Holds what holds the group now, and GivenUp machines that are not
	// waited for any more, each with what keeps it.
	Growth []GrowthState `json:"growth,omitempty"`
	// Came are nodes that were bought lately, the newest first, and what became of the pods that they were bought for.
	Came    []Came      `json:"came,omitempty"`
	Holds   []GroupHold `json:"holds,omitempty"`
	GivenUp []GroupHold `json:"givenUp,omitempty"`
	// Classes are the group's answers to pods that wait.
	Classes  []ClassAnswer   `json:"classes,omitempty"`
	Template *TemplateAnswer `json:"template,omitempty"`
}

// BoughtLast says why a group is bought from last, and not for cheaper nodes, and until when.
type BoughtLast struct {
	Interrupted int       `json:"interrupted"` // nodes
	Why         string    `json:"why"`
	Until       time.Time `json:"until"`
}

// GrowthState is a scale-up in flight.
type GrowthState struct {
	At    time.Time `json:"at"`
	For   []string  `json:"for,omitempty"`
	Found bool      `json:"found,omitempty"` // another client asked for it
	// Units counts its nodes by how far they are, and Why has the reasons of those that are given up.
	Units map[string]int `json:"units"`
	Why   []string       `json:"why,omitempty"`
}

// Came is a node that has come of a scale-up.
type Came struct {
	Node  string    `json:"node"`
	Ready time.Time `json:"ready,omitzero"`
	For   []string  `json:"for,omitempty"`
	// Runs is how many pods of those that it was bought for run on it.
	Runs int `json:"runs"`
}

// GroupHold is something that holds the group, or a machine of it.
type GroupHold struct {
	What    string `json:"what"`
	Verdict `json:",inline"`
}

// ClassAnswer is what the group says to pods that wait.
type ClassAnswer struct {
	Class   string `json:"class"`
	Pods    int    `json:"pods"`
	Verdict `json:",inline"`
	// WorksIf and Instead are as in a GroupAnswer.
	WorksIf *Fix   `json:"worksIf,omitempty"`
	Instead string `json:"instead,omitempty"`
}

// TemplateAnswer sets a group's template against its newest ready node.
type TemplateAnswer struct {
	Node  string    `json:"node,omitempty"` // empty if there is none
	Since time.Time `json:"since,omitzero"`
	Parts []Part    `json:"parts,omitempty"` // resources, and the labels and taints that differ
	Same  bool      `json:"same"`
}

// Part is one thing of a node, as the template says and as it is.
type Part struct {
	What      string `json:"what"`
	Predicted string `json:"predicted"`
	Actual    string `json:"actual"`
}

// GroupOf explains a group.
func GroupOf(c model.Cycle, p model.Policy, name string) (Group, error) {
	a := asked{snap: c.Snapshot, plan: &c.Plan, policy: p, memory: &c.Memory}
	at := slices.IndexFunc(a.snap.Groups, func(g model.Group) bool { return string(g.ID) == name })
	if at < 0 {
		return Group{}, a.noGroup(name)
	}
	g := &a.snap.Groups[at]
	defer a.close()
	least, most := a.plan.Bounds(g)
	out := Group{
		APIVersion: APIVersion, Kind: "Group", Time: a.snap.Now.UTC(), Group: g.ID, Pool: g.Pool, Min: least, Max: most,
		Target: g.Expected, Ready: g.ReadyNodes, Booting: g.BootingNodes, Coming: g.ComingNodes, Unready: g.UnreadyNodes,
		Leaving: g.LeavingNodes, Missing: g.Missing, MissingSince: g.MissingSince.UTC(),
		LastGrowth: g.LastGrowth.UTC(), LastRemoval: g.LastRemoval.UTC(),
		Growth: a.growth(g), Holds: HoldsOf(a.snap, g), Classes: a.classes(g),
	}
	if price, ok := a.snap.Fleet().Next(at); ok {
		out.PricePerHour = &price
	}
	for i := range a.plan.Repair {
		v := &a.plan.Repair[i]
		if v.Group == g.ID {
			what := string(v.Instance)
			if what == "" {
				what = spelling.Count(v.Count, "request")
			}
			out.GivenUp = append(out.GivenUp, GroupHold{what, *verdictOf(&v.Verdict)})
		}
	}
	for _, d := range p.Moves.Distrusts(a.plan.Interruptions, a.snap.Now) {
		if d.Group == g.ID {
			out.BoughtLast = &BoughtLast{d.Count, d.Why(), d.Until.UTC()}
		}
	}
	out.Came = a.came(g)
	if g.HasTemplate {
		out.Template = a.template(at)
	}
	return out, nil
}

// growth are the group's scale-ups in flight, the oldest first.
func (a *asked) growth(g *model.Group) (out []GrowthState) {
	names := map[string]string{}
	called := a.snap.ClassNames()
	for i := range a.snap.Classes {
		names[a.snap.Classes[i].Digest()] = called[i]
	}
	for _, ask := range g.Asks {
		state := GrowthState{At: ask.At.UTC(), Found: ask.Found, Units: map[string]int{}}
		for _, digest := range ask.For {
			if name, ok := names[digest]; ok {
				state.For = append(state.For, name)
			}
		}
		for _, u := range ask.Units {
			state.Units[u.State.String()]++
			if u.Why != "" && !slices.Contains(state.Why, u.Why) {
				state.Why = append(state.Why, u.Why)
			}
		}
		out = append(out, state)
	}
	return out
}

// came are the nodes that the group's scale-ups have brought, as long as they are remembered, the newest first.
func (a *asked) came(g *model.Group) (out []Came) {
	called, class := a.snap.ClassNames(), map[string]model.ClassID{}
	for i := range a.snap.Classes {
		class[a.snap.Classes[i].Digest()] = model.ClassID(i)
	}
	for _, arrival := range a.snap.Arrivals {
		if arrival.Group != g.ID {
			continue
		}
		x := Came{Node: arrival.Node, Ready: arrival.Ready.UTC()}
		at := slices.IndexFunc(a.snap.Nodes, func(n *model.Node) bool { return n.Name == arrival.Node })
		for _, digest := range arrival.For {
			c, known := class[digest]
			if !known {
				continue
			}
			x.For = append(x.For, called[c])
			if at < 0 {
				continue
			}
			for _, b := range a.snap.Nodes[at].Batches {
				if b.Class == c {
					x.Runs += b.Count
				}
			}
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b Came) int { return b.Ready.Compare(a.Ready) })
	return out
}

// HoldsOf are the provider's holds, the group's rests, what is under way and what is unhealthy.
func HoldsOf(s *model.Snapshot, g *model.Group) (out []GroupHold) {
	now := s.Now
	if g.Err != nil {
		out = append(out, GroupHold{"reading it", Verdict{Reason: model.GroupUnreadable, Detail: g.Err.Error()}})
	}
	for _, h := range g.Holds {
		if h.Stands(now) {
			out = append(out, GroupHold{string(h.Op), Verdict{Reason: model.GroupHeld, Detail: detailed(h.Reason, h.Message),
				Since: h.Since, Until: h.Until}})
		}
	}
	if v := g.Paused(); v != nil {
		out = append(out, GroupHold{"operator", Verdict{Reason: v.Reason, Detail: v.Detail, Since: v.Since, Until: v.Until}})
	}
	for _, r := range g.Rests {
		reason, holds := map[model.RestCause]model.Reason{
			model.RestFailed: model.GroupBackoff, model.RestPaused: model.GroupPaused, model.RestRefused: model.Cooldown,
		}[r.Cause]
		if holds && r.Stands(now) {
			out = append(out, GroupHold{"rest: " + string(r.Cause), Verdict{Reason: reason,
				Detail: cmp.Or(r.Message, r.Code), Since: r.Since, Until: r.Until}})
		}
	}
	if g.Busy != nil {
		out = append(out, GroupHold{"call", Verdict{Reason: model.GroupBusy,
			Detail: fmt.Sprintf("%s %d → %d is under way", g.Busy.Verb, g.Busy.From, g.Busy.To), Until: g.Busy.Deadline}})
	}
	if g.Unhealthy != nil {
		out = append(out, GroupHold{"health", *verdictOf(g.Unhealthy)})
	}
	return out
}

func detailed(code, message string) string {
	switch {
	case message == "" || message == code:
		return code
	case code == "":
		return message
	}
	return code + ": " + message
}

// classes are the group's answers, those to the most pods first.
func (a *asked) classes(g *model.Group) (out []ClassAnswer) {
	names, left := a.snap.ClassNames(), asking
	for i := range a.plan.Pending {
		v := &a.plan.Pending[i]
		for j := range v.Groups {
			if v.Groups[j].Group == g.ID {
				out = append(out, a.classAnswer(names[v.Class], v, &v.Groups[j].Verdict, g.ID, &left))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b ClassAnswer) int {
		return cmp.Or(-cmp.Compare(a.Pods, b.Pods), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// classAnswer is one answer, with the fix that begins with the group, as far as the effort that is left suffices.
func (a *asked) classAnswer(
	name string, v *model.PendingVerdict, said *model.Verdict, id provider.GroupID, left *Effort,
) ClassAnswer {
	out := ClassAnswer{Class: name, Pods: v.Pods, Verdict: *verdictOf(said)}
	tries := v.Left > 0 && left.Plans > 0 && left.Steps > 0
	if tries {
		if a.world == nil {
			a.world = schedsim.Load(nil, a.snap)
		}
		a.effort = Effort{min(asking.Plans, left.Plans), min(asking.Steps, left.Steps)}
		r := newRelaxer(a, v.Class)
		defer r.close()
		at := groupAt(a.snap, id)
		out.WorksIf = r.fix(at, *said)
		out.Detail += a.taken(v.Class, at, said.Reason)
		left.Plans, left.Steps = left.Plans-r.tries, left.Steps-r.decider.Steps()
	}
	if out.WorksIf == nil {
		out.Instead = instead(&out.Verdict, a.snap.Now, tries)
	}
	return out
}

// template sets what the group's template says against its newest ready node.
func (a *asked) template(group int) *TemplateAnswer {
	out := &TemplateAnswer{Same: true}
	var newest *model.Node
	for i := range a.snap.Nodes {
		n := a.snap.Nodes[i]
		if n.Group == group && n.Kind == model.Ready &&
			(newest == nil || newest.Object.CreationTimestamp.Time.Before(n.Object.CreationTimestamp.Time)) {
			newest = n
		}
	}
	if newest == nil {
		return out
	}
	promised, real := templateOf(a.snap, group), a.snap.Contents.Shapes[newest.Shape].Node
	out.Node, out.Since = newest.Name, newest.Object.CreationTimestamp.UTC()
	add := func(what, predicted, actual string, always bool) {
		out.Same = out.Same && predicted == actual
		if always || predicted != actual {
			out.Parts = append(out.Parts, Part{what, predicted, actual})
		}
	}
	for _, name := range resourceNames(promised, real) {
		said, is := promised.Status.Allocatable[name], real.Status.Allocatable[name]
		add(string(name), said.String(), is.String(), true)
	}
	varies := map[string][]string{}
	if t := a.snap.Groups[group].Template; t != nil {
		varies = t.Varies
	}
	both := maps.Clone(promised.Labels)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, real.Labels)
	for _, k := range slices.Sorted(maps.Keys(both)) {
		if _, picks := varies[k]; picks || k == corev1.LabelHostname {
			continue
		}
		if said, ok := promised.Labels[k]; ok { // a node has labels that no template knows
			add("label "+k, said, real.Labels[k], false)
		}
	}
	add("taints", taints(promised), taints(real), false)
	return out
}

// resourceNames are what either node can hold, sorted.
func resourceNames(a, b *corev1.Node) []corev1.ResourceName {
	names := map[corev1.ResourceName]bool{}
	for _, n := range []*corev1.Node{a, b} {
		for name := range n.Status.Allocatable {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// taints are those that keep pods away, sorted.
func taints(n *corev1.Node) string {
	var out []string
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != model.TaintToBeDeleted {
			out = append(out, t.ToString())
		}
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}
