package scaleup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// disagreeAfter is how long pods may wait beside a new node that they fit,
// before it is taken for certain that the scheduler sees it otherwise. It is
// longer than the scheduler itself leaves a refused pod alone (5 minutes).
const disagreeAfter = 6 * time.Minute

// brakes are the scale-ups that have not helped, and must not be repeated: by
// verdict, not by time.
type brakes struct {
	pl       *planner
	class    map[string]model.ClassID // by digest
	waits    map[model.ClassID]*waiting
	template map[int]schedsim.Template
	stand    []model.Brake
}

// brake finds out which groups must not grow for which classes, before anything
// is placed.
func (pl *planner) brake(list []*waiting) {
	s := pl.s
	pl.w.AvoidNone()
	if len(s.Brakes) == 0 && len(s.Arrivals) == 0 {
		return
	}
	pl.brakes = s.Brakes
	b := &brakes{
		pl: pl, class: map[string]model.ClassID{}, waits: map[model.ClassID]*waiting{},
		template: map[int]schedsim.Template{},
	}
	for i := range s.Classes {
		b.class[s.Classes[i].Digest()] = model.ClassID(i)
	}
	for _, q := range list {
		b.waits[q.Class] = q
	}
	for _, h := range pl.heads {
		b.template[h.group] = h.template
	}
	// 1. Those that stood: until the template changes, or a newer node of the
	// group takes the class.
	for _, old := range s.Brakes {
		old.Until = b.until(old)
		if b.stands(old) {
			b.stand = append(b.stand, old)
		}
	}
	// 2. Nodes that an ask has brought, for classes that wait still.
	for _, a := range s.Arrivals {
		b.compare(a)
	}
	slices.SortFunc(b.stand, inOrder)
	for _, k := range b.stand {
		if onTrial(k, s.Now) {
			pl.wake = earliest(pl.wake, k.Until.Add(forget))
			b.tryable(k)
			continue // what it allows depends on what is on its way
		}
		if c, ok := b.class[k.Class]; ok && !ofStep(k) {
			pl.applyBrake(c, k)
		}
		// It may end for others than its own class: steps are for a whole group or namespace.
		pl.wake = earliest(pl.wake, k.Until)
		if ofStep(k) {
			pl.wake = earliest(pl.wake, k.Since.Add(forget))
		}
	}
	pl.brakes = b.stand
}

// ofStep reports whether a brake was drawn with the purchase that it is about: it names no
// node then. It holds only where pods of its class fit nodes that are ready and wait all
// the same (applyStepBrakes); those that fit none are an ordinary case.
func ofStep(k model.Brake) bool { return k.Reason == model.SchedulerDisagrees && k.Node == "" }

// applyBrake keeps a brake's group from growing for a class.
func (pl *planner) applyBrake(c model.ClassID, k model.Brake) {
	if group := groupIndex(pl.s, k); group >= 0 {
		pl.w.Avoid(c, group)
		pl.braked[brakeKey{c, group}] = k
	}
}

// inOrder is the order of a plan's brakes: by group and class.
func inOrder(x, y model.Brake) int {
	return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Class, y.Class))
}

// addBrake has a brake stand after this plan, in place of one that the group had for the
// class.
func (pl *planner) addBrake(k model.Brake) {
	i, found := slices.BinarySearchFunc(pl.brakes, k, inOrder)
	if found {
		pl.brakes[i] = k
		return
	}
	pl.brakes = slices.Insert(pl.brakes, i, k)
}

// applyStepBrakes holds all groups that a step has been made in for a class.
func (pl *planner) applyStepBrakes(c model.ClassID) {
	for _, k := range pl.brakes {
		if ofStep(k) && k.Class == pl.s.Classes[c].Digest() {
			pl.applyBrake(c, k)
		}
	}
}

type brakeKey struct {
	class model.ClassID
	group int
}

