package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// judge tells package check what is true, where it becomes so.
type judge struct {
	*check.Judge
	w *world
	// causes are the writes to the cloud that take effect, by machine; "" is for a target.
	causes map[provider.InstanceID]string
	// evicts is the eviction that takes effect; writes are the last of ours, by verb and node.
	evicts string
	writes map[string]string
	// told is the cloud as the judge knows it; classes names the contents of pods.
	told    map[provider.GroupID]provider.Group
	classes map[string]string
	// adopted: a kubelet registers under the name of a node that is still there.
	adopted bool
	leaders int
	ours    bool      // what is written to the API server is the autoscaler's
	begun   int       // how many calls were begun
	stirred time.Time // when something other than the autoscaler last changed the world
	// expendable: pods of a lower priority do not count.
	expendable int
}

func newJudge(w *world) judge {
	flags, err := check.ParseFlags(w.settings.Flags)
	w.wrong(err)
	flags.Start, flags.Seed = start, w.settings.Seed
	j := judge{w: w, causes: map[provider.InstanceID]string{}, writes: map[string]string{},
		told: map[provider.GroupID]provider.Group{}, classes: map[string]string{}, expendable: flags.ExpendableBelow}
	j.Judge = check.New(flags, j.saw)
	return j
}

// reflag takes in the flags that a process begins with.
func (j *judge) reflag() {
	flags, err := check.ParseFlags(j.w.settings.Flags)
	j.w.wrong(err)
	flags.Start, flags.Seed = start, j.w.settings.Seed
	j.expendable = flags.ExpendableBelow
	j.Reflag(flags)
}

// breaches are what was broken until now.
func (j *judge) breaches() error {
	var errs []error
	for _, b := range j.Broken() {
		errs = append(errs, errors.New(b.String()))
	}
	return errors.Join(errs...)
}

func (j *judge) tell(e check.Event) {
	e.At = j.w.now
	j.Observe(e)
}

// stir tells that something other than the autoscaler changes the world.
func (j *judge) stir() {
	j.stirred = j.w.now
	j.tell(check.Event{What: check.Stir})
}

// people tells that people change limits, targets, budgets or groups.
func (j *judge) people() {
	j.stirred = j.w.now
	j.tell(check.Event{What: check.People})
}

// lowered notes whose doing it is that machines of a group whose target was lowered end.
func (j *judge) lowered(call model.Call) {
	j.causes[""] = call.ID
	for _, in := range j.w.inventory(call.Group).Instances {
		if in.State == provider.Deleting {
			j.causes[in.ID] = call.ID
		}
	}
}

// groupIs tells of a group's limits and machines.
func (j *judge) groupIs(id provider.GroupID) { j.tell(j.groupNow(id)) }

// groupMakes tells of a group that makes other machines than those that are there, by their content if it differs.
func (j *judge) groupMakes(id provider.GroupID, differs bool) {
	e := j.groupNow(id)
	e.Differs, e.Drifted = differs, true
	j.tell(e)
}

// groupNow is what a group is, and notes that it is told.
func (j *judge) groupNow(id provider.GroupID) check.Event {
	g := j.w.inventory(id)
	capacity := g.Template.Node.Status.Capacity
	price := 0.0
	if g.PricePerHour != nil {
		price = *g.PricePerHour
	}
	if _, known := j.told[id]; !known {
		j.told[id] = provider.Group{ID: id, Target: g.Target}
	}
	return check.Event{What: check.GroupIs, Group: string(id), Pool: string(g.Pool), Min: g.Min, Max: g.Max, N: g.Target,
		Price: price, CPU: capacity.Cpu().MilliValue(), Memory: capacity.Memory().Value(), Varies: len(g.Template.Places) > 0,
		Whole: g.CloudChooses}
}

// look tells what has changed in the cloud since the last look.
func (j *judge) look() {
	there := map[provider.GroupID]bool{}
	for _, g := range j.w.cloud.Truth().Groups {
		there[g.ID] = true
		if was, known := j.told[g.ID]; known {
			j.group(was, g)
			j.told[g.ID] = g
		}
	}
	for _, id := range sortedKeys(j.told) {
		if !there[id] {
			delete(j.told, id)
			j.tell(check.Event{What: check.GroupEnd, Group: string(id)})
		}
	}
	clear(j.causes)
}

