package workers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// defaultGroupName is what EKS Anywhere calls a first group without a name.
const defaultGroupName = "md-0"

// Workers are the worker groups of one cluster with the machine deployments that
// carry them out.
type Workers struct {
	Cluster string
	Groups  []Group // in the order of the spec
	// Leftover are the cluster's machine deployments that belong to no group, by
	// name: those of a group that was removed, or of another owner.
	Leftover []MachineDeployment
	// Empty: there is no machine deployment of any cluster where they are looked for.
	Empty bool
	// Taken are names that a group's machine deployment must have and that a machine
	// deployment of another cluster has.
	Taken []Taken
}

// Taken is a name that another cluster's machine deployment has.
type Taken struct{ Name, By string }

// Group is a worker node group and its machine deployments.
type Group struct {
	v1alpha1.WorkerNodeGroup
	// Domains are the failure domains that the group is split over.
	Domains []string
	// Title is what messages call the group: the name of its one machine deployment,
	// or the beginning of the names of all.
	Title string
	// Names are what its machine deployments are called: one, or one for each failure
	// domain.
	Names []string
	Found []MachineDeployment // in the order of Names
}

// Autoscaled reports whether the autoscaler sizes the group.
func (g Group) Autoscaled() bool { return g.AutoscalingConfiguration != nil }

// Expected is the number of workers that the user asks for; it means nothing for
// an autoscaled group.
func (g Group) Expected() int {
	if g.Count == nil {
		return 1
	}
	return *g.Count
}

// Range is the part of the group's range that falls to its i-th machine
// deployment. The parts add up to the whole.
func (g Group) Range(i int) Range {
	return Range{
		Min: share(g.AutoscalingConfiguration.MinCount, i, len(g.Names)),
		Max: share(g.AutoscalingConfiguration.MaxCount, i, len(g.Names)),
	}
}

// Range is an autoscaler's range, inclusive.
type Range struct{ Min, Max int }

func (r Range) String() string { return fmt.Sprintf("%d..%d", r.Min, r.Max) }

// Clamp is the number in the range that is nearest to n.
func (r Range) Clamp(n int) int { return max(r.Min, min(r.Max, n)) }

// countOf is the i-th part's number of workers of a group without autoscaling: as EKS
// Anywhere has it, the first part gets what does not divide.
func (g Group) countOf(i int) int {
	n := g.Expected() / len(g.Names)
	if i == 0 {
		n += g.Expected() % len(g.Names)
	}
	return n
}

// share is the i-th of n nearly equal parts of a total; the first parts are the
// larger ones. Hence a smaller total never has a larger i-th part, and a minimum's
// part never exceeds its maximum's, as it could if the first part took all of what
// does not divide.
func share(total, i, n int) int {
	part := total / n
	if i < total%n {
		part++
	}
	return part
}

// Bind finds the machine deployments of each group among all those of the
// namespace. They are named as EKS Anywhere names them: <cluster>-<group>, and
// <cluster>-<group>-<failure domain> where the datacenter splits a group over those.
func Bind(
	cluster string, groups []v1alpha1.WorkerNodeGroup, datacenter v1alpha1.Nutanix, all []MachineDeployment,
) Workers {
	w := Workers{Cluster: cluster, Empty: len(all) == 0, Groups: make([]Group, 0, len(groups))}
	byName := make(map[string]MachineDeployment, len(all))
	for _, md := range all {
		byName[md.Name] = md
	}

	// A whole group's name is stronger than a part's, if both are the same:
	// group "a-b", and group "a" with the failure domain "b".
	whole := map[string]bool{}
	for i, spec := range groups {
		if i == 0 && spec.Name == "" {
			spec.Name = defaultGroupName
		}
		g := Group{WorkerNodeGroup: spec, Domains: datacenter.DomainsOf(spec.Name), Title: cluster + "-" + spec.Name}
		w.Groups = append(w.Groups, g)
		whole[g.Title] = true
	}
	bound := map[string]bool{}
	for i := range w.Groups {
		g := &w.Groups[i]
		g.Names = g.names(whole)
		for _, name := range g.Names {
			md, ok := byName[name]
			switch {
			case bound[name]: // two groups with one name: the spec is invalid
			case ok && md.Cluster != cluster:
				w.Taken = append(w.Taken, Taken{Name: name, By: md.Cluster})
			case ok:
				bound[name] = true
				g.Found = append(g.Found, md)
			}
		}
	}
	for _, md := range all {
		if md.Cluster == cluster && !bound[md.Name] {
			w.Leftover = append(w.Leftover, md)
		}
	}
	slices.SortFunc(w.Leftover, func(a, b MachineDeployment) int { return cmp.Compare(a.Name, b.Name) })
	return w
}

// names are those of the group's machine deployments: one for each failure domain,
// else one. Simulated machines are never split: this controller makes them whole.
func (g Group) names(whole map[string]bool) []string {
	if g.rendered() {
		return []string{g.Title}
	}
	var parts []string
	for _, domain := range g.Domains {
		if name := g.Title + "-" + domain; !whole[name] && !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return []string{g.Title}
	}
	return parts
}

// all are the machine deployments of all groups, then those that are left over.
func (w Workers) all() []MachineDeployment {
	var mds []MachineDeployment
	for _, g := range w.Groups {
		mds = append(mds, g.Found...)
	}
	return append(mds, w.Leftover...)
}
