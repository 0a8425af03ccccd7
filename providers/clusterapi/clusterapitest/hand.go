package clusterapitest

import (
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Fail keeps a Machine from ever getting a node. What tells of it is written by
// the caller.
func (w *World) Fail(namespace, name string, tell func(kubetest.Object)) error {
	w.Do(func(*kubetest.Objects) {
		k := kubetest.Key{Kind: "Machine", Namespace: namespace, Name: name}
		l := w.controllers.machine[k]
		l.never = true
		w.controllers.machine[k] = l
	})
	return w.Edit("Machine", namespace, name, tell)
}

// Roll begins a rollout: a MachineDeployment gets a new MachineSet with one
// Machine more than it has. It ends by Settle.
func (w *World) Roll(namespace, name string) {
	w.Change(func(o *kubetest.Objects) {
		if d := o.Get(kubetest.Key{Kind: "MachineDeployment", Namespace: namespace, Name: name}); d != nil {
			newSet(o, d, len(owned(o, "MachineSet", d))+1, 1)
		}
	})
}

// Machines are those of a group, through its MachineSets.
func (w *World) Machines(kind, namespace, name string) []kubetest.Object {
	var out []kubetest.Object
	w.Look(func(o *kubetest.Objects) {
		group := o.Get(kubetest.Key{Kind: kind, Namespace: namespace, Name: name})
		if group == nil {
			return
		}
		owners := []kubetest.Object{group}
		if kind == "MachineDeployment" {
			owners = owned(o, "MachineSet", group)
		}
		for _, owner := range owners {
			for _, m := range owned(o, "Machine", owner) {
				out = append(out, kubetest.Clone(m))
			}
		}
	})
	return out
}