func (j *judge) group(was, g provider.Group) {
	before := map[provider.InstanceID]provider.Instance{}
	for _, in := range was.Instances {
		before[in.ID] = in
	}
	machine := func(what check.What, id provider.InstanceID, call string) {
		j.tell(check.Event{What: what, Machine: string(id), Group: string(g.ID), Call: call})
	}
	for _, in := range g.Instances {
		if old, known := before[in.ID]; known && in.State == provider.Deleting && old.State != provider.Deleting {
			machine(check.MachineEnds, in.ID, j.causes[in.ID])
		}
		delete(before, in.ID)
	}
	for _, id := range sortedKeys(before) {
		if call := j.causes[id]; call != "" && before[id].State != provider.Deleting {
			machine(check.MachineEnds, id, call)
		}
		machine(check.MachineGone, id, "")
	}
	if g.Target != was.Target {
		j.tell(check.Event{What: check.TargetIs, Group: string(g.ID), N: g.Target, Call: j.causes[""]})
	}
	for _, in := range g.Instances {
		i := slices.IndexFunc(was.Instances, func(o provider.Instance) bool { return o.ID == in.ID })
		if i < 0 {
			machine(check.MachineMade, in.ID, "")
		}
		if in.State == provider.Running && (i < 0 || was.Instances[i].State != provider.Running) {
			machine(check.MachineRuns, in.ID, "")
		}
		if in.Err != nil && (i < 0 || was.Instances[i].Err == nil) {
			j.tell(check.Event{What: check.MachineFailed, Machine: string(in.ID), Group: string(g.ID), Again: in.Retry > 0})
		}
	}
	if slices.ContainsFunc(g.Holds, func(h provider.Hold) bool { return h.Stalled || h.Op == provider.OpGrow }) {
		j.tell(check.Event{What: check.StockOut, Group: string(g.ID)})
	}
}

// node tells what a write to a node changed.
func (j *judge) node(old, n *corev1.Node) {
	fact := func(what check.What, call string) {
		j.tell(check.Event{What: what, Node: n.Name, Call: call})
	}
	fresh := old == nil || old.UID != n.UID
	if fresh || j.adopted {
		e := check.Event{What: check.NodeIs, Node: n.Name, CPU: n.Status.Allocatable.Cpu().MilliValue(),
			Memory: n.Status.Allocatable.Memory().Value(), Cores: n.Status.Capacity.Cpu().MilliValue()}
		if m := j.w.standsFor(n.Name); m != nil {
			e.Machine, e.Differs, e.Drifted = string(m.instance), differs(m.group.template.Node, n), m.drifted
		}
		j.tell(e)
	}
	if fresh {
		old = &corev1.Node{}
	}
	if ready := model.NodeReady(n); ready != model.NodeReady(old) {
		what := check.NodeUnready
		if ready {
			what = check.NodeReady
		}
		fact(what, "")
	}
	last := func(verb model.Verb) string { return j.writes[string(verb)+"/"+n.Name] }
	given := ""
	if j.ours {
		given = "given back"
	}
	switch is, was := protected(n), protected(old); {
	case is && !was:
		fact(check.Protected, "")
	case was && !is:
		fact(check.Unprotected, "")
	}
	switch is, was := model.HasTaint(n, model.TaintToBeDeleted), model.HasTaint(old, model.TaintToBeDeleted); {
	case is && !was:
		fact(check.Tainted, last(model.Taint))
	case was && !is:
		fact(check.Untainted, given)
	}
	switch is, was := n.Spec.Unschedulable, old.Spec.Unschedulable; {
	case is && !was && n.Annotations[model.AnnotationRemoval] == model.RemovalCordoned:
		fact(check.Cordoned, last(model.Cordon))
	case is && !was:
		fact(check.Cordoned, "")
	case was && !is:
		fact(check.Uncordoned, given)
	}
}

// protected reports whether people want a node to stay, or not to end yet.
func protected(n *corev1.Node) bool {
	for key, value := range n.Annotations {
		if key == model.AnnotationScaleDownDisabled && value == "true" || strings.HasPrefix(key, model.PrefixDelayDeletion) {
			return true
		}
	}
	return false
}

// differs reports whether a node is not what its group says.
func differs(like, n *corev1.Node) bool {
	for key, value := range like.Labels {
		if n.Labels[key] != value && key != corev1.LabelHostname && key != corev1.LabelTopologyZone {
			return true
		}
	}
	zone, fixed := like.Labels[corev1.LabelTopologyZone]
	foreign := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable &&
			!slices.ContainsFunc(like.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
	})
	return foreign || fixed && n.Labels[corev1.LabelTopologyZone] != zone ||
		like.Status.Allocatable.Cpu().Cmp(*n.Status.Allocatable.Cpu()) != 0
}

