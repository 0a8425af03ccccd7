package act

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

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
func run(t *testing.T, cloud provider.Provider, client kubernetes.Interface, calls ...model.Call) []model.Outcome {
	t.Helper()
	var out []model.Outcome
	synctest.Test(t, func(t *testing.T) {
		a := New(cloud, client, always, func() {}, Live{}, quiet())
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
	return model.Call{
		ID: "remove " + node, Verb: model.Remove, Group: "g", Node: node, Instance: provider.InstanceID("i-" + node),
	}
}

// start is when every bubble begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// node is a node that another client has written to as well, with changes applied.
func node(name string, changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7", Annotations: map[string]string{"team": "a"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func withTaint(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func withAnnotation(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations[key] = value }
}

func withReady(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	}
}

// goes is the mark of a node whose removal has begun; cordoned, that of one that
// nothing is scheduled on.
var goes = withTaint(model.TaintToBeDeleted, "1", corev1.TaintEffectNoSchedule)

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func tainted(name string) *corev1.Node { return node(name, goes) }

func TestPanicIsAnUnknownEnd(t *testing.T) {
	out := run(t, script{grow: func(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
		panic("boom")
	}}, fake.NewClientset(), growCall("g", 0, 1))
	if e := out[0].Err; e == nil || !e.MayHaveHappened || !strings.Contains(e.Error(), "boom") {
		t.Fatalf("error %v", out[0].Err)
	}
}

// A provider that breaks the contract and ignores its deadline: the end is reported
// as unknown, and no second write runs beside the first.
func TestHungCallIsToldAndKeepsItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		a := New(script{grow: func(_ context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
			calls.Add(1)
			<-release
			return provider.GrowResult{Target: r.To}, nil
		}}, fake.NewClientset(), always, func() {}, Live{}, quiet())
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
		}}, fake.NewClientset(), always, func() { ended.Add(1) }, Live{}, quiet())
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
		}}, fake.NewClientset(), always, func() {}, Live{}, quiet())
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
