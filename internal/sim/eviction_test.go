package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// still is a world in which the autoscaler only looks on, after a while.
func still(t *testing.T, script string) *world {
	t.Helper()
	s := newScript()
	if err := s.Add("flags --scale-down-enabled=false --max-bulk-soft-taint-count=0\nlags watch=300ms\ngroup g min=0 " +
		"max=3 target=3 cpu=4 memory=16Gi\n" + script); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	t.Cleanup(w.Close)
	run(t, w, 5*time.Minute)
	return w
}

func run(t *testing.T, w *world, d time.Duration) {
	t.Helper()
	if err := w.Run(d); err != nil {
		t.Fatal(err)
	}
}

// evictOne asks the API server for the eviction of a pod as it is now, with its own grace.
func evictOne(w *world, name string) error {
	return evictPod(w, name, w.truth.seats[podName{"default", name}].pod.UID, nil)
}

func evictPod(w *world, name string, uid types.UID, grace *int64) error {
	options := &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid)), GracePeriodSeconds: grace}
	answer := w.evictBy(podName{"default", name}, &policyv1.Eviction{DeleteOptions: options}).(*metav1.Status)
	if answer.Status == metav1.StatusSuccess {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *answer}
}

// podsOf names the pods of a workload that are there, sorted.
func podsOf(w *world, workload string) (names []string) {
	for id, s := range w.truth.seats {
		if s.of == workload {
			names = append(names, id.name)
		}
	}
	slices.Sort(names)
	return names
}

// TestEvictionsShareABudget: the first eviction uses up what the budget allows,
// at once; another one is refused until the pod that came for the first is ready,
// whatever those who watch have seen by then.
func TestEvictionsShareABudget(t *testing.T) {
	w := still(t, "workload web count=4 cpu=1 memory=1Gi stop=20s start=5s\nbudget web min=3")
	allowed := func() int { return w.leader.watch.seen.observedBudgets()[0].Allowed }
	if allowed() != 1 {
		t.Fatalf("it allows %d, want 1", allowed())
	}
	began := w.now
	if err := evictOne(w, "web-00001"); err != nil {
		t.Fatalf("the first eviction: %v", err)
	}
	first := w.truth.seats[podName{"default", "web-00001"}]
	if first.pod.Flags&model.Terminating == 0 || first.pod.Ends != began.Add(30*time.Second).Unix() {
		t.Errorf("the evicted pod is %+v", first.pod)
	}
	err := evictOne(w, "web-00002")
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Fatalf("the second eviction: %v", err)
	}
	if allowed() != 1 {
		t.Error("who watches knows at once")
	}
	run(t, w, 2*time.Second)
	if allowed() != 0 || len(podsOf(w, "web")) != 5 {
		t.Errorf("it allows %d, and there are %q", allowed(), podsOf(w, "web"))
	}
	run(t, w, 10*time.Second) // the other one is ready
	if err := evictOne(w, "web-00002"); err != nil {
		t.Errorf("the second eviction, later: %v", err)
	}
	run(t, w, 15*time.Second) // the first one's end
	if slices.Contains(podsOf(w, "web"), "web-00001") {
		t.Errorf("there are %q still", podsOf(w, "web"))
	}
}

// TestEvictionsRefused: by several budgets; by one whose controller has not
// seen it yet. What is gone, or has another UID, is none of an eviction's
// business.
func TestEvictionsRefused(t *testing.T) {
	w := still(t, "workload web count=4 cpu=1 memory=1Gi\nbudget web min=1\nworkload other count=2 cpu=1 memory=1Gi "+
		"labels=tier:front\n"+
		"budget front select=tier:front max=1\nbudget other min=1")
	if err := evictOne(w, "other-00001"); !apierrors.IsInternalError(err) ||
		!strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		t.Errorf("two budgets: %v", err)
	}
	two := 2
	if err := w.SetBudget(Budget{Namespace: "default", Name: "web", Select: map[string]string{"app": "web"},
		MaxUnavailable: &two}); err != nil {
		t.Fatal(err)
	}
	cause, ok := apierrors.StatusCause(evictOne(w, "web-00001"), policyv1.DisruptionBudgetCause)
	if !ok || !strings.Contains(cause.Message, "still being processed") {
		t.Errorf("a new version of a budget: %v", cause)
	}
	run(t, w, 5*time.Second)
	web := podName{"default", "web-00001"}
	if err := evictPod(w, web.name, "another", nil); !apierrors.IsConflict(err) ||
		w.truth.seats[web].pod.Flags&model.Terminating != 0 {
		t.Errorf("another UID: %v", err)
	}
	if err := evictPod(w, "missing", "any", nil); !apierrors.IsNotFound(err) {
		t.Errorf("no such pod: %v", err)
	}
	for range 2 {
		if err := evictOne(w, web.name); err != nil {
			t.Errorf("two may go, and one that goes already may: %v", err)
		}
	}
	if allowed := w.budgets[podName{"default", "web"}].allowed; allowed != 1 {
		t.Errorf("the budget allows %d more, want 1", allowed)
	}
}

