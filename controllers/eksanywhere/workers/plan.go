package workers

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// Verb is what a step does.
type Verb string

// The verbs.
const (
	Apply      Verb = "Apply"      // server-side apply as FieldManager, by force
	HandOver   Verb = "HandOver"   // the replicas, by server-side apply as HandOverManager, by force
	Unannotate Verb = "Unannotate" // merge patch that takes the autoscaler's annotations away
	Delete     Verb = "Delete"
)

// Step is one write to one machine deployment.
type Step struct {
	Verb Verb
	Name string
	// UID and ResourceVersion are those of the object that was looked at; empty: there was none. A
	// step must fail if the object has changed. If several steps are about one object, a later one
	// expects what the earlier one left.
	UID, ResourceVersion string
	// Body is what is written, but for the object's identity.
	Body map[string]any
	// Why is for people.
	Why string
}

// Note is something that a person should know and that the controller cannot or
// will not change. It holds until the cause is gone.
type Note struct {
	Reason, Subject, Message string
	News                     bool // nothing to be warned of
}

// About is the machine deployment that the note is about; empty: the whole cluster.
func (n Note) About(cluster string) string {
	switch {
	case n.announces() || n.Reason == NotCreated || n.Reason == NotDeleted || n.Reason == NameTaken:
		return n.Subject
	case n.Reason == EmptyRange || n.Reason == countIgnore: // about a group
		return cluster + "-" + n.Subject
	}
	return ""
}

// The reasons of notes.
const (
	NotCreated  = "MachineDeploymentNotCreated"
	NotDeleted  = "MachineDeploymentNotDeleted"
	NameTaken   = "MachineDeploymentNameTaken"
	EmptyRange  = "AutoscalingRangeEmpty"
	countIgnore = "CountIgnored"
)

// Plan is what to do, in this order, and what to tell.
type Plan struct {
	Steps []Step
	Notes []Note
}

// MakePlan says what must be written so that the machine deployments are as a
// valid spec wants them. It is empty when they are.
func MakePlan(cluster v1alpha1.Cluster, w Workers, names Names) Plan {
	var p Plan
	taken := map[string]bool{}
	for _, t := range w.Taken {
		taken[t.Name] = true
		p.Notes = append(p.Notes, Note{Reason: NameTaken, Subject: t.Name, Message: fmt.Sprintf(
			"machine deployment %s is one of cluster %s and is left alone: give the worker node group another name", t.Name,
			t.By)})
	}
	for _, g := range w.Groups {
		if g.Autoscaled() && g.AutoscalingConfiguration.MaxCount == 0 {
			p.Notes = append(p.Notes, Note{Reason: EmptyRange, Subject: g.Name, Message: fmt.Sprintf(
				"worker node group %s may have 0 to 0 nodes, so the autoscaler passes it over: give it a maxCount, or take its "+
					"autoscalingConfiguration away", g.Name)})
		}
		for i, name := range g.Names {
			if taken[name] {
				continue
			}
			body := g.body(i, cluster, names)
			md, found := g.find(name)
			switch {
			case found && md.Deleting: // once it is gone, there is something to do
			case found && g.waits(i, md):
			case found:
				p.Steps = append(p.Steps, steps(g, i, md, body)...)
			case g.rendered():
				p.Steps = append(p.Steps, Step{Verb: Apply, Name: name, Body: body, Why: "created " + sizeOf(g, i)})
			default:
				p.Notes = append(p.Notes, Note{Reason: NotCreated, Subject: name, Message: fmt.Sprintf(
					"machine deployment %s is not there, and one for machines of kind %q must be made by EKS Anywhere's own "+
						"controller%s", name, g.kind(), w.elsewhere(names.Namespace))})
			}
		}
	}
	for _, md := range w.Leftover {
		switch why := w.keeps(md, p); {
		case md.Deleting:
		case why != "":
			p.Notes = append(p.Notes, Note{Reason: NotDeleted, Subject: md.Name, Message: why})
		default:
			p.Steps = append(p.Steps, Step{Verb: Delete, Name: md.Name, UID: md.UID, ResourceVersion: md.ResourceVersion,
				Why: "is deleted: its worker node group is no longer in the cluster's spec, and all others are there and " +
					"available"})
		}
	}
	return p
}

// elsewhere is the hint that machine deployments are looked for in the wrong place:
// empty if there are any.
func (w Workers) elsewhere(namespace string) string {
	if !w.Empty {
		return ""
	}
	return fmt.Sprintf("; namespace %s has no machine deployment at all: is --machine-deployment-namespace right?",
		namespace)
}

// keeps is why a machine deployment that is left over is not deleted; empty: it is.
//
// Real machines are EKS Anywhere's: it deletes what no group has after it has made and
// checked the others, and nothing is gained by being faster. Simulated machines are
// kept by this controller alone. They go one at a time, once all that the spec wants is
// there and available: a group that was renamed has its successor by then.
func (w Workers) keeps(md MachineDeployment, p Plan) string {
	if !md.simulated() {
		return fmt.Sprintf("machine deployment %s belongs to no worker node group: EKS Anywhere's own controller deletes it "+
			"once it has made the others; "+
			"if it is none of EKS Anywhere's, delete it, or take its label %s away", md.Name, clusterLabel)
	}
	if md.Applied == nil {
		return fmt.Sprintf("machine deployment %s belongs to no worker node group and not to this controller: delete it, or "+
			"take its label %s away", md.Name, clusterLabel)
	}
	for _, g := range w.Groups {
		if !g.complete() {
			return fmt.Sprintf("machine deployment %s is deleted once those of worker node group %s are there and available",
				md.Name, g.Name)
		}
	}
	if slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb == Delete }) {
		return fmt.Sprintf("machine deployment %s is deleted once the one before it is gone", md.Name)
	}
	for _, other := range w.Leftover {
		if other.Deleting {
			return fmt.Sprintf("machine deployment %s is deleted once %s is gone", md.Name, other.Name)
		}
	}
	return ""
}

