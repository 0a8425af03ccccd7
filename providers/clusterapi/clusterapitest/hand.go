package clusterapitest

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Settle ends all that is under way, rollouts too. What is starved, failed or
// paused stays so.
func (w *World) Settle() {
	w.Do(func(o *kubetest.Objects) {
		const ever = 1000 * time.Hour
		c := w.controllers
		for range 1000 {
			due := c.finish(o)
			due = c.reconcile(o) || due
			due = c.age(o, o.Now().Add(ever)) || due
			c.observe = time.Time{}
			if !due {
				return
			}
		}
		panic("clusterapitest: the controllers do not come to rest")
	})
}

// Reconcile lets the controllers look until there is nothing more to do, whatever
// Timing says of how soon they do.
func (w *World) Reconcile() {
	w.Do(func(o *kubetest.Objects) {
		w.controllers.observe = time.Time{}
		for w.controllers.reconcile(o) {
		}
		w.controllers.age(o, o.Now())
	})
}

// Starve keeps a group from getting Machines; Feed ends that.
func (w *World) Starve(kind, namespace, name string) {
	w.Do(func(*kubetest.Objects) {
		w.controllers.starved[kubetest.Key{Kind: kind, Namespace: namespace, Name: name}] = true
	})
}

// Feed ends a Starve.
func (w *World) Feed(kind, namespace, name string) {
	w.Do(func(o *kubetest.Objects) {
		delete(w.controllers.starved, kubetest.Key{Kind: kind, Namespace: namespace, Name: name})
		w.controllers.Changed(o)
		w.controllers.Advance(o)
	})
}

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
	w.Do(func(o *kubetest.Objects) {
		if d := o.Get(kubetest.Key{Kind: "MachineDeployment", Namespace: namespace, Name: name}); d != nil {
			newSet(o, d, len(owned(o, "MachineSet", d))+1, 1)
		}
		w.controllers.Changed(o)
		w.controllers.Advance(o)
	})
}

// Machines are those of a group, through its MachineSets.
func (w *World) Machines(kind, namespace, name string) []kubetest.Object {
	var out []kubetest.Object
	w.Do(func(o *kubetest.Objects) {
		w.controllers.Advance(o)
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
