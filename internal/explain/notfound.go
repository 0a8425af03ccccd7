package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// NotFoundError says that there is nothing of the name, and which names are near to it.
type NotFoundError struct {
	What, Name, Why string
	Near            []string
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("there is no %s %s: %s", e.What, e.Name, e.Why)
	if len(e.Near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(e.Near, " or "))
	}
	return text
}

// mostNear is how many names are suggested.
const mostNear = 3

// near are names of pods that may have been meant: the one that differs least, and pods of the same workload, whose
// names differ in the last part. Names of other namespaces are not told: who asks may have no right to them.
func (a *asked) near(namespace, short string) []string {
	var names []string
	add := func(p *model.Pod) {
		if a.snap.Contents.Specs[p.Spec].Pod.Namespace == namespace {
			names = append(names, p.Name)
		}
	}
	for i := range a.snap.Pending {
		for _, p := range a.snap.Pending[i].Pods {
			add(p)
		}
	}
	for _, p := range a.snap.Aside {
		add(p)
	}
	for i := range a.snap.Nodes {
		for j := range a.snap.Nodes[i].Bound {
			add(&a.snap.Nodes[i].Bound[j])
		}
	}
	slices.Sort(names)
	var out []string
	if nearest := spelling.Nearest(short, names); nearest != "" {
		out = append(out, nearest)
	}
	stem := short[:max(0, strings.LastIndex(short, "-"))]
	for _, name := range names {
		rest, same := strings.CutPrefix(name, short+"-")
		sibling := stem != "" && name[:max(0, strings.LastIndex(name, "-"))] == stem
		if (same && rest != "" || sibling) && !slices.Contains(out, name) && len(out) < mostNear {
			out = append(out, name)
		}
	}
	for i := range out {
		out[i] = namespace + "/" + out[i]
	}
	return out
}

// noNode says that there is no node of a name.
func (a *asked) noNode(name string) *NotFoundError {
	var names []string
	for i := range a.snap.Registered() {
		names = append(names, a.snap.Nodes[i].Name)
	}
	return &NotFoundError{"node", name, "the cluster has none of that name", nearOne(name, names)}
}

// mostGroups is how many groups are named where one is not there.
const mostGroups = 10

// noGroup says that there is no group of an id.
func (a *asked) noGroup(name string) *NotFoundError {
	var ids []string
	for i := range a.snap.Groups {
		ids = append(ids, string(a.snap.Groups[i].ID))
	}
	why := "there are no node groups"
	if len(ids) > 0 {
		why = "the node groups are " + strings.Join(ids[:min(mostGroups, len(ids))], ", ")
	}
	if more := len(ids) - mostGroups; more > 0 {
		why += fmt.Sprintf(" and %d more", more)
	}
	return &NotFoundError{"group", name, why, nearOne(name, ids)}
}

// nearOne is a suggestion of one name, if one is near; else of those that go on where it ends.
func nearOne(name string, known []string) (out []string) {
	if near := spelling.Nearest(name, known); near != "" {
		return []string{near}
	}
	for _, k := range known {
		if strings.HasPrefix(k, name) && len(out) < mostNear {
			out = append(out, k)
		}
	}
	return out
}
