package schedsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// rejection is a no, with its reason. A nil rejection is a yes. Most are never shown, so their
// words are made on demand.
type rejection struct {
	reason model.Reason
	said   string
	status *fwk.Status // the plugin's words
	region bool        // it holds for all nodes of the region
}

func (r *rejection) words() string {
	if r.status != nil {
		return strings.Join(r.status.Reasons(), "; ")
	}
	return r.said
}

var yes *rejection

// short is the no for want of amounts; World.words has the numbers.
var short = &rejection{reason: model.InsufficientResources}

type stageNode = fwk.NodeInfo

// staticVerdict asks the plugins that look at a node's shape alone, once for all classes that are the same to them.
func (w *World) staticVerdict(c model.ClassID, s model.ShapeID) *rejection {
	s = w.look(s)
	class := &w.classes[c]
	if no := class.refusal(); no != nil {
		return no
	}
	row := w.static[c]
	if row == nil {
		name := class.statics()
		if row = w.staticBy[name]; row == nil {
			row = slices.Repeat([]*rejection{&unasked}, len(w.shapes))
			w.staticBy[name] = row
		}
		w.static[c] = row
	}
	if row[s] != &unasked {
		return row[s]
	}
	info := framework.NewNodeInfo()
	info.SetNode(named(w.shapes[s].content.Node, "static"))
	no := w.ask(w.filters.static, c, info, []stageNode{info})
	if class.unsupported == "" { // no plugin panicked
		row[s] = no
	}
	return no
}

var unasked rejection

// ask runs one set of plugins for one pod of the class on one node, before a
// stage. PreFilter state is computed afresh each time (rule C3).
func (w *World) ask(
	f framework.Framework, c model.ClassID, target *framework.NodeInfo, stage []stageNode,
) (no *rejection) {
	class := &w.classes[c]
	if no := class.refusal(); no != nil {
		return no
	}
	defer w.catch(c, &no)
	w.filters.stage.show(stage)
	state, pod := framework.NewCycleState(), class.info().Pod
	w.work.PreFilters++
	w.work.NodesScanned += len(stage)
	w.step(len(stage) + 1)
	only, status, _ := f.RunPreFilterPlugins(w.filters.ctx, state, pod)
	if !status.IsSuccess() {
		return rejectionOf(status)
	}
	if !only.AllNodes() && !only.NodeNames.Has(target.Node().Name) {
		return &rejection{reason: model.NodeAffinity, said: "the pod names other nodes"}
	}
	w.work.Filters++
	w.step(1)
	return rejectionOf(f.RunFilterPlugins(w.filters.ctx, state, pod, target))
}

var reasonOf = map[string]model.Reason{
	names.NodeName:             model.NodeAffinity,
	names.NodeUnschedulable:    model.NodeUnschedulable,
	names.TaintToleration:      model.TaintNotTolerated,
	names.NodeAffinity:         model.NodeAffinity,
	names.NodePorts:            model.PortConflict,
	names.NodeResourcesFit:     model.InsufficientResources,
	names.VolumeRestrictions:   model.VolumeInUse,
	names.NodeVolumeLimits:     model.VolumeLimit,
	names.VolumeBinding:        model.VolumeNotBindable,
	names.VolumeZone:           model.VolumeZone,
	names.PodTopologySpread:    model.TopologySpread,
	names.InterPodAffinity:     model.PodAffinity,
	names.NodeDeclaredFeatures: model.NodeFeatures,
}

func rejectionOf(s *fwk.Status) *rejection {
	if s.IsSuccess() {
		return yes
	}
	reason, ok := reasonOf[s.Plugin()]
	if !ok {
		reason = model.OtherFilter
	}
	if reason == model.VolumeInUse && s.Code() == fwk.UnschedulableAndUnresolvable {
		// The volume is not in use, but does not exist: the same plugin looks first.
		reason = model.VolumeNotBindable
	}
	return &rejection{reason: reason, status: s}
}

// check reports whether one more pod of the class fits the node now, exactly.
func (w *World) check(c model.ClassID, i int) *rejection {
	w.Looked(1)
	n := &w.nodes[i]
	class := w.class(c)
	if no := class.refusal(); no != nil {
		return no
	}
	if no := w.unoffered(c); no != nil {
		return no
	}
	if !class.readsHost {
		if r := w.staticVerdict(c, n.shape); r != nil {
			return r
		}
	}
	if !w.hasRoom(class, i) {
		return short
	}
	if why := w.conflict(class, w.inTheWay(class, i)); why != "" {
		return &rejection{reason: why, said: "a pod of lower priority is there, which it may not preempt"}
	}
	switch class.coupling {
	case free:
		return yes
	case host:
		// Without ports and volumes, what is left are pods that must not share a
		// host; which those are has been asked class by class.
		blocked := w.blocked(c, n)
		if class.plain && !blocked {
			return yes
		}
		if class.carries && !blocked {
			if no, known := w.overVolumes(c, i); known {
				return no
			}
		}
		plugins, info := w.filters.full, w.info(i)
		if w.conflicts(class) == nil {
			plugins = w.filters.local // nothing but the node itself can refuse it
		}
		return w.ask(plugins, c, info, []stageNode{info})
	default:
		return w.reach(c, i)
	}
}

