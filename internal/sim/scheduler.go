package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/kubesched"
)

// scheduler is kube-scheduler in the world: a burst of changes is one pass, in which each pod that
// waits is tried once, the most important and then the oldest first. A pod that fits nowhere is
// refused, or pods of lower priority end for it.
type scheduler struct {
	*kubesched.Scheduler
	planned bool
	tried   time.Time // when pods that wait were last tried
	// bound are the pods with a node, as the scheduler has them.
	bound map[podName]*corev1.Pod
	// changes counts what could change an answer; refused is when pods of a content were last refused.
	changes uint64
	refused map[model.Content]uint64
	// refuses are the workloads that a custom plugin refuses everywhere.
	refuses map[string]bool
}

func (w *world) startScheduler() {
	s, err := kubesched.New(w.dice.sched)
	if err != nil {
		// The plugins are compiled in: they can be built, or never.
		panic("sim: " + err.Error())
	}
	w.sched = scheduler{Scheduler: s, bound: map[podName]*corev1.Pod{}, refused: map[model.Content]uint64{},
		refuses: map[string]bool{}}
}

// schedulerLag is how long the scheduler takes to act on a change.
var schedulerLag = Span{20 * time.Millisecond, 100 * time.Millisecond}

// triedAgain is how long a refused pod is left alone at most: not all that may let it in wakes the
// scheduler, such as pods that begin to end, which no longer count where others are spread.
const triedAgain = 5 * time.Minute

// wakeScheduler has the scheduler look at waiting pods soon.
func (w *world) wakeScheduler() {
	if w.sched.planned || len(w.truth.waiting) == 0 {
		return
	}
	w.sched.planned = true
	w.after(w.passAfter(), func() {
		w.sched.planned = false
		w.schedule()
	})
}

// schedule tries all pods that wait.
func (w *world) schedule() {
	if w.suffers(schedulerDown) != nil {
		return
	}
	var queue []seat
	var nominated []*corev1.Pod
	for _, s := range w.truth.seats {
		if s.node == "" {
			queue = append(queue, s)
		}
	}
	specs := w.catalog.Contents().Specs
	slices.SortFunc(queue, func(a, b seat) int {
		return cmp.Or(cmp.Compare(specs[b.pod.Spec].Priority, specs[a.pod.Spec].Priority),
			cmp.Compare(a.pod.Created, b.pod.Created), comparePods(a.id, b.id))
	})
	for _, s := range queue {
		if s.pod.Nominated != "" {
			nominated = append(nominated, w.podObject(s))
		}
	}
	w.wrong(w.sched.Nominate(nominated))
	w.sched.Budgets = w.budgetObjects()
	bound, refused := 0, 0
	for tried, before := queue, -1; len(tried) > 0 && bound > before; {
		var again []seat
		before = bound
		for _, s := range tried {
			if w.try(s) {
				bound++
				continue
			} else if s.pod.Flags&model.Refused == 0 {
				refused++
			}
			if s = w.truth.seats[s.id]; w.looksAtOthers(s) {
				again = append(again, s)
			}
		}
		tried = again
	}
	w.log.add("pods", "bound", bound)
	w.log.add("pods", "refused", refused)
	if len(queue) > bound {
		w.sched.tried = w.now
		w.after(triedAgain, func() {
			if len(w.truth.waiting) > 0 && w.now.Sub(w.sched.tried) >= triedAgain {
				w.schedule()
			}
		})
	}
}

// looksAtOthers reports whether a pod may fit where it did not, once others have a node. The scheduler
// tries such a pod again at once.
func (w *world) looksAtOthers(s seat) bool {
	of := &w.catalog.Contents().Specs[s.pod.Spec].Pod.Spec
	return of.Affinity != nil || len(of.TopologySpreadConstraints) > 0
}

// try binds a pod, or refuses it; it reports whether it is bound.
func (w *world) try(at seat) bool {
	if w.sched.refuses[at.of] {
		w.refuse(at, refusedByPlugin)
		return false
	}
	if at.pod.Nominated == "" && w.sched.refused[at.pod.Content] == w.sched.changes ||
		w.catalog.Contents().Specs[at.pod.Spec].Unsupported != "" {
		w.refuse(at, at.pod.Said)
		return false
	}
	pod := w.podObject(at)
	r, err := w.sched.Schedule(pod)
	w.wrong(err)
	switch {
	case r.Node != "":
		w.sched.DeleteNominated(pod)
		at.node, at.pod.Nominated, at.pod.Said = r.Node, "", ""
		at.pod.Flags &^= model.Refused
		w.putPod(at)
		return true
	case r.Nominated != "":
		at.pod.Nominated = r.Nominated
		pod.Status.NominatedNodeName = r.Nominated
		w.wrong(w.sched.Nominated(pod))
		w.driveOut(r)
	case at.pod.Nominated == "":
		w.sched.refused[at.pod.Content] = w.sched.changes
	case !w.makesRoom(at.pod.Nominated):
		w.sched.DeleteNominated(pod)
		at.pod.Nominated = ""
	}
	w.refuse(at, at.pod.Said)
	return false
}

