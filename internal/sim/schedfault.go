package sim

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/sim/kubesched"
)

// This file is the scheduler's faults. Random worlds draw them from a stream of their own.
const (
	// It does nothing, or looks at pods only after a while, up to what every says.
	schedulerDown What = "scheduler=down"
	schedulerLate What = "scheduler=late"
	// It has a filter of its own against a share of the nodes; of the nodes that fit it takes the one
	// that kube-scheduler likes least.
	schedulerPicky    What = "scheduler=picky"
	schedulerContrary What = "scheduler=contrary"
)

// schedulerKinds are the faults of this file.
var schedulerKinds = []What{schedulerDown, schedulerLate, schedulerPicky, schedulerContrary}

// suffers returns a fault of a kind that lasts, nil if there is none.
func (w *world) suffers(what What) *fault {
	for _, f := range w.faults {
		if f.on && f.What == what {
			return f
		}
	}
	return nil
}

// schedulerErrs reports whether the scheduler does not do now what kube-scheduler does.
func (w *world) schedulerErrs() bool {
	return slices.ContainsFunc(schedulerKinds, func(k What) bool { return w.suffers(k) != nil })
}

// passAfter draws how long the scheduler takes to act on a change.
func (w *world) passAfter() time.Duration {
	lag := schedulerLag.draw(w.dice.watch)
	if f := w.suffers(schedulerLate); f != nil {
		return Span{0, f.Every}.draw(w.dice.sched)
	}
	return lag
}

// remind makes up the scheduler's mind when one of its faults begins or ends, and has it try all pods.
func (w *world) remind() {
	s := &w.sched
	s.Mind = kubesched.Mind{Contrary: w.suffers(schedulerContrary) != nil}
	if w.suffers(schedulerPicky) != nil {
		s.Mind.Avoids = w.avoided
	}
	s.changes++
	w.after(schedulerLag.Least, w.schedule)
}

// avoided reports whether a filter of the scheduler's own keeps pods from a node: always from the same.
func (w *world) avoided(node string) bool {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(node)) // it never fails
	draw := float64((uint64(sum.Sum32())+w.settings.Seed)%1000) / 1000
	var of *group
	zone := ""
	for _, m := range w.machines {
		if m.node == node {
			of, zone = m.group, m.zone
		}
	}
	for _, f := range w.faults {
		if f.on && f.What == schedulerPicky && f.covers(of, zone) && draw < f.Share {
			return true
		}
	}
	return false
}

// roomIsMade reports whether a pod waits for the end of pods that the scheduler has driven out for it.
func (w *world) roomIsMade() bool {
	for _, s := range w.truth.seats {
		if s.node == "" && s.pod.Nominated != "" && w.makesRoom(s.pod.Nominated) {
			return true
		}
	}
	return false
}
