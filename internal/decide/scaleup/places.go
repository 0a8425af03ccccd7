package scaleup

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is about groups whose new nodes may differ, by zone or by type.

// packed reports whether the class is bought for by packing: nothing about it depends
// on other nodes, or on what the cloud makes of a group's new node. A volume that one pod
// may use is in use on all nodes.
func (pl *planner) packed(q *waiting) bool {
	if known, ok := pl.packs[q.Class]; ok {
		return known
	}
	yes := pl.w.Bulk(q.Class) && !pl.w.Exclusive(q.Class) && !slices.ContainsFunc(pl.heads, func(h head) bool {
		return pl.w.Choosy(q.Class, h.group) && pl.suits(q.Class, h)
	})
	pl.packs[q.Class] = yes
	return yes
}

// suits reports whether a new node of the group could be one for the class.
func (pl *planner) suits(c model.ClassID, h head) bool {
	if !pl.w.Choosy(c, h.group) {
		return pl.w.Suits(c, h.template)
	}
	return slices.ContainsFunc(pl.variants(c, h), func(v head) bool { return !v.passing })
}

// variants are the heads that a group's head stands for with a class that tells the group's new nodes apart,
// one a variant.
func (pl *planner) variants(c model.ClassID, h head) []head {
	l := pl.w.Landing(h.group)
	key := brakeKey{c, h.group}
	if known, ok := pl.forms[key]; ok {
		return known
	}
	var out []head
	for i, t := range l.Variants {
		v := head{group: h.group, template: t, landing: l, variant: i, passing: !pl.w.Suits(c, t)}
		if !v.passing && pl.w.Bulk(c) {
			v.passing = pl.w.ExplainTemplate(c, t).Reason != model.Fits
		}
		out = append(out, v)
	}
	pl.forms[key] = out
	return out
}

// hope orders the groups for a class: those any new node of which suits it come before
// those of which only some do.
func (pl *planner) hope(c model.ClassID, h head) int {
	if h.landing != nil && slices.ContainsFunc(pl.forms[brakeKey{c, h.group}], func(v head) bool { return v.passing }) {
		return 1
	}
	return 0
}

// lands says where the new nodes of a group come up, and whether that is certain;
// empty for a group whose nodes are all alike, or where no pod depends on it.
func (pl *planner) lands(group int) string {
	l := pl.w.Landing(group)
	if l == nil {
		return ""
	}
	landed := pl.w.Landed(group)
	var parts []string
	for v, n := range landed {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", pl.variantName(group, v), n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if l.Certain(landed) {
		return "certain by the cloud's balance: " + strings.Join(parts, ", ")
	}
	return "hoped for: " + strings.Join(parts, ", ") + "; the cloud may pick otherwise"
}

// hopes reports whether a pod of the plan has its place only if the cloud makes a new node where it need not.
func (pl *planner) hopes() bool {
	for group := range pl.grown {
		landed := pl.w.Landed(group)
		if pl.grown[group].nodes > 0 && slices.ContainsFunc(landed, func(n int) bool { return n > 0 }) &&
			!pl.w.Landing(group).Certain(landed) {
			return true
		}
	}
	return false
}

// variantName is the variant's zone, else the labels that make it one.
func (pl *planner) variantName(group, variant int) string {
	v := pl.s.Groups[group].Variants[variant]
	var parts []string
	if v.Zone != "" {
		parts = append(parts, v.Zone)
	}
	zoned := pl.s.Groups[group].Template.Places
	for _, key := range slices.Sorted(maps.Keys(v.Labels)) {
		if len(zoned) > 0 {
			if _, ok := zoned[0].Labels[key]; ok {
				continue
			}
		}
		parts = append(parts, v.Labels[key])
	}
	return strings.Join(parts, "/")
}

// wanted are the variants of a group's nodes of which a new one would take a pod of the
// class now; none where no pod that waits tells the group's nodes apart.
func (pl *planner) wanted(c model.ClassID, group int) []int {
	l := pl.w.Landing(group)
	if l == nil {
		return nil
	}
	var out []int
	for v, t := range l.Variants {
		if pl.w.ExplainTemplate(c, t).Reason == model.Fits {
			out = append(out, v)
		}
	}
	return out
}

// inReach reports whether one of the variants can be counted on, with the nodes that the
// cloud makes first, no more than most of them in all.
func (pl *planner) inReach(group int, wanted []int, most int) bool {
	if len(wanted) == 0 {
		return false
	}
	l, landed := pl.w.Landing(group), pl.w.Landed(group)
	return slices.ContainsFunc(wanted, func(v int) bool {
		first, ok := l.First(landed, v)
		return ok && len(first) < most
	})
}

