package kubetest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Right allows verbs on resources ("machines", "machinedeployments/scale"), in
// one namespace or, if that is empty, in all of them and across them.
type Right struct {
	Namespace        string
	Resources, Verbs []string
}

// SetRights allows these and nothing else; none at all allows everything.
func (a *API) SetRights(rights ...Right) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rights = rights
}

func (a *API) allowed(c call) bool {
	return a.rights == nil || slices.ContainsFunc(a.rights, func(r Right) bool {
		return (r.Namespace == "" || r.Namespace == c.namespace) && slices.Contains(r.Resources,
			c.what()) && slices.Contains(r.Verbs, c.verb)
	})
}

// Mishap is what befalls a request.
type Mishap string

// The mishaps.
const (
	// Forbid, Conflict, Busy and Broken answer with 403, 409, 429 and 500.
	Forbid   Mishap = "forbid"
	Conflict Mishap = "conflict"
	Busy     Mishap = "busy"
	Broken   Mishap = "broken"
	// Hang does not answer until the client has gone.
	Hang Mishap = "hang"
	// EmptyList answers with a list that has neither items nor a resource version,
	// Garbled with a page of HTML.
	EmptyList Mishap = "empty"
	Garbled   Mishap = "garbled"
)

// Fault disturbs requests. An empty field is any.
type Fault struct {
	Verb, Resource, Namespace, Name string
	Mishap                          Mishap
	// After: the request has its effect first.
	After bool
	// Delay comes before anything else.
	Delay time.Duration
	// Times is how often, for ever if zero.
	Times int
	// Met is called as a request meets it.
	Met func()
	// Then is run after the request was answered with the mishap, or, if there is none, before it is
	// served: here a test makes another client write in between.
	Then func()
}

// Arm adds a fault. The newest that fits is the one.
func (a *API) Arm(f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append([]Fault{f}, a.faults...)
}

// Disarm ends all faults.
func (a *API) Disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = nil
}

// disturb takes the fault that a request meets.
func (a *API) disturb(c call) (Fault, bool) {
	at := slices.IndexFunc(a.faults, func(f Fault) bool {
		fits := func(want, have string) bool { return want == "" || want == have }
		return fits(f.Verb, c.verb) && fits(f.Resource, c.what()) && fits(f.Namespace, c.namespace) && fits(f.Name, c.name)
	})
	if at < 0 {
		return Fault{}, false
	}
	f := a.faults[at]
	if f.Times == 1 {
		a.faults = slices.Delete(a.faults, at, at+1)
	} else if f.Times > 1 {
		a.faults[at].Times--
	}
	return f, true
}

// befall plays a fault, and reports whether that was the answer.
func (a *API) befall(out http.ResponseWriter, r *http.Request, c call, f Fault) bool {
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
		a.serve(c)
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
		answer(out, nil, &status{
			code:    409,
			reason:  "Conflict",
			message: "the object has been modified; please apply your changes to the latest version",
		})
	case Busy:
		answer(out, nil, &status{code: 429, reason: "TooManyRequests", message: "too many requests", retryAfter: 1})
	case Broken:
		answer(out, nil, &status{code: 500, reason: "InternalError", message: "internal error"})
	case EmptyList:
		answer(out, Object{
			"kind":       c.resource.Kind + "List",
			"apiVersion": strings.TrimPrefix(c.resource.Group+"/"+c.version, "/"),
			"metadata":   Object{},
			"items":      []any{},
		}, nil)
	case Garbled:
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, "<html>Sign in to the airport's network</html>")
	}
	return true
}

func forbidden(c call) *status {
	where := "in the namespace " + c.namespace
	if c.namespace == "" {
		where = "at the cluster scope"
	}
	return &status{
		code: 403, reason: "Forbidden", message: fmt.Sprintf("%s is forbidden: none may %s it %s", c.what(), c.verb, where),
	}
}
