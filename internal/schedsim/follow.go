package schedsim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Follows reports whether pods of one class are to be where pods of another are, by a
// required affinity.
func (w *World) Follows(follower, leader model.ClassID) bool {
	terms := w.classes[follower].affine
	for i := range terms {
		if w.leads(&terms[i], leader) {
			return true
		}
	}
	return false
}

// leads reports whether a term of an affinity is about pods of a class.
func (w *World) leads(term *selection, c model.ClassID) bool {
	return w.bonds.matchesClass(term, &w.classes[c])
}

// Uneven reports whether pods of a class are spread over zones, or the like, less evenly than they may be, as where a
// zone has come or pods have left. They run on; but one that leaves the fullest zone cannot come back.
func (w *World) Uneven(c model.ClassID) bool {
	class := w.class(c)
	if len(class.spread) == 0 || class.unsupported != "" || class.broken {
		return false
	}
	for _, s := range w.outlook(c).spread {
		if s.self == 0 || s.scope.topology.key == corev1.LabelHostname {
			continue
		}
		w.Looked(len(s.count))
		if s.total > 0 && int(slices.Max(s.count))-s.least(w) > s.most {
			return true
		}
	}
	return false
}

// followersOf are the classes whose pods follow those of a class.
func (m *Mover) followersOf(leader model.ClassID) []model.ClassID {
	list, looks := m.w.followersOf(leader)
	m.looks += looks
	return list
}

// Led reports whether pods of some class follow those of a class, or those of the class follow others.
func (w *World) Led(c model.ClassID) bool {
	list, looks := w.followersOf(c)
	w.Looked(looks)
	return len(list) > 0 || len(w.classes[c].affine) > 0
}

// followersOf says as well how many looks that took.
func (w *World) followersOf(leader model.ClassID) (list []model.ClassID, looks int) {
	if w.followers == nil {
		w.followers = map[model.ClassID][]model.ClassID{}
		for i := range w.classes {
			if len(w.classes[i].affine) > 0 {
				w.choosy = append(w.choosy, model.ClassID(i))
			}
		}
	}
	if len(w.choosy) == 0 {
		return nil, 0
	}
	list, known := w.followers[leader]
	if !known {
		looks = len(w.choosy)
		for _, c := range w.choosy {
			if w.Follows(c, leader) {
				list = append(list, c)
			}
		}
		w.followers[leader] = list
	}
	return list, looks
}

// leftBehind finds pods that follow some of those just moved off a node, and that would stay in a
// domain without any pod that they follow. They run on, and none of them could be made again there.
// It is asked after the move.
func (m *Mover) leftBehind(from Node, moved []want) *Stuck {
	w := m.w
	for _, x := range moved {
		for _, follower := range m.followersOf(x.class) {
			terms := w.classes[follower].affine
			for i := range terms {
				place, ok := w.labels(from)[terms[i].TopologyKey]
				if !ok || terms[i].TopologyKey == corev1.LabelHostname || !w.leads(&terms[i], x.class) {
					continue // no movable pod stays on the node itself
				}
				m.looks += len(w.nodes)
				if w.stranded(follower, &terms[i], place) {
					return &Stuck{x.class,
						model.Verdict{Reason: model.PodAffinity,
							Detail: fmt.Sprintf(
								"pods that are to be beside it by affinity would be left behind in %s %s",
								terms[i].TopologyKey, place)}}
				}
			}
		}
	}
	return nil
}

// stranded reports whether a domain has pods of a class, and none of those that they
// follow by a term of theirs.
func (w *World) stranded(follower model.ClassID, term *selection, place string) bool {
	there := false
	for i := range w.nodes {
		if w.nodes[i].gone || w.labels(Node(i))[term.TopologyKey] != place {
			continue
		}
		for _, b := range w.nodes[i].batches {
			if b.Count > 0 && w.leads(term, b.Class) {
				return false
			}
			there = there || b.Count > 0 && b.Class == follower
		}
	}
	return there
}

// labels are those of a node, but for its hostname.
func (w *World) labels(id Node) map[string]string {
	return w.shapes[w.nodes[id].shape].content.Node.Labels
}
