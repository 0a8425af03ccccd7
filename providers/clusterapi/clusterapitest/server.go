package clusterapitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server is a world that listens.
type Server struct {
	http *http.Server
	url  string
}

// Listen serves the world on a port of the loopback.
func Listen(w *World) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on the loopback: %w", err)
	}
	s := &Server{http: &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}, url: "http://" + l.Addr().String()}
	go func() { _ = s.http.Serve(l) }() // it ends by Close
	return s, nil
}

// URL is where it listens.
func (s *Server) URL() string { return s.url }

// Close ends it, and every request.
func (s *Server) Close() error { return s.http.Close() }

// call is a request, understood.
type call struct {
	verb                    string
	resource                Resource
	version                 string
	namespace, name, sub    string
	selector, from, accepts string
	limit                   int
	body                    []byte
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
	o := Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": s.code, "reason": s.reason, "message": s.message}
	if s.retryAfter > 0 {
		o["details"] = Object{"retryAfterSeconds": s.retryAfter}
	}
	return o
}

func notFound(what string) *status {
	return &status{code: 404, reason: "NotFound", message: what + " not found"}
}

// ServeHTTP answers as the API server does.
func (w *World) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // also lets the server notice that the client has gone
	if err != nil {
		return
	}
	if o, ok := w.discover(r.URL.Path); ok {
		answer(out, o, nil)
		return
	}
	c, refused := w.understand(r, body)
	if refused != nil {
		answer(out, nil, refused)
		return
	}
	w.mu.Lock()
	w.requests = append(w.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.verb, c.what(), c.namespace, c.name)))
	if !w.allowed(c) {
		w.mu.Unlock()
		answer(out, nil, forbidden(c))
		return
	}
	f, disturbed := w.disturb(c)
	w.mu.Unlock()
	if disturbed && w.befall(out, r, c, f) {
		return
	}
	if c.verb == "watch" {
		w.watch(out, r, c)
		return
	}
	o, refused := w.serve(c)
	answer(out, o, refused)
}

func forbidden(c call) *status {
	where := "in the namespace " + c.namespace
	if c.namespace == "" {
		where = "at the cluster scope"
	}
	return &status{code: 403, reason: "Forbidden", message: fmt.Sprintf("%s is forbidden: nobody may %s it %s", c.what(), c.verb, where)}
}

// befall plays a fault, and tells whether that was the answer.
func (w *World) befall(out http.ResponseWriter, r *http.Request, c call, f Fault) bool {
	if f.Met != nil {
		f.Met()
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return true
		}
	}
	if f.After {
		w.serve(c)
	}
	if f.Then != nil {
		f.Then()
	}
	switch f.Mishap {
	case "":
		return false
	case Hang:
		<-r.Context().Done()
	case Forbid:
		answer(out, nil, forbidden(c))
	case Conflict:
		answer(out, nil, &status{code: 409, reason: "Conflict", message: "the object has been modified; please apply your changes to the latest version"})
	case Busy:
		answer(out, nil, &status{code: 429, reason: "TooManyRequests", message: "too many requests", retryAfter: 1})
	case Broken:
		answer(out, nil, &status{code: 500, reason: "InternalError", message: "internal error"})
	case EmptyList:
		answer(out, Object{"kind": c.resource.Kind + "List", "apiVersion": c.resource.Group + "/" + c.version, "metadata": Object{}, "items": []any{}}, nil)
	case Garbled:
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, "<html>Sign in to the airport's network</html>")
	}
	return true
}

// understand reads a path of the form
// /apis/group/version[/namespaces/ns]/plural[/name[/subresource]].
func (w *World) understand(r *http.Request, body []byte) (call, *status) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	c := call{body: body, accepts: r.Header.Get("Accept"), selector: r.URL.Query().Get("labelSelector"), from: r.URL.Query().Get("resourceVersion")}
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
	w.mu.Lock()
	var ok bool
	c.resource, ok = w.resource(group, c.version, rest[0])
	w.mu.Unlock()
	if !ok {
		return c, notFound("the server could not find the requested resource " + r.URL.Path)
	}
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
	case r.Method == http.MethodGet:
		c.verb = "list"
	default:
		c.verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
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

// discover answers what is served: /api, /apis, /apis/group, /apis/group/version.
func (w *World) discover(path string) (Object, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/api":
		return Object{"kind": "APIVersions", "versions": []any{"v1"}}, true
	case path == "/apis":
		var groups []any
		seen := map[string]bool{}
		for _, r := range w.resources {
			if !seen[r.Group] {
				seen[r.Group] = true
				groups = append(groups, w.describe(r.Group))
			}
		}
		return Object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, true
	case len(parts) == 2 && parts[0] == "apis":
		o := w.describe(parts[1])
		return o, o != nil
	case len(parts) == 3 && parts[0] == "apis":
		var list []any
		for _, r := range w.resources {
			if _, ok := w.resource(parts[1], parts[2], r.Plural); !ok || r.Group != parts[1] {
				continue
			}
			list = append(list, Object{"name": r.Plural, "kind": r.Kind, "namespaced": true, "verbs": []any{"get", "list", "watch", "update"}})
			list = append(list, Object{"name": r.Plural + "/status", "kind": r.Kind, "namespaced": true, "verbs": []any{"get"}})
			if r.Scale {
				list = append(list, Object{"name": r.Plural + "/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "namespaced": true, "verbs": []any{"get", "update"}})
			}
		}
		return Object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": parts[1] + "/" + parts[2], "resources": list}, list != nil
	}
	return nil, false
}

// describe is an API group with the versions of all of its kinds.
func (w *World) describe(group string) Object {
	var versions []any
	seen := map[string]bool{}
	for _, r := range w.resources {
		for _, v := range r.Versions {
			if r.Group == group && !seen[v] {
				seen[v] = true
				versions = append(versions, Object{"groupVersion": group + "/" + v, "version": v})
			}
		}
	}
	if len(versions) == 0 {
		return nil
	}
	return Object{"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": versions, "preferredVersion": versions[0]}
}
