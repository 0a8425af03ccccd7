package schedsim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about the pods that DaemonSets will put onto nodes. A DaemonSet's controller asks
// for a pod on every node that its affinity and tolerations fit, whether or not there is room. The
// scheduler binds those that fit. The others stay pending and take no room, so they do not count
// here.

// unmadeAfter is how long a DaemonSet's controller may owe a pod before we assume that it cannot
// make it, for example for want of quota.
const unmadeAfter = 2 * time.Minute

// makes reports whether a DaemonSet's controller makes the pods that it wants.
func makes(ds *model.DaemonSetClass, now time.Time) bool {
	return ds.Unmade.IsZero() || now.Sub(ds.Unmade) < unmadeAfter
}

// daemonsOf lists the DaemonSets whose pods are made for nodes of the shape, as indexes of
// Snapshot.DaemonSets, in the order in which their pods are placed. The scheduler takes the most
// important first. Of equals it takes the oldest, which cannot be foreseen. We take the smallest
// first, so that one large pod does not push out many small ones.
func (w *World) daemonsOf(shape model.ShapeID) []int {
	shape = w.daemonsAlike(shape)
	if list, ok := w.daemons[shape]; ok {
		return list
	}
	list := []int{}
	w.Looked(len(w.snap.DaemonSets))
	for i := range w.snap.DaemonSets {
		if ds := &w.snap.DaemonSets[i]; makes(ds, w.snap.Now) && w.staticVerdict(ds.Class, shape) == nil {
			list = append(list, i)
		}
	}
	total := w.shapes[shape].content.Allocatable
	size := func(r model.Resources) float64 {
		return part(r.MilliCPU, total.MilliCPU) + part(r.Memory, total.Memory)
	}
	slices.SortStableFunc(list, func(i, j int) int {
		a, b := w.snap.Classes[w.snap.DaemonSets[i].Class].Spec, w.snap.Classes[w.snap.DaemonSets[j].Class].Spec
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(size(a.Requests), size(b.Requests)))
	})
	w.daemons[shape] = list
	return list
}

// daemonsAlike finds the shape that stands for all those for which daemonsOf is the same.
func (w *World) daemonsAlike(shape model.ShapeID) model.ShapeID {
	total := w.shapes[shape].content.Allocatable
	key := daemonsKey{w.look(shape), total.MilliCPU, total.Memory}
	if first, ok := w.alike[key]; ok {
		return first
	}
	w.alike[key] = shape
	return shape
}

// daemonsKey is what daemonsOf sees of a shape.
type daemonsKey struct {
	look        model.ShapeID
	cpu, memory int64
}

// daemonsAny lists DaemonSets that stand for those of a node whose shape is not known yet: they
// take as much of each resource as those of any possible shape, and all of their host ports. We err
// slightly to less room: the node will have the pods of one shape only.
func (w *World) daemonsAny(shape model.ShapeID, may []model.ShapeID) []int {
	out := w.daemonsOf(shape)
	if len(may) == 0 {
		return out
	}
	alike := []model.ShapeID{w.daemonsAlike(shape)}
	for _, s := range may {
		if s = w.daemonsAlike(s); !slices.Contains(alike, s) {
			alike = append(alike, s)
		}
	}
	key := fmt.Sprint(alike)
	if known, ok := w.daemonsMay[key]; ok {
		return known
	}
	out = slices.Clone(out)
	has, taken := map[int]bool{}, w.takenBy(out)
	for _, i := range out {
		has[i] = true
	}
	for _, s := range alike[1:] {
		list := w.daemonsOf(s)
		w.Looked(len(list))
		most := w.takenBy(list)
		for _, i := range list {
			class := w.snap.DaemonSets[i].Class
			c := w.class(class)
			if !has[i] && (!c.plain || w.conflicts(c) != nil || !covers(taken, most)) {
				out, has[i] = append(out, i), true
				taken = taken.Plus(w.snap.Classes[class].Spec.Requests, 1)
			}
		}
	}
	w.daemonsMay[key] = out
	return out
}

// takenBy is what one pod of each of these DaemonSets takes.
func (w *World) takenBy(list []int) (sum model.Resources) {
	for _, i := range list {
		sum = sum.Plus(w.snap.Classes[w.snap.DaemonSets[i].Class].Spec.Requests, 1)
	}
	return sum
}

// covers reports whether have is as much as want of every resource.
func covers(have, want model.Resources) bool {
	return !slices.ContainsFunc(resourcesOf(want), func(r resourceOf) bool { return r.of(have) < r.of(want) })
}

func part(of, whole int64) float64 { return float64(of) / float64(max(1, whole)) }

