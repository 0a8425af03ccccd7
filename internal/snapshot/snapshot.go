// Package snapshot makes a Snapshot of an Observation and of what the ledger knows: pods
// are folded into classes (pods that the scheduler cannot tell apart), nodes and groups
// get their kind, and nodes on their way stand for what they will be.
//
// What flows in: an observation, a standing, the snapshot before (it only saves work).
// What flows out: a new snapshot, sorted, that nothing changes any more.
//
// Who may import it: loop, hosts and tests.
package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// New makes an observation ready to decide on, together with what the
// ledger knows. The previous snapshot, which may be nil, only saves work.
func New(prev *model.Snapshot, seen model.Observation, standing model.Standing, rules model.Rules) *model.Snapshot {
	s := &model.Snapshot{
		Now: seen.Now, Seed: seen.Seed, Generation: seen.Generation,
		Contents: seen.Contents, Namespaces: seen.Namespaces, Volumes: seen.Volumes, NoNode: seen.NoNode,
		Budgets: seen.Budgets, Priorities: seen.Priorities,
		Prices: seen.Prices.WithCloud(seen.Inventory.Commitments, seen.Inventory.CommitmentsUnread),
		Pools:  seen.Inventory.Pools, AsOf: seen.Inventory.AsOf, InventoryErr: seen.InventoryErr,
		Notices:    slices.Concat(seen.Inventory.Notices, standing.Notices, seen.Notices),
		LastGrowth: standing.LastGrowth, LastDemand: standing.LastDemand,
		LastRemoval: standing.LastRemoval, LastFailure: standing.LastFailure,
		FailureWhy: standing.FailureWhy, Resume: standing.Resume, Unseen: standing.Unseen, Displaced: standing.Displaced,
		Strays: standing.Strays, Moves: standing.Moves, Exits: standing.Exits, Interruptions: standing.Interruptions,
		Counts: standing.Counts, Others: standing.Others, Unhealthy: standing.Unhealthy, Brakes: standing.Brakes,
		Arrivals: standing.Arrivals, Unread: standing.Unread, Doubts: standing.Doubts, SettledUntil: seen.SettledUntil,
		Standings: standing.Nodes, Rules: rules,
	}
	var before *model.Projection
	if prev != nil {
		before = prev.Projection
	}
	s.Projection = project(before, seen.Contents)
	b := builder{
		snap: s, rules: rules, standing: standing, honoured: map[string]bool{}, arrived: map[string]time.Time{},
		varied:  map[string]model.ShapeID{},
		classes: classes{contents: seen.Contents, proj: s.Projection, seen: map[model.ClassKey]model.ClassID{}},
	}
	for _, a := range standing.Arrivals {
		if !a.Ready.IsZero() {
			b.arrived[a.Node] = a.Ready
		}
	}
	// 1. Groups, by id, with their templates.
	b.groups(seen)
	// 2. Nodes with what is bound or nominated to them.
	s.Judged = model.Judged{ExpendableBelow: rules.ExpendableBelow, Calm: calm(&seen)}
	b.keep(prev, &seen)
	b.nodes(seen)
	// 3. Nodes that are on their way.
	b.coming()
	// 4. Pods without a node, by class; DaemonSets.
	b.pending(seen)
	for _, ds := range seen.DaemonSets {
		s.DaemonSets = append(s.DaemonSets, model.DaemonSetClass{DaemonSet: ds, Class: b.class(ds.Content, false)})
	}
	// 5. Numbers by content, everywhere.
	b.renumber()
	return s
}

type builder struct {
	snap     *model.Snapshot
	rules    model.Rules
	standing model.Standing
	classes  classes
	counts   []int
	touched  []model.ClassID
	// honoured are the nodes on which room is kept for nominated pods. A
	// nomination to a node that is gone or leaving is none.
	honoured map[string]bool

	// arrived are the nodes that an ask has brought, and since when they are
	// ready.
	arrived map[string]time.Time
	// varied are the shapes that only this snapshot has.
	varied map[string]model.ShapeID
	kept   kept

	lastContent                model.Content
	lastClass                  model.ClassID
	lastTerminating, lastKnown bool
}

