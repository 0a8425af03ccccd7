package decisions

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// expectedFor is how long the nodes of a scale-up are waited for.
const expectedFor = time.Hour

// growing is a group with new nodes to come, and what was expected of them.
type growing struct {
	wait []wait // oldest first
	// before are the nodes that the group had, with when they were made. A node that is not among them is new.
	before    map[string]time.Time
	predicted *model.Shape
}

// wait is how many nodes of a decision are still to come.
type wait struct {
	decision string
	nodes    int
	until    time.Time
}

// expect notes the nodes that a decision buys.
func (b *Book) expect(d *Decision, s *model.Snapshot) {
	for _, g := range d.Grow {
		at, ok := slices.BinarySearchFunc(s.Groups, g.Group, func(a model.Group, id provider.GroupID) int {
			return compareIDs(a.ID, id)
		})
		if !ok || !s.Groups[at].HasTemplate {
			continue
		}
		open := b.growing[g.Group]
		if open == nil {
			open = &growing{before: map[string]time.Time{}}
			for i := range s.Nodes {
				if n := s.Nodes[i]; n.Group == at && n.Object != nil {
					open.before[n.Name] = created(n)
				}
			}
			b.growing[g.Group] = open
		}
		open.predicted = s.Contents.Shapes[s.Groups[at].Shape]
		open.wait = append(open.wait, wait{d.ID, g.To - g.From, d.Time.Add(expectedFor)})
	}
}

func created(n *model.Node) time.Time { return n.Object.CreationTimestamp.UTC() }

func compareIDs(a, b provider.GroupID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// arrived notes the new nodes that have become ready: they are those of the oldest decision that
// still waits for nodes of their group.
func (b *Book) arrived(s *model.Snapshot) {
	if len(b.growing) == 0 {
		return
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Kind != model.Ready || n.Group < 0 || n.Object == nil {
			continue
		}
		group := s.Groups[n.Group].ID
		open := b.growing[group]
		if open == nil || len(open.wait) == 0 {
			continue
		}
		if made, had := open.before[n.Name]; had && made.Equal(created(n)) {
			continue
		}
		open.before[n.Name] = created(n)
		b.note(open, s, n, group)
	}
	for group, open := range b.growing {
		open.wait = slices.DeleteFunc(open.wait, func(w wait) bool { return w.nodes == 0 || w.until.Before(s.Now) })
		if len(open.wait) == 0 {
			delete(b.growing, group)
		}
	}
}

func (b *Book) note(open *growing, s *model.Snapshot, n *model.Node, group provider.GroupID) {
	for i := range open.wait {
		w := &open.wait[i]
		if w.nodes == 0 {
			continue
		}
		w.nodes--
		made := Made{Node: n.Name, Group: group, Created: created(n), Ready: s.Now.UTC(),
			Predicted: roomOf(open.predicted.Allocatable), Actual: roomOf(model.ResourcesOf(n.Object.Status.Allocatable)),
			Differs: differs(open.predicted.Node, n.Object)}
		b.change(w.decision, func(d *Decision) any {
			if len(d.Made) < mostMade {
				d.Made = append(slices.Clip(d.Made), made)
			}
			return nodeMade{w.decision, made}
		})
		return
	}
}

// differs says where a node has other labels or taints than its template said. Labels that only the
// node has are not told: many are its own.
func differs(expected, is *corev1.Node) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(expected.Labels)) {
		if key == corev1.LabelHostname {
			continue
		}
		if value, ok := is.Labels[key]; !ok {
			out = append(out, fmt.Sprintf("label %s: missing, expected %q", key, expected.Labels[key]))
		} else if value != expected.Labels[key] {
			out = append(out, fmt.Sprintf("label %s: %q, expected %q", key, value, expected.Labels[key]))
		}
	}
	has := func(n *corev1.Node, t corev1.Taint) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) && o.Value == t.Value })
	}
	for _, t := range expected.Spec.Taints {
		if !has(is, t) {
			out = append(out, fmt.Sprintf("taint %s: missing", t.ToString()))
		}
	}
	for _, t := range is.Spec.Taints {
		if !has(expected, t) {
			out = append(out, fmt.Sprintf("taint %s: not expected", t.ToString()))
		}
	}
	return out[:min(len(out), mostDiffers)]
}
