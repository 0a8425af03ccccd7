package scaleup

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// explain says how each group stands to a class that pods are left of, or are
// planned for. For a class that is served in full, only the groups that grow
// for it are named.
func (pl *planner) explain(q *waiting) []model.GroupVerdict {
	var out []model.GroupVerdict
	if q.left > 0 {
		out = make([]model.GroupVerdict, 0, len(pl.s.Groups)) // there will be one of each
	}
	said := map[int]model.Verdict{}
	heads := pl.heads
	for gi := range pl.s.Groups {
		of := heads[:0] // the group's head; none for a group without a template
		if len(heads) > 0 && heads[0].group == gi {
			of, heads = heads[:1], heads[1:]
		}
		n := pl.grown[gi].of(q.Class)
		if n == 0 && q.left == 0 && pl.braking(q.Class, gi) == nil {
			continue
		}
		pl.w.Looked(looksPerGroup)
		v := model.GroupVerdict{Group: pl.groupOf(gi)}
		bought := ""
		if n > 0 {
			bought = spelling.Count(n, "pod") + " on " + spelling.Count(pl.grown[gi].nodes, "new node")
			if where := pl.lands(gi); where != "" {
				bought += ", " + where
			}
		}
		switch {
		case n > 0 && q.left == 0:
			v.Verdict = model.Verdict{Reason: model.Fits, Detail: bought}
		case q.left == 0:
			v.Verdict = *pl.braking(q.Class, gi)
		default:
			v.Verdict = pl.whyNot(q, gi, of, said)
			if n > 0 {
				v.Detail = bought + "; then " + v.Detail
			}
		}
		if v.Since.IsZero() {
			v.Since = q.Oldest
		}
		out = append(out, v)
	}
	return out
}

// explainForms is the verdict on the form of a group's nodes that is the best for a
// class.
func (pl *planner) explainForms(c model.ClassID, forms []head) model.Verdict {
	best := pl.w.ExplainTemplate(c, forms[0].template)
	for _, h := range forms[1:] {
		v := pl.w.ExplainTemplate(c, h.template)
		switch {
		case best.Reason == model.Fits:
		case v.Reason == model.Fits, v.Reason == model.TopologySpread && best.Reason != model.TopologySpread:
			best = v
		}
	}
	if best.Reason != model.Fits && len(forms) > 1 {
		best.Detail += fmt.Sprintf(" (of %d forms that its nodes may have, none is better)", len(forms))
	}
	return best
}

// onNew is explainForms of a group; said are the answers of groups whose nodes are alike to a class that
// reads no more of them.
func (pl *planner) onNew(c model.ClassID, h head, forms []head, said map[int]model.Verdict) model.Verdict {
	if !pl.w.Bulk(c) || pl.w.ReadsHost(c) || forms[0].landing != nil {
		return pl.explainForms(c, forms)
	}
	alike := pl.looksOf(h)
	v, known := said[alike]
	if !known {
		v = pl.explainForms(c, forms)
		said[alike] = v
	}
	return v
}

// looksOf is one of the groups whose nodes pack as those of a head do, the same for all of them.
func (pl *planner) looksOf(h head) int {
	if pl.alike == nil {
		pl.alike = make([]int, len(pl.s.Groups))
		first := map[string]int{}
		for _, h := range pl.heads {
			name := pl.w.PacksAlike(h.template)
			if _, ok := first[name]; !ok {
				first[name] = h.group
			}
			pl.alike[h.group] = first[name]
		}
	}
	return pl.alike[h.group]
}

// whyNot is why no more pods of a class go to a group; forms is its head, none for a group without a template.
func (pl *planner) whyNot(q *waiting, group int, forms []head, said map[int]model.Verdict) model.Verdict {
	if len(forms) == 0 {
		return *pl.limits.verdict(group)
	}
	h := forms[0]
	if q.unseen {
		return *pl.stepBudget(q)
	}
	if pl.w.Exhausted() {
		return model.Verdict{Reason: model.StepBudget,
			Detail: "no steps are left to say why the pods do not fit here",
			Fix:    "fewer kinds of pods that wait, or a higher --decide-budget"}
	}
	if pl.w.Unsupported(q.Class) != "" {
		return pl.w.ExplainTemplate(q.Class, h.template)
	}
	if words := pl.w.Lacks(q.Class); words != "" {
		return model.Verdict{Reason: model.InsufficientResources,
			Detail: words, Fix: "a group whose nodes have it, or pods without it"}
	}
	if v := pl.braking(q.Class, group); v != nil {
		return *v
	}
	if pl.w.Choosy(q.Class, group) {
		forms = pl.variants(q.Class, h)
	}
	if key := pl.w.LacksTopology(q.Class, forms[0].template); key != "" {
		return model.Verdict{Reason: model.TopologySpread, Detail: "the node has no label " + key,
			Fix: "the label on the group's nodes, or another topology key"}
	}
	v := pl.onNew(q.Class, h, forms, said)
	if v.Reason != model.Fits && !(v.Reason == model.TopologySpread && pl.suits(q.Class, h)) {
		v.Fix = fix(v.Reason)
		return v
	}
	if limit := pl.limits.verdict(group); limit != nil {
		return *limit
	}
	if forms[0].landing != nil {
		if far := pl.tooFar(q, h); far != nil {
			return *far
		}
	}
	if q.postponed[group] {
		return model.Verdict{Reason: model.SpreadPostponed,
			Detail: "to open its topology domain now would hold back pods in the others",
			Fix:    "the next cycle, once those pods are bound"}
	}
	if q.outOfSteps {
		return *pl.stepBudget(q)
	}
	if v.Reason == model.TopologySpread {
		return model.Verdict{Reason: model.SpreadCapacity,
			Detail: "the other domains of its spread constraint can take no more pods",
			Fix:    "room in the other domains, or a larger maxSkew"}
	}
	if forms[0].landing != nil && len(pl.s.Classes[q.Class].Spec.Pod.Spec.TopologySpreadConstraints) > 0 &&
		!pl.inReach(group, pl.wanted(q.Class, group), 1) {
		return model.Verdict{Reason: model.SpreadCapacity,
			Detail: "the cloud would first make nodes in other places, which its spread constraint counts, too",
			Fix:    "a group of its own for the place, or a larger maxSkew"}
	}
	return model.Verdict{Reason: model.NotChosen}
}

// fix says what would let a class onto a group's nodes.
func fix(r model.Reason) string {
	switch r {
	case model.InsufficientResources:
		return "smaller requests, or a group with larger nodes"
	case model.TaintNotTolerated:
		return "a toleration on the pod"
	case model.NodeAffinity:
		return "another node selector or affinity, or other labels on the group"
	case model.PodAffinity:
		return "other pods in the domain, or other (anti-)affinity terms"
	case model.PortConflict:
		return "another host port"
	case model.VolumeZone, model.VolumeNotBindable:
		return "a group in the volume's zone"
	case model.NodeFeatures:
		return "a group whose nodes declare the feature: those of a newer version, as a rule"
	}
	return ""
}