// class names the content of a pod by the workload in which it was first seen.
func (j *judge) class(spec *model.Spec, of string) string {
	name, known := j.classes[spec.Key]
	if !known {
		name = cmp.Or(of, fmt.Sprint("class-", len(j.classes)))
		j.classes[spec.Key] = name
	}
	return name
}

// pod tells what a write to a pod changed.
func (j *judge) pod(was, s seat) {
	uid := string(s.pod.UID)
	if was.pod.UID != s.pod.UID {
		spec := j.w.catalog.Contents().Specs[s.pod.Spec]
		like := &spec.Pod.Spec
		e := check.Event{What: check.PodIs, Pod: uid, Workload: s.of, Class: j.class(spec, s.of),
			CPU: spec.Requests.MilliCPU, Memory: spec.Requests.Memory, Priority: int(spec.Priority),
			Picky: len(like.NodeSelector) > 0,
			Own:   s.pod.Flags&(model.FromDaemonSet|model.Mirror) != 0, Expendable: int(spec.Priority) < j.expendable,
			Coupled: len(like.TopologySpreadConstraints) > 0 || like.Affinity != nil}
		facts := j.w.catalog.Contents().Facts[s.pod.Facts]
		e.Controller, e.Grace, e.Local = facts.Controller, facts.Grace, facts.Local != ""
		e.System = s.id.namespace == metav1.NamespaceSystem
		if wl := j.w.workloads[s.of]; wl != nil {
			e.Tolerant = wl.tolerant
		}
		switch {
		case facts.Safe == model.EvictYes, facts.Daemon == model.Yes:
			e.Safe = "yes"
		case facts.Safe != model.EvictUnsaid, facts.Daemon == model.No, s.pod.Flags&model.Mirror != 0:
			e.Safe = "no"
		}
		j.tell(e)
		was = seat{}
	}
	if s.pod.Flags&model.Refused != 0 && was.pod.Flags&model.Refused == 0 {
		j.tell(check.Event{What: check.PodRefused, Pod: uid})
	}
	if s.node != "" && was.node == "" {
		j.tell(check.Event{What: check.PodBound, Pod: uid, Node: s.node})
	}
	if s.pod.Flags&model.Terminating != 0 && was.pod.Flags&model.Terminating == 0 {
		j.tell(check.Event{What: check.PodEnds, Pod: uid, Call: j.evicts, When: time.Unix(s.pod.Ends, 0)})
	}
}

func (j *judge) podGone(s seat) {
	if s.pod.Flags&model.Terminating == 0 && j.evicts != "" {
		j.tell(check.Event{What: check.PodEnds, Pod: string(s.pod.UID), Call: j.evicts, When: j.w.now})
	}
	j.tell(check.Event{What: check.PodEnd, Pod: string(s.pod.UID)})
}

// budgets tells how many pods each budget wants ready.
func (j *judge) budgets() {
	for _, b := range j.w.sortedBudgets("") {
		wanted, _ := j.w.wanted(b)
		e := check.Event{What: check.BudgetIs, Name: b.id.namespace + "/" + b.id.name, Min: wanted}
		for _, wl := range j.w.sortedWorkloads() {
			if j.w.covers(b, seat{id: podName{namespace: wl.namespace}, pod: wl.like, of: wl.name}) {
				e.Workloads = append(e.Workloads, wl.name)
			}
		}
		j.tell(e)
	}
}

// read tells of a read of the cloud that was answered.
func (j *judge) read(answer provider.Inventory) {
	e := check.Event{What: check.ReadEnds, When: answer.AsOf}
	for _, id := range sortedKeys(j.told) {
		i := slices.IndexFunc(answer.Groups, func(g provider.Group) bool { return g.ID == id })
		if i < 0 || answer.Groups[i].Err != nil {
			e.Missing = append(e.Missing, string(id))
			continue
		}
		for _, in := range j.told[id].Instances {
			if !slices.ContainsFunc(answer.Groups[i].Instances, func(o provider.Instance) bool {
				return o.ID == in.ID && o.ProviderID == in.ProviderID // under another id it shows no node
			}) {
				e.Lacks = append(e.Lacks, string(in.ID))
			}
		}
	}
	j.tell(e)
}

// process is the name of the process that leads.
func (j *judge) process() string { return fmt.Sprintf("p%d", j.leaders) }

// judged is a leader as the loop's actor, with the judge beside it.
type judged struct{ *leader }

