package act

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var (
	begun   = withAnnotation(model.AnnotationRemoval, model.RemovalTainted)
	emptied = withAnnotation(model.AnnotationRemoval, model.RemovalCordoned)
)

func cordonCall(known ...types.UID) model.Call {
	return model.Call{ID: "cordon n", Verb: model.Cordon, Group: "g", Node: "n", Known: known, ExpendableBelow: -10}
}

// TestCordon says what is written, and that the look comes after it (rule L9).
func TestCordon(t *testing.T) {
	written, read := []string{"get nodes", "update nodes", "list pods"}, []string{"get nodes", "list pods"}
	lookOnly := func(c *model.Call) { c.LookOnly = true }
	for _, c := range []struct {
		name          string
		before, after *corev1.Node
		change        func(*model.Call)
		requests      []string
	}{
		{"ours", node("n", goes, begun), node("n", goes, emptied, cordoned), nil, written},
		{"tainted by another", tainted("n"), node("n", goes, emptied, cordoned), nil, written},
		{"cordoned by another", node("n", goes, begun, cordoned), nil, nil, read},
		{"cordoned by us", node("n", goes, emptied, cordoned), nil, nil, read},
		{"cordoned by another autoscaler", node("n", goes, cordoned), nil, nil, read},
		{"only a look", node("n", goes, begun), nil, lookOnly, read},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := cluster(c.before.DeepCopy(), pod("k"))
			call := cordonCall("uid-k")
			if c.change != nil {
				c.change(&call)
			}
			out := run(t, script{}, client, call)[0]
			if out.Err != nil || out.Landed != nil {
				t.Fatalf("%+v", out)
			}
			want := c.after
			if want == nil {
				want = c.before
			}
			got := nodeOf(t, client, "n")
			if d := differs(want, got) + cmp.Diff(c.requests, asked(client)); d != "" {
				t.Error(d)
			}
			if out.Unchanged != (c.after == nil) || out.ResourceVersion == "" || out.ResourceVersion != got.ResourceVersion {
				t.Errorf("unchanged %v, version %q, the node has %q", out.Unchanged, out.ResourceVersion, got.ResourceVersion)
			}
			lookIsConsistent(t, client)
		})
	}
}

// A node that must stay is neither written to nor looked at any further.
func TestCordonOfANodeThatStays(t *testing.T) {
	unready := func(c *model.Call) { c.Unready = true }
	for _, c := range []struct {
		name   string
		node   *corev1.Node
		change func(*model.Call)
		kind   provider.Kind
		why    string
	}{
		{"the taint is gone", node("n", begun), nil, provider.Conflict, model.TaintToBeDeleted},
		{"only a look, and the taint is gone", node("n", begun), func(c *model.Call) { c.LookOnly = true }, provider.Conflict,
			model.TaintToBeDeleted},
		{"annotated meanwhile", node("n", goes, begun, withAnnotation(model.AnnotationScaleDownDisabled, "true")), nil,
			provider.Conflict, model.AnnotationScaleDownDisabled},
		{"ready again", node("n", goes, begun, withReady(corev1.ConditionTrue)), unready, provider.Conflict, "ready again"},
		{"gone", nil, nil, provider.NotFound, "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := cluster(c.node)
			call := cordonCall()
			if c.change != nil {
				c.change(&call)
			}
			out := run(t, script{}, client, call)[0]
			if e := out.Err; e == nil || e.Kind != c.kind || e.MayHaveHappened || !strings.Contains(e.Error(), c.why) ||
				out.ResourceVersion != "" || out.Unchanged || out.Landed != nil {
				t.Errorf("%+v", out)
			}
			if d := cmp.Diff([]string{"get nodes"}, asked(client)); d != "" {
				t.Error(d)
			}
		})
	}
	still := run(t, script{}, cluster(node("n", goes, begun, withReady(corev1.ConditionFalse))), func() model.Call {
		c := cordonCall()
		unready(&c)
		return c
	}())[0]
	if still.Err != nil {
		t.Errorf("not ready still: %v", still.Err)
	}
}

// What must stay may come to be so while the write is tried.
func TestCordonLooksAgainAfterConflict(t *testing.T) {
	client := cluster(node("n", goes, begun))
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), node("n", begun), ""); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewConflict(nodesResource, "n", errors.New("changed"))
	})
	if e := run(t, script{}, client, cordonCall())[0].Err; e == nil || e.Kind != provider.Conflict ||
		!strings.Contains(e.Error(), model.TaintToBeDeleted) {
		t.Errorf("error %v", e)
	}
	if nodeOf(t, client, "n").Spec.Unschedulable {
		t.Error("it was cordoned")
	}
}

