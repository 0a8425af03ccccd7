package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/act"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// wholeCloud has one group, all powers, and a complaint for each use of one that
// changes anything.
type wholeCloud struct{ t *testing.T }

func (c wholeCloud) Inventory(context.Context) (provider.Inventory, error) {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("8"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	template := &provider.Template{
		Version: "1", Node: &corev1.Node{Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts}},
	}
	return provider.Inventory{AsOf: time.Now(), Groups: []provider.Group{{ID: "web", Max: 10, Template: template}}}, nil
}

func (c wholeCloud) Grow(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
	c.t.Error("the cloud was asked to grow")
	return provider.GrowResult{}, nil
}

func (c wholeCloud) Remove(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
	c.t.Error("the cloud was asked to remove")
	return provider.RemoveResult{}, nil
}

func (c wholeCloud) Cancel(context.Context, provider.CancelRequest) (provider.CancelResult, error) {
	c.t.Error("the cloud was asked to cancel")
	return provider.CancelResult{}, nil
}

func (c wholeCloud) Notify(_ context.Context, changed func()) error {
	changed()
	return errors.New("told once")
}

func (c wholeCloud) Start(context.Context) error { c.t.Error("the cloud was started"); return nil }
func (c wholeCloud) Close(context.Context) error { c.t.Error("the cloud was cleaned up"); return nil }

// fickleCloud is one whose reads end as told.
type fickleCloud struct {
	wholeCloud
	read func(context.Context) (provider.Inventory, error)
}

func (c fickleCloud) Inventory(ctx context.Context) (provider.Inventory, error) { return c.read(ctx) }

// Each read that fails is reported, however it fails. A read whose context has been cancelled does
// not count as failed.
func TestReadsThatFailAreTold(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		ctx  context.Context
		read func(context.Context) (provider.Inventory, error)
		want int
	}{
		{"read", t.Context(), wholeCloud{t}.Inventory, 0},
		{"failed", t.Context(), func(context.Context) (provider.Inventory, error) { return provider.Inventory{}, broken }, 1},
		{"panicked", t.Context(), func(context.Context) (provider.Inventory, error) { panic(broken) }, 1},
		{"late", late, func(ctx context.Context) (provider.Inventory, error) { return provider.Inventory{}, ctx.Err() }, 1},
		{"given up", ended, func(ctx context.Context) (provider.Inventory, error) { return provider.Inventory{}, ctx.Err() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := 0
			cloud := watched(fickleCloud{wholeCloud{t}, c.read}, func(err error) {
				if err == nil {
					t.Error("told of no error")
				}
				told++
			})
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				_, err := cloud.Inventory(c.ctx)
				if failed := err != nil; failed != (c.want == 1 || c.name == "given up") {
					t.Errorf("got %v", err)
				}
				return false
			}()
			if told != c.want || panicked != (c.name == "panicked") {
				t.Errorf("told %d times, want %d; panicked: %v", told, c.want, panicked)
			}
		})
	}
}

// What an observer has of a cloud reads it, and can do nothing else.
func TestReadOnlyCloud(t *testing.T) {
	r := onlyRead(wholeCloud{t})
	var cloud provider.Provider = r
	if inv, err := cloud.Inventory(t.Context()); err != nil || len(inv.Groups) != 1 {
		t.Errorf("%v, %v", inv, err)
	}
	told := 0
	if err := r.Notify(t.Context(), func() { told++ }); err == nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
	_, errGrow := cloud.Grow(t.Context(), provider.GrowRequest{Group: "web", To: 1})
	_, errRemove := cloud.Remove(t.Context(), provider.RemoveRequest{Group: "web", Instances: []provider.InstanceID{"i"}})
	_, errCancel := cloud.Cancel(t.Context(), provider.CancelRequest{Group: "web", From: 1})
	for _, err := range []error{errGrow, errRemove, errCancel} {
		if e, ok := errors.AsType[*provider.Error](err); !ok || e.Kind != provider.Unsupported || e.MayHaveHappened {
			t.Errorf("%v", err)
		}
	}
	if _, is := cloud.(provider.Starter); is {
		t.Error("it can be started")
	}
	if _, is := cloud.(provider.Closer); is {
		t.Error("it can be cleaned up")
	}
	// One that does not tell of changes is waited for until the end.
	ended, end := context.WithCancel(t.Context())
	end()
	if err := onlyRead(struct{ provider.Provider }{wholeCloud{t}}).Notify(ended, func() { t.Error("told") }); err != nil {
		t.Error(err)
	}
}

func TestWhoObservesHasNothingToWriteWith(t *testing.T) {
	client, ended := fake.NewClientset(), func() {}
	may := func() error { return nil }
	if h, ok := newHand(onlyRead(wholeCloud{t}), client, may, ended, nil).(*act.Onlooker); !ok {
		t.Errorf("an observer has a %T", h)
	}
	if h, ok := newHand(wholeCloud{t}, client, may, ended, nil).(*act.Actor); !ok {
		t.Errorf("who acts has a %T", h)
	}
	for _, mode := range []config.Mode{{Observe: true}, {Observe: true, Events: true}, {}} {
		recorder, stop := newRecorder(mode, client)
		recorder.Event(&corev1.ObjectReference{Kind: "Node", Name: "n"}, corev1.EventTypeNormal, "Reason", "message")
		sent := func() bool {
			return slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool {
				return a.Matches("create", "events")
			})
		}
		if mode.Observe && !mode.Events {
			if sent() {
				t.Error("an observer that was not asked to sends events")
			}
		} else {
			eventually(t, "the event", sent)
		}
		stop()
		client.ClearActions()
	}
}

// A whole process on a cloud that can only be read: pods wait, it plans, and all that
// it writes is its status.
func TestAnObserverWritesItsStatusAlone(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.PodSpec{
			SchedulerName: "default-scheduler", Containers: []corev1.Container{{Name: "main", Image: "none"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}}}
	client := fake.NewClientset(pod)
	cycled, stop := leader(t, client, onlyRead(wholeCloud{t}), true)
	cycled()
	eventually(t, "the status", func() bool { _, says := updates(client); return says != "" })
	stop()
	for _, a := range client.Actions() {
		switch a.GetVerb() {
		case "get", "list", "watch":
		default:
			if a.GetResource().Resource != "configmaps" && a.GetResource().Resource != "events" {
				t.Errorf("%s %s", a.GetVerb(), a.GetResource().Resource)
			}
		}
	}
}
