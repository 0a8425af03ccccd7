package act

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var podsResource = schema.GroupResource{Resource: "pods"}

func evictCall(name string) model.Call {
	p := pod(name)
	return model.Call{ID: "evict " + name, Verb: model.Evict, Group: "g", Node: "n", Pod: "ns/" + name, PodUID: p.UID,
		Grace: 30 * time.Second}
}

// answering is a cluster that answers evictions with err.
func answering(err error, pods ...*corev1.Pod) *fake.Clientset {
	client := cluster(node("n", goes), pods...)
	client.PrependReactor("create", "pods/eviction", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		return true, nil, err
	})
	return client
}

// budgetError is a refusal for a budget's sake, as the API server makes it.
func budgetError(e *apierrors.StatusError, message string) error {
	e.ErrStatus.Details.Causes = append(e.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: message,
	})
	return e
}

// TestEvict says what is asked: one eviction, with the pod's UID and its time in
// full seconds, and nothing else.
func TestEvict(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		grace time.Duration
		want  *int64
	}{
		{-1, nil}, {0, seconds(0)}, {1, seconds(1)}, {30 * time.Second, seconds(30)}, {30*time.Second + 1, seconds(31)},
		{90 * time.Minute, seconds(5400)},
		{1<<63 - 1, seconds(9223372037)},
	} {
		client := answering(nil, pod("p"))
		call := evictCall("p")
		call.Grace = c.grace
		out := run(t, script{}, client, call)[0]
		if out.Err != nil || out.Unchanged || out.ResourceVersion != "" {
			t.Errorf("%v: %+v", c.grace, out)
		}
		if d := cmp.Diff([]string{"create pods/eviction"}, asked(client)); d != "" {
			t.Fatal(d)
		}
		action := client.Actions()[0].(clienttesting.CreateAction)
		uid := pod("p").UID
		want := &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: "ns", Name: "p"},
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: c.want, Preconditions: &metav1.Preconditions{UID: &uid}},
		}
		if d := cmp.Diff(want, action.GetObject()); d != "" || action.GetNamespace() != "ns" {
			t.Errorf("%v: namespace %q: %s", c.grace, action.GetNamespace(), d)
		}
	}
}

// An eviction that does not say which pod it means could hit another.
func TestEvictOfNoPod(t *testing.T) {
	for name, change := range map[string]func(*model.Call){
		"no UID":       func(c *model.Call) { c.PodUID = "" },
		"no namespace": func(c *model.Call) { c.Pod = "/p" },
		"no name":      func(c *model.Call) { c.Pod = "ns/" },
		"no slash":     func(c *model.Call) { c.Pod = "p" },
		"nothing":      func(c *model.Call) { c.Pod = "" },
	} {
		client := answering(nil, pod("p"))
		call := evictCall("p")
		change(&call)
		out := run(t, script{}, client, call)[0]
		if e := out.Err; e == nil || e.Kind != provider.BadConfig || e.MayHaveHappened || len(client.Actions()) != 0 {
			t.Errorf("%s: %+v after %v", name, out, asked(client))
		}
	}
}

