package sim

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// performEvict is the Eviction API. What it allows is counted against the pod's
// budget there and then, so that no two evictions use the same disruption.
func (w *world) performEvict(out model.Outcome) model.Outcome {
	c := out.Call
	namespace, name, _ := strings.Cut(c.Pod, "/")
	s, there := w.truth.seats[podName{namespace, name}]
	if !there || s.pod.UID != c.PodUID || s.pod.Flags&model.Terminating != 0 {
		out.Unchanged = true // it goes already, or another one has its name
		return out
	}
	grace := c.Grace
	if grace < 0 {
		grace = w.graceOf(s)
	}
	budgets := w.covering(s)
	if s.node != "" {
		if err := w.disrupt(c, s, budgets); err != nil {
			out.Err = err
			return out
		}
	}
	w.checker.evicting(c, s, budgets)
	w.log.count(c.Node, "pods evicted")
	w.endPod(s.id, grace)
	return out
}

// disrupt uses one disruption of the budget about a pod.
func (w *world) disrupt(c model.Call, s seat, budgets []*budget) *provider.Error {
	switch {
	case len(budgets) == 0:
		return nil
	case len(budgets) > 1:
		err := evictionRefused(c, provider.BadConfig,
			"several PodDisruptionBudgets select it, and such a pod cannot be evicted")
		err.Code = model.CodeManyBudgets
		return err
	}
	b := budgets[0]
	err := evictionRefused(c, provider.Conflict, "")
	err.Code = model.CodeDisruptionBudget
	switch {
	case !b.synced:
		err.Message += fmt.Sprintf("the disruption budget %s is still being processed by the server", b.id.name)
		return err
	case b.allowed <= 0:
		err.Message += fmt.Sprintf("the disruption budget %s needs %s", b.id.name, b.detail)
		return err
	}
	b.allowed--
	b.disrupted[s.pod.UID] = w.now
	w.tellBudget(b)
	return nil
}

func evictionRefused(c model.Call, kind provider.Kind, message string) *provider.Error {
	return &provider.Error{Op: provider.Op(c.Verb), Group: c.Group, Kind: kind,
		Message: "pod " + c.Pod + " on node " + c.Node + ": " + message}
}
