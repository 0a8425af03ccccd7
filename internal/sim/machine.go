package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is what machines do in the cluster: a kubelet registers its node,
// turns ready, breaks; and the controllers that look after nodes whose machine
// does not answer.

// machine is an instance as the world knows it, whatever its id drifts to.
type machine struct {
	instance   provider.InstanceID
	group      *group
	node       string // its node's name, once it has one
	providerID string // that its node registers with
	zone       string
	since      time.Time // when it began to run
	gone       bool
	lostAt     time.Time // when its Node object was deleted although the machine stays
	drifted    bool      // its node has another name and id than the cloud says
	// readiness counts changes of the node's readiness: an action that was planned for an older one
	// does not happen.
	readiness int
}

// How long the cluster's own controllers take: until a node that says nothing
// is not ready, until the node of a machine that is gone is deleted, until pods
// leave a node that is not ready, and until the next one is looked at.
var (
	unheardLag  = Span{35 * time.Second, 45 * time.Second}
	deleteLag   = Span{20 * time.Second, time.Minute}
	evictionLag = 5 * time.Minute
)

// quirks are how a machine turns out, by faults.
type quirks struct {
	neverRegister, neverReady, drift, lessCPU, lostLabel, extraTaint, wrongZone bool
}

// watchCloud looks at what the cloud has now, and plans the next look for when
// something changes there by itself.
func (w *world) watchCloud() {
	w.judge.look()
	w.syncMachines()
	next, any := w.cloud.NextChange()
	if !any || next.Equal(w.cloudTick) {
		return
	}
	w.cloudTick = next
	w.at(next, func() {
		if w.cloudTick.Equal(next) {
			w.cloudTick = time.Time{}
			w.watchCloud()
		}
	})
}