// TestEvictionRefused says what each answer of the API server means. Where no
// kind is reported, the eviction is as good as done.
func TestEvictionRefused(t *testing.T) {
	budgets := schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
	conflict := apierrors.NewConflict(podsResource, "p", errors.New("the UID in the precondition does not match"))
	gone := apierrors.NewNotFound(podsResource, "p")
	terminating := func() error {
		e := apierrors.NewForbidden(podsResource, "p", errors.New("namespace ns is being terminated"))
		e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return e
	}()
	another := pod("p", func(p *corev1.Pod) { p.UID = "uid-other" })
	needs := "The disruption budget web needs 2 healthy pods and has 2 currently"
	internal := func(message string) error {
		return &apierrors.StatusError{
			ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message},
		}
	}
	alone, look := []string{"create pods/eviction"}, []string{"create pods/eviction", "list pods"}
	for _, c := range []struct {
		name      string
		err       error
		pod       *corev1.Pod
		requests  []string
		kind      provider.Kind
		code      string
		after     time.Duration
		uncertain bool
		why       string
	}{
		{"gone", gone, nil, look, "", "", 0, false, ""},
		{"another of its name", conflict, another, look, "", "", 0, false, ""},
		{"replaced between refusal and look", gone, another, look, "", "", 0, false, ""},
		{"its namespace goes, and it does", terminating, pod("p", ending(start)), look, "", "", 0, false, ""},
		{"changed under the server's hands, and deleted", conflict, pod("p", ending(start)), look, "", "", 0, false, ""},
		{"changed under the server's hands", conflict, pod("p"), look, provider.Conflict, "", 0, false, "precondition"},
		{"its budget is gone", apierrors.NewNotFound(budgets, "web"), pod("p"), look, provider.Transient,
			"", 0, false, "web"},
		{"its namespace goes, and it does not yet", terminating, pod("p"), look, provider.Transient, "NamespaceTerminating",
			0, false, "namespace"},
		{"its budget has none to spare", budgetError(apierrors.NewTooManyRequests("Cannot evict pod.", 0), needs), pod("p"),
			alone, provider.Conflict, "DisruptionBudget", 0, false, needs},
		{"its budget is being counted", budgetError(apierrors.NewTooManyRequests("Cannot evict pod.", 10),
			"still being processed"), pod("p"), alone, provider.Conflict, "DisruptionBudget", 10 * time.Second, false,
			"still being processed"},
		{"its budget is at odds", budgetError(apierrors.NewForbidden(budgets, "web", errors.New("negative")), "negative"),
			pod("p"), alone, provider.Conflict, "DisruptionBudget", 0, false, "negative"},
		{"several budgets", internal(
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."), pod("p"), alone,
			provider.BadConfig, "MoreThanOneDisruptionBudget", 0, false, "leave one budget"},
		{"the server is busy", apierrors.NewTooManyRequests("slow", 3), pod("p"), alone, provider.Throttled, "",
			3 * time.Second, false, "slow"},
		{"no right", apierrors.NewForbidden(podsResource, "p", errors.New("no")), pod("p"), alone, provider.Denied, "", 0,
			false, "create on pods/eviction"},
		{"no right for any pod", apierrors.NewForbidden(podsResource, "p",
			errors.New(`User "plimsoll" cannot create resource "pods/eviction" in API group "" in the namespace "ns"`)),
			pod("p"), alone, provider.Denied, "RightMissing", 0, false, "create on pods/eviction"},
		{"invalid", apierrors.NewBadRequest("no"), pod("p"), alone, provider.Transient, "", 0, false, "no"},
		{"internal", internal("etcd"), pod("p"), alone, provider.Unavailable, "", 0, true, "etcd"},
		{"the budget could not be written", apierrors.NewTimeoutError("couldn't update PodDisruptionBudget", 10), pod("p"),
			alone, provider.Unavailable, "", 10 * time.Second, true, "couldn't"},
		{"server timeout", apierrors.NewServerTimeout(podsResource, "create", 1), pod("p"), alone, provider.Unavailable, "",
			time.Second, true, ""},
		{"broken connection", errors.New("EOF"), pod("p"), alone, provider.Unavailable, "", 0, true, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := answering(c.err)
			if c.pod != nil {
				client = answering(c.err, c.pod)
			}
			out := run(t, script{}, client, evictCall("p"))[0]
			if d := cmp.Diff(c.requests, asked(client)); d != "" {
				t.Error(d)
			}
			if c.kind == "" {
				if out.Err != nil || !out.Unchanged {
					t.Errorf("%+v", out)
				}
				return
			}
			e := out.Err
			if e == nil || out.Unchanged {
				t.Fatalf("%+v", out)
			}
			if e.Kind != c.kind || e.Code != c.code || e.MayHaveHappened != c.uncertain || e.RetryAfter != c.after {
				t.Errorf("%+v", e)
			}
			if text := e.Error(); !strings.Contains(text, c.why) || !strings.Contains(text, `pod "ns/p" on node "n"`) ||
				!strings.HasPrefix(text, `evict group "g"`) {
				t.Errorf("text %q", text)
			}
		})
	}
}

