package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// This file is the controllers that make pods for workloads.

// workload is a number of equal pods.
type workload struct {
	name, namespace string
	like            model.Pod
	facts           *model.Facts
	tolerant        bool // the taint of a removal does not keep its pods away
	pace            pace
	want            int
	pods            map[podName]bool // those that count, see release
	serial          int
	pending         bool // a reconciliation is planned
}

// controllerLag is how long controllers take to act on what changed.
var controllerLag = Span{50 * time.Millisecond, 500 * time.Millisecond}

// AddWorkload adds a workload without pods. Its pods have the content and facts of the catalog's.
func (w *world) AddWorkload(name, namespace string, like model.Pod, p pace) error {
	if _, taken := w.workloads[name]; taken {
		return fmt.Errorf("there is a workload %q already", name)
	}
	if p.Start == (Span{}) {
		p.Start = ordinaryStart
	}
	contents := w.catalog.Contents()
	removal := &corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}
	w.workloads[name] = &workload{
		name: name, namespace: namespace, like: like, pace: p, pods: map[podName]bool{},
		facts: contents.Facts[like.Facts],
		tolerant: slices.ContainsFunc(contents.Specs[like.Spec].Pod.Spec.Tolerations,
			func(o corev1.Toleration) bool { return tolerates(o, removal) }),
	}
	w.addNamespace(namespace)
	return w.sched.PutReplicaSet(namespace, name, contents.Labels[like.Labels].Labels)
}

func (w *world) addNamespace(name string) {
	if _, ok := w.namespaces[name]; !ok {
		w.namespaces[name] = map[string]string{corev1.LabelMetadataName: name}
		w.wrong(w.sched.PutNamespace(name, w.namespaces[name]))
	}
}

// Scale sets how many pods a workload wants.
func (w *world) Scale(name string, pods int) error {
	wl, ok := w.workloads[name]
	if !ok {
		return fmt.Errorf("there is no workload %q", name)
	}
	w.log.say("workload %s wants %d pods, it wanted %d", name, pods, wl.want)
	wl.want = pods
	w.judge.stirred = w.now
	w.judge.tell(check.Event{What: check.WorkloadIs, Workload: name, N: pods, Kept: wl.facts.Controller != noController})
	w.judge.budgets()
	w.wakeBudgets(wl.namespace)
	w.reconcile(wl)
	return nil
}

func (w *world) sortedWorkloads() []*workload {
	out := make([]*workload, 0, len(w.workloads))
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		out = append(out, w.workloads[name])
	}
	return out
}

// reconcile makes or deletes a workload's pods, soon.
func (w *world) reconcile(wl *workload) {
	if wl.pending {
		return
	}
	wl.pending = true
	w.after(controllerLag.draw(w.dice.people), func() {
		wl.pending = false
		if w.suffers(controllersDown) != nil {
			return
		}
		for _, id := range wl.lacking() {
			if w.meets(refusedPods, nil, "") != nil {
				w.after(tryAgain.draw(w.dice.faults), func() { w.reconcile(wl) })
				continue
			}
			wl.pods[id] = true
			pod := model.Pod{
				Name: id.name, UID: types.UID(id.namespace + "/" + id.name), Content: wl.like.Content,
				Facts: wl.like.Facts, Created: w.now.Unix(),
			}
			if wl.facts.Controller == statefulSet {
				pod.UID = uid(id.name, w.version)
			}
			if wl.facts.Controller != noController {
				pod.Owner = types.UID("workload-" + wl.name)
			}
			w.putPod(seat{id: id, pod: pod, of: wl.name})
		}
		for _, id := range w.toGo(wl) {
			w.endPod(id, wl.facts.Grace)
		}
	})
}

// lacking names the pods that a workload has too few of.
func (wl *workload) lacking() (ids []podName) {
	if wl.facts.Controller == statefulSet {
		for i := range wl.want {
			if id := (podName{wl.namespace, wl.name + "-" + strconv.Itoa(i)}); !wl.pods[id] {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for range wl.want - len(wl.pods) {
		wl.serial++
		ids = append(ids, podName{wl.namespace, fmt.Sprintf("%s-%05d", wl.name, wl.serial)})
	}
	return ids
}

// toGo are the pods that a workload has too many of: those without a node first,
// then the newest; of a StatefulSet those with the highest numbers.
func (w *world) toGo(wl *workload) []podName {
	if wl.facts.Controller == statefulSet {
		return slices.DeleteFunc(slices.SortedFunc(maps.Keys(wl.pods), comparePods), func(id podName) bool {
			return wl.ordinal(id) < wl.want || w.truth.seats[id].pod.Flags&model.Terminating != 0
		})
	}
	surplus := len(wl.pods) - wl.want
	if surplus <= 0 {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(wl.pods), func(a, b podName) int {
		aBound, bBound := w.truth.seats[a].node != "", w.truth.seats[b].node != ""
		switch {
		case aBound != bBound && bBound:
			return -1
		case aBound != bBound:
			return 1
		}
		return comparePods(b, a)
	})
	return ids[:surplus]
}

// ordinal is the number of a StatefulSet's pod.
func (wl *workload) ordinal(id podName) int {
	n, err := strconv.Atoi(id.name[len(wl.name)+1:])
	if err != nil {
		panic("sim: a pod of a StatefulSet without a number: " + id.name)
	}
	return n
}

// release stops counting a pod for its workload, which replaces it if it wants to. A ReplicaSet
// does not wait for the end of a pod; a StatefulSet must, since the next one has the same name. A
// pod without a controller is not replaced.
func (w *world) release(s seat, gone bool) {
	wl := w.workloads[s.of]
	if wl == nil || !wl.pods[s.id] {
		return
	}
	if !gone && wl.facts.Controller == statefulSet {
		return
	}
	delete(wl.pods, s.id)
	if wl.facts.Controller == noController {
		wl.want = min(wl.want, len(wl.pods))
		w.judge.budgets()
		return
	}
	w.reconcile(wl)
}

func uid(name string, version uint64) types.UID {
	return types.UID(name + "/" + strconv.FormatUint(version, 10))
}

func sortPods(ids []podName) { slices.SortFunc(ids, comparePods) }
