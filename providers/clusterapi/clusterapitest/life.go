package clusterapitest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
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

// controllers are those of Cluster API. They are called with the objects locked.
type controllers struct {
	machine map[kubetest.Key]life
}

var _ kubetest.Controllers = (*controllers)(nil)

// Reconcile is one look of all controllers, and reports whether they did anything.
func (c *controllers) Reconcile(o *kubetest.Objects) bool {
	before := o.Version()
	for _, k := range o.Keys("MachineDeployment") {
		c.deployment(o, o.Get(k))
	}
	for _, k := range o.Keys("MachineSet") {
		c.machineSet(o, o.Get(k))
	}
	for _, k := range o.Keys("MachinePool") {
		c.pool(o, o.Get(k))
	}
	return o.Version() != before
}

func paused(o *kubetest.Objects, x kubetest.Object) bool {
	if _, ok := annotations(x)[Paused]; ok {
		return true
	}
	cluster := o.Get(kubetest.Key{
		Kind: "Cluster", Namespace: kubetest.Text(x, "metadata", "namespace"), Name: kubetest.Text(x, "spec", "clusterName"),
	})
	paused, _ := kubetest.Get(cluster, "spec", "paused").(bool)
	return paused
}

func annotations(x kubetest.Object) kubetest.Object {
	notes, _ := kubetest.Get(x, "metadata", "annotations").(kubetest.Object)
	return notes
}

func replicas(x kubetest.Object) int { return kubetest.Int(x, "spec", "replicas") }

// deployment spreads the replicas of a MachineDeployment over its MachineSets:
// the newest gets what is missing, the older ones lose what is too much.
func (c *controllers) deployment(o *kubetest.Objects, d kubetest.Object) {
	if paused(o, d) {
		return
	}
	sets := owned(o, "MachineSet", d)
	want := replicas(d)
	if len(sets) == 0 {
		newSet(o, d, 1, want)
		sets = owned(o, "MachineSet", d)
	}
	total, machines := 0, 0
	for _, s := range sets {
		total += replicas(s)
		machines += kubetest.Int(s, "status", "replicas")
	}
	newest := sets[len(sets)-1]
	surge := min(len(sets)-1, 1)
	switch {
	case total < want:
		scale(o, newest, replicas(newest)+want-total)
	case total > want+surge:
		left := total - want - surge
		for _, s := range sets {
			have := replicas(s)
			scale(o, s, have-min(have, left))
			left -= min(have, left)
		}
	}
	observed(o, d, machines)
}

// Finish ends rollouts.
func (c *controllers) Finish(o *kubetest.Objects) bool {
	before := o.Version()
	for _, k := range o.Keys("MachineDeployment") {
		d := o.Get(k)
		if sets := owned(o, "MachineSet", d); len(sets) > 1 && !paused(o, d) {
			for _, s := range sets[:len(sets)-1] {
				scale(o, s, 0)
			}
			scale(o, sets[len(sets)-1], replicas(d))
		}
	}
	return o.Version() != before
}

func scale(o *kubetest.Objects, x kubetest.Object, n int) {
	if replicas(x) == n {
		return
	}
	x = kubetest.Clone(x)
	kubetest.Set(x, int64(n), "spec", "replicas")
	o.Put(x)
}

// observed writes the status of a controller that has seen an object.
func observed(o *kubetest.Objects, x kubetest.Object, n int) {
	generation := kubetest.Int(x, "metadata", "generation")
	if kubetest.Int(x, "status", "observedGeneration") == generation && kubetest.Int(x, "status", "replicas") == n &&
		kubetest.Get(x, "status", "replicas") != nil {
		return
	}
	x = kubetest.Clone(x)
	kubetest.Set(x, int64(generation), "status", "observedGeneration")
	kubetest.Set(x, int64(n), "status", "replicas")
	o.Put(x)
}

// machineSet makes or deletes Machines until there are as many as there should
// be. Machines on their way out are counted, and come first.
func (c *controllers) machineSet(o *kubetest.Objects, s kubetest.Object) {
	if paused(o, s) {
		return
	}
	machines := owned(o, "Machine", s)
	k := kubetest.KeyOf(s)
	starved := o.Starved(k)
	if refs, _ := kubetest.Get(s, "metadata", "ownerReferences").([]any); len(refs) > 0 {
		owner, _ := refs[0].(kubetest.Object)
		starved = starved ||
			o.Starved(kubetest.Key{Kind: "MachineDeployment", Namespace: k.Namespace, Name: kubetest.Text(owner, "name")})
	}
	c.match(o, s, machines, starved)
	made := len(owned(o, "Machine", s))
	if starved && made < replicas(s) {
		stuck(o, k, made)
		return
	}
	unstuck(o, k)
	observed(o, o.Get(k), made)
}

