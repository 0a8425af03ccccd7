package pools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
)

// Verb is what a step does.
type Verb string

// The verbs.
const (
	Create Verb = "Create"
	Patch  Verb = "Patch" // JSON merge patch
	Delete Verb = "Delete"
)

// Step is one write to one machine deployment.
type Step struct {
	Verb Verb
	Name string
	// UID and ResourceVersion are those of the object that was looked at; empty: there was none. A
	// step must fail if the object has changed.
	UID, ResourceVersion string
	// Body is the object to create, or the patch, but for the object's identity.
	Body map[string]any
	// Why is for people.
	Why string
}

// Note is something that a person should know and the controller cannot or will not change. It
// holds until the cause is gone.
type Note struct{ Reason, Subject, Message string }

// The reasons of notes.
const (
	ClassMissing  = "MachineClassMissing"
	fieldsDropped = "PoolFieldsDropped"
	nameTaken     = "MachineDeploymentNameTaken"
	notDeleted    = "MachineDeploymentNotDeleted"
	notThere      = "MachineDeploymentNotThere"
	zoneChanged   = "ZoneChanged"
)

// Plan is what to do, in this order, and what to tell. Missing are the machine
// classes that are named and not there.
type Plan struct {
	Steps   []Step
	Notes   []Note
	Missing []string
}

// Seen is what there is in the namespace of a shoot's control plane. Restored is how
// many replicas machine deployments had on the seed that the shoot came from.
type Seen struct {
	MachineDeployments []MachineDeployment
	MachineClasses     []MachineClass
	Restored           map[string]int32
}

// MakePlan says what must be written so that the machine deployments are as the
// pools of a valid cluster want them. It is empty when they are.
func MakePlan(c Cluster, seen Seen) Plan {
	var p Plan
	live := map[string]MachineDeployment{}
	asleep := len(seen.MachineDeployments) > 0
	for _, md := range seen.MachineDeployments {
		live[md.Name] = md
		asleep = asleep && md.Replicas == 0
	}
	free := roomOf(c, seen.MachineDeployments)
	wanted, turned := map[string]bool{}, p.turned(c, live)
	var levels map[string]int32
	if !c.Autoscaled() && !c.Hibernated {
		levels = level(slices.DeleteFunc(c.Zones(), func(z Zone) bool {
			md, there := live[z.Name()]
			return !there || md.Deleting || turned[z.Pool.Name] || md.isAnothers(c)
		}), free, live)
	}
	for _, z := range c.Zones() {
		md, there := live[z.Name()]
		wanted[z.Name()] = true
		switch {
		case md.Deleting || turned[z.Pool.Name]: // once that is over, there is something to do
			continue
		case md.isAnothers(c):
			p.note(nameTaken, md.Name, "machine deployment %s is one of Worker %s and is left alone: rename the pool, or "+
				"delete that Worker", md.Name, md.Worker)
			continue
		}
		class, found := findClass(z.Name(), md.class(), seen.MachineClasses)
		if !found {
			p.Missing = append(p.Missing, class)
			p.note(ClassMissing, z.Name(), "machine class %s is not there, so machine deployment %s gets no machines: the "+
				"cloud's extension of Gardener must make it, under this name or %s-<hash>",
				class, z.Name(), z.Name())
		}
		if !there {
			var restored *int32
			if n, ok := seen.Restored[z.Name()]; ok {
				restored = &n
			}
			p.Steps = append(p.Steps, createStep(z, class, z.create(free, restored)))
			continue
		}
		p.adjust(md, z.describe(), z.body(class), c.limits(z.Pool), z.keep(free, md, asleep, levels))
	}
	for _, md := range seen.MachineDeployments {
		wanted[md.Name] = wanted[md.Name] || turned[md.Pool] // it may be a zone's that is still wanted, under another number
	}
	p.leftovers(c, seen.MachineDeployments, wanted)
	return p
}

// turned are the pools whose zones are no longer in the order in which their machine
// deployments were made. The number in a name means another zone then: nodes would
// be labelled with a zone in which they are not, or go although their zone is still
// wanted. So the whole pool is left alone.
func (p *Plan) turned(c Cluster, live map[string]MachineDeployment) map[string]bool {
	pools := map[string]bool{}
	for _, z := range c.Zones() {
		md, there := live[z.Name()]
		if !there || md.zone() == "" || md.zone() == z.Title() {
			continue
		}
		pools[z.Pool.Name] = true
		p.note(zoneChanged, md.Name, "machine deployment %s has nodes in zone %s and would become zone %q, so pool %s is "+
			"left alone: its zones must keep their order, and only the last ones can be removed",
			md.Name, md.zone(), z.Title(), z.Pool.Name)
	}
	return pools
}

// MakeLimits is the smaller plan beside a worker controller of Gardener that makes
// the machine deployments itself: it tells them the limits of their pool and how it
// is sized, and nothing else. They are told by their pool's label, since not every
// cloud's extension names them alike.
//
// Machine deployments that this controller made while the shoot was hibernated are still marked as
// hibernated, and the autoscaler would hold them for ever: no other controller removes that mark
// when the shoot wakes up.
func MakeLimits(c Cluster, seen Seen) Plan {
	var p Plan
	for _, pool := range c.Pools {
		there := 0
		for _, md := range sorted(seen.MachineDeployments) {
			if md.Pool != pool.Name || md.Deleting {
				continue
			}
			there++
			want := c.limits(pool)
			if !c.Hibernated {
				want["metadata"].(map[string]any)["annotations"].(map[string]any)[HibernatedAnnotation] = nil
			}
			p.adjust(md, describe(pool), want, c.limits(pool), move{})
		}
		if zones := max(1, len(pool.Zones)); there < zones {
			p.note(notThere, pool.Name, "pool %s has %d of %d machine deployments: Gardener's own worker controller must "+
				"make them", pool.Name, there, zones)
		}
	}
	return p
}

