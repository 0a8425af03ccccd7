package clusterapitest

import (
	"slices"
	"time"
)

// Right allows verbs on resources ("machines", "machinedeployments/scale"), in
// one namespace or, if that is empty, in all of them and across them.
type Right struct {
	Namespace        string
	Resources, Verbs []string
}

// ChartRights are those that the Helm chart of the Cluster Autoscaler gives in
// the management cluster.
func ChartRights(namespace string) []Right {
	return []Right{
		{namespace, []string{"machinedeployments", "machinepools", "machines", "machinesets"}, []string{"get", "list", "update", "watch"}},
		{namespace, []string{"machinedeployments/scale", "machinepools/scale"}, []string{"get", "patch", "update"}},
	}
}

// SetRights allows these and nothing else; none at all allows everything.
func (w *World) SetRights(rights ...Right) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rights = rights
}

func (w *World) allowed(c call) bool {
	return w.rights == nil || slices.ContainsFunc(w.rights, func(r Right) bool {
		return (r.Namespace == "" || r.Namespace == c.namespace) && slices.Contains(r.Resources, c.what()) && slices.Contains(r.Verbs, c.verb)
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
	// Then is run after the request was answered with the mishap, or, if there
	// is none, before it is served: somebody comes in between.
	Then func()
}

// Arm adds a fault. The newest that fits is the one.
func (w *World) Arm(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append([]Fault{f}, w.faults...)
}

// Disarm ends all faults.
func (w *World) Disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// disturb takes the fault that a request meets.
func (w *World) disturb(c call) (Fault, bool) {
	at := slices.IndexFunc(w.faults, func(f Fault) bool {
		fits := func(want, have string) bool { return want == "" || want == have }
		return fits(f.Verb, c.verb) && fits(f.Resource, c.what()) && fits(f.Namespace, c.namespace) && fits(f.Name, c.name)
	})
	if at < 0 {
		return Fault{}, false
	}
	f := w.faults[at]
	if f.Times == 1 {
		w.faults = slices.Delete(w.faults, at, at+1)
	} else if f.Times > 1 {
		w.faults[at].Times--
	}
	return f, true
}
