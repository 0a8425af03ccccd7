package sim

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/act"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// hands is an actor in a world whose leader is dead, and the process that runs its jobs.
func hands(w *world, calls ...model.Call) (*act.Actor, *process) {
	w.Crash(1000 * time.Hour)
	p := &process{w: w, ran: func() {}, runs: func(do func()) { do() }, now: func() time.Time { return w.now }}
	for i := range calls {
		calls[i].Deadline = w.now.Add(time.Minute)
	}
	a := act.New(cloudFront{&leader{w: w, calls: calls}}, w.client, func() error { return nil }, func() {}, p,
		slog.New(alarm{w: w}))
	a.Start(background, calls)
	return a, p
}

// ends carries out calls, one after the other in their lanes.
func ends(t *testing.T, w *world, calls ...model.Call) []model.Outcome {
	t.Helper()
	a, _ := hands(w, calls...)
	run(t, w, time.Minute)
	return a.Collect()
}

// TestActWritesIntoTheTruth: act itself reads and writes this world.
func TestActWritesIntoTheTruth(t *testing.T) {
	w := still(t, "workload web count=3 cpu=1 memory=1Gi stop=5s\ndaemonset agent cpu=100m memory=100Mi")
	s := w.truth.seats[podName{"default", "web-00001"}]
	call := func(verb model.Verb) model.Call {
		return model.Call{ID: string(verb), Verb: verb, Group: "g", Node: s.node, Instance: provider.InstanceID(s.node)}
	}
	out := append(ends(t, w, call(model.Taint), call(model.Cordon)), ends(t, w, call(model.Remove))...)
	if out[0].Err != nil || out[0].ResourceVersion == "" {
		t.Errorf("taint: %+v", out[0])
	}
	for _, o := range out[1:] {
		if o.Err == nil || o.Err.Kind != provider.Conflict || o.Landed[0] != "default/web-00001" {
			t.Errorf("%s of a node with a pod that was not known: %+v", o.Call.Verb, o)
		}
	}
	n := w.truth.object(s.node)
	if !n.Spec.Unschedulable || n.Annotations[model.AnnotationRemoval] != model.RemovalCordoned ||
		!model.HasTaint(n, model.TaintToBeDeleted) || !model.NodeReady(n) {
		t.Errorf("the node is %+v", n)
	}
	evict := call(model.Evict)
	evict.Pod, evict.PodUID, evict.Grace = "default/web-00001", s.pod.UID, -1
	if out := ends(t, w, evict); out[0].Err != nil || w.truth.seats[s.id].node != "" {
		t.Errorf("eviction: %+v", out[0])
	}
	for _, p := range w.truth.podsOn(s.node) {
		if p.Flags&model.FromDaemonSet == 0 {
			evict.Pod, evict.PodUID = "default/"+p.Name, p.UID
			ends(t, w, evict)
		}
	}
	run(t, w, time.Minute)
	if out := ends(t, w, call(model.Remove)); out[0].Err != nil || w.machines[provider.InstanceID(s.node)] != nil {
		t.Errorf("removal: %+v", out[0])
	}
}

// TestPutOfAnOldVersion: a PUT of a node that another client has written since it was read is refused.
// A PUT changes only the fields that it may write.
func TestPutOfAnOldVersion(t *testing.T) {
	w := still(t, "")
	name := w.sortedMachines("g")[0].node
	read := w.truth.object(name).DeepCopy()
	w.editNode(name, func(n *corev1.Node) { n.Labels["new"] = "label" })
	read.Spec.Unschedulable = true
	refused, _ := w.put(read).(*metav1.Status)
	if refused == nil || refused.Reason != metav1.StatusReasonConflict {
		t.Errorf("an old version: %v", refused)
	}
	read = w.truth.object(name).DeepCopy()
	version := read.ResourceVersion
	if same, ok := w.put(read.DeepCopy()).(*corev1.Node); !ok || same.ResourceVersion != version {
		t.Errorf("nothing is changed, and the version is %+v", same)
	}
	read.Spec.Unschedulable, read.Status = true, corev1.NodeStatus{}
	if n, ok := w.put(read).(*corev1.Node); !ok || !n.Spec.Unschedulable || !model.NodeReady(n) {
		t.Errorf("the node is %+v", n)
	}
}

