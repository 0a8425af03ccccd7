package schedsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// This file is about nodes that differ from what their template promised.

// Avoid keeps pods of the class from all future nodes of the group: its template has proven wrong
// for them.
func (w *World) Avoid(c model.ClassID, group int) {
	if w.avoid == nil {
		w.avoid = map[avoided]bool{}
	}
	w.avoid[avoided{c, group}] = true
}

// AvoidNone takes back every Avoid.
func (w *World) AvoidNone() { w.avoid = nil }

// Doubt keeps pods of the class, from now on, from all nodes that are ready: the
// scheduler has refused them there.
func (w *World) Doubt(c model.ClassID) {
	if w.doubted == nil {
		w.doubted = map[model.ClassID]bool{}
	}
	w.doubted[c] = true
}

// DoubtNone takes back every Doubt.
func (w *World) DoubtNone() { w.doubted = nil }

// HostsOf names the nodes of the snapshot, of the given sets, that pods of the class
// were placed on.
func (w *World) HostsOf(c model.ClassID, on NodeSet) []string {
	var out []string
	for _, p := range w.journal {
		if p.class == c && p.node < len(w.snap.Nodes) && w.nodes[p.node].kind&on != 0 {
			out = append(out, w.nodes[p.node].name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Avoids reports whether the class is kept from the group's future nodes.
func (w *World) Avoids(c model.ClassID, group int) bool { return w.avoid[avoided{c, group}] }

type avoided struct {
	class model.ClassID
	group int
}

// avoids reports whether the class is kept from a node that is not there yet, or from
// one that the scheduler has refused it on.
func (w *World) avoids(c model.ClassID, i int) bool {
	if w.doubted[c] && w.nodes[i].kind == OnReady {
		return true
	}
	if w.avoid == nil || w.nodes[i].kind&(OnComing|OnPlanned) == 0 {
		return false
	}
	group := w.groupOf(i)
	return group >= 0 && w.avoid[avoided{c, group}]
}

// Alone says what the class's verdict on a ready node would be with only the pods on it that start
// with every such node.
func (w *World) Alone(c model.ClassID, id Node) model.Verdict {
	m := w.Mark()
	defer w.Undo(m)
	i, sn := int(id), w.snap.Nodes[id]
	was := w.save(i)
	own := slices.Clone(sn.Residents)
	for _, b := range missing(was.batches, sn.Batches) {
		// This plan may have moved other pods there.
		if slices.ContainsFunc(w.snap.DaemonSets, func(d model.DaemonSetClass) bool { return d.Class == b.Class }) {
			own = merge(own, []model.Batch{b})
		}
	}
	w.account(i, -1)
	n := &w.nodes[i]
	n.batches, n.own, n.info, n.free = own, false, nil, w.shapes[n.shape].total
	for _, b := range own {
		n.free.take(&w.classes[b.Class], int64(b.Count))
	}
	w.account(i, +1)
	return w.Explain(c, id)
}

// Difference names what of a real node keeps the class from it although the
// template let it in: a resource, a taint, a label.
func (w *World) Difference(c model.ClassID, id Node, t Template, v model.Verdict) string {
	n := &w.nodes[id]
	real, promised := w.shapes[n.shape].content, w.shapes[t.Shape].content
	var found []string
	switch v.Reason {
	case model.InsufficientResources:
		found = lessThan(real.Allocatable, promised.Allocatable, w.snap.Classes[c].Spec.Requests)
		if len(found) == 0 {
			found = []string{"more pods came with the node than the template said"}
		}
	case model.TaintNotTolerated:
		for i := range real.Node.Spec.Taints {
			if taint := &real.Node.Spec.Taints[i]; schedulingTaint(taint) && !model.HasTaint(promised.Node, taint.Key) {
				found = append(found,
					fmt.Sprintf("node came up with the taint %s, template said nothing of it", taint.ToString()))
			}
		}
	default:
		found = w.labelsApart(n, promised.Node)
	}
	if len(found) == 0 {
		return v.Detail
	}
	return strings.Join(found, "; ")
}

// lessThan lists what a node has less of than its template said, of that which
// the pods want.
func lessThan(real, promised, want model.Resources) []string {
	var out []string
	say := func(what, has, said string) {
		out = append(out, fmt.Sprintf("node came up with %s %s, template said %s", has, what, said))
	}
	if want.MilliCPU > 0 && real.MilliCPU < promised.MilliCPU {
		say("CPU", cpus(real.MilliCPU), cpus(promised.MilliCPU))
	}
	for _, x := range []struct {
		what                string
		real, promised, ask int64
	}{{"memory", real.Memory, promised.Memory, want.Memory},
		{"ephemeral storage", real.Ephemeral, promised.Ephemeral, want.Ephemeral}} {
		if x.ask > 0 && x.real < x.promised {
			say(x.what, model.Bytes(x.real), model.Bytes(x.promised))
		}
	}
	if real.Pods < promised.Pods {
		say("pods", model.Number(real.Pods), model.Number(promised.Pods))
	}
	for _, x := range want.Extended {
		if a, b := real.Value(x.Name), promised.Value(x.Name); a < b {
			say(string(x.Name), model.Number(a), model.Number(b))
		}
	}
	return out
}

func cpus(milli int64) string { return fmt.Sprintf("%.2f", float64(milli)/1000) }

// labelsApart lists the labels in which a node differs from its template. A node whose hostname
// label is not its own shares its place with others.
func (w *World) labelsApart(n *node, promised *corev1.Node) []string {
	has := w.shapes[n.shape].content.Node.Labels
	keys := map[string]bool{}
	maps.Copy(keys, asSet(has))
	maps.Copy(keys, asSet(promised.Labels))
	var out []string
	if n.object != nil && n.object.Labels[corev1.LabelHostname] != n.name {
		out = append(out, fmt.Sprintf("node %s came up with %s=%s", n.name, corev1.LabelHostname,
			n.object.Labels[corev1.LabelHostname]))
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, ok := has[key]
		b, said := promised.Labels[key]
		switch {
		case a == b && ok == said:
		case !ok:
			out = append(out, fmt.Sprintf("node came up without the label %s, template said %s", key, b))
		case !said:
			out = append(out, fmt.Sprintf("node came up with the label %s=%s, template said nothing of it", key, a))
		default:
			out = append(out, fmt.Sprintf("node came up with %s=%s, template said %s", key, a, b))
		}
	}
	if len(out) > mostNamed {
		out = append(out[:mostNamed], "other differences: "+spelling.Count(len(out)-mostNamed, "label"))
	}
	return out
}

// mostNamed is how many labels one message names.
const mostNamed = 4

func asSet(labels map[string]string) map[string]bool {
	out := make(map[string]bool, len(labels))
	for k := range labels {
		out[k] = true
	}
	return out
}
