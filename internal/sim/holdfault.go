package sim

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

// This file is the faults that a provider reports, or that replace machines, as controllers such as
// Gardener's or Cluster API's do.
const (
	// Machines that boot never register, and the cloud replaces each after N minutes.
	replacedBoot What = "boots=replaced"
	// The cloud cannot make machines, and tries again for each as often as it says: when
	// the fault is over, or after the next N machines, the next try works.
	retriedBoot What = "boots=retried"
	// Groups: what makes their machines does not work; they are on their way out.
	stalledGroups What = "groups=stalled"
	leavingGroups What = "groups=leaving"
	// Machines without a node must not be removed: a person wants to inspect them.
	heldInstances What = "instances=held"
)

// holdKinds are the faults of this file. Random worlds do not draw them with the others, so that a
// seed keeps its meaning.
var holdKinds = []What{replacedBoot, retriedBoot, stalledGroups, leavingGroups, heldInstances}

// replaceLater has the cloud replace a machine that has no node after the fault's time.
func (w *world) replaceLater(m *machine, f *fault) {
	w.after(time.Duration(max(1, f.N))*time.Minute, func() {
		if !m.gone && m.node == "" {
			w.wrong(w.Kill(m.instance))
		}
	})
}

// hold puts holds of all kinds on a fault's groups, while it lasts.
func (w *world) hold(f *fault) {
	h := provider.Hold{Reason: "Away", Message: "no machines are made", Stalled: true}
	if f.What == leavingGroups {
		h = provider.Hold{Reason: provider.BeingDeleted, Message: "the group is on its way out"}
	}
	for _, g := range w.covered(f) {
		w.wrong(w.cloud.Edit(g.id, func(s *providertest.GroupSpec) {
			holds := slices.Clone(s.Holds)
			for _, op := range []provider.Op{provider.OpGrow, provider.OpRemove, provider.OpCancel} {
				h.Op = op
				holds = append(holds, h)
			}
			s.Holds = holds
			if f.What == stalledGroups {
				s.Timing.Find, s.Timing.Boot = 1000*time.Hour, 1000*time.Hour
			}
		}))
	}
}

// unhold takes them off again.
func (w *world) unhold(f *fault) {
	for _, g := range w.covered(f) {
		if w.goesOn(f.What, g) {
			continue
		}
		w.wrong(w.cloud.Edit(g.id, func(s *providertest.GroupSpec) {
			s.Holds = slices.DeleteFunc(slices.Clone(s.Holds), func(h provider.Hold) bool {
				return h.Stalled == (f.What == stalledGroups) && (h.Stalled || h.Reason == provider.BeingDeleted)
			})
			if f.What == stalledGroups {
				s.Timing.Find, s.Timing.Boot = g.timing.Find, g.timing.Boot
			}
		}))
	}
}

// keepInstances holds the machines that have no node, and those that come later.
func (w *world) keepInstances(f *fault) {
	if !f.on {
		return
	}
	for _, in := range w.nodeless(f) {
		w.wrong(w.cloud.HoldInstance(in, "a person looks at it"))
	}
	w.after(f.Every, func() { w.keepInstances(f) })
}

func (w *world) letInstancesGo(f *fault) {
	for _, g := range w.covered(f) {
		for _, in := range w.inventory(g.id).Instances {
			if in.Hold != "" {
				w.wrong(w.cloud.HoldInstance(in.ID, ""))
			}
		}
	}
}

// nodeless are the instances of a fault's groups that have no node.
func (w *world) nodeless(f *fault) []provider.InstanceID {
	var out []provider.InstanceID
	for _, g := range w.covered(f) {
		for _, in := range w.inventory(g.id).Instances {
			if m := w.machines[in.ID]; in.State != provider.Deleting && in.Hold == "" && (m == nil || m.node == "") {
				out = append(out, in.ID)
			}
		}
	}
	return out
}