// bring puts the pods of DaemonSets onto a node that has none of them, as far as
// they fit beside what is there; without are those that do not.
func (w *World) bring(n *node, list []int) (without []int) {
	w.Looked(len(list))
	for _, i := range list {
		c := w.snap.DaemonSets[i].Class
		if !w.classes[c].fits(&n.free) || w.blocked(c, n) || !w.mountable(c, n.shape) {
			without = append(without, i)
			continue
		}
		w.count(n, c, 1)
		n.free.take(&w.classes[c], 1)
	}
	n.own = false // a template will refer to the same list
	return without
}

// mountable reports whether nodes of the shape can have the volumes of a class.
func (w *World) mountable(c model.ClassID, s model.ShapeID) bool {
	if len(w.classes[c].pod.Spec.Volumes) == 0 {
		return true
	}
	key := mount{c, w.site(s)}
	can, known := w.mounts[key]
	if !known {
		info := framework.NewNodeInfo()
		info.SetNode(named(w.shapes[s].content.Node, "empty"))
		r := w.ask(w.filters.full, c, info, []stageNode{info})
		can = r == nil || !unbindable(r.reason)
		w.mounts[key] = can
	}
	return can
}

// unmounted reports whether new nodes of the shape are known to be none for the volumes of a class.
func (w *World) unmounted(c model.ClassID, s model.ShapeID) bool {
	if len(w.classes[c].pod.Spec.Volumes) == 0 {
		return false
	}
	if m := w.mounting(c); m.kind != 0 {
		no, known := w.onSites[kindOnSite{m.kind, w.site(s)}]
		return known && no != nil
	}
	can, known := w.mounts[mount{c, w.site(s)}]
	return known && !can
}

// unbindable reports whether a refusal is about the node's place alone, for volumes.
func unbindable(r model.Reason) bool { return r == model.VolumeNotBindable || r == model.VolumeZone }

type mount struct {
	class model.ClassID
	site  int32
}

// lacking lists the DaemonSets that want a pod on a node of the snapshot, as one of
// this shape, and have none there.
func (w *World) lacking(n *model.Node, shape model.ShapeID) []int {
	list := w.daemonsAny(shape, n.May)
	if len(list) == 0 {
		return nil
	}
	w.Looked(len(list))
	owners := make(map[types.UID]bool, len(n.Bound))
	for i := range n.Bound {
		if p := &n.Bound[i]; p.Flags&model.Finished == 0 {
			owners[p.Owner] = true
		}
	}
	var out []int
	for _, i := range list {
		if !owners[w.snap.DaemonSets[i].UID] {
			out = append(out, i)
		}
	}
	return out
}

// newNode is a group's node as it comes up, and the DaemonSets that find no room
// on it. The group must have a template.
func (w *World) newNode(group int) (n node, without []int) {
	g := &w.snap.Groups[group]
	var may []model.ShapeID
	for _, v := range g.Variants {
		may = append(may, v.Shape)
	}
	return w.newNodeOf(group, g.Shape, may)
}

// newNodeOf is newNode for one of the shapes that the group's nodes may have.
func (w *World) newNodeOf(group int, s model.ShapeID, may []model.ShapeID) (n node, without []int) {
	static := w.snap.Groups[group].Static
	n = node{group: group, shape: s, may: may, free: w.shapes[s].total, batches: static}
	for _, b := range static {
		n.free.take(&w.classes[b.Class], int64(b.Count))
	}
	without = w.bring(&n, w.daemonsAny(s, may))
	return n, without
}

// GroupTemplate is what a new node of a group brings, its static and DaemonSet
// pods included. The second result is false where the group has no template.
func (w *World) GroupTemplate(group int) (Template, bool) {
	if !w.snap.Groups[group].HasTemplate {
		return Template{}, false
	}
	n, _ := w.newNode(group)
	return Template{Group: group, Shape: n.shape, Pods: n.batches, May: n.may}, true
}

// Codes of notices on DaemonSets.
const (
	codeDoesNotFit = "DaemonSetDoesNotFit"
	codeNotMade    = "DaemonSetNotMade"
)

// daemonsTold is how many DaemonSets are named of each code: anybody who may make
// DaemonSets may make many.
const daemonsTold = 10

