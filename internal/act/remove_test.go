package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// noting is a cloud that notes what is asked of it, and answers a removal by the given
// function.
func noting(answer func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error)) (script, *[]string) {
	var requests []string
	return script{
		grow: func(_ context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
			requests = append(requests, fmt.Sprintf("grow %s", r.Group))
			return provider.GrowResult{Target: r.To}, nil
		},
		remove: func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
			text := fmt.Sprintf("remove %v of %s, forced %t", r.Instances, r.Group, r.Force)
			if r.If != "" {
				text += ", if " + string(r.If)
			}
			requests = append(requests, text)
			return answer(ctx, r)
		},
	}, &requests
}

// done removes whatever is asked for; two are left.
func done(_ context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
	result := provider.RemoveResult{Target: 2}
	for _, id := range slices.Backward(r.Instances) { // in whichever order
		result.Instances = append(result.Instances, provider.InstanceResult{ID: id})
	}
	return result, nil
}

func taintedNodes(names ...string) *fake.Clientset {
	client := fake.NewClientset()
	for _, name := range names {
		if err := client.Tracker().Add(tainted(name)); err != nil {
			panic(err)
		}
	}
	return client
}

// What is to be ended on a condition goes with its condition, and with nothing that has
// another.
func TestRemovalsCarryTheirCondition(t *testing.T) {
	on := func(instance string, condition provider.Condition) model.Call {
		return model.Call{ID: "remove/" + instance, Verb: model.Remove, Group: "g", Instance: provider.InstanceID(instance),
			If: condition, Deadline: time.Now().Add(time.Minute)}
	}
	cloud, requests := noting(done)
	run(t, cloud, fake.NewClientset(), on("a", provider.StillFailed), on("b", provider.StillFailed),
		on("c", provider.StillWithoutNode), on("d", ""))
	want := []string{"remove [a b] of g, forced false, if StillFailed",
		"remove [c] of g, forced false, if StillWithoutNode", "remove [d] of g, forced false"}
	if !slices.Equal(*requests, want) {
		t.Errorf("asked for %q, want %q", *requests, want)
	}
}

// Removals that wait for the same lane are one write, as long as nothing else has its
// turn between them.
func TestRemovalsGoTogether(t *testing.T) {
	pooled := func(c model.Call, group string, force bool) model.Call {
		c.Group, c.Pool, c.Force = provider.GroupID(group), "p", force
		return c
	}
	grow := growCall("g", 1, 2)
	grow.Pool = "p"
	cloud, requests := noting(done)
	out := run(t, cloud, taintedNodes("a", "b", "c", "d", "e", "f"),
		pooled(removeCall("a"), "g", false), pooled(removeCall("b"), "g", false), grow,
		pooled(removeCall("c"), "g", false), pooled(removeCall("d"), "h", false), pooled(removeCall("e"), "h", true),
		pooled(removeCall("f"), "h", true))
	want := []string{
		"remove [i-a i-b] of g, forced false", "grow g", "remove [i-c] of g, forced false",
		"remove [i-d] of h, forced false", "remove [i-e i-f] of h, forced true",
	}
	if !slices.Equal(*requests, want) {
		t.Errorf("asked for %q, want %q", *requests, want)
	}
	for _, o := range out {
		if o.Err != nil || o.Target != 2 {
			t.Errorf("%s: target %d, %v", o.Call.ID, o.Target, o.Err)
		}
	}
	if len(out) != 7 {
		t.Errorf("%d ends", len(out))
	}
}

// Never more than a call has time for.
func TestRemovalsTogetherAreBounded(t *testing.T) {
	var calls []model.Call
	var names []string
	for i := range together + 1 {
		names = append(names, fmt.Sprintf("n%d", i))
		calls = append(calls, removeCall(names[i]))
	}
	cloud, requests := noting(done)
	if out := run(t, cloud, taintedNodes(names...), calls...); len(out) != len(calls) || len(*requests) != 2 {
		t.Errorf("%d ends of %d, asked for %q", len(out), len(calls), *requests)
	}
}

// One that must stay stays alone, whether its node says so or the cloud.
func TestOneOfThemStays(t *testing.T) {
	cloud, requests := noting(func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
		result, _ := done(ctx, r)
		for i := range result.Instances {
			if result.Instances[i].ID == "i-c" {
				result.Instances[i].Err = &provider.Error{Kind: provider.Conflict, Message: "it is protected"}
			}
		}
		return result, nil
	})
	client := taintedNodes("a", "c", "d")
	if err := client.Tracker().Add(node("b")); err != nil { // its taint was removed by another client
		t.Fatal(err)
	}
	out := run(t, cloud, client, removeCall("a"), removeCall("b"), removeCall("c"), removeCall("d"))
	if want := []string{"remove [i-a i-c i-d] of g, forced false"}; !slices.Equal(*requests, want) {
		t.Errorf("asked for %q, want %q", *requests, want)
	}
	for i, want := range []string{"", "was removed", "it is protected", ""} {
		if e := out[i].Err; (e != nil) != (want != "") || e != nil && !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v, want %q", out[i].Call.ID, e, want)
		}
		if out[i].Call.Node != []string{"a", "b", "c", "d"}[i] {
			t.Errorf("end %d is of %s", i, out[i].Call.ID)
		}
	}
}