// complete reports whether all of the group's machine deployments are there, with as
// many machines available as it must have at least.
func (g Group) complete() bool {
	if _, missing := g.missing(); missing {
		return false
	}
	for i, name := range g.Names {
		md, _ := g.find(name)
		if md.Deleting || md.ObservedGeneration != md.Generation || md.Available < g.part(i).Min {
			return false
		}
	}
	return true
}

// waits reports whether a part of a split group would be made smaller while another part
// is not there to take its nodes over. Then nothing is written to it: EKS Anywhere
// makes the other, and until then this one keeps what it has.
func (g Group) waits(i int, md MachineDeployment) bool {
	if _, missing := g.missing(); !missing || md.Wanted == nil {
		return false
	}
	return *md.Wanted > g.part(i).Max
}

// part is what a machine deployment of the group may have: its share of the range, or of
// the count.
func (g Group) part(i int) Range {
	if g.Autoscaled() {
		return g.Range(i)
	}
	n := g.countOf(i)
	return Range{n, n}
}

// steps are the writes to a machine deployment that is there.
func steps(g Group, i int, md MachineDeployment, body map[string]any) []Step {
	var all []Step
	add := func(v Verb, body map[string]any, why string) {
		all = append(all, Step{
			Verb: v, Name: md.Name, UID: md.UID, ResourceVersion: md.ResourceVersion, Body: body, Why: why,
		})
	}
	if g.Autoscaled() {
		if n, why := handOver(md, g.Range(i)); why != "" {
			add(HandOver, map[string]any{"spec": map[string]any{"replicas": int64(n)}}, why)
		}
	} else if md.MinSize != nil || md.MaxSize != nil || md.AppliedRange != nil {
		// Another manager may own them, so that applying without them would not remove them; and
		// the autoscaler must let go before the count is applied.
		add(Unannotate, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{minSizeAnnotation: nil, maxSizeAnnotation: nil, rangeAnnotation: nil},
		}},
			"taken from the autoscaler: the worker node group is not autoscaled")
	}
	if !md.Applied.exactly(body) || !contains(md.Object, body) {
		add(Apply, body, "applied "+sizeOf(g, i))
	}
	return all
}

// handOver says which replicas an autoscaled group's machine deployment must be
// given before the autoscaler has them to itself, and why; no reason: none.
//
// Replicas outside the range are moved into it only together with a change of the range. Replicas
// that are set outside of it later are left alone; the condition reports them.
//
// Whether the range has changed is asked of what this controller itself applied
// last. Another applier may flip the autoscaler's annotations to and fro while the
// Cluster's spec stays as it is: that costs annotations, and must not cost nodes.
func handOver(md MachineDeployment, bounds Range) (int, string) {
	if md.Wanted == nil {
		return bounds.Min, fmt.Sprintf("replicas set to %d, the minimum: they were not set", bounds.Min)
	}
	n := bounds.Clamp(*md.Wanted)
	isNew := md.AppliedRange == nil || *md.AppliedRange != bounds.String()
	switch {
	case isNew && n != *md.Wanted:
		return n, fmt.Sprintf("replicas moved from %d to %d, into the new range of %d to %d",
			*md.Wanted, n, bounds.Min, bounds.Max)
	case md.Applied.Has("spec", "replicas"):
		return *md.Wanted, fmt.Sprintf("replicas left at %d and handed over to the autoscaler", *md.Wanted)
	}
	return 0, ""
}

func sizeOf(g Group, i int) string {
	if !g.Autoscaled() {
		return fmt.Sprintf("with %d replicas", g.countOf(i))
	}
	bounds := g.Range(i)
	return fmt.Sprintf("without replicas, for the autoscaler to size between %d and %d", bounds.Min, bounds.Max)
}

func (g Group) kind() string {
	if g.MachineGroupRef == nil {
		return ""
	}
	return g.MachineGroupRef.Kind
}

// Counts are the counts of a spec's autoscaled groups by the name of their group. That
// of another group says something, so that it is news when it no longer does.
func Counts(w Workers) map[string]int {
	counts := map[string]int{}
	for _, g := range w.Groups {
		if g.Autoscaled() && g.Count != nil {
			counts[g.Name] = *g.Count
		}
	}
	return counts
}

// Ignored are notes on counts without effect, because their group is autoscaled: those that differ
// from the counts before. If those are unknown (nil), it reports the counts that only a person can
// have written: EKS Anywhere itself writes the minimum.
func Ignored(before map[string]int, w Workers) []Note {
	var notes []Note
	for _, g := range w.Groups {
		if !g.Autoscaled() || g.Count == nil {
			continue
		}
		bounds := g.AutoscalingConfiguration
		old, known := before[g.Name]
		if known && old == *g.Count || !known && *g.Count == bounds.MinCount {
			continue
		}
		notes = append(notes, Note{Reason: countIgnore, Subject: g.Name, Message: fmt.Sprintf(
			"count %d of worker node group %s is ignored: the autoscaler sizes it between %d and %d", *g.Count, g.Name,
			bounds.MinCount, bounds.MaxCount)})
	}
	return notes
}
