package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// script is a provider whose answers a test writes.
type script struct {
	grow   func(context.Context, provider.GrowRequest) (provider.GrowResult, error)
	remove func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error)
	cancel func(context.Context, provider.CancelRequest) (provider.CancelResult, error)
}

func (s script) Inventory(context.Context) (provider.Inventory, error) {
	return provider.Inventory{}, errors.New("act must not read the inventory")
}
func (s script) Grow(ctx context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
	return s.grow(ctx, r)
}
func (s script) Remove(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
	return s.remove(ctx, r)
}
func (s script) Cancel(ctx context.Context, r provider.CancelRequest) (provider.CancelResult, error) {
	if s.cancel != nil {
		return s.cancel(ctx, r)
	}
	return provider.CancelResult{}, errors.New("not used")
}

func grown(_ context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
	return provider.GrowResult{Target: r.To}, nil
}

func removed(_ context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
	return provider.RemoveResult{Target: 3, Instances: []provider.InstanceResult{{ID: r.Instances[0]}}}, nil
}

// always lets every call begin.
func always() error { return nil }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// run starts calls in a bubble of virtual time and gives their ends.
func run(t *testing.T, cloud provider.Provider, client *fake.Clientset, calls ...model.Call) []model.Outcome {
	t.Helper()
	var out []model.Outcome
	synctest.Test(t, func(t *testing.T) {
		a := New(cloud, client, always, func() {}, quiet())
		for i := range calls {
			calls[i].Deadline = time.Now().Add(time.Minute)
		}
		a.Start(t.Context(), calls)
		a.running.Wait()
		out = a.Collect()
	})
	return out
}

func growCall(group string, from, to int) model.Call {
	return model.Call{ID: "grow " + group, Verb: model.Grow, Group: provider.GroupID(group), From: from, To: to, MaxTo: 10}
}

func removeCall(node string) model.Call {
	return model.Call{ID: "remove " + node, Verb: model.Remove, Group: "g", Node: node, Instance: provider.InstanceID("i-" + node)}
}

func tainted(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: model.TaintToBeDeleted, Value: "1", Effect: corev1.TaintEffectNoSchedule}}},
	}
}

func TestGrow(t *testing.T) {
	out := run(t, script{grow: grown}, fake.NewClientset(), growCall("g", 2, 5))
	if len(out) != 1 || out[0].Err != nil || out[0].Target != 5 {
		t.Fatalf("outcome %+v", out)
	}
	if out[0].Began.IsZero() || out[0].Ended.IsZero() {
		t.Errorf("began %v, ended %v", out[0].Began, out[0].Ended)
	}
}

// Rule P4: the limit of the plan is checked before the provider is asked.
func TestGrowAboveTheLimitIsNotAsked(t *testing.T) {
	cloud := script{grow: func(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
		t.Error("the provider was asked")
		return provider.GrowResult{}, nil
	}}
	for _, call := range []model.Call{growCall("g", 2, 11), growCall("g", 5, 5), growCall("g", 5, 4)} {
		out := run(t, cloud, fake.NewClientset(), call)
		if out[0].Err == nil || out[0].Err.MayHaveHappened || out[0].Target != -1 {
			t.Errorf("%d to %d: %+v", call.From, call.To, out[0])
		}
	}
}

func TestProviderErrorsKeepTheirKind(t *testing.T) {
	plain := errors.New("connection reset")
	for _, c := range []struct {
		name      string
		err       error
		kind      provider.Kind
		uncertain bool
	}{
		{"contract error", &provider.Error{Op: provider.OpGrow, Group: "g", Kind: provider.NoCapacity}, provider.NoCapacity, false},
		{"contract error that may have happened", &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true}, provider.Unavailable, true},
		{"any error", plain, provider.Transient, false},
		{"a deadline passed on", context.DeadlineExceeded, provider.Unavailable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := run(t, script{grow: func(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
				return provider.GrowResult{}, c.err
			}}, fake.NewClientset(), growCall("g", 0, 1))
			if e := out[0].Err; e == nil || e.Kind != c.kind || e.MayHaveHappened != c.uncertain {
				t.Fatalf("error %+v", out[0].Err)
			}
		})
	}
}

// Rule P3: one write per pool, else per group, at a time; others run beside it.
func TestWritesToOnePoolFollowEachOther(t *testing.T) {
	var mu sync.Mutex
	var open, most int
	var order []string
	cloud := script{grow: func(ctx context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		time.Sleep(time.Second) // virtual
		mu.Lock()
		open--
		order = append(order, string(r.Group))
		mu.Unlock()
		return provider.GrowResult{Target: r.To}, nil
	}}
	a, b := growCall("a", 0, 1), growCall("b", 0, 1)
	a.Pool, b.Pool = "p", "p"
	out := run(t, cloud, fake.NewClientset(), a, b)
	if most != 1 || !slices.Equal(order, []string{"a", "b"}) || len(out) != 2 {
		t.Errorf("one pool: %d at a time, order %v", most, order)
	}
	most = 0
	run(t, cloud, fake.NewClientset(), growCall("a", 0, 1), growCall("b", 0, 1))
	if most != 2 {
		t.Errorf("two groups: %d at a time, want 2", most)
	}
}