// stuck writes the status of a MachineSet that could not make all of its
// Machines: it has a condition, and has not seen its spec.
func stuck(o *kubetest.Objects, k kubetest.Key, n int) {
	x := o.Copy(k)
	if kubetest.Get(x, "status", "deprecated") != nil && kubetest.Int(x, "status", "replicas") == n {
		return
	}
	kubetest.Set(x, int64(n), "status", "replicas")
	kubetest.Set(x, []any{kubetest.Object{
		"type": "MachinesCreated", "status": "False", "severity": "Error", "reason": "InfrastructureTemplateCloningFailed",
		"message": "there is nothing to make a Machine of", "lastTransitionTime": o.Now().UTC().Format(time.RFC3339),
	}}, "status", "deprecated", "v1beta1", "conditions")
	o.Put(x)
}

func unstuck(o *kubetest.Objects, k kubetest.Key) {
	if kubetest.Get(o.Get(k), "status", "deprecated") == nil {
		return
	}
	x := o.Copy(k)
	delete(x["status"].(kubetest.Object), "deprecated")
	o.Put(x)
}

func (c *controllers) match(o *kubetest.Objects, owner kubetest.Object, machines []kubetest.Object, starved bool) {
	diff := len(machines) - replicas(owner)
	for ; diff < 0 && !starved; diff++ {
		c.newMachine(o, owner)
	}
	if diff <= 0 {
		return
	}
	slices.SortStableFunc(machines, func(a, b kubetest.Object) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)),
			cmp.Compare(kubetest.Text(a, "metadata", "name"), kubetest.Text(b, "metadata", "name")))
	})
	for _, m := range machines[:diff] {
		if !kubetest.Deleting(m) {
			o.Delete(kubetest.KeyOf(m))
		}
	}
}

// priority is the order in which Cluster API deletes Machines.
func priority(m kubetest.Object) int {
	_, marked := annotations(m)[DeleteMachine]
	switch {
	case kubetest.Deleting(m):
		return 100
	case marked:
		return 80
	case kubetest.Text(m, "status", "nodeRef", "name") == "":
		return 50
	}
	return 20
}

// pool is what an infrastructure provider does for a MachinePool: Machines, or
// provider ids of which it chooses itself who goes.
func (c *controllers) pool(o *kubetest.Objects, p kubetest.Object) {
	if paused(o, p) {
		return
	}
	k := kubetest.KeyOf(p)
	if _, ok := annotations(p)[PoolMachines]; ok {
		c.match(o, p, owned(o, "Machine", p), o.Starved(k))
		observed(o, o.Get(k), len(owned(o, "Machine", p)))
		return
	}
	ids, _ := kubetest.Get(p, "spec", "providerIDList").([]any)
	want := replicas(p)
	if len(ids) != want && !o.Starved(k) {
		ids = slices.Clone(ids)
		for len(ids) < want {
			ids = append(ids, o.NewName("test:///pool/"))
		}
		ids = ids[len(ids)-want:]
		x := kubetest.Clone(p)
		kubetest.Set(x, ids, "spec", "providerIDList")
		o.Put(x)
	}
	observed(o, o.Get(k), len(ids))
}

// Age gives Machines their nodes, and lets go of deleted ones.
func (c *controllers) Age(o *kubetest.Objects, now time.Time) bool {
	before := o.Version()
	for _, k := range o.Keys("Machine") {
		m, l := o.Get(k), c.machine[k]
		switch {
		case paused(o, m):
		case kubetest.Deleting(m):
			if l.end.IsZero() {
				l.end = o.Now().Add(o.Timing().End)
				c.machine[k] = l
			}
			if !now.Before(l.end) {
				o.Remove(k)
				delete(c.machine, k)
			}
		case kubetest.Text(m, "status", "nodeRef", "name") == "" && !l.never && !l.boot.IsZero() && !now.Before(l.boot):
			m = kubetest.Clone(m)
			kubetest.Set(m, fmt.Sprintf("test:///%s/%s", k.Namespace, k.Name), "spec", "providerID")
			kubetest.Set(m, k.Name, "status", "nodeRef", "name")
			kubetest.Set(m, "Running", "status", "phase")
			o.Put(m)
		}
	}
	return o.Version() != before
}
