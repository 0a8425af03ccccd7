package sim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Mend does what the product names as the fix for pods that wait, for the first of them whose fix is a matter of
// limits and flags. It reports whether there was one: the pods are to run then.
func (w *world) Mend() (bool, error) {
	c := w.product.last
	if c.Snapshot == nil {
		return false, nil
	}
	for i := range c.Snapshot.Pending {
		q := &c.Snapshot.Pending[i]
		if !slices.ContainsFunc(c.Plan.Pending, func(v model.PendingVerdict) bool {
			return v.Class == q.Class && v.Left > 0
		}) {
			continue
		}
		spec := c.Snapshot.Classes[q.Class].Spec
		answer, err := explain.PodOf(c, w.settings.Policy, spec.Pod.Namespace+"/"+q.Pods[0].Name)
		if err != nil {
			return false, fmt.Errorf("ask for a fix: %w", err)
		}
		fix := answer.Pending.Fix
		if fix == nil || slices.ContainsFunc(fix.Changes, func(c explain.Change) bool { return !limits(c) }) {
			continue
		}
		if err := w.change(fix.Changes); err != nil {
			return false, fmt.Errorf("do what is to help: %s: %w", fix.Text, err)
		}
		w.log.say("a person does what is to help: %s", fix.Text)
		w.judge.tell(check.Event{What: check.Mended, Class: w.judge.class(spec, ""), N: len(q.Pods), Name: fix.Text})
		return true, nil
	}
	return false, nil
}

// limits reports whether a change is one of a group's limit or of a flag.
func limits(c explain.Change) bool {
	return c.Of == explain.OfGroup && c.Field == "max" || c.Of == explain.OfFlag
}

// change is what a person does for a fix: limits of groups at once, and all flags of the next process together.
func (w *world) change(changes []explain.Change) error {
	words := slices.Clone(w.settings.Flags)
	for _, c := range changes {
		switch {
		case c.Of == explain.OfGroup:
			id := provider.GroupID(c.Name)
			most, err := strconv.Atoi(c.To)
			if err != nil {
				return fmt.Errorf("read the maximum of %s: %w", id, err)
			}
			if err := w.SetLimits(id, w.inventory(id).Min, most); err != nil {
				return err
			}
		case c.Name == "--cores-total" || c.Name == "--memory-total":
			words = append(words, c.Name+"=0:"+c.To)
		default:
			words = append(words, c.Name+"="+c.To)
		}
	}
	if len(words) == len(w.settings.Flags) {
		return nil
	}
	flags, err := parseFlags(words)
	if err != nil {
		return fmt.Errorf("read a flag: %w", err)
	}
	w.Reflag(words, flags)
	w.Crash(0)
	return nil
}