// refusedByPlugin are the scheduler's words where a plugin of its own is in the way.
const refusedByPlugin = "no node is available: a plugin of its own says no"

// refuse marks a pod as one that fits nowhere.
func (w *world) refuse(at seat, said string) {
	if w.sched.Mind.Avoids != nil {
		said = refusedByPlugin
	}
	at.pod.Flags |= model.Refused
	at.pod.Said = said
	if at != w.truth.seats[at.id] {
		w.putPod(at)
	}
}

// driveOut ends the pods that must go for one that is nominated.
func (w *world) driveOut(r kubesched.Result) {
	var out []podName
	for _, p := range w.truth.podsOn(r.Nominated) {
		if slices.Contains(r.Victims, p.UID) {
			out = append(out, podName{w.catalog.Contents().Specs[p.Spec].Pod.Namespace, p.Name})
		}
	}
	w.sched.changes++
	w.judge.stir()
	for _, id := range out {
		w.log.count(r.Nominated, "pods driven out")
		w.endPod(id, w.graceOf(w.truth.seats[id]))
	}
}

// makesRoom reports whether pods on a node are ending.
func (w *world) makesRoom(node string) bool {
	return slices.ContainsFunc(w.truth.podsOn(node), func(p model.Pod) bool { return p.Flags&model.Terminating != 0 })
}

// Refuse has the scheduler refuse the pods of a workload whatever its filters say, or
// ends that.
func (w *world) Refuse(workload string, yes bool) error {
	if w.workloads[workload] == nil {
		return fmt.Errorf("there is no workload %q", workload)
	}
	w.sched.refuses[workload] = yes
	w.wakeScheduler()
	return nil
}

// schedulerSees tells the scheduler of a pod that was written; of one without a node it learns when
// it is asked.
func (w *world) schedulerSees(s seat) {
	if s.node == "" {
		return
	}
	old, pod := w.sched.bound[s.id], w.podObject(s)
	w.sched.bound[s.id] = pod
	w.sched.changes++
	w.wrong(w.sched.PutPod(old, pod))
}

// schedulerMisses tells the scheduler that a pod was deleted.
func (w *world) schedulerMisses(id podName) {
	pod := w.sched.bound[id]
	if pod == nil {
		return
	}
	delete(w.sched.bound, id)
	w.sched.changes++
	w.wrong(w.sched.DropPod(pod))
}

// ofTheNode is the priority of what belongs to a node: nothing is important enough to drive it out.
const ofTheNode = 2_000_001_000

// podObject is a pod as the scheduler reads it.
func (w *world) podObject(s seat) *corev1.Pod {
	contents := w.catalog.Contents()
	spec := contents.Specs[s.pod.Spec]
	created := metav1.Unix(s.pod.Created, 0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.id.namespace, Name: s.id.name, UID: s.pod.UID,
			Labels: contents.Labels[s.pod.Labels].Labels, CreationTimestamp: created},
		Spec:   spec.Pod.Spec,
		Status: corev1.PodStatus{NominatedNodeName: s.pod.Nominated, StartTime: &created},
	}
	priority := spec.Priority
	if s.pod.Flags&(model.FromDaemonSet|model.Mirror) != 0 {
		priority = ofTheNode
	}
	pod.Spec.NodeName, pod.Spec.Priority = s.node, &priority
	if s.pod.Flags&model.Terminating != 0 {
		ends := metav1.Unix(s.pod.Ends, 0)
		pod.DeletionTimestamp = &ends
		// A pod that waits for room on this node waits for this one, whatever ended it.
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: corev1.PodReasonPreemptionByScheduler}}
	}
	if wl := w.workloads[s.of]; wl != nil && wl.spreads() {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: wl.name,
			Controller: &yes}}
	}
	return pod
}

// spreads reports whether the scheduler spreads the pods by itself, as it does those of ReplicaSets
// and StatefulSets. It spreads both in one way, so that both are shown to it as ReplicaSets.
func (wl *workload) spreads() bool {
	return slices.Contains([]string{"ReplicaSet", "ReplicationController", statefulSet}, wl.facts.Controller)
}
