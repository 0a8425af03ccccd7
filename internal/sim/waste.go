package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// wasteBook records which growths were for which classes of pods, and whose nodes turned out to be
// of no use to them. Once that can be seen, no further node of the group may be bought for the
// class until the template changes.
type wasteBook struct {
	growths map[provider.GroupID][]growth
	ready   map[string]time.Time // node → when the loop first saw it ready and without pods
	wasted  map[purpose]wasted
	// forgiven is when a verdict last fell: nodes from before it are no longer checked.
	forgiven map[purpose]time.Time
}

// growth is one that was decided on, and the keys of the classes it was for.
type growth struct {
	at      time.Time
	classes []string
}

type purpose struct {
	group provider.GroupID
	class string // its key
}

type wasted struct {
	at       time.Time
	node     string
	made     time.Time // when the node was made: it may have been ready much later
	template string    // the template's content that was promised
	// concluded: the loop itself reads the node as it is, no longer its template. Until then the
	// verdict is dropped if the pods go.
	concluded bool
	// useless are the later nodes of the group that are none for the class either.
	useless map[string]bool
}

func newWasteBook() wasteBook {
	return wasteBook{growths: map[provider.GroupID][]growth{}, ready: map[string]time.Time{},
		wasted: map[purpose]wasted{}, forgiven: map[purpose]time.Time{}}
}

// seenFor is how long a node must have been seen ready and empty, while the
// scheduler refuses the class, before it counts as of no use to it.
const seenFor = 10 * time.Second

// unsure: a leader died, and its memory may lack what it learned last.
func (b *wasteBook) unsure(now time.Time) {
	for k, w := range b.wasted {
		if now.Sub(w.at) < 30*time.Second {
			delete(b.wasted, k)
		}
	}
	clear(b.ready)
}

// forgotten: the answers of the cloud lacked a group until its loss was believed, and what
// was bought there with it. If it comes back, its nodes are some that nobody asked for.
func (b *wasteBook) forgotten(group provider.GroupID) {
	delete(b.growths, group)
	maps.DeleteFunc(b.wasted, func(p purpose, _ wasted) bool { return p.group == group })
}

// refused: a growth has bought nothing, so nodes that come up are not its own.
func (b *wasteBook) refused(call model.Call) {
	b.growths[call.Group] = slices.DeleteFunc(b.growths[call.Group], func(g growth) bool {
		return call.ID == fmt.Sprintf("grow/%s/%d", call.Group, g.at.UnixNano())
	})
}

// cycle takes in a cycle: first what it buys, then what could be seen in it.
func (b *wasteBook) cycle(ck *checker, c model.Cycle) {
	s := c.Snapshot
	for _, ch := range c.Changes {
		if ch.Kind == model.GroupForgotten {
			b.forgotten(ch.Group)
		}
	}
	b.forgive(s)
	for _, g := range c.Plan.Grow {
		var classes []string
		for _, pods := range g.Pods {
			key := s.Classes[pods.Class].Key
			classes = append(classes, key)
			p := purpose{g.Group, key}
			w, known := b.wasted[p]
			if known && w.concluded {
				ck.breach("one growth in vain at most", string(g.Group)+" for "+s.ClassNames()[pods.Class],
					"since %s it is to be seen that node %s of the group does not help", stamp(w.at), w.node)
			}
		}
		b.growths[g.Group] = append(b.growths[g.Group], growth{s.Now, classes})
	}
	if len(b.growths) == 0 {
		return
	}
	b.revise(s)
	if ck.w.schedulerErrs() {
		clear(b.ready) // a refusal may be older than the node, or not the filters' word
		return
	}
	empty := map[string]bool{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		// However the loop reads a ready node that differs from its template: that pods do not go
		// there can be seen.
		if n.Object == nil || n.Kind == model.Leaving || n.Group < 0 || !bare(n) ||
			n.Object.Spec.Unschedulable || !model.NodeReady(n.Object) {
			continue
		}
		empty[n.Name] = true
		if _, known := b.ready[n.Name]; !known {
			b.ready[n.Name] = s.Now
		}
		if s.Now.Sub(b.ready[n.Name]) >= seenFor {
			b.empty(s, n, ck.w.settings.Policy.CallDeadline)
		}
	}
	for name := range b.ready {
		if !empty[name] {
			delete(b.ready, name)
		}
	}
}

// bare reports whether a node has no pods but its own. To the scheduler a pod that nobody buys a
// node for has its room until it has ended, also where another is to have it.
func bare(n *model.Node) bool {
	const own = model.FromDaemonSet | model.Mirror | model.Finished
	return n.Occupants == 0 && !slices.ContainsFunc(n.Bound, func(p model.Pod) bool { return p.Flags&own == 0 })
}

// forgive drops the verdicts that no longer hold. It runs in each cycle: the node that proves it
// may be gone by the next.
func (b *wasteBook) forgive(s *model.Snapshot) {
	var planner *schedsim.World
	load := func() *schedsim.World {
		if planner == nil {
			planner = schedsim.Load(nil, s)
		}
		return planner
	}
	for p, w := range b.wasted {
		if w.refuted(s, p, load) {
			delete(b.wasted, p)
			b.forgiven[p] = s.Now
		}
	}
	if planner != nil {
		planner.Close()
	}
}