// class numbers a content. Pods of one owner come in a row, so that the last
// answer is often the next.
func (b *builder) class(c model.Content, terminating bool) model.ClassID {
	if b.lastKnown && b.lastContent == c && b.lastTerminating == terminating {
		return b.lastClass
	}
	b.lastContent, b.lastTerminating, b.lastKnown = c, terminating, true
	b.lastClass = b.classes.add(b.classes.key(c, terminating))
	return b.lastClass
}

func (b *builder) groups(seen model.Observation) {
	order := make([]int, len(seen.Inventory.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Compare(seen.Inventory.Groups[i].ID, seen.Inventory.Groups[j].ID)
	})
	b.snap.Groups = make([]model.Group, 0, len(order))
	var read map[string]reading
	unread := map[provider.PoolID]provider.GroupID{}
	for _, i := range order {
		g := model.Group{Group: seen.Inventory.Groups[i]}
		if i < len(seen.Settled) {
			g.Settled = seen.Settled[i]
		}
		if i < len(seen.Templates) && seen.Templates[i].Known {
			t := seen.Templates[i]
			g.HasTemplate, g.Shape = true, t.Shape
			for _, pod := range t.Pods {
				g.Static = append(g.Static, model.Batch{Class: b.class(pod, false), Count: 1})
			}
			if g.Template != nil && len(g.Template.Varies) > 0 && read == nil {
				read = labelsRead(&seen)
			}
			g.Variants = b.variants(&g, read)
		}
		g.Expected = g.Target
		if st, ok := b.standing.Groups[g.ID]; ok {
			g.GroupStanding = st
		} else if g.Err != nil && g.Pool != "" {
			unread[g.Pool] = g.ID
		}
		b.snap.Groups = append(b.snap.Groups, g)
	}
	for i := range b.snap.Groups {
		b.snap.Groups[i].PoolUnread = unread[b.snap.Groups[i].Pool]
	}
}

// calm reports whether some pod without a node may not preempt others.
func calm(seen *model.Observation) bool {
	return slices.ContainsFunc(seen.Unbound, func(p model.Pod) bool {
		policy := seen.Contents.Specs[p.Spec].Pod.Spec.PreemptionPolicy
		return policy != nil && *policy == corev1.PreemptNever
	})
}

func (b *builder) nodes(seen model.Observation) {
	homes := homes{groups: b.snap.Groups}
	nominated := map[string][]model.Pod{}
	for i := range seen.Unbound {
		if p := &seen.Unbound[i]; p.Nominated != "" {
			nominated[p.Nominated] = append(nominated[p.Nominated], *p)
		}
	}
	b.snap.Nodes = make([]*model.Node, 0, len(seen.Nodes)+b.toCome())
	still := len(nominated) == 0 && b.still()
	n := new(model.Node) // each in turn
	for i := range seen.Nodes {
		o := &seen.Nodes[i]
		*n = model.Node{}
		row := b.kept.row(o)
		if still && asItWas(row, o) {
			b.meet(row)
			b.countNode(&b.snap.Groups[row.Group], row.Kind)
			b.kept.rows, b.snap.Nodes = append(b.kept.rows, row), append(b.snap.Nodes, row)
			continue
		}
		n.Name, n.Object, n.Shape, n.Group = o.Object.Name, o.Object, o.Shape, -1
		n.Bound, n.Generation = o.Pods, o.Generation
		n.Marked, n.Note = model.HasTaint(o.Object, model.TaintCandidate), o.Object.Annotations[model.AnnotationStays]
		n.Annotated = model.MayBeKept(o.Object)
		var instance *provider.Instance
		at := row
		if !b.kept.homes {
			at = nil
		}
		home, ok := homes.of(o, at)
		if ok {
			instance = &b.snap.Groups[home.Group].Instances[home.Instance]
			n.Group, n.Instance, n.InstanceAt = home.Group, instance.ID, home.Instance
			n.InstanceHold, n.Drifted, n.Interrupted = instance.Hold, instance.Drifted, instance.Interrupted
		}
		// Creation is told in whole seconds, rounded down.
		n.Unknown = !ok && b.snap.AsOf.Before(o.Object.CreationTimestamp.Add(time.Second))
		n.Standing = b.standing.Nodes[n.Name]
		n.Kind = b.kind(n, instance)
		expected := nominated[n.Name]
		if n.Kind == model.Leaving {
			expected = nil // nothing will come of it
		}
		if len(expected) > 0 {
			b.honoured[n.Name] = true
			n.Nominated = len(expected)
		}
		if !b.takeOver(row, n) {
			row = nil
			b.count(n, expected)
		}
		b.kept.rows = append(b.kept.rows, row)
		if _, ok := b.arrived[n.Name]; ok {
			n.Residents = b.residents(o.Pods)
		}
		if n.Group >= 0 {
			b.countNode(&b.snap.Groups[n.Group], n.Kind)
		}
		if n.Kind == model.Booting {
			if g := &b.snap.Groups[n.Group]; g.HasTemplate {
				n.Shape, n.May = b.become(g, n.Object, instance)
			}
		}
		b.snap.Nodes = append(b.snap.Nodes, rowOf(row, n))
	}
}