// What refuses all of them may be true of one, and each is asked for alone then: until a
// limit has refused one. What the cloud cannot do now is not asked for again, nor what may
// have happened.
func TestRefusedTogether(t *testing.T) {
	for _, c := range []struct {
		kind     provider.Kind
		perhaps  bool
		requests int
		removed  int
	}{
		{provider.Limit, false, 4, 2}, {provider.Limit, true, 1, 0}, {provider.Conflict, false, 5, 2},
		{provider.Denied, false, 5, 2},
		{provider.Throttled, false, 1, 0}, {provider.Unavailable, false, 1, 0}, {provider.Unavailable, true, 1, 0},
	} {
		t.Run(fmt.Sprint(c.kind, c.perhaps), func(t *testing.T) {
			room := 2
			cloud, requests := noting(func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
				if len(r.Instances) > room {
					return provider.RemoveResult{Target: 9}, &provider.Error{Kind: c.kind, Message: "no", MayHaveHappened: c.perhaps}
				}
				room -= len(r.Instances)
				return done(ctx, r)
			})
			out := run(t, cloud, taintedNodes("a", "b", "c", "d"), removeCall("a"), removeCall("b"), removeCall("c"),
				removeCall("d"))
			removed := 0
			for _, o := range out {
				switch {
				case o.Err == nil:
					removed++
				case o.Err.Kind != c.kind || o.Err.MayHaveHappened != c.perhaps || o.Target != -1:
					t.Errorf("%s: target %d, %v", o.Call.ID, o.Target, o.Err)
				}
			}
			if removed != c.removed || len(*requests) != c.requests {
				t.Errorf("%d removed, want %d; asked for %q, want %d", removed, c.removed, *requests, c.requests)
			}
		})
	}
}

// Alone they are looked at once more (rule L9), and not asked for when time is over.
func TestAloneAfterAnotherLook(t *testing.T) {
	client := taintedNodes("a", "b", "c")
	cloud, requests := noting(func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
		switch {
		case len(r.Instances) == 3: // and meanwhile another client removes a taint
			return provider.RemoveResult{}, errors.Join(client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"),
				node("a"), ""), &provider.Error{Kind: provider.Conflict})
		case r.Instances[0] == "i-b":
			<-ctx.Done()
			return provider.RemoveResult{}, &provider.Error{Kind: provider.Conflict}
		}
		return done(ctx, r)
	})
	out := run(t, cloud, client, removeCall("a"), removeCall("b"), removeCall("c"))
	if want := []string{
		"remove [i-a i-b i-c] of g, forced false", "remove [i-b] of g, forced false",
	}; !slices.Equal(*requests, want) {
		t.Errorf("asked for %q, want %q", *requests, want)
	}
	for _, o := range out {
		if o.Err == nil || o.Err.Kind != provider.Conflict || o.Err.MayHaveHappened {
			t.Errorf("%s: %v", o.Call.ID, o.Err)
		}
	}
}

// A call whose time is nearly over does not shorten the time of others.
func TestTogetherOnlyWithLikeDeadlines(t *testing.T) {
	late := func(name string, by time.Duration) job {
		c := removeCall(name)
		c.Deadline = start.Add(by)
		return job{call: c}
	}
	if n := head([]job{late("a", time.Second), late("b", time.Minute), late("c", time.Minute)}); n != 1 {
		t.Errorf("%d together with one that has a second left", n)
	}
	if n := head([]job{late("a", time.Minute), late("b", time.Minute+apart), late("c", time.Minute)}); n != 3 {
		t.Errorf("%d of 3 together", n)
	}
}

// What does not come back is unknown of each.
func TestTogetherWithoutAnEnd(t *testing.T) {
	for name, how := range map[string]func(context.Context){
		"it panicked":                 func(context.Context) { panic("boom") },
		"it did not return":           func(context.Context) { time.Sleep(time.Hour) },
		"context deadline exceeded":   func(ctx context.Context) { <-ctx.Done() },
		"does not say what became of": func(context.Context) {},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, _ := noting(func(ctx context.Context, _ provider.RemoveRequest) (provider.RemoveResult, error) {
				how(ctx)
				return provider.RemoveResult{}, ctx.Err()
			})
			out := run(t, cloud, taintedNodes("a", "b"), removeCall("a"), removeCall("b"))
			if len(out) != 2 {
				t.Fatalf("%d ends", len(out))
			}
			for _, o := range out {
				if o.Err == nil || !o.Err.MayHaveHappened || !strings.Contains(o.Err.Error(), name) {
					t.Errorf("%s: %v", o.Call.ID, o.Err)
				}
			}
		})
	}
}

