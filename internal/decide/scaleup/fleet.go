package scaleup

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// FleetBound is what no fleet costs less than by the hour that holds all pods which run now and some more. Nodes of no
// group stay, and cost what they do. It is not ok where the price of a group or of a node is not known.
//
// It knows of requests, DaemonSets, labels and taints, and of pods of which a node takes one. Limits of groups do not
// count, nor does what keeps a pod where it is: a fleet that obeys them costs no less.
func FleetBound(w *schedsim.World, s *model.Snapshot, more []model.Batch, steps int) (perHour float64, ok bool) {
	f := fleet{w: w, s: s, counts: map[model.ClassID]int{}, most: map[model.ClassID]int{}}
	for _, b := range more {
		f.counts[b.Class] += b.Count
	}
	others, strangers, ok := f.gather()
	if !ok {
		return 0, false
	}
	problem := pack.Problem{Budget: steps}
	for _, c := range f.classes {
		class := pack.Class{Request: amounts(s.Classes[c].Spec.Requests, f.names), Count: f.counts[c], PerNode: pack.NoLimit}
		if w.OnePerNode(c) {
			class.PerNode = max(1, f.most[c])
		}
		problem.Classes = append(problem.Classes, class)
	}
	if !f.templates() {
		return 0, false
	}
	for _, k := range f.kinds {
		f.add(k)
	}
	if strangers.Max > 0 {
		f.types = append(f.types, strangers) // for almost nothing: they are there in any case
	}
	problem.Types = f.types
	plan, err := pack.Solve(problem)
	if err != nil {
		return 0, false // numbers that no cluster has
	}
	perHour = others + max(0, float64(plan.PriceBound-int64(strangers.Max)))/priceUnits - f.mostSaved()
	return max(0, perHour), true
}

// fleet is what could be bought, and what is there, as numbers.
type fleet struct {
	w       *schedsim.World
	s       *model.Snapshot
	counts  map[model.ClassID]int
	most    map[model.ClassID]int // on one node
	classes []model.ClassID
	names   []corev1.ResourceName
	kinds   []kindOf
	types   []pack.Type
	// open is how many types are those of new nodes; they come first.
	open int
}

// kindOf are nodes of one group that are alike.
type kindOf struct {
	template schedsim.Template
	price    float64
	nodes    int
	fixed    model.Resources // the least that pods have there which stay with their node
	// runs are the classes of the pods that run there: they may, whatever the filters say of new ones. Labels and
	// taints count when a pod is placed, and not afterwards.
	runs map[model.ClassID]bool
}

// gather counts pods and nodes. Others are what nodes of no group cost, and strangers a type that is as large as
// each of them is beside the pods that stay there.
func (f *fleet) gather() (others float64, strangers pack.Type, ok bool) {
	type key struct {
		group int
		shape model.ShapeID
	}
	at := map[key]int{}
	var free []model.Resources
	for i := range f.s.Nodes {
		n := f.s.Nodes[i]
		if n.Kind == model.Leaving {
			f.pods(n)
			continue
		}
		price, known := f.s.PriceOf(n.Group, n.Shape)
		if n.Group < 0 {
			if n.Object != nil {
				others += price
				free = append(free, f.s.Contents.Shapes[n.Shape].Allocatable)
			}
			f.pods(n)
			continue
		}
		if !known {
			return 0, strangers, false
		}
		fixed := f.pods(n)
		k := key{n.Group, n.Shape}
		j, met := at[k]
		if !met {
			j, at[k] = len(f.kinds), len(f.kinds)
			t := schedsim.Template{Group: n.Group, Shape: n.Shape}
			f.kinds = append(f.kinds, kindOf{template: t, price: price, fixed: fixed, runs: map[model.ClassID]bool{}})
		}
		for b := range n.Bound {
			if c, ok := f.s.ClassOf(&n.Bound[b]); ok {
				f.kinds[j].runs[c] = true
			}
		}
		f.kinds[j].nodes++
		f.kinds[j].fixed = least(f.kinds[j].fixed, fixed)
	}
	f.classes = slices.Sorted(maps.Keys(f.counts))
	var pods []model.Batch
	for _, c := range f.classes {
		pods = append(pods, model.Batch{Class: c, Count: f.counts[c]})
	}
	f.names = (&planner{s: f.s}).extended(lotsOf(pods))
	strangers = pack.Type{Price: 1, Max: len(free)}
	for _, r := range free {
		for j, n := range amounts(r, f.names) {
			if j == len(strangers.Capacity) {
				strangers.Capacity = append(strangers.Capacity, 0)
			}
			strangers.Capacity[j] = max(strangers.Capacity[j], n)
		}
	}
	return others, strangers, true
}