// toCome is how many nodes are on their way at most.
func (b *builder) toCome() int {
	all := 0
	for i := range b.snap.Groups {
		all += max(0, b.snap.Groups[i].Expected-len(b.snap.Groups[i].Instances))
	}
	return all
}

// count counts the pods on a node, and those that are expected there.
func (b *builder) count(n *model.Node, expected []model.Pod) {
	n.Batches = b.batches(b.takesRoom, n.Bound, expected)
	for _, x := range n.Batches {
		r := &b.classes.list[x.Class].Spec.Requests
		n.MilliCPU += r.MilliCPU * int64(x.Count)
		n.Memory += r.Memory * int64(x.Count)
	}
	if b.snap.Judged.Calm {
		n.Expendable = b.batches(func(p *model.Pod) bool { return p.Flags&model.Finished == 0 && !b.takesRoom(p) }, n.Bound)
	}
	n.Occupants, n.FirstOccupant = b.occupants(dead(n), n.Bound, expected)
}

// dead reports whether no kubelet may be there to end the pods of a node.
func dead(n *model.Node) bool {
	return n.Kind == model.Unready || n.Standing.Drain != nil && n.Standing.Drain.Unready
}

func (b *builder) countNode(g *model.Group, k model.NodeKind) {
	switch k {
	case model.Ready:
		g.ReadyNodes++
	case model.Booting:
		g.BootingNodes++
	case model.Unready:
		g.UnreadyNodes++
	case model.Leaving:
		g.LeavingNodes++
	}
}

// kind tells what pods may expect of a node.
func (b *builder) kind(n *model.Node, in *provider.Instance) model.NodeKind {
	startup := b.rules.StartupTime
	if n.Group >= 0 {
		startup = b.rules.Startup(&b.snap.Groups[n.Group].Group)
	}
	n.State, n.BootsUntil = model.StateOf(n.Object, in, n.Standing, b.snap.Now, startup)
	switch n.State {
	case model.StateBeingDeleted:
		return model.Leaving
	case model.StateReady:
		if until := n.Object.CreationTimestamp.Add(startup); n.Group >= 0 && b.snap.Groups[n.Group].HasTemplate &&
			b.snap.Now.Before(until) && b.rules.Passing.Starting(n.Object) {
			n.BootsUntil = until
			return model.Booting
		}
		if until, yes := b.settling(n, startup); yes {
			n.BootsUntil = until
			return model.Booting
		}
		return model.Ready
	case model.StateYoung:
		if n.Group >= 0 {
			return model.Booting
		}
	}
	return model.Unready
}

// takesRoom reports whether a pod counts on its node.
func (b *builder) takesRoom(p *model.Pod) bool {
	if p.Flags&model.Finished != 0 {
		return false
	}
	return p.Flags&(model.FromDaemonSet|model.Mirror) != 0 ||
		b.classes.contents.Specs[p.Spec].Priority >= b.rules.ExpendableBelow
}

