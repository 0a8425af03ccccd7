package act

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// noteLimit is how many bytes Annotate writes: every watcher of nodes gets them
// with every change of the node.
const noteLimit = 400

// conflicts is how often a node is read again after another client changed it between our read and
// our write. Each conflict means that another write succeeded, so there is nothing to wait for.
const conflicts = 4

// taint marks a node as being deleted, so that nothing more is scheduled there. It records that the
// taint is ours and a cordon is not. A cordoned node whose removal another client began is left
// alone: the cordon's owner would be unknown. A cordon that a removal of ours left behind stays
// ours.
func (a *Actor) taint(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	return a.rewrite(ctx, call, out, func(n *corev1.Node) (bool, error) {
		removal, said := n.Annotations[model.AnnotationRemoval]
		if model.HasTaint(n, model.TaintToBeDeleted) {
			if said || n.Spec.Unschedulable {
				return false, nil
			}
		} else {
			a.addTaint(n, model.TaintToBeDeleted, corev1.TaintEffectNoSchedule)
		}
		if !n.Spec.Unschedulable || removal != model.RemovalCordoned {
			setAnnotation(n, model.AnnotationRemoval, model.RemovalTainted)
		}
		return true, nil
	})
}

// untaint rolls a removal back: all that it wrote on the node goes at once. A cordon goes if it is
// ours, and also if its owner is not recorded but the taint is there: the Cluster Autoscaler
// cordons the nodes that it taints, and leaves both when it ends.
func (a *Actor) untaint(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	return a.rewrite(ctx, call, out, func(n *corev1.Node) (bool, error) {
		removal, said := n.Annotations[model.AnnotationRemoval]
		tainted := model.HasTaint(n, model.TaintToBeDeleted)
		if !said && !tainted && !model.HasTaint(n, model.TaintCandidate) {
			return false, nil
		}
		if n.Spec.Unschedulable && (removal == model.RemovalCordoned || !said && tainted) {
			n.Spec.Unschedulable = false
		}
		dropTaint(n, model.TaintToBeDeleted)
		dropTaint(n, model.TaintCandidate)
		delete(n.Annotations, model.AnnotationRemoval)
		return true, nil
	})
}

// cordon makes a node unschedulable and then reads the pods on it (rule L9). The order matters:
// pods that tolerate the taint can come until the node is cordoned, and one that came after the
// read would be evicted without a place elsewhere. If the read finds one, the rollback removes the
// cordon and the taint.
func (a *Actor) cordon(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	out = a.rewrite(ctx, call, out, func(n *corev1.Node) (bool, error) {
		if err := a.stays(call, n); err != nil {
			return false, err
		}
		if call.LookOnly || n.Spec.Unschedulable {
			return false, nil
		}
		n.Spec.Unschedulable = true
		setAnnotation(n, model.AnnotationRemoval, model.RemovalCordoned)
		return true, nil
	})
	if out.Err != nil {
		return out
	}
	if landed, err := a.strangers(ctx, call); err != nil {
		// The version stays in the outcome: the written state must be observed before anything else
		// is done (rule L4).
		out.Err, out.Landed, out.Unchanged = err, landed, false
	}
	return out
}

// mark sets a candidate's soft taint.
func (a *Actor) mark(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	return a.rewrite(ctx, call, out, func(n *corev1.Node) (bool, error) {
		switch {
		case model.HasTaint(n, model.TaintToBeDeleted):
			return false, callError(call, provider.Conflict,
				"it is no longer a candidate: it has the taint "+model.TaintToBeDeleted, nil)
		case model.HasTaint(n, model.TaintCandidate):
			return false, nil
		}
		a.addTaint(n, model.TaintCandidate, corev1.TaintEffectPreferNoSchedule)
		return true, nil
	})
}

// unmark removes a candidate's soft taint.
func (a *Actor) unmark(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	return a.rewrite(ctx, call, out, func(n *corev1.Node) (bool, error) {
		return dropTaint(n, model.TaintCandidate), nil
	})
}

// annotate writes on a node what keeps it, or removes that.
func (a *Actor) annotate(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	note := shortened(call.Note, noteLimit)
	return a.rewrite(ctx, call, out, func(n *corev1.Node) (bool, error) {
		if was, there := n.Annotations[model.AnnotationStays]; was == note && there == (note != "") {
			return false, nil
		}
		if note == "" {
			delete(n.Annotations, model.AnnotationStays)
		} else {
			setAnnotation(n, model.AnnotationStays, note)
		}
		return true, nil
	})
}

// rewrite reads a node from the API server, changes it and puts it back. The put carries the
// version that was read: a node that another client changed meanwhile is read again (rule L9).
// change reports whether there is something to write; its error ends the call with nothing written.
func (a *Actor) rewrite(
	ctx context.Context, call model.Call, out model.Outcome, change func(*corev1.Node) (bool, error),
) model.Outcome {
	nodes := a.client.CoreV1().Nodes()
	writing := false
	var lost error
	once := func() error {
		writing = false
		n, err := nodes.Get(ctx, call.Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		out.ResourceVersion = n.ResourceVersion
		if writing, err = change(n); err != nil || !writing {
			return err
		}
		// The read took time, and the lease may be lost (rule L10).
		if lost = a.may(); lost != nil {
			return lost
		}
		n, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		out.ResourceVersion = n.ResourceVersion
		return nil
	}
	err := once()
	for range conflicts {
		if !apierrors.IsConflict(err) {
			break
		}
		err = once()
	}
	if err == nil {
		out.Unchanged = !writing
		return out
	}
	out.ResourceVersion = ""
	if lost != nil {
		return a.notBegun(call, lost)
	}
	if refused, ok := errors.AsType[*provider.Error](err); ok {
		out.Err = refused
		return out
	}
	out.Err = apiError(call, "write", err)
	out.Err.MayHaveHappened = writing && unknownEnd(err)
	return out
}

// addTaint adds a taint whose value is now, in seconds since 1970.
func (a *Actor) addTaint(n *corev1.Node, key string, effect corev1.TaintEffect) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
		Key: key, Value: strconv.FormatInt(a.run.Now().Unix(), 10), Effect: effect,
	})
}

// dropTaint removes a taint, and reports whether it was there.
func dropTaint(n *corev1.Node, key string) bool {
	before := len(n.Spec.Taints)
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	return len(n.Spec.Taints) != before
}

func setAnnotation(n *corev1.Node, key, value string) {
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[key] = value
}

// shortened is at most limit bytes of a text, cut between two characters.
func shortened(text string, limit int) string {
	const more = "…"
	if len(text) <= limit {
		return text
	}
	end := limit - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