// siblings is how far apart the nodes of one growth may come up.
const siblings = 10 * time.Minute

// refuted reports whether a verdict no longer holds: the template has changed, a node that came
// later is of use to the class, or one of the same growth runs it: then the growth was not in vain.
// The planner is asked only about new nodes.
func (w wasted) refuted(s *model.Snapshot, p purpose, planner func() *schedsim.World) bool {
	if w.template != templateOf(s, p.group) {
		return true
	}
	class := model.ClassID(slices.IndexFunc(s.Classes, func(c model.Class) bool { return c.Key == p.class }))
	if class < 0 {
		return false
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Kind != model.Ready || n.Group < 0 || s.Groups[n.Group].ID != p.group {
			continue
		}
		made := n.Object.CreationTimestamp
		if made.After(w.made.Add(-siblings)) &&
			slices.ContainsFunc(n.Batches, func(b model.Batch) bool { return b.Class == class }) {
			return true
		}
		if !made.After(w.at) || w.useless[n.Name] {
			continue
		}
		if planner().Alone(class, model.NodeID(i)).Reason == model.Fits {
			return true
		}
		w.useless[n.Name] = true
	}
	return false
}

// revise concludes verdicts, or drops those whose pods stopped waiting before the loop had to see
// what the node is.
func (b *wasteBook) revise(s *model.Snapshot) {
	waiting := map[string]bool{}
	for q := range s.Pending {
		waiting[s.Classes[s.Pending[q].Class].Key] = true
	}
	for p, w := range b.wasted {
		if w.concluded {
			continue
		}
		i := slices.IndexFunc(s.Nodes, func(n model.Node) bool { return n.Name == w.node })
		if i < 0 || !waiting[p.class] || s.Nodes[i].Occupants > 0 {
			delete(b.wasted, p)
			continue
		}
		w.concluded = s.Nodes[i].Kind == model.Ready
		b.wasted[p] = w
	}
}

// empty notes a node that has been ready and empty for a while although it was bought for pods that
// still wait.
func (b *wasteBook) empty(s *model.Snapshot, n *model.Node, within time.Duration) {
	g := &s.Groups[n.Group]
	i := slices.IndexFunc(g.Instances, func(in provider.Instance) bool { return in.ID == n.Instance })
	if i < 0 {
		return
	}
	classes := b.boughtFor(g.ID, g.Instances[i].Created, within)
	if len(classes) == 0 {
		return
	}
	for q := range s.Pending {
		class := &s.Classes[s.Pending[q].Class]
		p := purpose{g.ID, class.Key}
		if _, known := b.wasted[p]; !known && !n.Object.CreationTimestamp.Time.Before(b.forgiven[p]) &&
			slices.Contains(classes, class.Key) && simple(class) && !asksForPlace(class, &g.Group) &&
			b.waited(&s.Pending[q], b.ready[n.Name], s.Now) {
			b.wasted[p] = wasted{at: s.Now, node: n.Name, made: n.Object.CreationTimestamp.Time,
				template: templateOf(s, g.ID), useless: map[string]bool{}}
		}
	}
}

// boughtFor are the classes that an instance was asked for in any case. Nobody can tell which of the
// growths before it brought it, where several were under way: those that all of them were for.
func (b *wasteBook) boughtFor(id provider.GroupID, made time.Time, within time.Duration) []string {
	var classes []string
	first := true
	for _, g := range b.growths[id] {
		if g.at.After(made) || made.Sub(g.at) > within {
			continue
		}
		if first {
			classes, first = slices.Clone(g.classes), false
			continue
		}
		classes = slices.DeleteFunc(classes, func(c string) bool { return !slices.Contains(g.classes, c) })
	}
	return classes
}

// waited reports whether some pod of the class was refused, waited already when the node was ready,
// and is old enough for the scheduler to have tried every node that was seen. Later pods belong to
// another growth.
func (b *wasteBook) waited(q *model.Pending, ready, now time.Time) bool {
	return slices.ContainsFunc(q.Pods, func(p *model.Pod) bool {
		created := time.Unix(p.Created, 0)
		return p.Flags&model.Refused != 0 && now.Sub(created) > seenFor && created.Before(ready)
	})
}

// simple reports whether a class's verdict on an empty node depends on nothing
// but that node.
func simple(c *model.Class) bool {
	spec := &c.Spec.Pod.Spec
	a := spec.Affinity
	return len(spec.TopologySpreadConstraints) == 0 && (a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil)
}

// asksForPlace reports whether pods of the class select nodes by what the cloud picks
// for the group's: a node that came up elsewhere is then a step, and not in vain.
func asksForPlace(c *model.Class, g *provider.Group) bool {
	if g.Template == nil || len(g.Template.Places) == 0 {
		return false
	}
	for key := range g.Template.Places[0].Labels {
		if _, asks := c.Spec.Pod.Spec.NodeSelector[key]; asks {
			return true
		}
	}
	return false
}

func templateOf(s *model.Snapshot, id provider.GroupID) string {
	i := slices.IndexFunc(s.Groups, func(g model.Group) bool { return g.ID == id })
	if i < 0 || !s.Groups[i].HasTemplate {
		return ""
	}
	return s.Contents.Shapes[s.Groups[i].Shape].Key
}
