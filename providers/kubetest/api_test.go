package kubetest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

// small is an API server of one kind, and a client of it.
func small(t *testing.T) (*API, dynamic.ResourceInterface, string) {
	t.Helper()
	a := New(time.Now, nil, Dialect{})
	a.Serve(Resource{Group: "example.com", Versions: []string{"v1"}, Kind: "Thing", Plural: "things", Scale: true})
	url := Serve(t, a)
	client, err := dynamic.NewForConfig(&rest.Config{Host: url, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return a, client.Resource(things).Namespace("n"), url + "/apis/example.com/v1/namespaces/n/things"
}

func thing(name string) Object {
	return Object{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": Object{"namespace": "n", "name": name},
		"spec": Object{"replicas": int64(1)}}
}

func patch(
	t *testing.T, client dynamic.ResourceInterface, kind types.PatchType, body string,
) (*unstructured.Unstructured, error) {
	t.Helper()
	return client.Patch(t.Context(), "a", kind, []byte(body), metav1.PatchOptions{})
}

// A merge patch changes what it names, removes what it names as null, and is refused
// if the object is another one than that of its resourceVersion.
func TestPatches(t *testing.T) {
	a, client, _ := small(t)
	o := thing("a")
	Set(o, "here", "metadata", "annotations", "keep")
	Set(o, "here", "metadata", "annotations", "drop")
	a.Apply(o)
	got, err := patch(t, client, types.MergePatchType,
		`{"metadata": {"annotations": {"drop": null, "new": "x"}}, "spec": {"replicas": 3, "fresh": {"a": 1, "b": null}}}`)
	if err != nil {
		t.Fatal(err)
	}
	notes := got.GetAnnotations()
	if _, there := notes["drop"]; there || notes["keep"] != "here" || notes["new"] != "x" ||
		Int(got.Object, "spec", "replicas") != 3 || got.GetGeneration() != 2 {
		t.Errorf("%v", got.Object)
	}
	if fresh, _ := Get(got.Object, "spec", "fresh").(Object); len(fresh) != 1 {
		t.Errorf("a null became a field: %v", fresh)
	}
	if _, err := patch(
		t, client, types.MergePatchType, `{"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 4}}`,
	); !apierrors.IsConflict(err) {
		t.Errorf("of an old version: %v", err)
	}
	if _, err := patch(t, client, types.MergePatchType,
		`{"metadata": {"resourceVersion": "`+got.GetResourceVersion()+`"}, "spec": {"replicas": 4}}`); err != nil {
		t.Errorf("of this version: %v", err)
	}
	if _, err := patch(t, client, types.JSONPatchType, `[]`); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a patch of another kind: %v", err)
	}
	if n := Int(a.Get("Thing", "n", "a"), "spec", "replicas"); n != 4 {
		t.Errorf("replicas %d", n)
	}
}

// What is deleted stays as long as something holds it.
func TestFinalizers(t *testing.T) {
	a, client, _ := small(t)
	o := thing("a")
	Set(o, []any{"example.com/held"}, "metadata", "finalizers")
	a.Apply(o, thing("b"))
	for _, name := range []string{"a", "b"} {
		if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if left := a.List("Thing"); len(left) != 1 || !Deleting(left[0]) {
		t.Errorf("%v", left)
	}
	if _, err := client.Get(t.Context(), "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}

// A delete may want the object to be the one that it knows.
func TestPreconditions(t *testing.T) {
	a, client, _ := small(t)
	a.Apply(thing("a"))
	now := a.Get("Thing", "n", "a")
	uid, version := types.UID(Text(now, "metadata", "uid")), Text(now, "metadata", "resourceVersion")
	other, old := types.UID("other"), "0"
	for _, wrong := range []metav1.Preconditions{{UID: &other}, {ResourceVersion: &old}} {
		if err := client.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &wrong}); !apierrors.IsConflict(err) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	right := metav1.Preconditions{UID: &uid, ResourceVersion: &version}
	if err := client.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &right}); err != nil {
		t.Error(err)
	}
}

func TestRightsFaultsAndRequests(t *testing.T) {
	a, client, _ := small(t)
	a.Apply(thing("a"))
	a.SetRights(Right{Namespace: "n", Resources: []string{"things"}, Verbs: []string{"get", "patch"}})
	if _, err := client.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	met := 0
	a.Arm(Fault{Verb: "get", Name: "a", Times: 2, Mishap: Conflict, Met: func() { met++ }})
	a.Arm(Fault{Verb: "patch", Mishap: Hang, After: true})
	for n, want := range []bool{true, true, false} {
		if _, err := client.Get(t.Context(), "a", metav1.GetOptions{}); apierrors.IsConflict(err) != want {
			t.Errorf("%d: %v", n, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec": {"replicas": 9}}`),
		metav1.PatchOptions{}); err == nil {
		t.Error("an answer that was to be lost came")
	}
	a.Disarm()
	if n := Int(a.Get("Thing", "n", "a"), "spec", "replicas"); n != 9 || met != 2 {
		t.Errorf("replicas %d, met %d", n, met)
	}
	if want := []string{
		"list things n", "get things n a", "get things n a", "get things n a", "patch things n a",
	}; !slices.Equal(a.Requests(), want) {
		t.Errorf("%v", a.Requests())
	}
}

// A watch begins after the version that it names, and tells of its own kind and
// namespace.
func TestWatchAndScale(t *testing.T) {
	a, client, url := small(t)
	a.Apply(thing("a"))
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		url+"?watch=1&resourceVersion="+list.GetResourceVersion(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	elsewhere := thing("a")
	Set(elsewhere, "m", "metadata", "namespace")
	a.Apply(elsewhere)
	scale := &unstructured.Unstructured{Object: Object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": Object{
		"namespace": "n", "name": "a",
	}, "spec": Object{"replicas": int64(5)}}}
	if _, err := client.Update(t.Context(), scale, metav1.UpdateOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	a.Drop("Thing", "n", "a")
	lines := bufio.NewScanner(answer.Body)
	for _, want := range []string{"MODIFIED", "DELETED"} {
		var e Object
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &e) != nil || Text(e, "type") != want ||
			Text(e, "object", "metadata", "namespace") != "n" {
			t.Errorf("%s, want %s", lines.Text(), want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	_, _, url := small(t)
	base, _, _ := strings.Cut(url, "/apis")
	for path, want := range map[string]string{
		"/apis":                "example.com",
		"/apis/example.com":    "v1",
		"/apis/example.com/v1": "things/scale",
		"/api":                 "v1",
		"/apis/none":           "NotFound",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", path, text, err)
		}
	}
}