// A pod that cannot be read after a refusal is not taken for gone.
func TestEvictionRefusedAndNoLook(t *testing.T) {
	client := answering(apierrors.NewNotFound(podsResource, "p"))
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("EOF")
	})
	out := run(t, script{}, client, evictCall("p"))[0]
	if e := out.Err; e == nil || out.Unchanged || e.Kind != provider.Transient || e.MayHaveHappened ||
		!strings.Contains(e.Error(), "EOF") {
		t.Errorf("%+v", out)
	}
}

// transport is an API server as its bytes are.
type transport func(*http.Request) (code int, status metav1.Status)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	code, status := f(r)
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// TestEvictionOnTheWire: the same with the bytes of a real API server. client-go
// itself asks again where the server says when, ten times: such an eviction
// takes long, and at the deadline it is unknown how its last request ended.
func TestEvictionOnTheWire(t *testing.T) {
	counted := budgetError(apierrors.NewTooManyRequests(
		"Cannot evict pod as it would violate the pod's disruption budget.", 10,
	), "still being processed").(*apierrors.StatusError)
	for _, c := range []struct {
		name      string
		code      int
		status    metav1.Status
		deadline  time.Duration
		took      time.Duration
		kind      provider.Kind
		codeOfErr string
		uncertain bool
	}{
		{"granted", 201, metav1.Status{Status: metav1.StatusSuccess}, time.Minute, 0, "", "", false},
		{"several budgets", 500, metav1.Status{Status: metav1.StatusFailure, Code: 500,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
			time.Minute, 0, provider.BadConfig, model.CodeManyBudgets, false},
		{"a budget that is never counted", 429, counted.ErrStatus, 2 * time.Minute, 100 * time.Second, provider.Conflict,
			model.CodeDisruptionBudget, false},
		{"the same, and less time", 429, counted.ErrStatus, 55 * time.Second, 55 * time.Second,
			provider.Unavailable, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := kubernetes.NewForConfig(&rest.Config{
					Host: "http://api", QPS: -1, Transport: transport(func(r *http.Request) (int, metav1.Status) {
						if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/ns/pods/p/eviction" {
							t.Errorf("%s %s", r.Method, r.URL)
						}
						var got map[string]any
						if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
							t.Error(err)
						}
						want := map[string]any{
							"apiVersion": "policy/v1", "kind": "Eviction",
							"metadata":      map[string]any{"namespace": "ns", "name": "p"},
							"deleteOptions": map[string]any{"gracePeriodSeconds": 30.0, "preconditions": map[string]any{"uid": "uid-p"}},
						}
						if d := cmp.Diff(want, got); d != "" {
							t.Error(d)
						}
						return c.code, c.status
					}),
				})
				if err != nil {
					t.Fatal(err)
				}
				a := New(script{}, client, always, func() {}, Live{}, quiet())
				call := evictCall("p")
				call.Deadline = time.Now().Add(c.deadline)
				a.Start(t.Context(), []model.Call{call})
				a.running.Wait()
				out := a.Collect()[0]
				if took := out.Ended.Sub(out.Began); took != c.took {
					t.Errorf("it took %v", took)
				}
				if c.kind == "" {
					if out.Err != nil {
						t.Error(out.Err)
					}
					return
				}
				if e := out.Err; e == nil || e.Kind != c.kind || e.Code != c.codeOfErr || e.MayHaveHappened != c.uncertain {
					t.Errorf("%+v", out.Err)
				}
			})
		})
	}
}
