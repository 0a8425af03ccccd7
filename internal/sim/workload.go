package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is the controllers that make pods: of workloads and of DaemonSets.

// workload is pods that are alike, and how many of them are wanted.
type workload struct {
	name, namespace string
	content         model.Content
	want            int
	pods            map[podName]bool
	serial          int
	pending         bool // a reconciliation is planned
}

// controllerLag is how long controllers take to act on what changed.
var controllerLag = Span{50 * time.Millisecond, 500 * time.Millisecond}

// AddWorkload adds a workload without pods; the content is the world's
// catalog's.
func (w *World) AddWorkload(name, namespace string, content model.Content) error {
	if _, taken := w.workloads[name]; taken {
		return fmt.Errorf("there is a workload %q already", name)
	}
	w.workloads[name] = &workload{name: name, namespace: namespace, content: content, pods: map[podName]bool{}}
	if _, ok := w.namespaces[namespace]; !ok {
		w.namespaces[namespace] = map[string]string{corev1.LabelMetadataName: namespace}
	}
	return nil
}

// Scale makes a workload want so many pods.
func (w *World) Scale(name string, pods int) error {
	wl, ok := w.workloads[name]
	if !ok {
		return fmt.Errorf("there is no workload %q", name)
	}
	w.log.say("workload %s wants %d pods, it wanted %d", name, pods, wl.want)
	wl.want = pods
	w.reconcile(wl)
	return nil
}

func (w *World) sortedWorkloads() []*workload {
	out := make([]*workload, 0, len(w.workloads))
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		out = append(out, w.workloads[name])
	}
	return out
}

// ownerPrefix begins the ids of workloads, as pods name their owners.
const ownerPrefix = "workload-"

// owner is the workload that made a pod, nil if none did.
func (w *World) owner(p model.Pod) *workload {
	name, _ := strings.CutPrefix(string(p.Owner), ownerPrefix)
	return w.workloads[name]
}

// reconcile brings a workload to what it wants, soon.
func (w *World) reconcile(wl *workload) {
	if wl.pending {
		return
	}
	wl.pending = true
	w.after(controllerLag.draw(w.dice.people), func() {
		wl.pending = false
		for len(wl.pods) < wl.want {
			wl.serial++
			id := podName{wl.namespace, fmt.Sprintf("%s-%05d", wl.name, wl.serial)}
			wl.pods[id] = true
			w.putPod(seat{id: id, pod: model.Pod{
				Name: id.name, UID: types.UID(id.namespace + "/" + id.name), Content: wl.content,
				Owner: types.UID(ownerPrefix + wl.name), Created: w.now.Unix(),
			}})
		}
		for _, id := range w.toGo(wl) {
			delete(wl.pods, id)
			w.deletePod(id)
		}
	})
}

// toGo are the pods that a workload has too many of: those without a node
// first, then the newest.
func (w *World) toGo(wl *workload) []podName {
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

// AddDaemonSet adds a DaemonSet. Its pods are bound as soon as a node is there.
func (w *World) AddDaemonSet(ds model.DaemonSet) {
	w.daemonSets = append(w.daemonSets, ds)
	for _, o := range w.truth.observed() {
		w.daemons(o.Object.Name)
	}
}

// daemons puts the pods of DaemonSets onto a node, soon.
func (w *World) daemons(node string) {
	if len(w.daemonSets) == 0 {
		return
	}
	w.after(controllerLag.draw(w.dice.people), func() {
		object := w.truth.object(node)
		if object == nil {
			return
		}
		for i := range w.daemonSets {
			ds := &w.daemonSets[i]
			id := podName{ds.Namespace, ds.Name + "-" + node}
			spec := w.catalog.Contents().Specs[ds.Content.Spec].Pod
			if _, there := w.truth.seats[id]; there || !belongs(spec, object) {
				continue
			}
			w.putPod(seat{id: id, node: node, pod: model.Pod{
				Name: id.name, UID: uid(id.name, w.version), Content: ds.Content, Flags: model.FromDaemonSet,
				Owner: ds.UID, Created: w.now.Unix(),
			}})
		}
	})
}

// belongs tells whether a DaemonSet's pods belong on a node: its selector and
// affinity say so, and the taints that do not pass let them in.
func belongs(pod *corev1.Pod, n *corev1.Node) bool {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n); err != nil || !ok {
		return false
	}
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Key == corev1.TaintNodeNotReady || t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return tolerates(o, t) }) {
			return false
		}
	}
	return true
}

func tolerates(o corev1.Toleration, t *corev1.Taint) bool {
	return (o.Effect == "" || o.Effect == t.Effect) && (o.Key == "" || o.Key == t.Key) &&
		(o.Operator == corev1.TolerationOpExists || o.Value == t.Value)
}

func uid(name string, version uint64) types.UID {
	return types.UID(name + "/" + strconv.FormatUint(version, 10))
}

func sortPods(ids []podName) { slices.SortFunc(ids, comparePods) }