// The lease is lost while a look or a write is under way: no further write begins (rule
// L10). What was refused together is reported as refused or as not begun, never as unknown.
func TestLeaseLostBetweenRemovals(t *testing.T) {
	for name, c := range map[string]struct {
		lostAt   string // the write, or a look at the node, during which it is lost
		requests int
	}{"in the write of all": {"write", 1}, "in the last look": {"look", 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lost := false
				cloud, requests := noting(func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
					lost = true
					return provider.RemoveResult{}, &provider.Error{Kind: provider.Conflict, Message: "not all of them"}
				})
				client := taintedNodes("a", "b", "c")
				client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					lost = lost || c.lostAt == "look"
					return false, nil, nil
				})
				a := New(cloud, client, func() error {
					if lost {
						return errors.New("the lease is gone")
					}
					return nil
				}, func() {}, Live{}, quiet())
				var calls []model.Call
				for _, name := range []string{"a", "b", "c"} {
					call := removeCall(name)
					call.Deadline = time.Now().Add(time.Minute)
					calls = append(calls, call)
				}
				a.Start(t.Context(), calls)
				a.running.Wait()
				if len(*requests) != c.requests {
					t.Errorf("asked for %q, want %d", *requests, c.requests)
				}
				ends := a.Collect()
				if len(ends) != 3 {
					t.Fatalf("%d ends", len(ends))
				}
				for _, o := range ends {
					if o.Err == nil || o.Err.MayHaveHappened || o.Err.Code != model.CodeNotBegun ||
						!strings.Contains(o.Err.Message, "the lease is gone") {
						t.Errorf("%s: %v", o.Call.ID, o.Err)
					}
				}
			})
		})
	}
}

// A look that the API server could not answer just now: the removal has not begun, and
// the drain goes on where it was. One that it refuses ends the drain.
func TestALookThatCannotBeMade(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code string
		kind provider.Kind
	}{
		"too many requests": {apierrors.NewTooManyRequests("slow down", 3), model.CodeNotBegun, provider.Throttled},
		"away":              {apierrors.NewServiceUnavailable("away"), model.CodeNotBegun, ""},
		"forbidden":         {apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no")), "", provider.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, requests := noting(done)
			client := taintedNodes("a")
			client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, c.err
			})
			out := run(t, cloud, client, removeCall("a"))
			if e := out[0].Err; len(*requests) != 0 || e == nil || e.Code != c.code || e.MayHaveHappened ||
				c.kind != "" && e.Kind != c.kind {
				t.Errorf("%v; asked for %q", e, *requests)
			}
		})
	}
}

// Where the cloud chooses who goes, all nodes of a group are one write, however many they
// are, or none: what stays keeps the others, and none is asked for alone.
func TestAllOfAGroupOrNone(t *testing.T) {
	names := make([]string, together+2)
	for i := range names {
		names[i] = fmt.Sprintf("n%02d", i)
	}
	calls := func() []model.Call {
		var calls []model.Call
		for _, name := range names {
			c := removeCall(name)
			c.Whole = len(names)
			calls = append(calls, c)
		}
		return calls
	}
	is := func(ready corev1.ConditionStatus) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		}
	}
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	refused := func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
		return provider.RemoveResult{}, &provider.Error{Kind: provider.Conflict, Message: "it moves"}
	}
	for name, c := range map[string]struct {
		change   func(*fake.Clientset) error
		answer   func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error)
		requests int
		why      string
	}{
		"all go": {answer: done, requests: 1},
		"the taint of one was taken away": {answer: done, why: "was removed", change: func(client *fake.Clientset) error {
			return client.Tracker().Update(nodes, node(names[3], is(corev1.ConditionTrue)), "")
		}},
		"one is not ready any more": {answer: done, why: "not ready any more", change: func(client *fake.Clientset) error {
			return client.Tracker().Update(nodes, node(names[3], goes, is(corev1.ConditionUnknown)), "")
		}},
		"the node of one is gone": {answer: done, why: "its node is gone", change: func(client *fake.Clientset) error {
			return client.Tracker().Delete(nodes, "", names[3])
		}},
		"the cloud refuses": {answer: refused, requests: 1, why: "it moves"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			for _, name := range names {
				if err := client.Tracker().Add(node(name, goes, is(corev1.ConditionTrue))); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				if err := c.change(client); err != nil {
					t.Fatal(err)
				}
			}
			cloud, requests := noting(c.answer)
			out := run(t, cloud, client, calls()...)
			if len(*requests) != c.requests || len(out) != len(names) {
				t.Fatalf("asked for %q; %d ends", *requests, len(out))
			}
			for i, o := range out {
				switch {
				case (o.Err == nil) != (c.why == ""), o.Err != nil && o.Err.MayHaveHappened:
					t.Errorf("%s: %v", o.Call.ID, o.Err)
				case c.change != nil && i != 3 && o.Err.Code != model.CodeNotBegun: // its drain goes on
					t.Errorf("%s: %v", o.Call.ID, o.Err)
				case c.why != "" && i == 3 && !strings.Contains(o.Err.Error(), c.why):
					t.Errorf("%s: %v, want %q", o.Call.ID, o.Err, c.why)
				}
			}
		})
	}
}