// TestBarePodsAndTheirBudget: a budget that says how many may be unavailable lets no pod without a controller go: how
// many there should be cannot be told. One that says how many must be available does.
func TestBarePodsAndTheirBudget(t *testing.T) {
	w := still(t, "workload bare count=4 cpu=1 memory=1Gi controller=none evict=true\nbudget bare max=2\n"+
		"workload other count=4 cpu=1 memory=1Gi controller=none evict=true\nbudget other min=2")
	if err := evictOne(w, "bare-00001"); err == nil {
		t.Error("a pod without a controller is let go by a budget that says how many may be unavailable")
	}
	if err := evictOne(w, "other-00001"); err != nil {
		t.Errorf("two of four must be available: %v", err)
	}
}

// TestWhoMakesPodsAgain: a ReplicaSet at once, a StatefulSet when the pod is gone and by
// the same name. A pod without a controller is not made again.
func TestWhoMakesPodsAgain(t *testing.T) {
	w := still(t, "workload web count=2 cpu=1 memory=1Gi stop=20s\nworkload db count=2 cpu=1 memory=1Gi "+
		"controller=StatefulSet stop=20s\n"+
		"workload bare count=2 cpu=1 memory=1Gi controller=none evict=true stop=20s")
	old := w.truth.seats[podName{"default", "db-0"}].pod.UID
	for _, name := range []string{"web-00001", "db-0", "bare-00001"} {
		if err := evictOne(w, name); err != nil {
			t.Fatal(err)
		}
	}
	run(t, w, 5*time.Second)
	for workload, want := range map[string]string{
		"web": "web-00001 web-00002 web-00003", "db": "db-0 db-1", "bare": "bare-00001 bare-00002",
	} {
		if got := strings.Join(podsOf(w, workload), " "); got != want {
			t.Errorf("while they end: %s, want %s", got, want)
		}
	}
	run(t, w, time.Minute)
	for workload, want := range map[string]string{"web": "web-00002 web-00003", "db": "db-0 db-1",
		"bare": "bare-00002"} {
		if got := strings.Join(podsOf(w, workload), " "); got != want {
			t.Errorf("when they have ended: %s, want %s", got, want)
		}
	}
	if again := w.truth.seats[podName{"default", "db-0"}]; again.pod.UID == old || again.node == "" {
		t.Errorf("db-0 is %+v", again)
	}
	if err := w.Scale("db", 1); err != nil {
		t.Fatal(err)
	}
	run(t, w, time.Minute)
	if got := podsOf(w, "db"); len(got) != 1 || got[0] != "db-0" {
		t.Errorf("of two numbers the lower stays, not %q", got)
	}
}

// TestWhoEndsPods: on a machine that is gone pods do not end until its Node object is
// deleted; on one that was cut off the kubelet ends them when it is connected again.
func TestWhoEndsPods(t *testing.T) {
	w := still(t, "workload web count=8 cpu=1 memory=1Gi stop=5s\nfault nodes=unready group=g from=330s for=1m")
	at := func(name string) seat { return w.truth.seats[podName{"default", name}] }
	gone := at("web-00001")
	if err := w.Kill(provider.InstanceID(gone.node)); err != nil {
		t.Fatal(err)
	}
	if err := evictOne(w, "web-00001"); err != nil {
		t.Fatal(err)
	}
	run(t, w, 33*time.Second)
	if at("web-00001").node == "" {
		t.Error("a dead machine has ended its pod")
	}
	cutOff := at("web-00008")
	if n := w.truth.object(cutOff.node); n == nil || model.NodeReady(n) || cutOff.node == gone.node {
		t.Fatalf("%s is not on a node that is cut off, but on %s", cutOff.id.name, cutOff.node)
	}
	if err := evictOne(w, "web-00008"); err != nil {
		t.Fatal(err)
	}
	run(t, w, 40*time.Second)
	if at("web-00008").node == "" {
		t.Error("a kubelet that is not heard of has said that its pod has ended")
	}
	run(t, w, 2*time.Minute)
	if at("web-00001").node != "" || at("web-00008").node != "" || w.truth.object(gone.node) != nil {
		t.Errorf("at the end: %+v, %+v", at("web-00001"), at("web-00008"))
	}
}