// syncMachines notices machines that have begun to run or are gone.
func (w *world) syncMachines() {
	there := make(map[provider.InstanceID]bool, len(w.machines))
	for _, g := range w.cloud.Truth().Groups {
		for _, in := range g.Instances {
			there[in.ID] = true
			if _, known := w.machines[in.ID]; known || in.State != provider.Running {
				continue
			}
			m := &machine{instance: in.ID, group: w.groups[g.ID], providerID: in.ProviderID,
				zone: in.Zone, since: w.now}
			w.machines[in.ID] = m
			w.log.count(string(g.ID), "machines run")
			w.boot(m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.machines)) {
		if m := w.machines[id]; !there[id] {
			delete(w.machines, id)
			m.gone = true
			w.log.count(string(m.group.id), "machines are gone")
			w.lost(m)
		}
	}
}

// boot plans a machine's way into the cluster.
func (w *world) boot(m *machine) {
	q := w.drawQuirks(m)
	if q.neverRegister {
		return
	}
	w.after(m.group.register.draw(w.dice.kubelet), func() {
		if m.gone {
			return
		}
		m.node = string(m.instance)
		if q.drift {
			m.drifted = true
			m.node = "drifted-" + m.node
			m.providerID = "drifted:///" + m.zone + "/" + string(m.instance)
		}
		w.register(m, q)
		w.log.count(string(m.group.id), "nodes registered")
		if q.neverReady {
			return
		}
		w.after(m.group.ready.draw(w.dice.kubelet), func() {
			if !m.gone {
				w.setReady(m, corev1.ConditionTrue, "KubeletReady")
			}
		})
	})
}

// register makes a machine's node: what its group's template says, but for its
// quirks.
func (w *world) register(m *machine, q quirks) {
	n := m.group.template.Node.DeepCopy()
	m.lostAt = time.Time{}
	n.Name = m.node
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = m.node
	if m.zone != "" {
		n.Labels[corev1.LabelTopologyZone] = m.zone
	}
	if q.wrongZone {
		n.Labels[corev1.LabelTopologyZone] = w.otherZone(m.group)
	}
	n.Spec.ProviderID = m.providerID
	n.CreationTimestamp = metav1.NewTime(w.now.Truncate(time.Second))
	if q.lessCPU {
		cpu := n.Status.Allocatable[corev1.ResourceCPU]
		n.Status.Allocatable = maps.Clone(n.Status.Allocatable)
		n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpu.MilliValue()*3/10, resource.DecimalSI)
	}
	if q.lostLabel {
		for key := range n.Labels {
			if key != corev1.LabelHostname {
				delete(n.Labels, key)
			}
		}
	}
	if q.extraTaint {
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: "example.com/unforeseen", Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	m.group.differs = m.group.differs || q.lessCPU || q.lostLabel || q.extraTaint || q.wrongZone
	adopts(n, w.truth.object(m.node))
	w.judge.adopted = w.truth.object(m.node) != nil
	delete(w.dead, m.node)
	w.readiness(n, corev1.ConditionFalse, "KubeletNotReady")
	w.putNode(n)
	w.judge.adopted = false
	w.joined(m.node, true)
}

// joined tells the cloud whether a machine has its node, as far as the cloud can find out:
// not by an id that has drifted.
func (w *world) joined(node string, has bool) {
	for _, m := range w.sortedMachines("") {
		if m.node == node && !m.drifted {
			w.wrong(w.cloud.Join(m.instance, has))
		}
	}
}

// setReady changes the readiness of a machine's node.
func (w *world) setReady(m *machine, status corev1.ConditionStatus, reason string) {
	changed := false
	w.editNode(m.node, func(n *corev1.Node) { changed = w.readiness(n, status, reason) })
	if !changed {
		return
	}
	m.readiness++
	if status != corev1.ConditionUnknown {
		w.heardAgain(m.node)
	}
	if status == corev1.ConditionTrue {
		w.log.count(string(m.group.id), "nodes turned ready")
		return
	}
	w.log.count(string(m.group.id), "nodes turned unready")
	at := m.readiness
	w.after(evictionLag, func() {
		if m.readiness == at && !w.usedAgain(m) {
			w.evict(m.node)
		}
	})
}

// readiness sets a node's Ready condition, and the taint that goes with it; it reports whether that
// changed anything.
func (w *world) readiness(n *corev1.Node, status corev1.ConditionStatus, reason string) bool {
	was := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady
	})
	if was >= 0 && n.Status.Conditions[was].Status == status && n.Status.Conditions[was].Reason == reason {
		return false
	}
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions,
		func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: status,
		Reason: reason, LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second))})
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	switch status {
	case corev1.ConditionFalse:
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	case corev1.ConditionUnknown:
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule})
	}
	return true
}

// lost plans how the cluster reacts to a machine that is gone: its node turns not ready after a
// while, and is deleted later.
func (w *world) lost(m *machine) {
	if m.node == "" {
		return
	}
	if w.truth.object(m.node) != nil {
		w.dead[m.node] = true
	}
	w.after(unheardLag.draw(w.dice.kubelet), func() {
		if w.usedAgain(m) {
			return
		}
		w.setReady(m, corev1.ConditionUnknown, "NodeStatusUnknown")
		w.after(deleteLag.draw(w.dice.kubelet), func() {
			if w.truth.object(m.node) != nil && !w.usedAgain(m) {
				w.deleteNode(m.node)
				w.log.count(string(m.group.id), "nodes deleted")
			}
		})
	})
}

// sortedMachines are a group's machines with nodes, or with an empty group all,
// by name.
func (w *world) sortedMachines(id provider.GroupID) []*machine {
	var out []*machine
	for _, name := range slices.Sorted(maps.Keys(w.machines)) {
		if m := w.machines[name]; m.node != "" && (id == "" || m.group.id == id) {
			out = append(out, m)
		}
	}
	return out
}

// Kill takes a machine away, as a cloud does with spot machines.
func (w *world) Kill(id provider.InstanceID) error {
	if id == anyName {
		return nil // nothing to pick from
	}
	if err := w.cloud.Kill(id); err != nil {
		return fmt.Errorf("take a machine away: %w", err)
	}
	w.judge.stir()
	w.log.say("the cloud takes machine %s away", id)
	w.watchCloud()
	return nil
}
