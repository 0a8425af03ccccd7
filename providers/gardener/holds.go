package gardener

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// Reasons of holds, beside the kinds of error.
const (
	holdUnavailable = "MachineControllerManagerUnavailable"
	holdPaused      = "Paused"
	holdHibernated  = "Hibernated"
	holdRollout     = "Rollout"
	holdFrozen      = "Frozen"
	holdScaleUp     = "ScaleUpDisabled"
)

var everyWrite = []provider.Op{provider.OpGrow, provider.OpRemove, provider.OpCancel}

// obstacle is why some operations cannot be done with a group.
type obstacle struct {
	ops             []provider.Op
	reason, message string
	kind            provider.Kind // of the refusal
}

// onItsWay are the obstacles that the metadata tell.
func onItsWay(d *v1alpha1.MachineDeployment) []obstacle {
	var out []obstacle
	if d.DeletionTimestamp != nil {
		out = append(out, obstacle{
			everyWrite, provider.BeingDeleted, "the MachineDeployment is being deleted", provider.Conflict,
		})
	}
	if d.Annotations[v1alpha1.HibernatedAnnotation] != "" {
		out = append(out, obstacle{everyWrite, holdHibernated, fmt.Sprintf("the shoot is hibernated (annotation %s)",
			v1alpha1.HibernatedAnnotation), provider.Conflict})
	}
	return out
}

// obstacles are what a MachineDeployment itself says against being written to.
func obstacles(d *v1alpha1.MachineDeployment) []obstacle {
	out := onItsWay(d)
	add := func(ops []provider.Op, reason string, kind provider.Kind, format string, args ...any) {
		out = append(out, obstacle{ops, reason, fmt.Sprintf(format, args...), kind})
	}
	grow := []provider.Op{provider.OpGrow}
	if d.Spec.Paused {
		add(everyWrite, holdPaused, provider.Conflict,
			"the MachineDeployment is paused (spec.paused), so it is left alone")
	}
	if d.Spec.Selector == nil || d.Spec.Strategy.Type == "" {
		add(everyWrite, string(provider.BadConfig), provider.BadConfig,
			"the MachineDeployment has no spec.selector or no spec.strategy.type, so that machine-controller-manager ignores it")
	}
	if kind := d.Spec.Template.Spec.Class.Kind; kind != v1alpha1.KindMachineClass {
		add(grow, string(provider.Unsupported), provider.Unsupported, "its machines are of a class of the kind %q, which "+
			"says nothing of what a node will be like: only %s is understood", kind, v1alpha1.KindMachineClass)
	}
	if frozen(d.Labels, d.Status.Conditions) {
		add(grow, holdFrozen, provider.Conflict, "machine-controller-manager has frozen it, since there were more machines "+
			"than it wanted: it makes no new ones until these are gone, or the annotation %s is set",
			v1alpha1.UnfreezeAnnotation)
	}
	return out
}

// holdsOf are the operations that a group is not to be asked for.
func holdsOf(d *v1alpha1.MachineDeployment, sets []*v1alpha1.MachineSet, rolling string) []provider.Hold {
	all := obstacles(d)
	if rolling != "" {
		all = append(all, obstacle{
			ops: []provider.Op{provider.OpRemove, provider.OpCancel}, reason: holdRollout, message: rolloutMessage(rolling),
		})
	}
	if newest := newestOf(sets); newest != nil {
		if frozen(newest.Labels, newest.Status.Conditions) && !frozen(d.Labels, d.Status.Conditions) {
			all = append(all, obstacle{
				ops:     []provider.Op{provider.OpGrow},
				reason:  holdFrozen,
				message: fmt.Sprintf("the MachineSet %s is frozen, and makes no machines", newest.Name),
			})
		}
		if _, ok := newest.Labels[v1alpha1.ScaleUpDisabledLabel]; ok {
			all = append(all, obstacle{
				ops:    []provider.Op{provider.OpGrow},
				reason: holdScaleUp,
				message: fmt.Sprintf("the MachineSet %s makes no machines while those that it has are updated in place (label %s)",
					newest.Name, v1alpha1.ScaleUpDisabledLabel),
			})
		}
	}
	return holdsFor(all)
}

// strangeHolds are those of a MachineDeployment that cannot be read as a whole: its spec
// may say something against a write.
func strangeHolds(d *v1alpha1.MachineDeployment, err error) []provider.Hold {
	return holdsFor(append(onItsWay(d), obstacle{
		ops: everyWrite, reason: string(provider.BadConfig), message: fmt.Sprintf(unread, err),
	}))
}

func holdsFor(all []obstacle) []provider.Hold {
	var out []provider.Hold
	for _, o := range all {
		for _, op := range o.ops {
			out = append(out, provider.Hold{Op: op, Reason: o.reason, Message: o.message})
		}
	}
	return out
}

func rolloutMessage(old string) string {
	return fmt.Sprintf("it is being rolled out: the MachineSet %s of an older revision has machines still, and lower "+
		"replicas would take machines of every MachineSet", old)
}

// hindered is the refusal of an operation that a MachineDeployment itself forbids.
func hindered(op provider.Op, d *v1alpha1.MachineDeployment) *provider.Error {
	for _, o := range obstacles(d) {
		if slices.Contains(o.ops, op) {
			return kube.Refuse(op, provider.GroupID(d.Name), o.kind, "%s", o.message)
		}
	}
	return nil
}

func frozen(labels map[string]string, conditions []v1alpha1.Condition) bool {
	return labels[v1alpha1.FreezeLabel] == v1alpha1.FreezeValue || holds(conditions, v1alpha1.ConditionFrozen)
}

func holds(conditions []v1alpha1.Condition, kind string) bool {
	return slices.ContainsFunc(conditions, func(c v1alpha1.Condition) bool {
		return c.Type == kind && c.Status == v1alpha1.ConditionTrue
	})
}

// rollingOut names a MachineSet that is not the newest and has, or is to have,
// machines; empty if there is none. The condition Progressing does not tell: a first
// growth that never completes looks there like a rollout.
func rollingOut(sets []*v1alpha1.MachineSet) string {
	newest := newestOf(sets)
	var old []string
	for _, s := range sets {
		if s != newest && (s.Spec.Replicas > 0 || s.Status.Replicas > 0) {
			old = append(old, s.Name)
		}
	}
	if len(old) == 0 {
		return ""
	}
	return slices.Min(old)
}

// newestOf is the MachineSet of the highest revision, nil if there is none.
func newestOf(sets []*v1alpha1.MachineSet) *v1alpha1.MachineSet {
	if len(sets) == 0 {
		return nil
	}
	revision := func(s *v1alpha1.MachineSet) int {
		n, _ := strconv.Atoi(s.Annotations[v1alpha1.RevisionAnnotation]) // without one it is the oldest
		return n
	}
	return slices.MaxFunc(sets, func(a, b *v1alpha1.MachineSet) int {
		return cmp.Or(cmp.Compare(revision(a), revision(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(b.Name, a.Name))
	})
}