// pods counts the pods of a node that may be elsewhere, and gives what the others request.
func (f *fleet) pods(n *model.Node) (fixed model.Resources) {
	here := map[model.ClassID]int{}
	for i := range n.Bound {
		p := &n.Bound[i]
		switch c, ok := f.s.ClassOf(p); {
		case p.Flags&model.Finished != 0 || !ok:
		case p.Flags&(model.FromDaemonSet|model.Mirror) != 0:
			fixed = fixed.Plus(f.s.Contents.Specs[p.Spec].Requests, 1)
		default:
			f.counts[c]++
			here[c]++
			f.most[c] = max(f.most[c], here[c])
		}
	}
	return fixed
}

// least is what both have of each resource.
func least(a, b model.Resources) model.Resources {
	out := model.Resources{MilliCPU: min(a.MilliCPU, b.MilliCPU), Memory: min(a.Memory, b.Memory),
		Ephemeral: min(a.Ephemeral, b.Ephemeral), Pods: min(a.Pods, b.Pods)}
	return out // of further resources the node has all
}

// mostSaved is what commitments save at most in any fleet, below what it costs without them.
func (f *fleet) mostSaved() (sum float64) {
	if !f.s.Prices.Committed() {
		return 0
	}
	nodes := f.s.Fleet()
	for i := range f.s.Groups {
		t, ok := f.w.GroupTemplate(i)
		if !ok {
			continue
		}
		nodes.Add(i, t.Shape, 0)
		if l := f.w.Landing(i); l != nil {
			for _, form := range l.Variants {
				nodes.Add(i, form.Shape, 0)
			}
		}
	}
	return nodes.MostSaved()
}

// templates adds the new nodes of each group. It reports whether their prices are known.
func (f *fleet) templates() bool {
	for i := range f.s.Groups {
		t, ok := f.w.GroupTemplate(i)
		if !ok {
			continue
		}
		forms := []schedsim.Template{t}
		if l := f.w.Landing(i); l != nil {
			forms = l.Variants
		}
		for _, form := range forms {
			price, known := f.s.PriceOf(i, form.Shape)
			if !known {
				return false
			}
			f.put(form, f.w.Allocatable(form), price, pack.NoLimit)
		}
	}
	f.open = len(f.types)
	return true
}

// add adds nodes that are there, unless a new one is as large, holds the same and costs no more.
func (f *fleet) add(k kindOf) {
	f.put(k.template, f.w.Allocatable(k.template).Plus(k.fixed, -1), k.price, k.nodes)
	own := &f.types[len(f.types)-1]
	for j, c := range f.classes {
		if k.runs[c] {
			own.Holds.Add(j)
		}
	}
	for _, t := range f.types[:f.open] {
		holds := t.Price <= own.Price
		for j := range own.Capacity {
			holds = holds && t.Capacity[j] >= own.Capacity[j]
		}
		for j := range f.classes {
			holds = holds && (t.Holds.Has(j) || !own.Holds.Has(j))
		}
		if holds {
			f.types = f.types[:len(f.types)-1]
			return
		}
	}
}

func (f *fleet) put(t schedsim.Template, room model.Resources, price float64, most int) {
	out := pack.Type{Capacity: amounts(room, f.names), Price: max(1, int64(math.Floor(price*priceUnits))), Max: most,
		Holds: pack.Set{0}}
	for j, c := range f.classes {
		if f.w.Suits(c, t) || f.w.Avoids(c, t.Group) {
			out.Holds.Add(j)
		}
	}
	f.types = append(f.types, out)
}
