package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Unrest is what keeps the world from being at rest, which it must come to some time after all faults
// have ended. It is empty if nothing does.
func (w *world) Unrest() []string { return w.judged(w.judge.AtRest) }

// Lacks is Unrest for now: the world may be at rest for a while only.
func (w *world) Lacks() []string { return w.judged(w.judge.Lacks) }

func (w *world) judged(rests func(at time.Time) []check.Breach) (lacking []string) {
	w.tellFits()
	w.judge.tellVerdicts()
	for _, b := range rests(w.now) {
		lacking = append(lacking, b.String())
	}
	return lacking
}

// tellVerdicts tells what the last cycle says of pods that wait, and of nodes, and what it has under way.
func (j *judge) tellVerdicts() {
	c := &j.w.product.last
	s := c.Snapshot
	if s == nil {
		return
	}
	for _, v := range c.Plan.Pending {
		class := j.class(s.Classes[v.Class].Spec, "")
		told := func(group provider.GroupID, reason model.Reason) {
			j.tell(check.Event{What: check.Told, Class: class, Group: string(group), Name: string(reason)})
		}
		switch {
		case v.Skipped != nil:
			told("", v.Skipped.Reason)
		case v.Disagrees != nil:
			told("", v.Disagrees.Reason)
		case v.Left+v.Planned == 0:
			told("", "Existing")
		}
		for _, g := range v.Groups {
			told(g.Group, g.Reason)
		}
	}
	for _, v := range slices.Concat(c.Plan.Unneeded, c.Plan.Kept) {
		j.tell(check.Event{What: check.Keeps, Node: v.Node, Name: string(v.Reason)})
	}
	held := check.Event{What: check.Held, N: len(c.Open)}
	for i := range s.Groups {
		for a := range s.Groups[i].Asks {
			if slices.ContainsFunc(s.Groups[i].Asks[a].Units, func(u model.Unit) bool { return u.Open() }) {
				held.From++
			}
		}
	}
	for _, m := range append(slices.Clone(s.Moves), c.Plan.Moves...) {
		if m.Open() {
			held.To++
		}
	}
	j.tell(held)
}

// tellFits tells which classes of pods that wait a new node of each group would take, as the scheduler
// sees it.
func (w *world) tellFits() {
	classes := map[string]seat{}
	for _, id := range w.truth.unbound() {
		spec := w.catalog.Contents().Specs[id.Spec]
		s := w.truth.seats[podName{spec.Pod.Namespace, id.Name}]
		if spec.Unsupported == "" && !w.sched.refuses[s.of] {
			classes[w.judge.class(spec, s.of)] = s
		}
	}
	for _, class := range sortedKeys(classes) {
		for _, g := range w.sortedGroups() {
			if w.takes(g, classes[class]) {
				w.judge.tell(check.Event{What: check.Fits, Class: class, Group: string(g.id)})
			}
		}
	}
}

// takes reports whether a new node of a group takes a pod, wherever the cloud puts it.
func (w *world) takes(g *group, s seat) bool {
	places := g.template.Places
	if len(places) == 0 {
		places = []provider.Place{{}}
	}
	for i, place := range places {
		n := g.template.Node.DeepCopy()
		n.Name = fmt.Sprintf("next-of-%s-%d", g.id, i)
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[corev1.LabelHostname] = n.Name
		for key, value := range place.Labels {
			n.Labels[key] = value
		}
		own := slices.Clone(g.template.Pods)
		for d := range w.daemonSets {
			if like := w.catalog.Contents().Specs[w.daemonSets[d].Content.Spec].Pod; belongs(like, n) {
				own = append(own, like)
			}
		}
		pod := w.podObject(s)
		pod.Spec.NodeName, pod.Status.NominatedNodeName = "", ""
		yes, err := w.sched.Takes(n, own, pod)
		w.wrong(err)
		if !yes {
			return false
		}
	}
	return true
}

// Show describes the state of the world, for a person.
func (w *world) Show() string {
	var b strings.Builder
	for _, g := range w.cloud.Truth().Groups {
		registered, ready := 0, 0
		for _, m := range w.sortedMachines(g.ID) {
			if n := w.truth.object(m.node); n != nil {
				registered++
				if model.NodeReady(n) {
					ready++
				}
			}
		}
		fmt.Fprintf(&b, "group %s: target %d, %d instances, %d nodes, %d of them ready\n", g.ID, g.Target,
			len(g.Instances), registered, ready)
	}
	for _, wl := range w.sortedWorkloads() {
		bound := 0
		for id := range wl.pods {
			if w.truth.seats[id].node != "" {
				bound++
			}
		}
		fmt.Fprintf(&b, "workload %s: %d pods, %d of them have a node\n", wl.name, len(wl.pods), bound)
	}
	return b.String()
}