func groupIndex(s *model.Snapshot, k model.Brake) int {
	i, ok := slices.BinarySearchFunc(s.Groups, k.Group, func(g model.Group, id provider.GroupID) int {
		return cmp.Compare(g.ID, id)
	})
	if !ok {
		return -1
	}
	return i
}

// forget is how long a brake is remembered for a class that no pod is of, and how long
// that of a step is.
const forget = 24 * time.Hour

// stands reports whether a brake holds on: while the template is the same, and
// neither the node that did not help nor a newer one of the group has shown that
// the class can run there.
func (b *brakes) stands(k model.Brake) bool {
	gi := groupIndex(b.pl.s, k)
	c, exists := b.class[k.Class]
	tried := onTrial(k, b.pl.s.Now)
	if !k.Until.IsZero() && !k.Until.After(b.pl.s.Now) && !tried || (!exists || gi < 0 || ofStep(k)) &&
		b.pl.s.Now.Sub(k.Since) >= forget {
		return false
	}
	if !exists || gi < 0 {
		return true
	}
	t, ok := b.template[gi]
	if !ok {
		return true // its template cannot be read now: nothing is known to have changed
	}
	if b.digest(t) != k.Template {
		return false
	}
	if tried && k.Reason == model.TemplateMismatch {
		return !b.trialOver(c, gi, k)
	}
	if tried && b.pl.s.Now.Sub(k.Until) >= forget {
		return false
	}
	if k.Reason == model.LandedElsewhere || k.Reason == model.OutOfReach {
		return !b.landedSince(c, gi, k)
	}
	return !b.helped(c, gi, k.Node, k.Since, k.Reason != model.SchedulerDisagrees)
}

// landedSince reports whether a brake on nodes that land elsewhere is over: the node that
// it was drawn for has room for the class by now, or a newer one of the group has come up
// where the class wants it. That pods of the class run on other nodes says nothing of
// where the next one comes up.
func (b *brakes) landedSince(c model.ClassID, group int, k model.Brake) bool {
	wanted := b.pl.wanted(c, group)
	if k.Reason == model.OutOfReach && b.pl.affords(group, wanted) {
		return true
	}
	for i := range b.pl.s.Nodes {
		n := b.pl.s.Nodes[i]
		if n.Group != group || n.Kind != model.Ready {
			continue
		}
		newer := n.Object.CreationTimestamp.After(k.Since)
		if newer && slices.Contains(wanted, b.pl.w.VariantOf(model.NodeID(i))) {
			return true
		}
		if (newer || n.Name == k.Node) && b.pl.w.Fits(c, model.NodeID(i)) == model.Fits {
			return true
		}
	}
	return false
}

// helped reports whether a node, or a newer one of the group, runs pods of the
// class; or, if so asked, has room for them.
func (b *brakes) helped(c model.ClassID, group int, name string, since time.Time, room bool) bool {
	for i := range b.pl.s.Nodes {
		n := b.pl.s.Nodes[i]
		if n.Group != group || n.Kind != model.Ready || (n.Name != name && !n.Object.CreationTimestamp.After(since)) {
			continue
		}
		if runs(n, c) || room && b.pl.w.Fits(c, model.NodeID(i)) == model.Fits {
			return true
		}
	}
	return false
}

// runs reports whether a node has pods of the class.
func runs(n *model.Node, c model.ClassID) bool {
	return slices.ContainsFunc(n.Batches, func(x model.Batch) bool { return x.Class == c })
}

func (b *brakes) digest(t schedsim.Template) string {
	return b.pl.s.Contents.Shapes[t.Shape].Digest()
}

