package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// policy lets the page load what its own origin serves, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard sets the headers, and refuses what must not be answered.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.refuse(w, r, &Refusal{Status: http.StatusMethodNotAllowed, Code: MethodNotAllowed,
				Why:  "only GET and HEAD are answered: nothing can be changed here",
				Hint: "plimsoll --help has what changes things"})
			return
		}
		if from := r.Header.Get("Sec-Fetch-Site"); from == "cross-site" || from == "same-site" {
			s.refuse(w, r, &Refusal{Status: http.StatusForbidden, Code: OtherSite, Why: "another site asks for this",
				Hint: "open the address itself"})
			return
		}
		if s.settings.Allow == nil {
			if !loopback(r.Host) {
				s.refuse(w, r, &Refusal{Status: http.StatusForbidden, Code: WrongHost,
					Why: "the Host header must name the loopback (localhost, 127.0.0.1 or [::1])", Hint: "plimsoll ui opens it so"})
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		only, err := s.settings.Allow(r)
		if _, refused := errors.AsType[*Refusal](err); !refused && err != nil {
			s.log.Warn("a request to the page was refused: the API server could not be asked", "err", err)
			err = &Refusal{Status: http.StatusServiceUnavailable, Code: Unreachable, After: askAgain,
				Why: "the API server could not be asked whether this is allowed", Hint: "ask again soon; the log says why"}
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), onlyKey{}, only)))
	})
}

// loopback reports whether a Host header names this machine itself. A name that an attacker's DNS
// resolves to the loopback does not.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Loopback reports whether an address to listen on, host:port, is reachable from this machine only.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && loopback(address)
}

// Allow decides on a request. Where only is set, the answer may name what is in that namespace, and
// nothing of others.
type Allow func(r *http.Request) (only string, err error)

type onlyKey struct{}

// onlyOf is the namespace that the answer is confined to, empty if it is not.
func onlyOf(r *http.Request) string {
	only, _ := r.Context().Value(onlyKey{}).(string)
	return only
}

// podPath is what a person with rights on a namespace may ask: /api/v1/explain/pod/NAMESPACE/NAME.
const podPath = "/api/v1/explain/pod/"

// Ask asks the API server about each request: who sends the bearer token, which it then believes for some seconds, and
// whether get on the path is allowed to them. Pages count as /api/v1/page. Who may get a pod may have it explained.
func Ask(client kubernetes.Interface) Allow {
	d := newDoor(client)
	return func(r *http.Request) (string, error) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			return "", unauthenticated("a bearer token is wanted")
		}
		address, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			address = r.RemoteAddr
		}
		user, err := d.user(r.Context(), token, address)
		if err != nil {
			return "", err
		}
		leave, err := d.enter(user.Username)
		if err != nil {
			return "", err
		}
		defer leave()
		path := r.URL.Path
		if !strings.HasPrefix(path, "/api/v1/") {
			path = "/api/v1/page"
		}
		spec := specOf(user)
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"}
		if may, err := allowed(r.Context(), client, spec); may || err != nil {
			return "", err
		}
		namespace, name, ok := strings.Cut(strings.TrimPrefix(path, podPath), "/")
		if ok && strings.HasPrefix(path, podPath) && namespace != "" {
			spec := specOf(user)
			spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: namespace, Name: name, Verb: "get", Resource: "pods", Version: "v1"}
			if may, err := allowed(r.Context(), client, spec); may || err != nil {
				return namespace, err
			}
		}
		return "", &Refusal{Status: http.StatusForbidden, Code: Forbidden,
			Why:  fmt.Sprintf("%s lacks get on the non-resource URL %s", user.Username, path),
			Hint: "bind a ClusterRole with get on the non-resource URL /api/v1/*; docs/ui.md has it"}
	}
}

func unauthenticated(why string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Code: Unauthenticated, Why: why,
		Hint: "send the header Authorization: Bearer TOKEN; kubectl create token NAME makes one"}
}

func specOf(u authenticationv1.UserInfo) authorizationv1.SubjectAccessReviewSpec {
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range u.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	return authorizationv1.SubjectAccessReviewSpec{User: u.Username, Groups: u.Groups, UID: u.UID, Extra: extra}
}

func allowed(
	ctx context.Context, client kubernetes.Interface, spec authorizationv1.SubjectAccessReviewSpec,
) (bool, error) {
	answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review the access of %s: %w", spec.User, err)
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}