// DaemonNotices names the DaemonSets whose pods do not count, and why; until is
// when one more stops to count, zero if none does.
func (w *World) DaemonNotices() (out []provider.Notice, until time.Time) {
	homeless := make([][]string, len(w.snap.DaemonSets)) // groups, by DaemonSet
	for i := range w.snap.Groups {
		if !w.snap.Groups[i].HasTemplate {
			continue
		}
		_, without := w.newNode(i)
		for _, d := range without {
			homeless[d] = append(homeless[d], string(w.snap.Groups[i].ID))
		}
	}
	var unfit, unmade []string
	for i := range w.snap.DaemonSets {
		ds := &w.snap.DaemonSets[i]
		if !makes(ds, w.snap.Now) {
			unmade = append(unmade,
				fmt.Sprintf("DaemonSet %s/%s: its controller wants more pods than there are and has made none since %s, "+
					"perhaps for want of quota; its pods do not count on nodes that lack them",
					ds.Namespace, ds.Name, ds.Unmade.UTC().Format(time.RFC3339)))
			continue
		}
		if end := ds.Unmade.Add(unmadeAfter); !ds.Unmade.IsZero() && (until.IsZero() || end.Before(until)) {
			until = end
		}
		if len(homeless[i]) > 0 {
			unfit = append(unfit,
				fmt.Sprintf("DaemonSet %s/%s: its pod (%s) has no room on new nodes of %s, "+
					"after the static and DaemonSet pods that come first; none is reserved for it there",
					ds.Namespace, ds.Name, w.snap.Classes[ds.Class].Spec.Requests, few(homeless[i])))
		}
	}
	return append(notices(codeDoesNotFit, unfit), notices(codeNotMade, unmade)...), until
}

// notices are those of one code, the first of many.
func notices(code string, messages []string) []provider.Notice {
	var out []provider.Notice
	for i, m := range messages {
		if i == daemonsTold {
			m = fmt.Sprintf("and %d more DaemonSets", len(messages)-i)
		}
		out = append(out, provider.Notice{Code: code, Message: m})
		if i == daemonsTold {
			break
		}
	}
	return out
}

// few names the first of many groups.
func few(names []string) string {
	const most = 3
	switch {
	case len(names) == 1:
		return "group " + names[0]
	case len(names) <= most:
		return "groups " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("groups %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// takenByDaemons names the DaemonSets that take the room which a class lacks on a
// node, the greediest first; empty where it would not fit without them either.
func (w *World) takenByDaemons(c model.ClassID, n *node, r *rejection) string {
	if r.reason != model.InsufficientResources {
		return ""
	}
	names := map[model.ClassID][]string{}
	for i := range w.snap.DaemonSets {
		ds := &w.snap.DaemonSets[i]
		names[ds.Class] = append(names[ds.Class], ds.Namespace+"/"+ds.Name)
	}
	have := w.shapes[n.shape].content.Allocatable
	var daemons model.Resources
	for _, b := range n.batches {
		requests := w.snap.Classes[b.Class].Spec.Requests
		have = have.Plus(requests, -int64(b.Count))
		if names[b.Class] != nil {
			daemons = daemons.Plus(requests, int64(b.Count))
		}
	}
	want := w.snap.Classes[c].Spec.Requests
	var parts []string
	for _, res := range resourcesOf(want) {
		lacks := res.of(want) - res.of(have)
		if res.of(want) == 0 || lacks <= 0 {
			continue
		}
		if lacks > res.of(daemons) {
			return ""
		}
		type taker struct {
			name  string
			takes int64
		}
		var takers []taker
		for _, b := range n.batches {
			if takes := res.of(w.snap.Classes[b.Class].Spec.Requests) * int64(b.Count); names[b.Class] != nil &&
				takes > 0 {
				takers = append(takers, taker{strings.Join(names[b.Class], ", "), takes})
			}
		}
		slices.SortFunc(takers, func(a, b taker) int {
			return cmp.Or(cmp.Compare(b.takes, a.takes), cmp.Compare(a.name, b.name))
		})
		var each []string
		for i, t := range takers {
			if i == mostNamed {
				each = append(each, fmt.Sprintf("%d more", len(takers)-i))
				break
			}
			each = append(each, t.name+" "+res.show(t.takes))
		}
		parts = append(parts, fmt.Sprintf("DaemonSets take %s %s (%s)", res.name, res.show(res.of(daemons)),
			strings.Join(each, ", ")))
	}
	return strings.Join(parts, ", ")
}

// resourceOf is one resource among those of a pod or a node.
type resourceOf struct {
	name string
	of   func(model.Resources) int64
	show func(int64) string
}

// resourcesOf are the resources that a request is about.
func resourcesOf(want model.Resources) []resourceOf {
	out := []resourceOf{
		{"cpu", func(r model.Resources) int64 { return r.MilliCPU }, model.Cores},
		{"memory", func(r model.Resources) int64 { return r.Memory }, model.Bytes},
		{string(corev1.ResourceEphemeralStorage), func(r model.Resources) int64 { return r.Ephemeral }, model.Bytes},
		{"pods", func(r model.Resources) int64 { return r.Pods }, model.Number},
	}
	for _, x := range want.Extended {
		out = append(out, resourceOf{string(x.Name), func(r model.Resources) int64 { return r.Value(x.Name) }, model.Number})
	}
	return out
}