// compare compares a node that was bought for some classes with what its template
// promised them. What other pods or people have done to it is no mismatch.
func (b *brakes) compare(a model.Arrival) {
	s := b.pl.s
	i, ok := b.node(a.Node)
	if !ok || s.Nodes[i].Kind != model.Ready || s.Nodes[i].Group < 0 || s.Nodes[i].Object.Spec.Unschedulable {
		return
	}
	// A group that cannot grow now is compared as well: it may grow when the node is gone.
	t, ok := b.template[s.Nodes[i].Group]
	if !ok {
		if t, ok = b.pl.w.GroupTemplate(s.Nodes[i].Group); !ok {
			return
		}
	}
	of := b.digest(t) // a brake stands by the group's template, whatever the form of its nodes
	for _, class := range a.For {
		c, exists := b.class[class]
		if !exists || b.waits[c] == nil || b.has(a, class) || b.before(a, class) {
			continue
		}
		t := t
		if b.pl.w.Choosy(c, t.Group) {
			variant, wanted := b.pl.w.VariantOf(model.NodeID(i)), b.pl.wanted(c, t.Group)
			if !slices.Contains(wanted, variant) {
				b.elsewhere(a, c, model.NodeID(i), wanted)
				continue
			}
			t = b.pl.w.Landing(t.Group).Variants[variant]
		}
		if !b.pl.w.Suits(c, t) {
			continue
		}
		if runs(s.Nodes[i], c) {
			continue
		}
		v := b.pl.w.Alone(c, model.NodeID(i))
		if v.Reason == model.Fits {
			b.leftAlone(a, c, model.NodeID(i))
			continue
		}
		helped, vain := b.tally(c, model.NodeID(i))
		if helped >= vain || helped > 0 && s.Now.Sub(a.Ready) >= elsewhereRest {
			continue
		}
		// A new node of the template, beside the same pods, must do better.
		if b.pl.w.ExplainTemplate(c, t).Reason != model.Fits {
			continue
		}
		k := model.Brake{
			Group: a.Group, Class: class, Namespace: s.Classes[c].Namespace(), Template: of,
			Reason: model.TemplateMismatch, Node: a.Node, Since: s.Now,
			Detail: fmt.Sprintf("%s (%s)", b.pl.w.Difference(c, model.NodeID(i), t, v), v.Reason),
		}
		if b.untry(a.Group, class) || helped > 0 {
			k.Until = s.Now.Add(elsewhereRest)
		}
		if helped > 0 {
			k.Detail += fmt.Sprintf("; of the nodes that came with it, %d help and %d do not", helped, vain)
		}
		b.stand = append(b.stand, k)
	}
}

// leftAlone judges a node that was bought for a class, which fits it as it is: wherever the plan puts the pods that
// wait, more of the same are of no use if the scheduler has left them waiting beside it for long.
func (b *brakes) leftAlone(a model.Arrival, c model.ClassID, id model.NodeID) {
	if _, doubted := b.pl.s.Doubts[b.pl.s.Classes[c].Digest()]; !doubted || b.pl.w.Fits(c, id) != model.Fits {
		return
	}
	if k, ok := b.pl.beside(b.waits[c], a, b.pl.s.Nodes[id].Group); ok {
		b.untry(a.Group, k.Class)
		b.stand = append(b.stand, k)
	}
}

// tally counts the nodes of a group that run the class, and those that came for it and are of
// no use to it, among those that were made with a node or after it. One of many that comes
// up wrong is replaced. Where most do, each further purchase would most likely be in vain too.
func (b *brakes) tally(c model.ClassID, of model.NodeID) (helped, vain int) {
	s := b.pl.s
	group, since := s.Nodes[of].Group, s.Nodes[of].Object.CreationTimestamp.Add(-asked)
	counts := func(n *model.Node) bool {
		return n.Group == group && n.Kind == model.Ready && n.Object.CreationTimestamp.After(since)
	}
	for i := range s.Nodes {
		if counts(s.Nodes[i]) && runs(s.Nodes[i], c) {
			helped++
		}
	}
	for _, a := range s.Arrivals {
		if i, ok := b.node(a.Node); ok && counts(s.Nodes[i]) && slices.Contains(a.For, s.Classes[c].Digest()) &&
			!runs(s.Nodes[i], c) && b.pl.w.Alone(c, model.NodeID(i)).Reason != model.Fits {
			vain++
		}
	}
	return helped, vain
}

