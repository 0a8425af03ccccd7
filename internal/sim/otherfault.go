package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is faults that random worlds draw rarely and from a stream of their own, so that most
// seeds keep their meaning.
const (
	// Node objects are deleted while their machines run on; no kubelet registers again.
	lostNodes What = "nodes=lost"
	// The clock of the cloud is off: what it dates is earlier, or later, than it was.
	skewedClock What = "clock=skewed"
)

// otherKinds are the faults of this file.
var otherKinds = []What{lostNodes, skewedClock}

// loseNodes deletes the Node objects of a fault's machines, N of them or all, and their kubelets do not
// bring them back.
func (w *world) loseNodes(f *fault) {
	lost := 0
	for _, m := range w.sortedMachines("") {
		if f.covers(m.group, m.zone) && w.truth.object(m.node) != nil && w.dice.kubelet.Float64() < f.Share &&
			(f.N == 0 || lost < f.N) {
			lost++
			w.log.count(string(m.group.id), "nodes lost")
			w.loseNode(m.node)
		}
	}
}

// loseNode deletes a Node object whose machine runs on. A node that is being removed loses nothing.
func (w *world) loseNode(name string) {
	for _, m := range w.machines {
		if m.node == name && w.leader != nil && !model.HasTaint(w.truth.object(name), model.TaintToBeDeleted) {
			m.lostAt = w.now
		}
	}
	w.deleteNode(name)
}

// lostUnseen: a leader has died. Nodes that were lost a moment before, or while no leader runs, are
// not in its memory: to the next leader their machines are booting, and may never have had a node.
func (w *world) lostUnseen() {
	for _, m := range w.machines {
		if w.now.Sub(m.lostAt) < 30*time.Second {
			m.lostAt = time.Time{}
		}
	}
}

// returns has a machine's kubelet register its node once more, and turn ready.
func (w *world) returns(m *machine) {
	w.register(m, quirks{})
	w.setReady(m, corev1.ConditionTrue, "KubeletReady")
}

// redate dates what an answer tells of a group by a clock that is so far ahead.
func redate(g *provider.Group, ahead time.Duration) {
	g.TargetSince = g.TargetSince.Add(ahead)
	for i := range g.Instances {
		g.Instances[i].Created = g.Instances[i].Created.Add(ahead)
		if x := g.Instances[i].Interrupted; x != nil {
			told := provider.Interruption{Kind: x.Kind, Since: x.Since.Add(ahead), Until: x.Until.Add(ahead)}
			g.Instances[i].Interrupted = &told
		}
	}
	for i := range g.Holds {
		if h := &g.Holds[i]; !h.Since.IsZero() {
			h.Since = h.Since.Add(ahead)
		}
	}
}

// unlisted: a machine that an answer lacks is a new one when it is listed again, and no read shows that
// it lost its node.
func (w *world) unlisted(answer provider.Inventory) {
	listed := map[provider.InstanceID]bool{}
	for _, g := range answer.Groups {
		for _, in := range g.Instances {
			listed[in.ID] = in.State != provider.Deleting
		}
	}
	for id, m := range w.machines {
		if answer.AsOf.After(m.lostAt) && !listed[id] {
			m.lostAt = time.Time{}
		}
	}
}
