package act

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

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
		{"contract error", &provider.Error{Op: provider.OpGrow, Group: "g", Kind: provider.NoCapacity},
			provider.NoCapacity, false},
		{"contract error that may have happened", &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true},
			provider.Unavailable, true},
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

func TestRemoveWithoutAnAnswerIsUnknown(t *testing.T) {
	out := run(t, script{remove: func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
		return provider.RemoveResult{Target: 2}, nil
	}}, fake.NewClientset(tainted("n")), removeCall("n"))
	if e := out[0].Err; e == nil || !e.MayHaveHappened {
		t.Fatalf("error %+v", out[0].Err)
	}
	out = run(t, script{remove: func(_ context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
		return provider.RemoveResult{
			Instances: []provider.InstanceResult{{ID: r.Instances[0], Err: &provider.Error{Kind: provider.Limit}}},
		}, nil
	}}, fake.NewClientset(tainted("n")), removeCall("n"))
	if e := out[0].Err; e == nil || e.Kind != provider.Limit || out[0].Target != -1 {
		t.Fatalf("outcome %+v", out[0])
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
			call := model.Call{ID: "remove/instance/i", Verb: model.Remove, Group: "g", Instance: "i", ProviderID: "cloud:///i",
				NodeName: "i", Force: true}
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