// reach is the part of check that is left for a class whose verdict reads topology domains: what the
// node itself has against it beside labels, taints and amounts, then what pods elsewhere have.
func (w *World) reach(c model.ClassID, i int) *rejection {
	class := w.class(c)
	if class.asks {
		return w.ask(w.filters.full, c, w.info(i), w.all())
	}
	if class.plain && !class.broken {
		return w.outlook(c).refusal(w, i)
	}
	if class.broken {
		info := w.info(i)
		return w.ask(w.filters.full, c, info, []stageNode{info})
	}
	no, known := (*rejection)(nil), false
	if class.carries {
		no, known = w.overVolumes(c, i)
	}
	if !known {
		info := w.info(i)
		no = w.ask(w.filters.local, c, info, []stageNode{info})
	}
	if no != nil {
		return no
	}
	return w.outlook(c).refusal(w, i)
}

// inTheWay are the expendable pods on a node that a class cannot have preempted. They
// take no room from others, since the scheduler preempts them; a pod that may not preempt
// has what they leave.
func (w *World) inTheWay(class *class, i int) []model.Batch {
	if policy := class.spec.PreemptionPolicy; i >= len(w.snap.Nodes) || policy == nil ||
		*policy != corev1.PreemptNever {
		return nil
	}
	return w.snap.Nodes[i].Expendable
}

// roomFor is what a node has for pods of a class.
func (w *World) roomFor(class *class, i int) amounts {
	free := w.nodes[i].free
	for _, b := range w.inTheWay(class, i) {
		free.take(&w.classes[b.Class], int64(b.Count))
	}
	return free
}

// hasRoom reports whether a node has room for a pod of a class.
func (w *World) hasRoom(class *class, i int) bool {
	if len(w.inTheWay(class, i)) == 0 {
		return class.fits(&w.nodes[i].free)
	}
	room := w.roomFor(class, i)
	return class.fits(&room)
}

// unoffered is the answer of all nodes to a class that requests a resource that
// none of them has, nor any group's template; nil if there is no such resource.
func (w *World) unoffered(c model.ClassID) *rejection {
	want := w.classes[c].request.ext
	if len(want) == 0 {
		return nil
	}
	if no, asked := w.lacks[c]; asked {
		return no
	}
	if w.offered == nil {
		w.offered = w.offers()
	}
	var no *rejection
	more := 0
	for _, x := range want {
		switch {
		case w.offered[x.Name]:
		case no == nil:
			no = &rejection{reason: model.InsufficientResources,
				said: fmt.Sprintf("%s %d wanted, which no node and no group's template has", x.Name, x.Value)}
		default:
			more++
		}
	}
	if more > 0 {
		no.said += "; the same of " + spelling.Count(more, "more resource")
	}
	w.lacks[c] = no
	return no
}

// offers are the extended resources that some node or some group's template has.
func (w *World) offers() map[corev1.ResourceName]bool {
	shapes, out := map[model.ShapeID]bool{}, map[corev1.ResourceName]bool{}
	for i := range w.nodes {
		shapes[w.nodes[i].shape] = true
	}
	for i := range w.snap.Groups {
		if w.snap.Groups[i].HasTemplate {
			shapes[w.snap.Groups[i].Shape] = true
		}
	}
	for s := range shapes {
		for _, x := range w.shapes[s].total.ext {
			out[x.Name] = out[x.Name] || x.Value > 0
		}
	}
	return out
}

// Lacks says which resources a class requests that no node and no group's template
// has; empty if there are none.
func (w *World) Lacks(c model.ClassID) string {
	if no := w.unoffered(c); no != nil {
		return no.said
	}
	return ""
}

// blocked reports whether what is known of classes already refuses the class on the node, whatever
// its domain. False says nothing.
func (w *World) blocked(c model.ClassID, n *node) bool { return w.blocker(c, n) != "" }

// blocker is blocked with the reason, empty if it is not.
func (w *World) blocker(c model.ClassID, n *node) model.Reason {
	return w.conflict(w.class(c), n.batches)
}

// conflict is why a class cannot share a host with one of these pods, empty if it can.
func (w *World) conflict(class *class, pods []model.Batch) model.Reason {
	conflicts := w.conflicts(class)
	if conflicts == nil {
		return ""
	}
	why, ports := model.Reason(""), len(class.spec.Containers[0].Ports) > 0
	for _, b := range pods {
		if !conflicts.has(b.Class) {
			continue
		}
		if !ports {
			return model.PodAffinity
		}
		if portsConflict(class.spec, w.classes[b.Class].spec) {
			return model.PortConflict
		}
		why = model.PodAffinity
	}
	return why
}