// TestDeadProcess: the requests of a process that has died get no answer, and its jobs end. What it
// has sent takes effect or does not.
func TestDeadProcess(t *testing.T) {
	effects := 0
	for seed := range 20 {
		s := newScript()
		s.settings.Seed = uint64(seed + 1)
		if err := s.Add("lags api=1s begin=0s\ngroup g min=0 max=3 target=1 cpu=4 memory=16Gi"); err != nil {
			t.Fatal(err)
		}
		w := s.World()
		run(t, w, time.Minute)
		name := w.sortedMachines("g")[0].node
		a, p := hands(w, model.Call{Verb: model.Taint, Node: name})
		run(t, w, 1200*time.Millisecond) // it has read the node, and its write is on its way
		if len(p.waiting) != 1 {
			t.Fatalf("%d requests are on their way", len(p.waiting))
		}
		job := p.waiting[0]
		p.die()
		if _, more := job.resume(); more || len(p.waiting) > 0 {
			t.Error("a job goes on")
		}
		run(t, w, time.Minute)
		if out := a.Collect(); len(out) != 1 || !errors.Is(out[0].Err, errDead) {
			t.Errorf("%+v", out)
		}
		if model.HasTaint(w.truth.object(name), model.TaintToBeDeleted) {
			effects++
		}
		w.Close()
	}
	if effects == 0 || effects == 20 {
		t.Errorf("of 20 writes on their way %d took effect", effects)
	}
}

// TestVerbOfAWrite: what a write on a node is is told by what it changes.
func TestVerbOfAWrite(t *testing.T) {
	going := corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}
	candidate := corev1.Taint{Key: model.TaintCandidate, Effect: corev1.TaintEffectPreferNoSchedule}
	node := func(how string, unschedulable bool, taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: taints, Unschedulable: unschedulable}}
		if how != "" {
			n.Annotations = map[string]string{model.AnnotationRemoval: how}
		}
		return n
	}
	plain, tainted := node("", false), node(model.RemovalTainted, false, going)
	cordoned := node(model.RemovalCordoned, true, going)
	for _, c := range []struct {
		old, n *corev1.Node
		want   model.Verb
	}{
		{plain, tainted, model.Taint},
		{node("", true, going), node(model.RemovalTainted, true, going), model.Taint},
		{tainted, cordoned, model.Cordon},
		{cordoned, plain, model.Untaint},
		{tainted, node("", false, candidate), model.Untaint},
		{node(model.RemovalTainted, false), plain, model.Untaint},
		{plain, node("", false, candidate), model.Mark},
		{node("", false, candidate), plain, model.Unmark},
		{plain, plain, model.Annotate},
	} {
		if got := verbOf(c.old, c.n); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestRefusedRequests: what a fault makes the API server say is what act reads it as.
func TestRefusedRequests(t *testing.T) {
	for kind, want := range map[provider.Kind]func(error) bool{
		provider.Throttled: apierrors.IsTooManyRequests, provider.Conflict: apierrors.IsConflict,
		provider.Quota: apierrors.IsForbidden, provider.Credentials: apierrors.IsUnauthorized,
		provider.Unavailable: apierrors.IsServiceUnavailable, provider.Transient: apierrors.IsInternalError,
	} {
		f := &fault{What: refuse, Err: provider.Error{Kind: kind}}
		answer := refusedBy(f, ask{resource: "nodes"}).(*metav1.Status)
		if err := apierrors.FromObject(answer); !want(err) || !strings.Contains(err.Error(), "refuse") &&
			kind != provider.Credentials {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