// allInReach reports whether each of the variants can be counted on.
func (pl *planner) allInReach(group int) bool {
	l, landed := pl.w.Landing(group), pl.w.Landed(group)
	for v := range l.Variants {
		if _, ok := l.First(landed, v); !ok {
			return false
		}
	}
	return true
}

// placed are the variants of the nodes on their way of which that is known, by group.
func (pl *planner) placed() map[int][]int {
	if pl.coming != nil {
		return pl.coming
	}
	pl.coming = map[int][]int{}
	for i := range pl.s.Nodes {
		n := pl.s.Nodes[i]
		if n.Group < 0 || n.Kind != model.Booting && n.Kind != model.Coming || len(n.May) > 0 {
			continue
		}
		if v := pl.w.VariantOf(model.NodeID(i)); v >= 0 {
			pl.coming[n.Group] = append(pl.coming[n.Group], v)
		}
	}
	return pl.coming
}

// affords reports whether one of the variants is in reach within the limits. Once nodes of
// the group have come in vain for want of reach, hope is not enough: what came elsewhere
// goes, and would leave room to hope again and again.
func (pl *planner) affords(group int, wanted []int) bool {
	room := pl.limits.most(group) + pl.w.Undecided(group)
	return pl.inReach(group, wanted, room) && (!pl.outOfReach(group) ||
		pl.w.Landing(group).AtWorst(pl.w.Landed(group), wanted) <= room)
}

// outOfReach reports whether nodes of the group have lately come in vain, by the cloud's rule.
func (pl *planner) outOfReach(group int) bool {
	return slices.ContainsFunc(pl.brakes, func(k model.Brake) bool {
		return k.Reason == model.OutOfReach &&
			k.Group == pl.groupOf(group)
	})
}

// prospect is what a class that wants some forms of a group's nodes can expect of the
// next ones.
type prospect int

const (
	// byRule: the next ones are what the class wants, as far as the cloud's rule says.
	byRule prospect = iota
	// byStep: the rule says that they are not, for too long. One is bought: a zone may have
	// no machines to sell, and then the cloud makes it where it is wanted.
	byStep
	// unseen: nodes on their way tell more when they are there, so that none is bought now.
	unseen
	// never: nodes have come in vain, and those that the limits leave room for may as well.
	never
)

// prospect looks at where the nodes on their way come up.
func (pl *planner) prospect(c model.ClassID, group int) prospect {
	l := pl.w.Landing(group)
	if l == nil || !l.Sure() || !pl.w.Choosy(c, group) {
		return byRule
	}
	placed, vain := pl.placed()[group], pl.outOfReach(group)
	if len(placed) == 0 && !vain && pl.allInReach(group) {
		return byRule // whatever it wants
	}
	wanted := pl.wanted(c, group)
	if len(wanted) == 0 {
		return byRule
	}
	reach := pl.inReach(group, wanted, math.MaxInt)
	for _, v := range placed {
		if !slices.Contains(wanted, v) && (!reach || l.Astray(v, wanted)) {
			return unseen
		}
	}
	switch {
	case vain && !pl.affords(group, wanted):
		return never
	case reach:
		return byRule
	}
	return byStep
}

// tooFar says that no more nodes for the class can be counted on: where they land is to
// be seen first, or the cloud would make too many elsewhere before. It is nil if some
// variant that suits the class is within reach.
func (pl *planner) tooFar(q *waiting, h head) *model.Verdict {
	l, wanted := pl.w.Landing(h.group), pl.wanted(q.Class, h.group)
	outlook := pl.prospect(q.Class, h.group)
	if len(wanted) == 0 || outlook == byRule && pl.affords(h.group, wanted) {
		return nil
	}
	where := pl.variantNames(h.group, wanted)
	switch {
	case !l.Sure():
		return &model.Verdict{Reason: model.WaitsForLanding,
			Fix: "the nodes on their way; a group of its own for the zone or type is certain",
			Detail: fmt.Sprintf("the cloud chooses what new nodes of the group are; as many as may be %s are bought, "+
				"and more only when it is known what came", where)}
	case outlook == unseen, outlook == byStep && pl.w.Underway(h.group):
		return &model.Verdict{Reason: model.WaitsForLanding,
			Fix:    "the nodes on their way; a group of its own for the zone is certain",
			Detail: "nodes of the group are on their way, and it is not known yet whether any comes up in " + where}
	}
	return &model.Verdict{Reason: model.OutOfReach, Fix: outOfReachFix,
		Detail: "the cloud balances zones, and would make too many new nodes of the group elsewhere before one in " + where}
}

const outOfReachFix = "a group of its own for the zone, or as many nodes of the group in each zone"

func (pl *planner) variantNames(group int, variants []int) string {
	var names []string
	for _, v := range variants {
		names = append(names, pl.variantName(group, v))
	}
	return strings.Join(names, " or ")
}
