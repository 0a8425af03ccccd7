package act

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var nodesResource = schema.GroupResource{Resource: "nodes"}

// asked lists what the API server was asked, in order.
func asked(c *fake.Clientset) []string {
	var list []string
	for _, a := range c.Actions() {
		what := a.GetVerb() + " " + a.GetResource().Resource
		if a.GetSubresource() != "" {
			what += "/" + a.GetSubresource()
		}
		list = append(list, what)
	}
	return list
}

// nodeOf is a node as it is now.
func nodeOf(t *testing.T, c *fake.Clientset, name string) *corev1.Node {
	t.Helper()
	n, err := c.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", name)
	if err != nil {
		t.Fatal(err)
	}
	return n.(*corev1.Node)
}

// differs compares what act may write on a node.
func differs(want, got *corev1.Node) string {
	return cmp.Diff(want.Spec, got.Spec, cmpopts.EquateEmpty()) + cmp.Diff(want.Annotations, got.Annotations,
		cmpopts.EquateEmpty())
}

// TestNodeWrites says of each verb what it makes of a node, to the letter; where
// there is no after, nothing is written.
func TestNodeWrites(t *testing.T) {
	const now = "946684800" // the start of the bubble
	noSchedule, prefer := corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule
	candidate := withTaint(model.TaintCandidate, "1", prefer)
	oursNot := withAnnotation(model.AnnotationRemoval, model.RemovalTainted)
	ours := withAnnotation(model.AnnotationRemoval, model.RemovalCordoned)
	bare := func(n *corev1.Node) { n.Annotations, n.Spec.Taints = nil, nil }
	const long = "äpm" // 4 bytes: the cut falls into its first character
	for _, c := range []struct {
		name   string
		verb   model.Verb
		note   string
		before *corev1.Node
		after  *corev1.Node
	}{
		{"taint", model.Taint, "", node("n"), node("n", withTaint(model.TaintToBeDeleted, now, noSchedule), oursNot)},
		{"taint a node without taints and annotations", model.Taint, "", node("n", bare),
			node("n", bare, func(n *corev1.Node) { n.Annotations = map[string]string{} },
				withTaint(model.TaintToBeDeleted, now, noSchedule), oursNot)},
		{"taint a candidate", model.Taint, "", node("n", candidate),
			node("n", candidate, withTaint(model.TaintToBeDeleted, now, noSchedule), oursNot)},
		{"taint what another client cordoned", model.Taint, "", node("n", cordoned),
			node("n", cordoned, withTaint(model.TaintToBeDeleted, now, noSchedule), oursNot)},
		{"taint again", model.Taint, "", node("n", goes, oursNot), nil},
		{"taint again what we cordoned", model.Taint, "", node("n", goes, ours, cordoned), nil},
		{"taint what has the mark, but not ours", model.Taint, "", tainted("n"), node("n", goes, oursNot)},
		{"taint what another autoscaler cordoned", model.Taint, "", node("n", goes, cordoned), nil},
		{"taint what we cordoned, the taint being gone", model.Taint, "", node("n", ours, cordoned),
			node("n", ours, cordoned, withTaint(model.TaintToBeDeleted, now, noSchedule))},
		{"taint what we cordoned, taint and cordon being gone", model.Taint, "", node("n", ours),
			node("n", withTaint(model.TaintToBeDeleted, now, noSchedule), oursNot)},

		{"untaint", model.Untaint, "", node("n", goes, oursNot), node("n")},
		{"untaint a candidate", model.Untaint, "", node("n", candidate, goes, oursNot), node("n")},
		{"untaint what we cordoned", model.Untaint, "", node("n", goes, ours, cordoned), node("n")},
		{"untaint what another client cordoned", model.Untaint, "", node("n", goes, oursNot, cordoned), node("n", cordoned)},
		{"untaint what another autoscaler left", model.Untaint, "", node("n", goes, cordoned), node("n")},
		{"untaint what we cordoned, the taint being gone", model.Untaint, "", node("n", ours, cordoned), node("n")},
		{"untaint what we cordoned, the cordon being gone", model.Untaint, "", node("n", goes, ours), node("n")},
		{"untaint what has only the annotation", model.Untaint, "", node("n", oursNot), node("n")},
		{"untaint what only was a candidate", model.Untaint, "", node("n", candidate), node("n")},
		{"untaint a candidate that another client cordoned", model.Untaint, "", node("n", candidate, cordoned),
			node("n", cordoned)},
		{"untaint a word of another time", model.Untaint, "",
			node("n", goes, cordoned, withAnnotation(model.AnnotationRemoval, "x")), node("n", cordoned)},
		{"untaint what is clean", model.Untaint, "", node("n"), nil},
		{"untaint what is clean, and cordoned", model.Untaint, "", node("n", cordoned), nil},

		{"mark", model.Mark, "", node("n"), node("n", withTaint(model.TaintCandidate, now, prefer))},
		{"mark again", model.Mark, "", node("n", candidate), nil},
		{"unmark", model.Unmark, "", node("n", candidate), node("n")},
		{"unmark what goes", model.Unmark, "", node("n", candidate, goes, oursNot), node("n", goes, oursNot)},
		{"unmark again", model.Unmark, "", node("n", goes, oursNot), nil},

		{"annotate", model.Annotate, "why", node("n"), node("n", withAnnotation(model.AnnotationStays, "why"))},
		{"annotate again", model.Annotate, "why", node("n", withAnnotation(model.AnnotationStays, "old")),
			node("n", withAnnotation(model.AnnotationStays, "why"))},
		{"annotate again", model.Annotate, "why", node("n", withAnnotation(model.AnnotationStays, "why")), nil},
		{"annotate nothing", model.Annotate, "", node("n", withAnnotation(model.AnnotationStays, "old")), node("n")},
		{"annotate nothing where an empty note is", model.Annotate, "",
			node("n", withAnnotation(model.AnnotationStays, "")), node("n")},
		{"annotate nothing again", model.Annotate, "", node("n"), nil},
		{"annotate at length", model.Annotate, strings.Repeat(long, 200), node("n"),
			node("n", withAnnotation(model.AnnotationStays, strings.Repeat(long, 99)+"…"))},
		{"annotate at length again", model.Annotate, strings.Repeat(long, 200),
			node("n", withAnnotation(model.AnnotationStays, strings.Repeat(long, 99)+"…")), nil},
		{"annotate to the limit", model.Annotate, strings.Repeat(long, 100), node("n"),
			node("n", withAnnotation(model.AnnotationStays, strings.Repeat(long, 100)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset(c.before.DeepCopy())
			out := run(t, script{}, client, model.Call{Verb: c.verb, Group: "g", Node: "n", Note: c.note})[0]
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			want, requests := c.after, []string{"get nodes", "update nodes"}
			if want == nil {
				want, requests = c.before, requests[:1]
			}
			got := nodeOf(t, client, "n")
			if d := differs(want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(requests, asked(client)); d != "" {
				t.Error(d)
			}
			if out.Unchanged != (c.after == nil) {
				t.Errorf("unchanged: %v", out.Unchanged)
			}
			if out.ResourceVersion == "" || out.ResourceVersion != got.ResourceVersion {
				t.Errorf("version %q, the node has %q", out.ResourceVersion, got.ResourceVersion)
			}
			for _, a := range client.Actions() {
				if u, ok := a.(clienttesting.UpdateAction); ok && u.GetObject().(*corev1.Node).ResourceVersion != "7" {
					t.Error("the write does not carry the version that was read")
				}
			}
		})
	}
}

// A node that is on its way out is no candidate any more.
func TestMarkOfANodeThatGoes(t *testing.T) {
	client := fake.NewClientset(tainted("n"))
	out := run(t, script{}, client, model.Call{Verb: model.Mark, Node: "n"})[0]
	if e := out.Err; e == nil || e.Kind != provider.Conflict || e.MayHaveHappened ||
		out.ResourceVersion != "" || out.Unchanged {
		t.Errorf("outcome %+v", out)
	}
	if d := differs(tainted("n"), nodeOf(t, client, "n")); d != "" {
		t.Error(d)
	}
}

// A node that another client changed meanwhile is read again.
func TestTaintAfterConflict(t *testing.T) {
	client := fake.NewClientset(node("n"))
	conflicts := 2
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts == 0 {
			return false, nil, nil
		}
		conflicts--
		return true, nil, apierrors.NewConflict(nodesResource, "n", errors.New("changed"))
	})
	out := run(t, script{}, client, model.Call{Verb: model.Taint, Node: "n"})
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	if d := cmp.Diff(slices.Repeat([]string{"get nodes", "update nodes"}, 3), asked(client)); d != "" {
		t.Error(d)
	}
}

