package scaleup

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
)

// This file puts pods and groups into the numbers that the packer knows.

// purchase is a number of pods, and the groups that may grow for them, in numbers.
type purchase struct {
	pack.Problem
	lots  []lot    // by the problem's class
	kinds [][]head // by the problem's type: groups whose nodes pack alike, the preferred first
}

// lot is a number of pods of one class. Where keys are named, its pods stay in a region of these.
type lot struct {
	class   model.ClassID
	count   int
	keys    string
	region  int32
	perNode int // how many may be on a node
}

func lotsOf(pods []model.Batch) []lot {
	lots := make([]lot, len(pods))
	for i, b := range pods {
		lots[i] = lot{class: b.Class, count: b.Count, perNode: pack.NoLimit}
	}
	return lots
}

// purchase puts pods into numbers, and groups of which most lets so many nodes be bought.
func (pl *planner) purchase(
	lots []lot, heads []head, price func(head) (int64, bool), most func(group int) int,
) *purchase {
	p := &purchase{lots: lots}
	names := pl.extended(lots)
	apart := pl.apart(lots)
	count := 0
	for _, l := range lots {
		c := pack.Class{Request: amounts(pl.s.Classes[l.class].Spec.Requests, names), Count: l.count, PerNode: l.perNode}
		if clique, ok := apart.of[l.class]; ok {
			c.Request = append(c.Request, make([]int64, apart.count)...)
			c.Request[len(c.Request)-apart.count+clique] = 1
		} else if pl.w.OnePerNode(l.class) {
			c.PerNode = 1
		}
		p.Classes = append(p.Classes, c)
		count += l.count
	}
	p.Budget = min(packSteps, count*packStepsPerPod)
	type kind struct {
		looks int
		price int64
		where string // as far as lots stay there
	}
	known, keys := map[kind]int{}, map[string]bool{}
	for _, l := range lots {
		keys[l.keys] = true
	}
	delete(keys, "")
	for _, h := range pl.preferred(heads) {
		cost, ok := price(h)
		room := most(h.group)
		if !ok || room == 0 {
			continue
		}
		in := pl.regions(h, keys)
		key := kind{pl.looksOf(h), cost, fmt.Sprint(in)}
		at, ok := known[key]
		if !ok || h.landing != nil {
			at = len(p.kinds)
			known[key] = at
			p.Types = append(p.Types, pack.Type{
				Capacity: append(amounts(pl.w.Allocatable(h.template), names), slices.Repeat([]int64{1}, apart.count)...),
				Price:    cost, Holds: pl.holds(h, lots, in),
			})
			p.kinds = append(p.kinds, nil)
		}
		p.kinds[at] = append(p.kinds[at], h)
		if t := &p.Types[at]; t.Max != pack.NoLimit {
			if t.Max += min(room, count); t.Max >= count {
				t.Max = pack.NoLimit
			}
		}
	}
	return p
}

// holds are those of the classes that a new node may be for.
func (pl *planner) holds(h head, lots []lot, in map[string]int32) pack.Set {
	set := pack.Set{0}
	for i, l := range lots {
		if (l.keys == "" || l.region == in[l.keys]) &&
			(h.landing != nil || !pl.w.Choosy(l.class, h.group)) && pl.w.Suits(l.class, h.template) && !pl.repelled(l.class, h) {
			set.Add(i)
		}
	}
	return set
}

// regions are where nodes of a head are, by the keys of regions.
func (pl *planner) regions(h head, keys map[string]bool) map[string]int32 {
	in := make(map[string]int32, len(keys))
	for k := range keys {
		in[k] = pl.w.Region(k, h.template.Shape)
	}
	return in
}

// preferred are heads in the order in which the expanders would have those that are equal otherwise.
func (pl *planner) preferred(heads []head) []head {
	options := make([]option, len(heads))
	for i, h := range heads {
		options[i] = option{head: h, nodes: 1}
	}
	out := make([]head, len(heads))
	for i, at := range pl.rank(options) {
		out[i] = heads[at]
	}
	return out
}

// repelled reports whether pods that are on every new node of the group keep the class away.
func (pl *planner) repelled(c model.ClassID, h head) bool {
	return slices.ContainsFunc(h.template.Pods, func(b model.Batch) bool {
		return len(pl.w.Apart(c, []model.ClassID{b.Class})) > 0
	})
}

// cliques are sets of several classes of which a node takes one pod in all.
type cliques struct {
	of    map[model.ClassID]int
	count int
}

func (pl *planner) apart(lots []lot) cliques {
	k := cliques{of: map[model.ClassID]int{}}
	counted := make([]model.ClassID, len(lots))
	for i, l := range lots {
		counted[i] = l.class
	}
	slices.Sort(counted)
	counted = slices.Compact(counted)
	others := map[model.ClassID][]model.ClassID{}
	of := func(c model.ClassID) []model.ClassID {
		list, ok := others[c]
		if !ok {
			list = pl.w.Apart(c, counted)
			others[c] = list
		}
		return list
	}
	for _, l := range lots {
		all := of(l.class)
		if _, known := k.of[l.class]; known || len(all) < 2 || !slices.Contains(all, l.class) ||
			slices.ContainsFunc(all, func(o model.ClassID) bool { return !slices.Equal(of(o), all) }) {
			continue
		}
		for _, o := range all {
			k.of[o] = k.count
		}
		k.count++
	}
	return k
}

// extended are the resources beside those of every pod that one of these requests, by name.
func (pl *planner) extended(lots []lot) []corev1.ResourceName {
	names := map[corev1.ResourceName]bool{}
	for _, l := range lots {
		for _, x := range pl.s.Classes[l.class].Spec.Requests.Extended {
			names[x.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func amounts(r model.Resources, names []corev1.ResourceName) []int64 {
	out := []int64{r.MilliCPU, r.Memory, r.Ephemeral, r.Pods}
	for _, name := range names {
		out = append(out, r.Value(name))
	}
	return out
}

// pods are what a pattern has on each of its nodes.
func (p *purchase) pods(pattern pack.Pattern) []model.Batch {
	pods := make([]model.Batch, len(pattern.Items))
	for i, item := range pattern.Items {
		pods[i] = model.Batch{Class: p.lots[item.Class].class, Count: item.Count}
	}
	return pods
}

// alike numbers the lots, those of equal requests that the same types hold with one number.
func (p *purchase) alike() []int {
	known := map[string]int{}
	numbers := make([]int, len(p.Classes))
	for i, c := range p.Classes {
		var key []byte
		for _, n := range c.Request {
			key = binary.AppendVarint(key, n)
		}
		for t := range p.Types {
			if p.Types[t].Holds.Has(i) {
				key = binary.AppendVarint(key, int64(t))
			}
		}
		n, ok := known[string(key)]
		if !ok {
			n = len(known)
			known[string(key)] = n
		}
		numbers[i] = n
	}
	return numbers
}