func TestPanicIsAnUnknownEnd(t *testing.T) {
	out := run(t, script{grow: func(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
		panic("boom")
	}}, fake.NewClientset(), growCall("g", 0, 1))
	if e := out[0].Err; e == nil || !e.MayHaveHappened || !strings.Contains(e.Error(), "boom") {
		t.Fatalf("error %v", out[0].Err)
	}
}

// A provider that breaks the contract and ignores its deadline: the end is told
// as unknown, and no second write runs beside the first.
func TestHungCallIsToldAndKeepsItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		a := New(script{grow: func(_ context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
			calls.Add(1)
			<-release
			return provider.GrowResult{Target: r.To}, nil
		}}, fake.NewClientset(), always, func() {}, quiet())
		first, second := growCall("g", 0, 1), growCall("g", 1, 2)
		first.Deadline, second.Deadline = time.Now().Add(time.Minute), time.Now().Add(2*time.Minute)
		a.Start(t.Context(), []model.Call{first, second})
		<-a.Changed()
		out := a.Collect()
		if len(out) != 1 || out[0].Err == nil || !out[0].Err.MayHaveHappened || calls.Load() != 1 {
			t.Fatalf("outcome %+v after %d calls", out, calls.Load())
		}
		time.Sleep(5 * time.Minute)
		close(release)
		<-a.Changed()
		out = a.Collect()
		if len(out) != 1 || calls.Load() != 1 || !strings.Contains(out[0].Err.Error(), "not begun") {
			t.Fatalf("outcome %+v after %d calls", out, calls.Load())
		}
	})
}

// Rule L10: the end of the lease stops what has not begun; what is under way
// gets its deadline.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		a := New(script{grow: func(ctx context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
			select {
			case <-ctx.Done():
				return provider.GrowResult{}, ctx.Err()
			case <-time.After(10 * time.Second):
				return provider.GrowResult{Target: r.To}, nil
			}
		}}, fake.NewClientset(), always, func() { ended.Add(1) }, quiet())
		ctx, cancel := context.WithCancelCause(t.Context())
		first, second := growCall("g", 0, 1), growCall("g", 1, 2)
		first.Deadline, second.Deadline = time.Now().Add(time.Minute), time.Now().Add(time.Minute)
		a.Start(ctx, []model.Call{first, second})
		synctest.Wait()
		cancel(errors.New("the lease is lost"))
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		out := a.Collect()
		if len(out) != 2 {
			t.Fatalf("%d outcomes", len(out))
		}
		for _, o := range out {
			switch o.Call.From {
			case 0:
				if o.Err != nil {
					t.Errorf("the call under way: %v", o.Err)
				}
			case 1:
				if o.Err == nil || o.Err.MayHaveHappened {
					t.Errorf("the call that had not begun: %v", o.Err)
				}
			}
		}
		if ended.Load() == 0 {
			t.Error("the inventory reader was not told")
		}
		a.Start(t.Context(), []model.Call{growCall("g", 1, 2)})
		if out := a.Collect(); len(out) != 1 || out[0].Err == nil {
			t.Errorf("a call after the end: %+v", out)
		}
	})
}

func TestCloseTellsOfCallsThatDidNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(script{grow: func(ctx context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
			<-ctx.Done()
			return provider.GrowResult{}, ctx.Err()
		}}, fake.NewClientset(), always, func() {}, quiet())
		call := growCall("g", 0, 1)
		call.Deadline = time.Now().Add(time.Minute)
		a.Start(t.Context(), []model.Call{call})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Close(ctx); err == nil {
			t.Error("Close said that all is well")
		}
		time.Sleep(2 * time.Minute)
	})
}

func TestTaintAndUntaint(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	call := model.Call{Verb: model.Taint, Group: "g", Node: "n"}
	out := run(t, script{}, client, call)
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	n, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != model.TaintToBeDeleted ||
		n.Spec.Taints[0].Effect != corev1.TaintEffectNoSchedule || n.Spec.Taints[0].Value == "" || n.Spec.Unschedulable {
		t.Fatalf("spec %+v", n.Spec)
	}
	if out[0].ResourceVersion != n.ResourceVersion {
		t.Errorf("version %q, the node has %q", out[0].ResourceVersion, n.ResourceVersion)
	}
	// Once more: nothing to do, nothing written.
	client.ClearActions()
	if out := run(t, script{}, client, call); out[0].Err != nil || hasUpdate(client) {
		t.Errorf("second taint: %+v, wrote: %v", out[0].Err, hasUpdate(client))
	}
	call.Verb = model.Untaint
	if out := run(t, script{}, client, call); out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	if n, _ = client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}); len(n.Spec.Taints) != 0 {
		t.Errorf("taints %v", n.Spec.Taints)
	}
}

