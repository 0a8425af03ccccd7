package ui_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// Bound elsewhere, each request needs a token, and a right: get on the path, or on the pod that is to be
// explained. Nothing is answered where the API server does not answer.
func TestEachRequestIsAuthorized(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		r := a.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		if r.Spec.Token == "down" {
			return true, nil, errors.New("no answer")
		}
		r.Status.Authenticated, r.Status.User.Username = r.Spec.Token != "wrong", r.Spec.Token
		return true, r, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		r := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		path, pod := r.Spec.NonResourceAttributes, r.Spec.ResourceAttributes
		r.Status.Allowed = r.Spec.User == "admin" && path != nil && path.Verb == "get" &&
			strings.HasPrefix(path.Path, "/api/v1/") ||
			r.Spec.User == "tenant" && pod != nil && pod.Namespace == "default" && pod.Resource == "pods" && pod.Verb == "get"
		return true, r, nil
	})
	c, p := cycleOf(t, cluster)
	s := leading(t, c, p, ui.Ask(client))
	for _, step := range []struct {
		token, path string
		want        int
	}{
		{"", "/", 401}, {"wrong", "/", 401}, {"down", "/", 503},
		{"admin", "/", 200}, {"admin", "/api/v1/state", 200}, {"admin", "/page.js", 200},
		{"tenant", "/", 403}, {"tenant", "/api/v1/state", 403}, {"tenant", "/api/v1/decisions", 403},
		{"tenant", "/api/v1/explain/pod/other/x", 403}, {"tenant", "/api/v1/explain/node/n1", 403},
		{"tenant", "/api/v1/explain/pod/default/none", 404},
		{"stranger", "/api/v1/explain/pod/default/none", 403},
	} {
		res, body := get(t, s, step.path, func(r *http.Request) {
			r.Host = "plimsoll.example"
			if step.token != "" {
				r.Header.Set("Authorization", "Bearer "+step.token)
			}
		})
		if res.StatusCode != step.want {
			t.Errorf("%s asks for %s: %s, not %d: %s", step.token, step.path, res.Status, step.want, body)
		}
	}
}
