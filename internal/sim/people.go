package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

// This file is what people do: at the cloud's console and with kubectl.

// SetTarget changes a group's target by hand.
func (w *world) SetTarget(id provider.GroupID, n int) error {
	was := w.inventory(id).Target
	if err := w.cloud.SetTarget(id, n); err != nil {
		return fmt.Errorf("a person sets a target: %w", err)
	}
	w.log.say("a person sets the target of %s to %d, it was %d", id, n, was)
	w.judge.people()
	w.watchCloud()
	return nil
}

// SetLimits changes a group's limits by hand.
func (w *world) SetLimits(id provider.GroupID, least, most int) error {
	err := w.cloud.Edit(id, func(s *providertest.GroupSpec) { s.Min, s.Max = least, most })
	if err != nil {
		return fmt.Errorf("a person sets limits: %w", err)
	}
	w.log.say("a person sets the limits of %s to %d and %d", id, least, most)
	w.judge.groupIs(id)
	w.judge.people()
	return nil
}

// SetZones sets the zones that a group's new machines can be in. The group still reports its former
// zones: the cloud has no machines there.
func (w *world) SetZones(id provider.GroupID, zones []string) error {
	if err := w.cloud.Edit(id, func(s *providertest.GroupSpec) { s.Zones = zones }); err != nil {
		return fmt.Errorf("sell machines of a group in the zones %v alone: %w", zones, err)
	}
	w.log.say("there are machines for %s in %s alone", id, strings.Join(zones, ", "))
	w.judge.stir()
	return nil
}

// SetTemplate changes what a group's new machines are, and says so by another version, the next one if it is not named.
func (w *world) SetTemplate(id provider.GroupID, node *corev1.Node, version string) error {
	g, ok := w.groups[id]
	if !ok {
		return fmt.Errorf("a person changes a template: there is no group %q", id)
	}
	t := *g.template
	differs := t.Node != node
	t.Version, t.Node = cmp.Or(version, t.Version+"+"), node
	g.template, g.differs = &t, false
	if err := w.cloud.Edit(id, func(s *providertest.GroupSpec) { s.Template = &t }); err != nil {
		return fmt.Errorf("a person changes a template: %w", err)
	}
	w.judge.groupMakes(id, differs)
	w.judge.stir()
	w.log.say("a person changes the template of %s", id)
	return nil
}

// DropGroup takes a group away with all of its machines.
func (w *world) DropGroup(id provider.GroupID) error {
	if err := w.cloud.DropGroup(id); err != nil {
		return fmt.Errorf("a person drops a group: %w", err)
	}
	delete(w.groups, id)
	w.log.say("a person drops the group %s", id)
	w.judge.people()
	w.watchCloud()
	return nil
}

// DeleteNode deletes a node object; its machine runs on.
func (w *world) DeleteNode(name string) error {
	if w.truth.object(name) == nil && name == anyName {
		return nil // there was none to be picked
	}
	if w.truth.object(name) == nil {
		return fmt.Errorf("a person deletes a node: there is no node %q", name)
	}
	w.judge.stir()
	w.log.say("a person deletes node %s", name)
	w.loseNode(name)
	return nil
}

// Cordon keeps pods from a node, or lets them in again.
func (w *world) Cordon(name string, on bool) error {
	was := false
	if w.editNode(name, func(n *corev1.Node) { was, n.Spec.Unschedulable = n.Spec.Unschedulable, on }) == nil {
		if name == anyName {
			return nil // there was none to be picked
		}
		return fmt.Errorf("a person cordons a node: there is no node %q", name)
	}
	w.judge.stir()
	w.log.say("a person sets unschedulable=%v on node %s", on, name)
	switch {
	case !on:
		delete(w.cordons, name)
	case !was:
		w.cordons[name] = true
	}
	return nil
}

// Taint puts a taint on a node, or takes it off again.
func (w *world) Taint(name string, taint corev1.Taint, on bool) error {
	n := w.editNode(name, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		if on {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		}
	})
	switch {
	case n == nil && name == anyName:
		return nil // there was none to be picked
	case n == nil:
		return fmt.Errorf("a person taints a node: there is no node %q", name)
	}
	w.judge.stir()
	w.log.say("a person sets the taint %s=%v on node %s", taint.ToString(), on, name)
	return nil
}