func (p *Plan) note(reason, subject, format string, values ...any) {
	p.Notes = append(p.Notes, Note{reason, subject, fmt.Sprintf(format, values...)})
}

func createStep(z Zone, class string, m move) Step {
	body := plain(z.body(class))
	body["spec"].(map[string]any)["replicas"] = int64(m.To)
	return Step{Verb: Create, Name: z.Name(), Body: body, Why: fmt.Sprintf("created (%s) with %s", z.describe(), m.Why)}
}

// adjust adds what must be patched of a machine deployment that is there.
//
// Where the annotations have the pool's limits and the fields of the spec are missing, another
// client or the API server has dropped those fields. Writing them again at every look would never
// end, and the annotations are enough. The next patch that changes a limit writes the fields too.
func (p *Plan) adjust(md MachineDeployment, what string, want, limits map[string]any, m move) {
	patch := mergePatch(md.Object, want)
	dropped := nested(md.Object, "spec", "poolMinimum") == nil && nested(md.Object, "spec", "poolMaximum") == nil
	if dropped && mergePatch(md.Object, map[string]any{"metadata": limits["metadata"]}) == nil {
		p.note(fieldsDropped, md.Name, "machine deployment %s does not keep spec.poolMinimum and spec.poolMaximum (its "+
			"definition or its machine-controller-manager does not know them): its annotations hold",
			md.Name)
		patch = without(without(patch, "spec", "poolMinimum"), "spec", "poolMaximum")
	}
	if patch == nil && m.Why == "" {
		return
	}
	if patch == nil {
		patch = map[string]any{}
	}
	var why []string
	if changed := paths(patch); len(changed) > 0 {
		why = append(why, "patched ("+what+"): "+strings.Join(changed, ", "))
	}
	if m.Why != "" {
		spec, _ := patch["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
			patch["spec"] = spec
		}
		spec["replicas"] = int64(m.To)
		why = append(why, m.Why)
	}
	p.Steps = append(p.Steps, Step{
		Verb:            Patch,
		Name:            md.Name,
		UID:             md.UID,
		ResourceVersion: md.ResourceVersion,
		Body:            patch,
		Why:             strings.Join(why, "; "),
	})
}

// leftovers adds the deletion of what no pool wants any more, as far as it is this
// controller's.
func (p *Plan) leftovers(c Cluster, live []MachineDeployment, wanted map[string]bool) {
	for _, md := range sorted(live) {
		switch {
		case wanted[md.Name] || md.Deleting:
		case md.Worker == c.Worker:
			p.Steps = append(p.Steps, Step{Verb: Delete, Name: md.Name, UID: md.UID, ResourceVersion: md.ResourceVersion,
				Why: "deleted with its machines: its pool or its zone is no longer among the Worker's"})
		case md.Worker == "":
			p.note(notDeleted, md.Name, "machine deployment %s belongs to no pool of Worker %s and was not made by this "+
				"controller: delete it, unless another controller needs it", md.Name, c.Worker)
		}
	}
}

// MakeDeletion deletes all machine deployments that are a Worker's.
func MakeDeletion(worker string, seen Seen) Plan {
	var p Plan
	for _, md := range sorted(seen.MachineDeployments) {
		if md.Worker == worker && !md.Deleting {
			p.Steps = append(p.Steps, Step{Verb: Delete, Name: md.Name, UID: md.UID, ResourceVersion: md.ResourceVersion,
				Why: "deleted with its machines: its Worker is deleted"})
		}
	}
	return p
}

func sorted(live []MachineDeployment) []MachineDeployment {
	return slices.SortedFunc(slices.Values(live), func(a, b MachineDeployment) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// paths are the fields that a patch changes, sorted.
func paths(patch map[string]any) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		deeper, ok := patch[key].(map[string]any)
		if !ok {
			all = append(all, key)
			continue
		}
		for _, path := range paths(deeper) {
			all = append(all, key+"."+path)
		}
	}
	return all
}

// Existing are those of a namespace's pools that are not new: they have a machine
// deployment, by its label or, where that is missing, by its name; or had one on the seed
// that the shoot came from. We err to a pool that exists: one that is new is only warned
// of then, and one that is refused keeps all pools of its Worker from being written.
func (s Seen) Existing(namespace string, pools []v1alpha1.Pool) map[string]bool {
	names, labels := map[string]bool{}, map[string]bool{}
	for name := range s.Restored {
		names[name] = true
	}
	for _, md := range s.MachineDeployments {
		names[md.Name] = true
		labels[md.Pool] = md.Pool != ""
	}
	existing := map[string]bool{}
	for _, z := range (Cluster{Namespace: namespace, Pools: pools}).Zones() {
		if labels[z.Pool.Name] || names[z.Name()] {
			existing[z.Pool.Name] = true
		}
	}
	return existing
}

// Scales reports whether a plan writes replicas.
func (p Plan) Scales() bool {
	return slices.ContainsFunc(p.Steps, Step.Scales)
}

// Scales reports whether the step writes replicas.
func (s Step) Scales() bool { return nested(s.Body, "spec", "replicas") != nil }

// Unapplied are the notes about machine deployments that are not as the pools want
// them, even when all steps are done.
func (p Plan) Unapplied() []Note {
	return slices.DeleteFunc(slices.Clone(p.Notes), func(n Note) bool {
		return n.Reason != nameTaken && n.Reason != zoneChanged && n.Reason != notThere
	})
}

// Has reports whether any machine deployment is a Worker's.
func (s Seen) Has(worker string) bool {
	return slices.ContainsFunc(s.MachineDeployments, func(md MachineDeployment) bool { return md.Worker == worker })
}