// What became so while we tried is no write of ours.
func TestTaintByAnotherAfterConflict(t *testing.T) {
	client := fake.NewClientset(node("n"))
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		other := node("n", goes, withAnnotation(model.AnnotationRemoval, model.RemovalTainted))
		if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), other, ""); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewConflict(nodesResource, "n", errors.New("changed"))
	})
	out := run(t, script{}, client, model.Call{Verb: model.Taint, Node: "n"})[0]
	if out.Err != nil || !out.Unchanged {
		t.Errorf("outcome %+v", out)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	for _, c := range []struct {
		name      string
		err       error
		kind      provider.Kind
		uncertain bool
	}{
		{"not found", apierrors.NewNotFound(nodesResource, "n"), provider.NotFound, false},
		{"forbidden", apierrors.NewForbidden(nodesResource, "n", errors.New("no")), provider.Denied, false},
		{"unauthorized", apierrors.NewUnauthorized("who"), provider.Credentials, false},
		{"invalid", apierrors.NewBadRequest("no"), provider.Transient, false},
		{"always changed", apierrors.NewConflict(nodesResource, "n", errors.New("changed")), provider.Conflict, false},
		{"throttled", apierrors.NewTooManyRequests("slow", 3), provider.Throttled, false},
		{"server timeout", apierrors.NewServerTimeout(nodesResource, "update", 1), provider.Unavailable, true},
		{"broken connection", errors.New("EOF"), provider.Unavailable, true},
		{"internal", apierrors.NewInternalError(errors.New("etcd")), provider.Unavailable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset(node("n"))
			client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, c.err
			})
			for _, verb := range []model.Verb{model.Taint, model.Mark, model.Annotate} {
				out := run(t, script{}, client, model.Call{Verb: verb, Node: "n", Note: "why"})[0]
				if e := out.Err; e == nil || e.Kind != c.kind || e.MayHaveHappened != c.uncertain ||
					out.ResourceVersion != "" || out.Unchanged {
					t.Fatalf("%s: %+v", verb, out)
				}
				if !strings.Contains(out.Err.Error(), `node "n"`) {
					t.Errorf("the error does not name the node: %v", out.Err)
				}
			}
		})
	}
}

// An error of a read is certain: nothing was written.
func TestErrorOfTheReadBeforeAWrite(t *testing.T) {
	client := fake.NewClientset(node("n"))
	client.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("EOF")
	})
	out := run(t, script{}, client, model.Call{Verb: model.Taint, Node: "n"})[0]
	if e := out.Err; e == nil || e.Kind != provider.Unavailable || e.MayHaveHappened {
		t.Errorf("error %+v", out.Err)
	}
	out = run(t, script{}, fake.NewClientset(), model.Call{Verb: model.Untaint, Node: "n"})[0]
	if e := out.Err; e == nil || e.Kind != provider.NotFound || e.MayHaveHappened {
		t.Errorf("of a node that is gone: %+v", out.Err)
	}
}