// shortage says in numbers what is missing.
func (t *traits) shortage(f *amounts) string {
	var parts []string
	add := func(name string, want, have int64, show func(int64) string) {
		if want > 0 && want > have {
			parts = append(parts, fmt.Sprintf("%s %s > %s", name, show(want), show(max(0, have))))
		}
	}
	add("cpu", t.request.cpu, f.cpu, model.Cores)
	add("memory", t.request.memory, f.memory, model.Bytes)
	add("ephemeral-storage", t.request.ephemeral, f.ephemeral, model.Bytes)
	add("pods", 1, f.pods, model.Number)
	for _, x := range t.request.ext {
		add(string(x.Name), x.Value, f.of(x.Name), model.Number)
	}
	if len(parts) > 1 {
		slices.Sort(parts)
	}
	return strings.Join(parts, ", ")
}

// Short is how much of each resource a node lacks for one more pod of the class.
func (w *World) Short(c model.ClassID, id Node) model.Resources {
	class := w.class(c)
	room := w.roomFor(class, int(id))
	lacks := func(want, have int64) int64 {
		if want == 0 {
			return 0
		}
		return max(0, want-max(0, have))
	}
	short := model.Resources{
		MilliCPU: lacks(class.request.cpu, room.cpu), Memory: lacks(class.request.memory, room.memory),
		Ephemeral: lacks(class.request.ephemeral, room.ephemeral), Pods: lacks(class.request.pods, room.pods),
	}
	for _, x := range class.request.ext {
		if n := lacks(x.Value, room.of(x.Name)); n > 0 {
			short.Extended = append(short.Extended, model.Amount{Name: x.Name, Value: n})
		}
	}
	return short
}

// Fits reports whether one more pod of the class fits the node, and if not, why.
func (w *World) Fits(c model.ClassID, id Node) model.Reason {
	if r := w.check(c, int(id)); r != nil {
		return r.reason
	}
	return model.Fits
}

// Explain is Fits with the words and numbers behind it.
func (w *World) Explain(c model.ClassID, id Node) model.Verdict {
	r := w.check(c, int(id))
	if r == nil {
		return model.Verdict{Reason: model.Fits}
	}
	detail := w.words(c, int(id), r)
	if taken := w.takenByDaemons(c, &w.nodes[id], r); taken != "" {
		detail += "; " + taken
	}
	return model.Verdict{Reason: r.reason, Detail: detail}
}

// words says what of the node is in the way, where the plugin only says that
// something is.
func (w *World) words(c model.ClassID, i int, r *rejection) string {
	if r == short {
		room := w.roomFor(&w.classes[c], i)
		return w.classes[c].shortage(&room)
	}
	spec, node := w.classes[c].spec, w.shapes[w.nodes[i].shape].content.Node
	switch r.reason {
	case model.TaintNotTolerated:
		if t, found := v1helper.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, spec.Tolerations,
			schedulingTaint, true); found {
			return "taint " + t.ToString()
		}
	case model.NodeAffinity:
		if found := unmet(spec, node); found != "" {
			return found
		}
	}
	return r.words()
}

func schedulingTaint(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// unmet lists the parts of the pod's node selector and required node affinity that do not hold on a
// node. The terms of an affinity are alternatives.
func unmet(spec *corev1.PodSpec, node *corev1.Node) string {
	has := func(key string) string {
		if v, ok := node.Labels[key]; ok {
			return v
		}
		return "none"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if v, ok := node.Labels[k]; !ok || v != spec.NodeSelector[k] {
			out = append(out, fmt.Sprintf("%s=%s wanted, the node has %s", k, spec.NodeSelector[k], has(k)))
		}
	}
	var terms []string
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			var parts []string
			for _, e := range term.MatchExpressions {
				if !holds(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{e}}, node) {
					parts = append(parts,
						fmt.Sprintf("%s %s [%s] wanted, the node has %s", e.Key, e.Operator, values(e), has(e.Key)))
				}
			}
			for _, e := range term.MatchFields {
				if !holds(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{e}}, node) {
					parts = append(parts, fmt.Sprintf("%s %s [%s] wanted", e.Key, e.Operator, values(e)))
				}
			}
			switch {
			case len(parts) > 0:
				terms = append(terms, strings.Join(parts, ", "))
			case holds(term, node): // one term that holds is enough
				return strings.Join(out, "; ")
			}
		}
	}
	if len(terms) > 0 {
		out = append(out, strings.Join(terms, "; or "))
	}
	return strings.Join(out, "; ")
}

// holds reports whether one term of a node affinity holds on a node. One that
// cannot be read, or that says nothing, does not.
func holds(term corev1.NodeSelectorTerm, node *corev1.Node) bool {
	ok, err := nodeaffinity.NewLazyErrorNodeSelector(
		&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}).Match(node)
	return err == nil && ok
}

// values are those of a requirement, the first of many.
func values(e corev1.NodeSelectorRequirement) string {
	if more := len(e.Values) - mostNamed; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(e.Values[:mostNamed], " "), more)
	}
	return strings.Join(e.Values, " ")
}

// ExplainTemplate tells how a class stands to a new, otherwise empty node of a
// template, as the world is now.
func (w *World) ExplainTemplate(c model.ClassID, t Template) model.Verdict {
	m := w.Mark()
	defer w.Undo(m)
	return w.Explain(c, w.AddNodes(t, 1))
}
