package act

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// pod is a pod on node n; its UID is its name's.
func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: "n"},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func ownedBy(version, kind string) func(*corev1.Pod) {
	yes := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "o", Controller: &yes}}
	}
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func priority(value int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &value }
}

func mirror(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }

func daemonLike(p *corev1.Pod) { p.Annotations = map[string]string{annotationDaemonSetPod: "true"} }

// ending: the pod's time to end is over at that instant. The finalizer lets it be
// in a cluster at all.
func ending(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Finalizers, p.DeletionTimestamp = []string{"x"}, &metav1.Time{Time: at}
	}
}

// overdue pods are those that the plan lets go with their node.
func overdue(p *corev1.Pod) { p.UID = "overdue" }

// cluster is one with these pods and nodes; nil ones are not there.
func cluster(n *corev1.Node, pods ...*corev1.Pod) *fake.Clientset {
	var objects []runtime.Object
	if n != nil {
		objects = append(objects, n)
	}
	for _, p := range pods {
		objects = append(objects, p)
	}
	return fake.NewClientset(objects...)
}

// Rule L9: what is found on the node right before the write decides.
func TestRemoveLooksAgain(t *testing.T) {
	daemon, replica := ownedBy("apps/v1", "DaemonSet"), ownedBy("apps/v1", "ReplicaSet")
	notReady := withReady(corev1.ConditionFalse)
	for _, c := range []struct {
		name    string
		node    *corev1.Node
		unready bool // decided because it was not ready
		pods    []*corev1.Pod
		asked   bool
		landed  []string
	}{
		{"empty", tainted("n"), false, nil, true, nil},
		{"only pods of the node", tainted("n"), false, []*corev1.Pod{pod("d", daemon), pod("e", daemonLike), pod("m", mirror),
			pod("s", inPhase(corev1.PodSucceeded)), pod("f", inPhase(corev1.PodFailed))}, true, nil},
		{"an expendable pod", tainted("n"), false, []*corev1.Pod{pod("x", priority(-11))}, true, nil},
		{"a pod at the cutoff", tainted("n"), false, []*corev1.Pod{pod("x", priority(-10))}, false, []string{"ns/x"}},
		{"a DaemonSet of a custom kind", tainted("n"), false,
			[]*corev1.Pod{pod("d", ownedBy("example.com/v1", "DaemonSet"))}, false, []string{"ns/d"}},
		{"a pod landed", tainted("n"), false, []*corev1.Pod{pod("b", replica), pod("a"), pod("d", daemon)}, false,
			[]string{"ns/a", "ns/b"}},
		{"a pod that has time to end", tainted("n"), false, []*corev1.Pod{pod("p", ending(start.Add(time.Hour)))},
			false, []string{"ns/p"}},
		{"a pod whose time is over by the API server's clock alone", tainted("n"), false,
			[]*corev1.Pod{pod("p", ending(start.Add(-time.Hour)))}, false, []string{"ns/p"}},
		{"a pod that is known to be overdue", tainted("n"), false,
			[]*corev1.Pod{pod("p", ending(start.Add(-time.Hour)), overdue)}, true, nil},
		{"a pod that is known, and is not at its end", tainted("n"), false, []*corev1.Pod{pod("p", overdue)},
			false, []string{"ns/p"}},
		{"a pod that has time, on a node that is not ready", node("n", goes, notReady), true,
			[]*corev1.Pod{pod("p", ending(start.Add(time.Hour)))}, true, nil},
		{"a pod on a node that is not ready", node("n", goes, notReady), true, []*corev1.Pod{pod("p")},
			false, []string{"ns/p"}},
		{"ready again", node("n", goes, withReady(corev1.ConditionTrue)), true, nil, false, nil},
		{"ready all the time", node("n", goes, withReady(corev1.ConditionTrue)), false, nil, true, nil},
		{"the taint is gone", node("n"), false, nil, false, nil},
		{"annotated meanwhile", node("n", goes, withAnnotation(model.AnnotationScaleDownDisabled, "true")),
			false, nil, false, nil},
		{"annotated with no", node("n", goes, withAnnotation(model.AnnotationScaleDownDisabled, "false")),
			false, nil, true, nil},
		{"the node is gone", nil, false, nil, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := false
			call := removeCall("n")
			call.Unready, call.ExpendableBelow, call.Known = c.unready, -10, []types.UID{"overdue"}
			out := run(t, script{remove: func(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
				asked = true
				return removed(ctx, r)
			}}, cluster(c.node, c.pods...), call)
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

// lookIsConsistent fails the test unless pods are listed of that node alone, and
// by the server's own word.
func lookIsConsistent(t *testing.T, client *fake.Clientset) {
	t.Helper()
	looks := 0
	for _, a := range client.Actions() {
		list, ok := a.(clienttesting.ListActionImpl)
		if !ok || a.GetResource().Resource != "pods" {
			continue
		}
		looks++
		if got := list.GetListRestrictions().Fields.String(); got != "spec.nodeName=n" || list.GetNamespace() != "" {
			t.Errorf("field selector %q in namespace %q", got, list.GetNamespace())
		}
		if o := list.ListOptions; o.ResourceVersion != "" || o.ResourceVersionMatch != "" || o.Limit != 0 {
			t.Errorf("options %+v: a cached answer, or a part of one, would do", o)
		}
	}
	if looks != 1 {
		t.Errorf("%d looks", looks)
	}
}

// The list must be the server's own, of that node alone.
func TestTheLastLookIsConsistent(t *testing.T) {
	client := fake.NewClientset(tainted("n"))
	if out := run(t, script{remove: removed}, client, removeCall("n")); out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	lookIsConsistent(t, client)
}

// A node that could not be looked at stays.
func TestRemoveWithoutALook(t *testing.T) {
	for _, what := range []string{"nodes", "pods"} {
		client := fake.NewClientset(tainted("n"))
		client.PrependReactor("*", what, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, context.DeadlineExceeded
		})
		cloud := script{remove: func(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
			t.Errorf("%s: the provider was asked", what)
			return provider.RemoveResult{}, nil
		}}
		if e := run(t, cloud, client, removeCall("n"))[0].Err; e == nil || e.Kind != provider.Unavailable ||
			e.MayHaveHappened {
			t.Errorf("%s: %+v", what, e)
		}
	}
}