// occupants counts the pods that keep a node. On one that is not ready, pods
// that are being deleted do not: no kubelet is there to end them.
func (b *builder) occupants(unready bool, lists ...[]model.Pod) (count int, first string) {
	for _, pods := range lists {
		for i := range pods {
			p := &pods[i]
			if p.Flags&(model.FromDaemonSet|model.Mirror|model.Finished) != 0 ||
				b.classes.contents.Specs[p.Spec].Priority < b.rules.ExpendableBelow ||
				(unready && p.Flags&model.Terminating != 0) {
				continue
			}
			if count == 0 {
				first = p.Name
			}
			count++
		}
	}
	return count, first
}

// residents are the pods that come with a node: of DaemonSets, and static ones. One that
// is ending has its successor there, or is no more of them.
func (b *builder) residents(pods []model.Pod) []model.Batch {
	var own []model.Pod
	for i := range pods {
		if pods[i].Flags&(model.FromDaemonSet|model.Mirror) != 0 && pods[i].Flags&model.Terminating == 0 {
			own = append(own, pods[i])
		}
	}
	return b.batches(b.takesRoom, own)
}

// batches counts those pods that are asked for by class, in the order in which
// classes were first met; renumber sorts them.
func (b *builder) batches(asked func(*model.Pod) bool, lists ...[]model.Pod) []model.Batch {
	b.touched = b.touched[:0]
	for _, pods := range lists {
		for i := range pods {
			p := &pods[i]
			if !asked(p) {
				continue
			}
			id := b.class(p.Content, p.Flags&model.Terminating != 0)
			for int(id) >= len(b.counts) {
				b.counts = append(b.counts, 0)
			}
			if b.counts[id] == 0 {
				b.touched = append(b.touched, id)
			}
			b.counts[id]++
		}
	}
	if len(b.touched) == 0 {
		return nil
	}
	out := make([]model.Batch, 0, len(b.touched))
	for _, id := range b.touched {
		out = append(out, model.Batch{Class: id, Count: b.counts[id]})
		b.counts[id] = 0
	}
	return out
}

// coming adds a node for each unit that a group expects and that has not
// registered (rule L6): expected − registered − given up, where units whose
// removal is under way are no longer part of what is expected.
func (b *builder) coming() {
	leaving := b.leavingWithinTarget()
	for gi := range b.snap.Groups {
		g := &b.snap.Groups[gi]
		registered := g.ReadyNodes + g.BootingNodes + g.UnreadyNodes + leaving[gi]
		g.ComingNodes = max(0, g.Expected-g.Ending-registered-g.GivenUp())
		if !g.HasTemplate {
			continue // it counts, and what would fit there is unknown
		}
		named := b.placed(g)
		for i := range g.ComingNodes {
			n := &model.Node{Name: fmt.Sprintf("%s:coming-%d", g.ID, i), Kind: model.Coming, Group: gi}
			var in *provider.Instance
			if i < len(named) {
				in = named[i]
			}
			n.Shape, n.May = b.become(g, nil, in)
			b.snap.Nodes = append(b.snap.Nodes, n)
		}
	}
}