// TestLanded says of each kind of pod whether it stops a removal that did not
// know of it.
func TestLanded(t *testing.T) {
	for _, c := range []struct {
		name   string
		pod    *corev1.Pod
		landed bool
	}{
		{"known", pod("k"), false},
		{"another of a known name", pod("k", func(p *corev1.Pod) { p.UID = "uid-k2" }), true},
		{"bare", pod("p"), true},
		{"of a ReplicaSet", pod("p", ownedBy("apps/v1", "ReplicaSet")), true},
		{"of a Job", pod("p", ownedBy("batch/v1", "Job")), true},
		{"running", pod("p", inPhase(corev1.PodRunning)), true},
		{"of a DaemonSet", pod("p", ownedBy("apps/v1", "DaemonSet")), false},
		{"as good as a DaemonSet's", pod("p", daemonLike), false},
		{"mirror", pod("p", mirror), false},
		{"succeeded", pod("p", inPhase(corev1.PodSucceeded)), false},
		{"failed", pod("p", inPhase(corev1.PodFailed)), false},
		{"expendable", pod("p", priority(-11)), false},
		{"at the cutoff", pod("p", priority(-10)), true},
		{"being deleted", pod("p", ending(start.Add(time.Hour))), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, look := range []bool{false, true} {
				client := cluster(node("n", goes, begun), pod("known"), c.pod)
				call := cordonCall("uid-known", "uid-k")
				call.LookOnly = look
				out := run(t, script{}, client, call)[0]
				if !c.landed {
					if out.Err != nil || out.Landed != nil {
						t.Errorf("%+v", out)
					}
					continue
				}
				if e := out.Err; e == nil || e.Kind != provider.Conflict || e.MayHaveHappened ||
					!strings.Contains(e.Error(), "ns/"+c.pod.Name) {
					t.Errorf("error %+v", out.Err)
				}
				if !slices.Equal(out.Landed, []string{"ns/" + c.pod.Name}) || out.Unchanged {
					t.Errorf("landed %v, unchanged %v", out.Landed, out.Unchanged)
				}
			}
		})
	}
}

func TestLandedAreSorted(t *testing.T) {
	other := pod("a")
	other.Namespace = "zz"
	client := cluster(tainted("n"))
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.PodList{Items: []corev1.Pod{*other, *pod("c"), *pod("b")}}, nil
	})
	out := run(t, script{}, client, cordonCall())[0]
	if !slices.Equal(out.Landed, []string{"ns/b", "ns/c", "zz/a"}) {
		t.Errorf("landed %v", out.Landed)
	}
}

// The race that the order is for: a pod that tolerates the taint comes while the
// node is being cordoned. It is seen, the version of the write is reported, and the
// rollback leaves nothing behind.
func TestPodThatLandsDuringTheCordon(t *testing.T) {
	client := cluster(node("n", goes, begun))
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := client.Tracker().Add(pod("late")); err != nil {
			return true, nil, err
		}
		return false, nil, nil
	})
	out := run(t, script{}, client, cordonCall())[0]
	if out.Err == nil || !slices.Equal(out.Landed, []string{"ns/late"}) || out.ResourceVersion == "" {
		t.Fatalf("%+v", out)
	}
	if d := differs(node("n", goes, emptied, cordoned), nodeOf(t, client, "n")); d != "" {
		t.Error(d)
	}
	client.ReactionChain = client.ReactionChain[1:]
	if out := run(t, script{}, client, model.Call{Verb: model.Untaint, Node: "n"})[0]; out.Err != nil {
		t.Fatal(out.Err)
	}
	if d := differs(node("n"), nodeOf(t, client, "n")); d != "" {
		t.Errorf("after the rollback: %s", d)
	}
}

// A cordon without its look is no cordon; nor is one whose write has an unknown end.
func TestCordonWithoutALook(t *testing.T) {
	failing := func(verb, what string) *fake.Clientset {
		client := cluster(node("n", goes, begun))
		client.PrependReactor(verb, what, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("EOF")
		})
		return client
	}
	client := failing("list", "pods")
	out := run(t, script{}, client, cordonCall())[0]
	if e := out.Err; e == nil || e.Kind != provider.Unavailable || e.MayHaveHappened || out.Landed != nil {
		t.Errorf("no look: %+v", out)
	}
	if v := nodeOf(t, client, "n").ResourceVersion; out.ResourceVersion == "" || out.ResourceVersion != v {
		t.Errorf("the write's version is %q, told %q", v, out.ResourceVersion)
	}
	client = failing("update", "nodes")
	out = run(t, script{}, client, cordonCall())[0]
	if e := out.Err; e == nil || !e.MayHaveHappened || out.ResourceVersion != "" {
		t.Errorf("unknown write: %+v", out)
	}
	if d := cmp.Diff([]string{"get nodes", "update nodes"}, asked(client)); d != "" {
		t.Error(d)
	}
}