// Overwrite puts something else where the leader keeps its memory.
func (w *world) Overwrite(memory string) {
	w.log.say("a person overwrites the memory with %q", memory)
	w.saved = []byte(memory)
	w.judge.tell(check.Event{What: check.Forgets})
}

// Annotate writes an annotation on a node, or takes it away if the value is
// empty.
func (w *world) Annotate(name, key, value string) error {
	n := w.editNode(name, func(n *corev1.Node) {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[key] = value
		if value == "" {
			delete(n.Annotations, key)
		}
	})
	if n == nil {
		if name == anyName {
			return nil // there was none to be picked
		}
		return fmt.Errorf("a person annotates a node: there is no node %q", name)
	}
	w.log.say("a person annotates node %s: %s=%s", name, key, value)
	return nil
}

// anyName stands for a node or an instance that chance picks.
const anyName = "any"

// anyNode is the name, or that of some node of a group.
func (w *world) anyNode(name string) string {
	if m := w.anyMachine(name); m != nil {
		return m.node
	}
	return name
}

// anyInstance is the name, or that of some instance with a node.
func (w *world) anyInstance(name string) provider.InstanceID {
	if m := w.anyMachine(name); m != nil {
		return m.instance
	}
	return provider.InstanceID(name)
}

// anyMachine is some machine that has a node, if any is asked for; else nil.
func (w *world) anyMachine(name string) *machine {
	if name != anyName {
		return nil
	}
	all := slices.DeleteFunc(w.sortedMachines(""), func(m *machine) bool { return w.truth.object(m.node) == nil })
	if len(all) == 0 {
		return nil
	}
	return all[w.dice.people.IntN(len(all))]
}

// round is how often people look after a cluster.
const round = 10 * time.Minute

// attend has people do now and then what the autoscaler must not. They mend the nodes of a cluster
// in which too many are not ready, and unready nodes that a group's minimum, an annotation or
// drifted ids keep. They end machines without a node, and instances that the cloud could not make
// or that never run, where a minimum or drifted ids forbid it to the autoscaler, or the cloud would choose the victim.
// In a group with drifted ids any node without an instance could belong to any of its instances, so
// the autoscaler removes none of them (rule P6).
func (w *world) attend() {
	w.after(round, func() {
		all := w.sortedMachines("")
		unready, drifted := 0, map[provider.GroupID]bool{}
		for _, m := range all {
			if n := w.truth.object(m.node); n == nil || !model.NodeReady(n) {
				unready++
			}
			if m.drifted {
				drifted[m.group.id] = true
			}
		}
		sick := w.settings.Policy.Rules.TooMany(unready, len(all))
		for _, id := range sortedKeys(w.machines) {
			m := w.machines[id]
			g, n := w.inventory(m.group.id), w.truth.object(m.node)
			old := w.now.Sub(m.since) > 2*w.settings.Policy.Rules.ProvisionTime
			// A machine whose node's loss was not seen could own any node without a group (rule
			// P6).
			unseen := m.node != "" && m.lostAt.IsZero() && len(w.unmanaged) > 0
			kept := n != nil && n.Annotations[model.AnnotationScaleDownDisabled] == "true"
			switch {
			case n == nil && m.node != "" && sick:
				w.log.say("people start the kubelet of %s again", m.node)
				w.returns(m)
			case n == nil && old && (g.Target <= g.Min || len(drifted) > 0 || g.CloudChooses || unseen):
				w.wrong(w.Kill(id))
			case n != nil && !model.NodeReady(n) &&
				(sick || old && (kept || drifted[m.group.id] || g.CloudChooses || g.Target <= g.Min)):
				w.judge.stir()
				w.log.say("people mend node %s", m.node)
				w.setReady(m, corev1.ConditionTrue, "KubeletReady")
			}
		}
		for _, g := range w.cloud.Truth().Groups {
			for _, in := range g.Instances {
				never := in.State == provider.Creating && w.now.Sub(in.Created) > 2*w.settings.Policy.Rules.ProvisionTime
				if (in.Err != nil || never) && (g.Target <= g.Min || g.CloudChooses) || never && len(drifted) > 0 {
					w.wrong(w.Kill(in.ID))
				}
			}
		}
		w.attend()
	})
}