// Start tells what is asked for, and lets the leader begin it.
func (l judged) Start(ctx context.Context, calls []model.Call) {
	j := &l.w.judge
	for _, c := range calls {
		if l.may() != nil {
			break // it knows that another one may lead, and begins none
		}
		j.begun++
		j.writes[string(c.Verb)+"/"+c.Node] = c.ID
		j.tell(check.Event{What: check.Asks, Call: c.ID, Verb: string(c.Verb), Group: string(c.Group),
			Machine: string(c.Instance), Node: c.Node, Pod: string(c.PodUID), From: c.From, To: c.To, Process: l.jobs.name,
			Saves: c.Verb == model.Taint && c.Reason == model.CheaperElsewhere})
	}
	l.leader.Start(ctx, calls)
}

// Collect tells how writes have ended.
func (l judged) Collect() []model.Outcome {
	ends := l.leader.Collect()
	for i := range ends {
		out := &ends[i]
		e := check.Event{What: check.Answered, Call: out.Call.ID, When: l.truly(out.Ended), Answer: check.Done}
		switch out.Answer() {
		case model.AnswerUnknown:
			e.Answer = check.Unknown
		case model.AnswerNotBegun:
			e.Answer = check.NotBegun
		case model.AnswerBusy, model.AnswerConflict:
			e.Answer = check.Busy
		case model.AnswerRefused:
			e.Answer = check.Refused
			if out.Err.Kind == provider.Limit {
				e.Answer = check.Busy // a pool's maximum says nothing of the group
			}
		}
		l.w.judge.tell(e)
	}
	return ends
}

// cycle tells what a cycle says that it decided.
func (j *judge) cycle(c model.Cycle) {
	if !c.Decided {
		return
	}
	j.tell(check.Event{What: check.Decided, N: c.Plan.Work.Steps, Memory: int64(len(j.w.saved)),
		Halted: c.Snapshot.Unhealthy != nil, Process: j.process()})
	for _, g := range c.Plan.Grow {
		i := slices.IndexFunc(c.Plan.Calls, func(o model.Call) bool { return o.Verb == model.Grow && o.Group == g.Group })
		if i < 0 {
			continue
		}
		for _, b := range g.Pods {
			class := &c.Snapshot.Classes[b.Class]
			j.tell(check.Event{What: check.Buys, Call: c.Plan.Calls[i].ID, Group: string(g.Group), N: b.Count,
				Class: j.class(class.Spec, ""), Workload: class.Labels["app"]})
		}
	}
}

// saw is what the last cycle knew of the groups, and of the subject of an event.
func (j *judge) saw(e check.Event) (seen check.Seen) {
	s := j.w.product.last.Snapshot
	if s == nil {
		return check.Seen{When: "which has not decided yet"}
	}
	seen = check.Seen{When: fmt.Sprintf("at %s, with the cloud as of %s", stamp(s.Now), stamp(s.AsOf)),
		Groups: map[string]check.Have{}}
	say := func(format string, args ...any) { seen.Notes = append(seen.Notes, fmt.Sprintf(format, args...)) }
	for i := range s.Groups {
		g := &s.Groups[i]
		c := check.Have{Target: g.Target, Machines: len(g.Instances)}
		for n := range s.Nodes {
			if node := s.Nodes[n]; node.Group == i && node.Object != nil {
				c.Nodes++
				if model.NodeReady(node.Object) {
					c.Ready++
				}
			}
		}
		c.More = fmt.Sprintf("%d expected, %d missing, %d given up, %d asks on record", g.Expected, g.Missing, g.GivenUp(),
			len(g.Asks))
		for _, r := range g.Rests {
			if !r.Until.After(s.Now) {
				continue
			}
			c.More += fmt.Sprintf("; it rests until %s: %s", stamp(r.Until), r.Message)
		}
		seen.Groups[string(g.ID)] = c
	}
	for i := range s.Nodes {
		if n := s.Nodes[i]; n.Name != "" && (n.Name == e.Node || e.Machine != "" && string(n.Instance) == e.Machine) {
			say("node %s is %s with %d pods", n.Name, cmp.Or(string(n.State), "coming"), n.Occupants)
			if d := n.Standing.Drain; d != nil {
				say("its removal is %s since %s", d.Stage, stamp(d.Since))
			}
		}
	}
	for q := range s.Pending {
		if j.class(s.Classes[s.Pending[q].Class].Spec, "") == e.Class {
			say("%d pods of %s wait", len(s.Pending[q].Pods), e.Class)
		}
	}
	for _, c := range j.w.product.last.Plan.Calls {
		if c.ID == e.Call {
			say("the call is because %s", c.Why)
		}
	}
	return seen
}
