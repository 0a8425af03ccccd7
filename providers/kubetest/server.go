package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Serve serves an API, or what is made of one, on a port of the loopback until the test ends. It
// returns the URL.
func Serve(t testing.TB, handler http.Handler) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on the loopback: %v", err)
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // it ends by Close
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// call is a request, understood.
type call struct {
	verb                 string
	resource             Resource
	version              string
	namespace, name, sub string
	selector, from       string
	content              string // of a patch
	limit                int
	metadata             bool // a list is wanted of the objects' metadata alone
	body                 []byte
}

func (c call) what() string {
	if c.sub != "" {
		return c.resource.Plural + "/" + c.sub
	}
	return c.resource.Plural
}

// status is an error's answer.
type status struct {
	code            int
	reason, message string
	retryAfter      int
}

func (s *status) body() Object {
	o := Object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": s.code, "reason": s.reason, "message": s.message,
	}
	if s.retryAfter > 0 {
		o["details"] = Object{"retryAfterSeconds": s.retryAfter}
	}
	return o
}

func notFound(what string) *status {
	return &status{code: 404, reason: "NotFound", message: what + " not found"}
}

// ServeHTTP answers as the API server does.
func (a *API) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // also lets the server notice that the client has gone
	if err != nil {
		return
	}
	if o, ok := a.discover(r.URL.Path); ok {
		answer(out, o, nil)
		return
	}
	c, refused := a.understand(r, body)
	if refused != nil {
		answer(out, nil, refused)
		return
	}
	a.mu.Lock()
	a.note(c)
	if !a.allowed(c) {
		a.mu.Unlock()
		answer(out, nil, forbidden(c))
		return
	}
	f, disturbed := a.disturb(c)
	a.mu.Unlock()
	if disturbed && a.befall(out, r, c, f) {
		return
	}
	if c.verb == "watch" {
		a.watch(out, r, c)
		return
	}
	o, refused := a.serve(c)
	answer(out, o, refused)
}

// understand reads a path of the form
// /apis/group/version[/namespaces/ns]/plural[/name[/subresource]].
func (a *API) understand(r *http.Request, body []byte) (call, *status) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	c := call{body: body, content: r.Header.Get("Content-Type"), selector: r.URL.Query().Get("labelSelector"),
		from: r.URL.Query().Get("resourceVersion")}
	if len(parts) > 2 && parts[0] == "api" { // the group without a name
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	if len(parts) < 4 || parts[0] != "apis" {
		return c, notFound(r.URL.Path)
	}
	group := parts[1]
	c.version = parts[2]
	rest := parts[3:]
	if rest[0] == "namespaces" && len(rest) > 2 {
		c.namespace, rest = rest[1], rest[2:]
	}
	a.mu.Lock()
	var ok bool
	c.resource, ok = a.resource(group, c.version, rest[0])
	a.mu.Unlock()
	if !ok {
		return c, notFound("the server could not find the requested resource " + r.URL.Path)
	}
	c.metadata = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
	if len(rest) > 1 {
		c.name = rest[1]
	}
	if len(rest) > 2 {
		c.sub = rest[2]
	}
	if limit := r.URL.Query().Get("limit"); limit != "" {
		if _, err := fmt.Sscan(limit, &c.limit); err != nil {
			return c, &status{code: 400, reason: "BadRequest", message: "limit: " + err.Error()}
		}
	}
	switch {
	case r.Method == http.MethodGet && c.name != "":
		c.verb = "get"
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		c.verb = "watch"
		if r.URL.Query().Get("sendInitialEvents") == "true" { // which clients can do without
			return c, &status{code: 422, reason: "Invalid", message: "sendInitialEvents is not served here"}
		}
	case r.Method == http.MethodGet:
		c.verb = "list"
	default:
		c.verb = map[string]string{
			http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
		}[r.Method]
	}
	return c, nil
}

func answer(out http.ResponseWriter, o Object, refused *status) {
	out.Header().Set("Content-Type", "application/json")
	code := http.StatusOK
	if refused != nil {
		o, code = refused.body(), refused.code
		if refused.retryAfter > 0 {
			out.Header().Set("Retry-After", fmt.Sprint(refused.retryAfter))
		}
	}
	out.WriteHeader(code)
	_ = json.NewEncoder(out).Encode(o) // the client may have gone
}