func hasUpdate(c *fake.Clientset) bool {
	return slices.ContainsFunc(c.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() == "update" || a.GetVerb() == "patch" })
}

// A node that somebody else changed meanwhile is read anew.
func TestTaintAfterConflict(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	conflicts := 2
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts == 0 {
			return false, nil, nil
		}
		conflicts--
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("changed"))
	})
	out := run(t, script{}, client, model.Call{Verb: model.Taint, Node: "n"})
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	gets := 0
	for _, a := range client.Actions() {
		if a.GetVerb() == "get" {
			gets++
		}
	}
	if gets != 3 {
		t.Errorf("%d reads, want one per attempt", gets)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	for _, c := range []struct {
		name      string
		err       error
		kind      provider.Kind
		uncertain bool
	}{
		{"not found", apierrors.NewNotFound(nodes, "n"), provider.NotFound, false},
		{"forbidden", apierrors.NewForbidden(nodes, "n", errors.New("no")), provider.Denied, false},
		{"throttled", apierrors.NewTooManyRequests("slow", 3), provider.Throttled, false},
		{"server timeout", apierrors.NewServerTimeout(nodes, "update", 1), provider.Unavailable, true},
		{"broken connection", errors.New("EOF"), provider.Unavailable, true},
		{"internal", apierrors.NewInternalError(errors.New("etcd")), provider.Unavailable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
			out := run(t, script{}, client, model.Call{Verb: model.Taint, Node: "n"})
			if e := out[0].Err; e == nil || e.Kind != c.kind || e.MayHaveHappened != c.uncertain || out[0].ResourceVersion != "" {
				t.Fatalf("%+v, version %q", out[0].Err, out[0].ResourceVersion)
			}
			if !strings.Contains(out[0].Err.Error(), `node "n"`) {
				t.Errorf("the error does not name the node: %v", out[0].Err)
			}
		})
	}
}

// Rule L9: what is found on the node right before the write decides.
func TestRemoveLooksAgain(t *testing.T) {
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PodSpec{NodeName: "n"}}
		if change != nil {
			change(p)
		}
		return p
	}
	yes := true
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: &yes}}
	}
	mirror := func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
	done := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	replica := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", Controller: &yes}}
	}
	clean, disabled := tainted("n"), tainted("n")
	clean.Spec.Taints = nil
	disabled.Annotations = map[string]string{annotationScaleDownDisabled: "true"}
	for _, c := range []struct {
		name   string
		node   *corev1.Node
		pods   []runtime.Object
		asked  bool
		landed []string
	}{
		{"empty", tainted("n"), nil, true, nil},
		{"only pods of the node", tainted("n"), []runtime.Object{pod("d", daemon), pod("m", mirror), pod("s", done)}, true, nil},
		{"a pod landed", tainted("n"), []runtime.Object{pod("b", replica), pod("a", nil), pod("d", daemon)}, false, []string{"ns/a", "ns/b"}},
		{"the taint is gone", clean, nil, false, nil},
		{"annotated meanwhile", disabled, nil, false, nil},
		{"the node is gone", nil, nil, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := c.pods
			if c.node != nil {
				objects = append(objects, c.node)
			}
			client := fake.NewClientset(objects...)
			asked := false
			out := run(t, script{remove: func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
				asked = true
				return removed(ctx, r)
			}}, client, removeCall("n"))
			if asked != c.asked {
				t.Errorf("the provider was asked: %v", asked)
			}
			if !slices.Equal(out[0].Landed, c.landed) {
				t.Errorf("landed %v", out[0].Landed)
			}
			if c.asked != (out[0].Err == nil) {
				t.Errorf("error %v", out[0].Err)
			}
			if out[0].Err != nil && (out[0].Err.Kind != provider.Conflict || out[0].Err.MayHaveHappened) {
				t.Errorf("error %+v", out[0].Err)
			}
			if c.asked && out[0].Target != 3 {
				t.Errorf("target %d", out[0].Target)
			}
		})
	}
}

// The list must be the server's own, of that node alone.
func TestTheLastLookIsConsistent(t *testing.T) {
	client := fake.NewClientset(tainted("n"))
	looked := false
	client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		looked = true
		o := a.(clienttesting.ListActionImpl)
		if got := o.GetListRestrictions().Fields.String(); got != "spec.nodeName=n" {
			t.Errorf("field selector %q", got)
		}
		if v := o.ListOptions.ResourceVersion; v != "" {
			t.Errorf("resourceVersion %q: a cached answer would do", v)
		}
		return false, nil, nil
	})
	if out := run(t, script{remove: removed}, client, removeCall("n")); out[0].Err != nil || !looked {
		t.Fatalf("%v, looked: %v", out[0].Err, looked)
	}
}

