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
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are answered: nothing can be changed here", http.StatusMethodNotAllowed)
			return
		}
		if from := r.Header.Get("Sec-Fetch-Site"); from == "cross-site" || from == "same-site" {
			http.Error(w, "another site asks for this", http.StatusForbidden)
			return
		}
		if s.settings.Allow == nil {
			if !loopback(r.Host) {
				http.Error(w, "the Host header must name the loopback (localhost, 127.0.0.1 or [::1])", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		only, err := s.settings.Allow(r)
		if refused, ok := errors.AsType[*Refusal](err); ok {
			if refused.Status == http.StatusUnauthorized {
				h.Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, refused.Why, refused.Status)
			return
		} else if err != nil {
			s.log.Warn("a request to the page was refused: the API server could not be asked", "err", err)
			http.Error(w, "the API server could not be asked whether this is allowed", http.StatusServiceUnavailable)
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

// Refusal is the answer to a request that is not allowed.
type Refusal struct {
	Status int
	Why    string
}

func (r *Refusal) Error() string { return r.Why }

type onlyKey struct{}

// onlyOf is the namespace that the answer is confined to, empty if it is not.
func onlyOf(r *http.Request) string {
	only, _ := r.Context().Value(onlyKey{}).(string)
	return only
}

// podPath is what a person with rights on a namespace may ask: /api/v1/explain/pod/NAMESPACE/NAME.
const podPath = "/api/v1/explain/pod/"

// mostAsked is how many requests may wait for the API server's word.
const mostAsked = 100

// Ask asks the API server about each request: who sends the bearer token, and whether get on the path
// is allowed to them. Pages count as /api/v1/page. Who may get a pod may have it explained.
// Those who ask without a right do so at will: no more than mostAsked are asked about at a time.
func Ask(client kubernetes.Interface) Allow {
	asked := make(chan struct{}, mostAsked)
	return func(r *http.Request) (string, error) {
		select {
		case asked <- struct{}{}:
			defer func() { <-asked }()
		default:
			return "", &Refusal{http.StatusServiceUnavailable, "too many requests wait for the API server's word"}
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			return "", &Refusal{http.StatusUnauthorized, "a bearer token is wanted"}
		}
		who, err := client.AuthenticationV1().TokenReviews().Create(r.Context(),
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("review a bearer token: %w", err)
		}
		if !who.Status.Authenticated {
			return "", &Refusal{http.StatusUnauthorized, "the bearer token is not valid"}
		}
		path := r.URL.Path
		if !strings.HasPrefix(path, "/api/v1/") {
			path = "/api/v1/page"
		}
		spec := specOf(who.Status.User)
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"}
		if may, err := allowed(r.Context(), client, spec); may || err != nil {
			return "", err
		}
		namespace, name, ok := strings.Cut(strings.TrimPrefix(path, podPath), "/")
		if ok && strings.HasPrefix(path, podPath) && namespace != "" {
			spec := specOf(who.Status.User)
			spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: namespace, Name: name, Verb: "get", Resource: "pods", Version: "v1"}
			if may, err := allowed(r.Context(), client, spec); may || err != nil {
				return namespace, err
			}
		}
		return "", &Refusal{http.StatusForbidden,
			fmt.Sprintf("%s lacks get on the non-resource URL %s", who.Status.User.Username, path)}
	}
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
