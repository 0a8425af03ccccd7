package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is what has nodes go that pods need: the cloud takes a machine after a notice, a node says that something
// is wrong with it, or its group makes others now.

// How a node says that the cloud is about to take its machine, and that something is wrong with it.
const (
	takenSign   = "example.com/taken"
	unsoundSign = "KernelDeadlock"
)

// dueDeeds are what these are called in a script.
var dueDeeds = []What{"interrupt", "unsound", "template"}

// interruptLine reads how long before it takes a machine the cloud says so, and where: of the instance, or on its node.
func interruptLine(w *world, name string, words []string) (func() error, error) {
	notice, by := 2*time.Minute, "cloud"
	err := eachWord(words, map[string]func(string) error{"for": duration(&notice), "by": word(&by)})
	if err == nil && by != "cloud" && by != "annotation" && by != "taint" {
		err = fmt.Errorf("by=%s is none of cloud, annotation, taint", by)
	}
	return func() error { return w.Interrupt(name, notice, by) }, err
}

// Interrupt has the cloud tell that it is about to take the machine of a node, and take it after that time, whatever
// has become of it.
func (w *world) Interrupt(name string, notice time.Duration, by string) error {
	m := w.machineOf(name)
	if m == nil {
		return w.noNode("interrupt", name)
	}
	w.judge.stir()
	w.log.say("the cloud is about to take the machine of node %s, and tells by %s", m.node, by)
	w.judge.tell(check.Event{What: check.TakenSoon, Node: m.node, Machine: string(m.instance), Own: by == "cloud"})
	if by == "cloud" {
		err := w.cloud.Interrupt(m.instance,
			provider.Interruption{Kind: "spot interruption", Since: w.now, Until: w.now.Add(notice)})
		if err != nil {
			return fmt.Errorf("interrupt a machine: %w", err)
		}
	} else {
		w.editNode(m.node, func(n *corev1.Node) {
			if by == "taint" {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: takenSign, Effect: corev1.TaintEffectNoSchedule})
				return
			}
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, takenSign, "soon")
		})
	}
	w.after(notice, func() {
		if !m.gone {
			w.wrong(w.Kill(m.instance))
		}
	})
	return nil
}

// Unsound has a node say that something is wrong with it, for good.
func (w *world) Unsound(name string) error {
	m := w.machineOf(name)
	if m == nil {
		return w.noNode("node is unsound", name)
	}
	w.judge.stir()
	w.log.say("node %s says %s", m.node, unsoundSign)
	w.judge.tell(check.Event{What: check.Unsound, Node: m.node})
	w.editNode(m.node, func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: unsoundSign,
			Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second))})
	})
	return nil
}

// standsFor is the machine that a node stands for; nil if that is gone, or of no group.
func (w *world) standsFor(node string) *machine {
	for _, m := range w.machines {
		if m.node == node {
			return m
		}
	}
	return nil
}

// machineOf is the machine of a node, or any that has one; nil if there is none.
func (w *world) machineOf(name string) *machine {
	name = w.anyNode(name)
	if w.truth.object(name) == nil {
		return nil
	}
	return w.standsFor(name)
}

// noNode: where any will do there need not be one.
func (w *world) noNode(what, name string) error {
	if name == anyName {
		return nil
	}
	return fmt.Errorf("%s: there is no node %q of a group", what, name)
}

// templateLine reads what a group's new machines are from now on; version=2 alone says that they are as before, and
// that those before are not what it makes now.
func templateLine(w *world, name string, words []string) (func() error, error) {
	version := ""
	rest, err := take(words, map[string]func(string) error{"version": word(&version)})
	if err != nil {
		return nil, err
	}
	id := provider.GroupID(name)
	if len(rest) == 0 {
		return func() error {
			g, ok := w.groups[id]
			if !ok {
				return fmt.Errorf("a person changes a template: there is no group %q", id)
			}
			return w.SetTemplate(id, g.template.Node, version)
		}, nil
	}
	scratch, err := scratchpad(w, append([]string{"group", name}, rest...))
	if err != nil {
		return nil, err
	}
	node := scratch.Groups[0].Template.Node
	return func() error { return w.SetTemplate(id, node, version) }, nil
}
