package sim

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is what calls write on nodes, and what they check before: what package act does,
// written independently of it.

// writesNode reports whether a call is a write to a node, and to nothing else.
func writesNode(v model.Verb) bool {
	switch v {
	case model.Taint, model.Untaint, model.Cordon, model.Mark, model.Unmark, model.Annotate:
		return true
	}
	return false
}

// performOnNode writes on a node, if there is something to be written.
func (w *world) performOnNode(out model.Outcome) model.Outcome {
	c := out.Call
	old := w.truth.object(c.Node)
	if old == nil {
		out.Err = refusal(c, provider.NotFound, "there is no such node")
		return out
	}
	if out.Err = refusedWrite(c, old); out.Err != nil {
		return out
	}
	n := old.DeepCopy()
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	w.rewrite(c, n)
	out.Unchanged = sameNode(old, n)
	if !out.Unchanged {
		w.putNode(n)
	} else {
		n = old
	}
	out.ResourceVersion = n.ResourceVersion
	switch c.Verb {
	case model.Cordon:
		if out.Landed = w.strangers(c); len(out.Landed) > 0 {
			out.Unchanged = false
			out.Err = refusal(c, provider.Conflict, "pods landed on it: "+out.Landed[0])
		}
	case model.Untaint:
		w.checker.givenBack(n)
	}
	return out
}

// refusedWrite says why a write is not made, nil if it is.
func refusedWrite(c model.Call, n *corev1.Node) *provider.Error {
	switch {
	case c.Verb == model.Cordon:
		return stays(c, n)
	case c.Verb == model.Mark && model.HasTaint(n, model.TaintToBeDeleted):
		return refusal(c, provider.Conflict, "it is no candidate any more")
	}
	return nil
}

// rewrite changes a node as a call wants it.
func (w *world) rewrite(c model.Call, n *corev1.Node) {
	removal, said := n.Annotations[model.AnnotationRemoval]
	tainted := model.HasTaint(n, model.TaintToBeDeleted)
	switch c.Verb {
	case model.Taint:
		if tainted && (said || n.Spec.Unschedulable) {
			return // another removal began here, and the cordon's owner is unknown
		}
		if !tainted {
			w.addTaint(n, model.TaintToBeDeleted, corev1.TaintEffectNoSchedule)
		}
		if !n.Spec.Unschedulable || removal != model.RemovalCordoned {
			n.Annotations[model.AnnotationRemoval] = model.RemovalTainted
		}
	case model.Untaint:
		if removal == model.RemovalCordoned || !said && tainted {
			n.Spec.Unschedulable = false
		}
		dropTaint(n, model.TaintToBeDeleted)
		dropTaint(n, model.TaintCandidate)
		delete(n.Annotations, model.AnnotationRemoval)
	case model.Cordon:
		if !c.LookOnly && !n.Spec.Unschedulable {
			n.Spec.Unschedulable = true
			n.Annotations[model.AnnotationRemoval] = model.RemovalCordoned
		}
	case model.Mark:
		if !model.HasTaint(n, model.TaintCandidate) {
			w.addTaint(n, model.TaintCandidate, corev1.TaintEffectPreferNoSchedule)
		}
	case model.Unmark:
		dropTaint(n, model.TaintCandidate)
	case model.Annotate:
		n.Annotations[model.AnnotationStays] = c.Note
		if c.Note == "" {
			delete(n.Annotations, model.AnnotationStays)
		}
	}
}

// addTaint adds a taint whose value is now.
func (w *world) addTaint(n *corev1.Node, key string, effect corev1.TaintEffect) {
	n.Spec.Taints = append(n.Spec.Taints,
		corev1.Taint{Key: key, Value: strconv.FormatInt(w.now.Unix(), 10), Effect: effect})
}

func dropTaint(n *corev1.Node, key string) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// stays says why a node whose removal has begun must stay, nil if it may go on.
func stays(c model.Call, n *corev1.Node) *provider.Error {
	switch {
	case !model.HasTaint(n, model.TaintToBeDeleted):
		return refusal(c, provider.Conflict, "somebody took the taint away, so it stays")
	case n.Annotations[model.AnnotationScaleDownDisabled] == "true":
		return refusal(c, provider.Conflict, "it has been annotated, so it stays")
	case c.Unready && model.NodeReady(n):
		return refusal(c, provider.Conflict, "it has become ready, so it stays")
	}
	return nil
}

// lookAgain looks at what is to be removed right before it is, as act does: at its node
// and the pods there; or for a node, where it had none.
func (w *world) lookAgain(c model.Call) ([]string, *provider.Error) {
	if c.Node != "" {
		return w.lastLook(c)
	}
	for _, o := range w.truth.observed() {
		n := o.Object
		if c.ProviderID != "" && n.Spec.ProviderID == c.ProviderID || c.NodeName != "" && n.Name == c.NodeName {
			return nil, refusal(c, provider.Conflict, "it has registered as node "+n.Name)
		}
	}
	return nil, nil
}

// lastLook looks at a node once more before its machine goes (rule L9).
func (w *world) lastLook(c model.Call) ([]string, *provider.Error) {
	n := w.truth.object(c.Node)
	if n == nil {
		return nil, nil
	}
	if err := stays(c, n); err != nil {
		return nil, err
	}
	left := w.podsLeft(c.Node, c.ExpendableBelow, func(p model.Pod) bool {
		return p.Flags&model.Terminating != 0 && (c.Unready || w.overdue(p))
	})
	if len(left) == 0 {
		return nil, nil
	}
	return left, refusal(c, provider.Conflict, "pods are on it: "+left[0])
}

// strangers are the pods on a node that the plan to empty it did not know.
func (w *world) strangers(c model.Call) []string {
	return w.podsLeft(c.Node, c.ExpendableBelow, func(p model.Pod) bool {
		return p.Flags&model.Terminating != 0 || slices.Contains(c.Known, p.UID)
	})
}

// overtime is how long an ending pod is still waited for after its grace period.
const overtime = 30 * time.Second

func (w *world) overdue(p model.Pod) bool {
	return p.Flags&model.Terminating != 0 && time.Unix(p.Ends, 0).Add(overtime).Before(w.now)
}

// podsLeft names the pods that would be lost with a node, sorted: not those of the node itself,
// those that have ended, those of low priority, or those that are let off.
func (w *world) podsLeft(node string, expendableBelow int32, letOff func(model.Pod) bool) []string {
	specs := w.catalog.Contents().Specs
	var names []string
	for _, p := range w.truth.podsOn(node) {
		spec := specs[p.Spec]
		if p.Flags&(model.FromDaemonSet|model.Mirror|model.Finished) != 0 ||
			spec.Priority < expendableBelow || letOff(p) {
			continue
		}
		names = append(names, spec.Pod.Namespace+"/"+p.Name)
	}
	slices.Sort(names)
	return names
}

func refusal(c model.Call, kind provider.Kind, message string) *provider.Error {
	if c.Node != "" {
		message = "node " + c.Node + ": " + message
	}
	return &provider.Error{Op: provider.Op(c.Verb), Group: c.Group, Kind: kind, Message: message}
}