// elsewhereRest is how long a group is left alone for a class after its nodes came up
// where the class cannot run, or after its pods waited beside a node that has gone since.
// What keeps the cloud from making nodes elsewhere may pass, and so may what the scheduler
// has against them.
const elsewhereRest = time.Hour

// outOfReachRest is how long no node is bought against the cloud's rule after one has shown
// that the rule holds. It ends at once when what the limits leave room for is certain to help.
const outOfReachRest = 6 * time.Hour

// mostTries is how many nodes of a group may come up elsewhere in that time, where it is
// unknown how the cloud chooses: two of each variant, and no more than six.
func mostTries(variants int) int { return min(2*variants, 6) }

// elsewhere judges a node that came up as a variant of no use to the class that it was
// bought for. While the cloud goes on as its rule says, the next may be of use, unless the
// rule says that it will not for long. If it does not go on so, or there is no rule and
// several have come, it is no use to go on now. Only what has come up since speaks for
// the cloud: that pods of the class run on older nodes of the wanted variants does not
// mean that it makes more of them.
func (b *brakes) elsewhere(a model.Arrival, c model.ClassID, id model.NodeID, wanted []int) {
	s, node := b.pl.s, b.pl.s.Nodes[id]
	group, variant := node.Group, b.pl.w.VariantOf(id)
	if len(wanted) == 0 || variant < 0 || s.Now.Sub(a.Ready) >= elsewhereRest || runs(node, c) {
		return
	}
	l, tries := b.pl.w.Landing(group), 0
	before, step := asked, l.Sure() && !b.pl.affords(group, wanted)
	if step {
		before = 0 // steps follow each other, so that the last one tells
	}
	last := b.newest(group, wanted)
	if last.After(node.Object.CreationTimestamp.Add(-before)) {
		return
	}
	for _, x := range s.Arrivals {
		if x.Group == a.Group && slices.Contains(x.For, s.Classes[c].Digest()) && !x.Ready.IsZero() &&
			s.Now.Sub(x.Ready) < elsewhereRest && b.inVain(x, c, last) {
			tries++
		}
	}
	k := model.Brake{
		Group: a.Group, Class: s.Classes[c].Digest(), Template: b.pl.s.Contents.Shapes[s.Groups[group].Shape].Digest(),
		Reason: model.LandedElsewhere, Node: a.Node, Since: s.Now, Until: s.Now.Add(elsewhereRest),
		Detail: fmt.Sprintf("%s came for these pods, the last as %s, and a pod needs %s", spelling.Count(tries, "node"),
			b.pl.variantName(group, variant), b.pl.variantNames(group, wanted)),
	}
	switch {
	case l.Astray(variant, wanted):
	case l.Sure() && !step:
		return
	case step && l.Follows(variant):
		k.Reason = model.OutOfReach
		if !b.pl.inReach(group, wanted, math.MaxInt) {
			k.Until = s.Now.Add(outOfReachRest)
		} // else the limits leave it to chance, which may be kinder the next time
	case tries < mostTries(len(l.Variants)) && (b.pl.limits.closed[group] != nil || b.pl.limits.most(group) > 0):
		return // else none can be tried beside it, and when it goes the next would be bought in its place
	}
	b.stand = append(b.stand, k)
}

// newest is when the youngest ready node of the group was made that is one of the
// variants, zero if there is none.
func (b *brakes) newest(group int, variants []int) (at time.Time) {
	for i := range b.pl.s.Nodes {
		n := b.pl.s.Nodes[i]
		if n.Group == group && n.Kind == model.Ready && n.Object.CreationTimestamp.After(at) &&
			slices.Contains(variants, b.pl.w.VariantOf(model.NodeID(i))) {
			at = n.Object.CreationTimestamp.Time
		}
	}
	return at
}

// inVain reports whether a node that has come is younger than the newest of use to the
// class, and runs none of its pods.
func (b *brakes) inVain(a model.Arrival, c model.ClassID, newest time.Time) bool {
	i, ok := b.node(a.Node)
	return ok && b.pl.s.Nodes[i].Object.CreationTimestamp.After(newest) && !runs(b.pl.s.Nodes[i], c)
}

