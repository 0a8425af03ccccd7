package clusterapitest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// PoolMachines is the annotation of a MachinePool whose infrastructure makes

// Machines.

const PoolMachines = "clusterapitest/machines"

// life is when a Machine gets its node, and when a deleted one is gone.

type life struct {
	boot, end time.Time
	// never: it does not get a node.
	never bool
}

// changed makes the controllers look again, after as long as they take.

func (w *World) changed() {
	if w.observe.IsZero() {
		w.observe = w.now().Add(w.timing.Observe)
	}
}

// advance does what is due by now.

func (w *World) advance() {
	for range 1000 {
		now := w.now()
		due := false
		if !w.observe.IsZero() && !now.Before(w.observe) {
			w.observe = time.Time{}
			due = w.reconcile()
		}
		if w.age(now) {
			w.changed()
			due = true
		}
		if !due {
			return
		}
	}
	panic("clusterapitest: the controllers do not come to rest")
}

// Settle ends all that is under way, rollouts too. What is starved, failed or

// paused stays so.

// Reconcile lets the controllers look once, whatever Timing says.

// Starve keeps a group from getting Machines; Feed ends that.

// Feed ends a Starve.

// Fail keeps a Machine from ever getting a node. What tells of it is written by

// the caller.

// Roll begins a rollout: a MachineDeployment gets a new MachineSet with one

// Machine more than it has. It ends by Settle.

// reconcile is one look of all controllers, and tells whether they did anything.

func (w *World) reconcile() bool {
	before := w.version
	for _, k := range w.keys("MachineDeployment") {
		w.deployment(w.objects[k])
	}
	for _, k := range w.keys("MachineSet") {
		w.machineSet(w.objects[k])
	}
	for _, k := range w.keys("MachinePool") {
		w.pool(w.objects[k])
	}
	return w.version != before
}

func (w *World) paused(o Object) bool {
	notes, _ := get(o, "metadata", "annotations").(Object)
	if _, ok := notes[Paused]; ok {
		return true
	}
	c := w.objects[key{"Cluster", getText(o, "metadata", "namespace"), getText(o, "spec", "clusterName")}]
	paused, _ := get(c, "spec", "paused").(bool)
	return paused
}

// deployment spreads the replicas of a MachineDeployment over its MachineSets:

// the newest gets what is missing, the older ones lose what is too much.

func (w *World) deployment(d Object) {
	if w.paused(d) {
		return
	}
	sets := w.owned("MachineSet", d)
	want := getInt(d, "spec", "replicas")
	if len(sets) == 0 {
		w.newSet(d, 1, want)
		sets = w.owned("MachineSet", d)
	}
	total, machines := 0, 0
	for _, s := range sets {
		total += getInt(s, "spec", "replicas")
		machines += getInt(s, "status", "replicas")
	}
	newest := sets[len(sets)-1]
	surge := min(len(sets)-1, 1)
	switch {
	case total < want:
		w.scale(newest, getInt(newest, "spec", "replicas")+want-total)
	case total > want+surge:
		left := total - want - surge
		for _, s := range sets {
			have := getInt(s, "spec", "replicas")
			w.scale(s, have-min(have, left))
			left -= min(have, left)
		}
	}
	w.observed(d, machines)
}

// finish ends rollouts.

func (w *World) finish() bool {
	before := w.version
	for _, k := range w.keys("MachineDeployment") {
		d := w.objects[k]
		if sets := w.owned("MachineSet", d); len(sets) > 1 && !w.paused(d) {
			for _, s := range sets[:len(sets)-1] {
				w.scale(s, 0)
			}
			w.scale(sets[len(sets)-1], getInt(d, "spec", "replicas"))
		}
	}
	return w.version != before
}

func (w *World) scale(o Object, n int) {
	if getInt(o, "spec", "replicas") == n {
		return
	}
	o = clone(o)
	set(o, int64(n), "spec", "replicas")
	w.put(o)
}

// observed writes the status of a controller that has seen an object.

func (w *World) observed(o Object, replicas int) {
	generation := getInt(o, "metadata", "generation")
	if getInt(o, "status", "observedGeneration") == generation && getInt(o, "status", "replicas") == replicas && get(o, "status", "replicas") != nil {
		return
	}
	o = clone(o)
	set(o, int64(generation), "status", "observedGeneration")
	set(o, int64(replicas), "status", "replicas")
	w.put(o)
}

