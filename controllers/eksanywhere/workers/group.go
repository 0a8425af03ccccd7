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
	// name: those of a group that was removed, or somebody else's.
	Leftover []MachineDeployment
	// Taken are names that a group's machine deployment must have and that a machine
	// deployment of another cluster has.
	Taken []Taken
}

// Taken is a name that another cluster's machine deployment has.
type Taken struct{ Name, By string }

// Group is a worker node group and its machine deployments.
type Group struct {
	v1alpha1.WorkerNodeGroup
	// Title is what messages call the group: the name of its one machine deployment,
	// or the beginning of the names of all.
	Title string
	// Names are what its machine deployments are called: one, or one for each failure
	// domain.
	Names []string
	Found []MachineDeployment // in the order of Names
}

// Autoscaled says whether the autoscaler sizes the group.
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

// share is the i-th of n nearly equal parts of a total; the first parts are the
// larger ones. Hence a smaller total never has a larger i-th part, and a minimum's
// part never exceeds its maximum's.
func share(total, i, n int) int {
	part := total / n
	if i < total%n {
		part++
	}
	return part
}

// Bind finds the machine deployments of each group among all those of the
// namespace. They are named as EKS Anywhere names them: <cluster>-<group>, and
// <cluster>-<group>-<failure domain> where a group is split over those.
func Bind(cluster string, groups []v1alpha1.WorkerNodeGroup, all []MachineDeployment) Workers {
	w := Workers{Cluster: cluster, Groups: make([]Group, 0, len(groups))}
	byName := make(map[string]MachineDeployment, len(all))
	for _, md := range all {
		byName[md.Name] = md
	}
	ours := func(name string) bool { md, ok := byName[name]; return ok && md.Cluster == cluster }

	// A whole group's name is stronger than a part's, if both are the same:
	// group "a-b", and group "a" with the failure domain "b".
	whole := map[string]bool{}
	for i, spec := range groups {
		if i == 0 && spec.Name == "" {
			spec.Name = defaultGroupName
		}
		g := Group{WorkerNodeGroup: spec, Title: cluster + "-" + spec.Name}
		w.Groups = append(w.Groups, g)
		whole[g.Title] = true
	}
	bound := map[string]bool{}
	for i := range w.Groups {
		g := &w.Groups[i]
		g.Names = g.names(whole, ours)
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

// names are those of the group's machine deployments. A group with failure
// domains is split once one of its parts is there: not every infrastructure
// splits groups.
func (g Group) names(whole map[string]bool, exists func(string) bool) []string {
	parts := make([]string, 0, len(g.FailureDomains))
	for _, domain := range g.FailureDomains {
		if name := g.Title + "-" + domain; !whole[name] && !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	if !g.rendered() && slices.ContainsFunc(parts, exists) {
		return parts
	}
	return []string{g.Title}
}

// all are the machine deployments of all groups, then those that are left over.
func (w Workers) all() []MachineDeployment {
	var mds []MachineDeployment
	for _, g := range w.Groups {
		mds = append(mds, g.Found...)
	}
	return append(mds, w.Leftover...)
}
