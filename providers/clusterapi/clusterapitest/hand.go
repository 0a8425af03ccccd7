package clusterapitest

import "time"

func (w *World) Settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	const ever = 1000 * time.Hour
	for range 1000 {
		due := w.finish()
		due = w.reconcile() || due
		due = w.age(w.now().Add(ever)) || due
		w.observe = time.Time{}
		if !due {
			return
		}
	}
	panic("clusterapitest: the controllers do not come to rest")
}

func (w *World) Reconcile() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observe = time.Time{}
	for w.reconcile() {
	}
	w.age(w.now())
}

func (w *World) Starve(kind, namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starved[key{kind, namespace, name}] = true
}

func (w *World) Feed(kind, namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.starved, key{kind, namespace, name})
	w.changed()
	w.advance()
}

func (w *World) Fail(namespace, name string, tell func(Object)) error {
	w.mu.Lock()
	l := w.machine[key{"Machine", namespace, name}]
	l.never = true
	w.machine[key{"Machine", namespace, name}] = l
	w.mu.Unlock()
	return w.Edit("Machine", namespace, name, tell)
}

func (w *World) Roll(namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.objects[key{"MachineDeployment", namespace, name}]; ok {
		w.newSet(d, len(w.owned("MachineSet", d))+1, 1)
	}
	w.changed()
	w.advance()
}

func (w *World) Machines(kind, namespace, name string) []Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance()
	group, ok := w.objects[key{kind, namespace, name}]
	if !ok {
		return nil
	}
	owners := []Object{group}
	if kind == "MachineDeployment" {
		owners = w.owned("MachineSet", group)
	}
	var out []Object
	for _, o := range owners {
		for _, m := range w.owned("Machine", o) {
			out = append(out, clone(m))
		}
	}
	return out
}