func (w *World) machineSet(s Object) {
	if w.paused(s) {
		return
	}
	machines := w.owned("Machine", s)
	k := keyOf(s)
	starved := w.starved[k]
	if refs, _ := get(s, "metadata", "ownerReferences").([]any); len(refs) > 0 {
		owner, _ := refs[0].(Object)
		starved = starved || w.starved[key{"MachineDeployment", k.namespace, getText(owner, "name")}]
	}
	w.match(s, machines, starved)
	made := len(w.owned("Machine", s))
	if starved && made < getInt(s, "spec", "replicas") {
		w.stuck(k, made)
		return
	}
	w.unstuck(k)
	w.observed(w.objects[k], made)
}

// stuck writes the status of a MachineSet that could not make all of its

// Machines: it has a condition, and has not seen its spec.

func (w *World) stuck(k key, replicas int) {
	o := clone(w.objects[k])
	if get(o, "status", "deprecated") != nil && getInt(o, "status", "replicas") == replicas {
		return
	}
	set(o, int64(replicas), "status", "replicas")
	set(o, []any{Object{
		"type": "MachinesCreated", "status": "False", "severity": "Error", "reason": "InfrastructureTemplateCloningFailed",
		"message": "there is nothing to make a Machine of", "lastTransitionTime": w.now().UTC().Format(time.RFC3339),
	}}, "status", "deprecated", "v1beta1", "conditions")
	w.put(o)
}

func (w *World) unstuck(k key) {
	if get(w.objects[k], "status", "deprecated") == nil {
		return
	}
	o := clone(w.objects[k])
	delete(o["status"].(Object), "deprecated")
	w.put(o)
}

func (w *World) match(owner Object, machines []Object, starved bool) {
	diff := len(machines) - getInt(owner, "spec", "replicas")
	for ; diff < 0 && !starved; diff++ {
		w.newMachine(owner)
	}
	if diff <= 0 {
		return
	}
	slices.SortStableFunc(machines, func(a, b Object) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), cmp.Compare(getText(a, "metadata", "name"), getText(b, "metadata", "name")))
	})
	for _, m := range machines[:diff] {
		if getText(m, "metadata", "deletionTimestamp") == "" {
			w.delete(keyOf(m))
		}
	}
}

// priority is the order in which Cluster API deletes Machines.

func priority(m Object) int {
	notes, _ := get(m, "metadata", "annotations").(Object)
	_, marked := notes[DeleteMachine]
	switch {
	case getText(m, "metadata", "deletionTimestamp") != "":
		return 100
	case marked:
		return 80
	case getText(m, "status", "nodeRef", "name") == "":
		return 50
	}
	return 20
}

func (w *World) pool(p Object) {
	notes, _ := get(p, "metadata", "annotations").(Object)
	if w.paused(p) {
		return
	}
	if _, ok := notes[PoolMachines]; ok {
		w.match(p, w.owned("Machine", p), w.starved[keyOf(p)])
		w.observed(w.objects[keyOf(p)], len(w.owned("Machine", p)))
		return
	}
	ids, _ := get(p, "spec", "providerIDList").([]any)
	want := getInt(p, "spec", "replicas")
	if len(ids) != want && !w.starved[keyOf(p)] {
		ids = slices.Clone(ids)
		for len(ids) < want {
			w.names++
			ids = append(ids, fmt.Sprintf("test:///pool/%s", suffix(w.names)))
		}
		ids = ids[len(ids)-want:]
		o := clone(p)
		set(o, ids, "spec", "providerIDList")
		w.put(o)
	}
	w.observed(w.objects[keyOf(p)], len(ids))
}

// age gives Machines their nodes, and lets go of deleted ones.

func (w *World) age(now time.Time) bool {
	before := w.version
	for _, k := range w.keys("Machine") {
		o, l := w.objects[k], w.machine[k]
		switch {
		case w.paused(o):
		case getText(o, "metadata", "deletionTimestamp") != "":
			if l.end.IsZero() {
				l.end = w.now().Add(w.timing.End)
				w.machine[k] = l
			}
			if !now.Before(l.end) {
				w.remove(k)
			}
		case getText(o, "status", "nodeRef", "name") == "" && !l.never && !l.boot.IsZero() && !now.Before(l.boot):
			o = clone(o)
			set(o, fmt.Sprintf("test:///%s/%s", k.namespace, k.name), "spec", "providerID")
			set(o, k.name, "status", "nodeRef", "name")
			set(o, "Running", "status", "phase")
			w.put(o)
		}
	}
	return w.version != before
}

// owned are an object's own of a kind, sorted by age.