// placed are the group's instances that have no node yet and whose zone is known:
// that is where the first of its coming nodes will be. Only groups over several
// places are asked for them.
func (b *builder) placed(g *model.Group) []*provider.Instance {
	if len(g.Variants) == 0 || g.ComingNodes == 0 {
		return nil
	}
	homed := map[provider.InstanceID]bool{}
	for i := range b.snap.Nodes {
		homed[b.snap.Nodes[i].Instance] = true
	}
	given := map[provider.InstanceID]bool{}
	for i := range g.Waiting {
		given[g.Waiting[i].Instance] = g.Waiting[i].GivenUp()
	}
	var out []*provider.Instance
	for i := range g.Instances {
		in := &g.Instances[i]
		if in.Zone != "" && in.State != provider.Deleting && in.Err == nil && !given[in.ID] && !homed[in.ID] {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(x, y *provider.Instance) int { return cmp.Compare(x.ID, y.ID) })
	return out
}

// leavingWithinTarget counts, for each group, nodes that are leaving and that the target
// still counts: those whose instance the cloud has not begun to delete, as far as is
// seen or as it told us.
func (b *builder) leavingWithinTarget() []int {
	counts := make([]int, len(b.snap.Groups))
	for i := range b.snap.Nodes {
		n := b.snap.Nodes[i]
		if n.Group >= 0 && n.Kind == model.Leaving &&
			model.CountedByTarget(n.Standing.Drain, b.snap.Groups[n.Group].InstanceNamed(n.Instance)) {
			counts[n.Group]++
		}
	}
	return counts
}

// pending counts first and collects then, so that lists of ten thousands are
// allocated once.
func (b *builder) pending(seen model.Observation) {
	of := make([]int32, len(seen.Unbound))
	at := map[model.ClassID]int32{}
	var counts []int
	var oldest []int64
	for i := range seen.Unbound {
		p := &seen.Unbound[i]
		of[i] = -1
		if p.Flags&model.Gated != 0 && p.Flags&(model.Finished|model.FromDaemonSet|model.Terminating) == 0 && p.Owner != "" {
			b.snap.Gated = append(b.snap.Gated, p)
		}
		if p.Flags&(model.Finished|model.Gated|model.FromDaemonSet|model.Terminating) != 0 || b.honoured[p.Nominated] {
			b.snap.Aside = append(b.snap.Aside, p)
			continue
		}
		id := b.class(p.Content, false)
		q, ok := at[id]
		if !ok {
			q = int32(len(b.snap.Pending))
			at[id] = q
			b.snap.Pending = append(b.snap.Pending, model.Pending{Class: id})
			counts = append(counts, 0)
			oldest = append(oldest, p.Created)
		}
		of[i] = q
		counts[q]++
	}
	for i := range b.snap.Pending {
		b.snap.Pending[i].Pods = make([]*model.Pod, 0, counts[i])
	}
	for i := range seen.Unbound {
		if of[i] < 0 {
			continue
		}
		p, q := &seen.Unbound[i], &b.snap.Pending[of[i]]
		q.Pods = append(q.Pods, p)
		q.Refused = q.Refused || p.Flags&model.Refused != 0
		if p.Created < oldest[of[i]] {
			oldest[of[i]] = p.Created
		}
	}
	for i := range b.snap.Pending {
		b.snap.Pending[i].Oldest = time.Unix(oldest[i], 0)
	}
	b.awaiting()
}

// awaiting marks the classes whose pods wait for pods that the scheduler makes room for. Pods that repel others are
// none of them: who counts as there takes room from them, and gives none.
func (b *builder) awaiting() {
	if len(b.honoured) == 0 {
		return
	}
	namespaces := map[string]bool{}
	for _, p := range b.snap.Aside {
		if b.honoured[p.Nominated] {
			namespaces[b.snap.Contents.Specs[p.Spec].Pod.Namespace] = true
		}
	}
	for i := range b.snap.Pending {
		q := &b.snap.Pending[i]
		of := b.snap.Contents.Specs[q.Pods[0].Spec].Pod
		spec := &of.Spec
		q.Awaits = namespaces[of.Namespace] && (len(spec.TopologySpreadConstraints) > 0 ||
			spec.Affinity != nil && spec.Affinity.PodAffinity != nil)
	}
}

func (b *builder) renumber() {
	var final []model.ClassID
	b.snap.Classes, final = b.classes.sorted()
	b.snap.Numbers = b.classes.seen
	for k, id := range b.snap.Numbers {
		b.snap.Numbers[k] = final[id]
	}
	fix := func(batches []model.Batch) {
		for i := range batches {
			batches[i].Class = final[batches[i].Class]
		}
		slices.SortFunc(batches, func(x, y model.Batch) int { return cmp.Compare(x.Class, y.Class) })
	}
	b.kept.renumber(b.snap.Nodes, final)
	for i := range b.snap.Nodes {
		n := b.snap.Nodes[i]
		fix(n.Residents)
		if i >= len(b.kept.rows) || b.kept.rows[i] == nil {
			fix(n.Batches)
			fix(n.Expendable)
		}
	}
	for i := range b.snap.Groups {
		fix(b.snap.Groups[i].Static)
	}
	for i := range b.snap.Pending {
		b.snap.Pending[i].Class = final[b.snap.Pending[i].Class]
	}
	slices.SortFunc(b.snap.Pending, func(x, y model.Pending) int { return cmp.Compare(x.Class, y.Class) })
	for i := range b.snap.DaemonSets {
		b.snap.DaemonSets[i].Class = final[b.snap.DaemonSets[i].Class]
	}
}