// node finds a registered node by its name.
func (b *brakes) node(name string) (int, bool) { return b.pl.node(name) }

// node finds a node that is registered.
func (pl *planner) node(name string) (int, bool) {
	s := pl.s
	return slices.BinarySearchFunc(s.Nodes[:s.Registered()], name, func(n *model.Node, name string) int {
		return cmp.Compare(n.Name, name)
	})
}

// asked is how far apart the nodes of one scale-up may come up: one that runs the
// class speaks for the others.
const asked = 5 * time.Minute

func (b *brakes) has(a model.Arrival, class string) bool {
	return slices.ContainsFunc(b.stand, func(k model.Brake) bool {
		return k.Group == a.Group && k.Class == class && !onTrial(k, b.pl.s.Now)
	})
}

// disagreements finds the pods that have waited for minutes although, by every filter,
// they fit a node that was bought for them.
func (pl *planner) disagreements(q *waiting, put []schedsim.Put) {
	class := ""
	for _, p := range put {
		if int(p.Node) >= len(pl.s.Nodes) || pl.s.Nodes[p.Node].Kind != model.Ready {
			continue
		}
		for _, a := range pl.s.Arrivals {
			if a.Node != pl.s.Nodes[p.Node].Name || pl.s.Nodes[p.Node].Group < 0 {
				continue
			}
			if class == "" {
				class = pl.s.Classes[q.Class].Digest()
			}
			key := brakeKey{q.Class, pl.s.Nodes[p.Node].Group}
			if _, known := pl.braked[key]; known || !slices.Contains(a.For, class) {
				continue
			}
			k, ok := pl.beside(q, a, key.group)
			if !ok {
				continue
			}
			pl.braked[key] = k
			pl.w.Avoid(q.Class, key.group)
			pl.addBrake(k)
		}
	}
}

// beside is the brake on a class whose pods the scheduler leaves waiting beside a node that was bought for them and
// that they fit, once it has done so for long enough.
func (pl *planner) beside(q *waiting, a model.Arrival, group int) (k model.Brake, ok bool) {
	class := pl.s.Classes[q.Class].Digest()
	// It may have been there for long, and of use only now.
	until := model.Latest(a.Ready, pl.doubtedSince(class)).Add(disagreeAfter)
	if until.After(pl.s.Now) {
		pl.wake = earliest(pl.wake, until)
		return k, false
	}
	t, ok := pl.w.GroupTemplate(group)
	if !ok {
		return k, false
	}
	return model.Brake{
		Group: a.Group, Class: class, Namespace: pl.s.Classes[q.Class].Namespace(),
		Template: pl.s.Contents.Shapes[t.Shape].Digest(), Reason: model.SchedulerDisagrees, Node: a.Node, Since: pl.s.Now,
		Trials: pl.trials(a.Group, class),
		Detail: fmt.Sprintf("its pods fit node %s, ready since %s, and the scheduler leaves them waiting", a.Node,
			a.Ready.UTC().Format(time.TimeOnly)) + said(q),
	}, true
}

// braking is the verdict on a class that a group is held for, nil if it is not.
func (pl *planner) braking(c model.ClassID, group int) *model.Verdict {
	if len(pl.braked) == 0 {
		return nil
	}
	k, ok := pl.braked[brakeKey{c, group}]
	if !ok {
		return nil
	}
	fix := "another template of the group, or other pods"
	switch k.Reason {
	case model.SchedulerDisagrees:
		fix = "the scheduler's own word on the pods: its events, its plugins, its version"
	case model.LandedElsewhere:
		fix = "machines in that zone, a group of its own for the zone or type, or time"
	case model.OutOfReach:
		fix = outOfReachFix
	}
	return &model.Verdict{Reason: k.Reason, Detail: k.Detail, Since: k.Since, Until: k.Until, Fix: fix}
}