func TestRemoveWithoutAnAnswerIsUnknown(t *testing.T) {
	out := run(t, script{remove: func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
		return provider.RemoveResult{Target: 2}, nil
	}}, fake.NewClientset(tainted("n")), removeCall("n"))
	if e := out[0].Err; e == nil || !e.MayHaveHappened {
		t.Fatalf("error %+v", out[0].Err)
	}
	out = run(t, script{remove: func(_ context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
		return provider.RemoveResult{Instances: []provider.InstanceResult{{ID: r.Instances[0], Err: &provider.Error{Kind: provider.Limit}}}}, nil
	}}, fake.NewClientset(tainted("n")), removeCall("n"))
	if e := out[0].Err; e == nil || e.Kind != provider.Limit || out[0].Target != -1 {
		t.Fatalf("outcome %+v", out[0])
	}
}

// TestRemoveOfANodeThatIsNotReady: it stays if it has become ready; pods that are
// being deleted there, and that nobody can end, do not keep it.
func TestRemoveOfANodeThatIsNotReady(t *testing.T) {
	ending := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Finalizers: []string{"x"}, DeletionTimestamp: &metav1.Time{Time: time.Now()}},
		Spec: corev1.PodSpec{NodeName: "n"}}
	for name, c := range map[string]struct {
		ready corev1.ConditionStatus
		call  bool // decided because it was not ready
		asked bool
	}{
		"still not ready":              {corev1.ConditionFalse, true, true},
		"ready again":                  {corev1.ConditionTrue, true, false},
		"its pods end, and it is well": {corev1.ConditionTrue, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := tainted("n")
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.ready}}
			asked := false
			call := removeCall("n")
			call.Unready = c.call
			out := run(t, script{remove: func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
				asked = true
				return removed(ctx, r)
			}}, fake.NewClientset(n, ending), call)
			if asked != c.asked || (out[0].Err == nil) != c.asked {
				t.Errorf("the provider was asked: %v; %v", asked, out[0].Err)
			}
		})
	}
}

// TestRemoveOfAnInstanceWithoutANode: one that has registered since stays,
// whether it is known by its provider id or by its name (rule P6).
func TestRemoveOfAnInstanceWithoutANode(t *testing.T) {
	byID := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: corev1.NodeSpec{ProviderID: "cloud:///i"}}
	byName := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "i"}}
	stranger := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.NodeSpec{ProviderID: "cloud:///x"}}
	for name, c := range map[string]struct {
		node  *corev1.Node
		asked bool
	}{"no node is its": {stranger, true}, "by its id": {byID, false}, "by its name": {byName, false}} {
		t.Run(name, func(t *testing.T) {
			var asked *provider.RemoveRequest
			call := model.Call{ID: "remove/instance/i", Verb: model.Remove, Group: "g", Instance: "i", ProviderID: "cloud:///i", NodeName: "i", Force: true}
			out := run(t, script{remove: func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
				asked = &r
				return removed(ctx, r)
			}}, fake.NewClientset(c.node), call)
			if (asked != nil) != c.asked {
				t.Fatalf("the provider was asked: %+v; %v", asked, out[0].Err)
			}
			if asked != nil && !asked.Force {
				t.Error("the removal was not forced")
			}
			if !c.asked && (out[0].Err == nil || out[0].Err.Kind != provider.Conflict) {
				t.Errorf("error %v", out[0].Err)
			}
		})
	}
}

// TestCancel: the target goes down, and never up.
func TestCancel(t *testing.T) {
	asked := 0
	cloud := script{cancel: func(_ context.Context, r provider.CancelRequest) (provider.CancelResult, error) {
		asked++
		return provider.CancelResult{Target: r.To, Cancelled: r.From - r.To}, nil
	}}
	call := func(from, to int) model.Call {
		return model.Call{ID: fmt.Sprint(from, to), Verb: model.Cancel, Group: "g", From: from, To: to}
	}
	for _, c := range []struct {
		from, to int
		done     bool
	}{{5, 3, true}, {3, 3, false}, {3, 5, false}, {3, -1, false}} {
		before := asked
		out := run(t, cloud, fake.NewClientset(), call(c.from, c.to))
		if (asked > before) != c.done || (out[0].Err == nil) != c.done {
			t.Errorf("%d → %d: asked %v, %v", c.from, c.to, asked > before, out[0].Err)
		}
		if c.done && out[0].Target != c.to {
			t.Errorf("%d → %d: target %d", c.from, c.to, out[0].Target)
		}
	}
}
