package kubetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Resource is a kind that is served.
type Resource struct {
	Group string
	// Versions, the preferred one first.
	Versions     []string
	Kind, Plural string
	// Scale: it has that subresource.
	Scale bool
}

// Dialect is in what an API is its own. A nil function is the plain one.
type Dialect struct {
	// Show makes of a copy of an object what a client sees in a version of its
	// resource. The plain one shows it as it is.
	Show func(o Object, r Resource, version string) Object
	// Take says what is stored when a client has sent an object in place of a
	// stored one, of which it gets a copy. The plain one stores what was sent.
	Take func(stored, sent Object, r Resource) Object
}

// API is the API server.
type API struct {
	controllers Controllers
	dialect     Dialect

	mu      sync.Mutex
	objects *Objects
	// observe is when the controllers look again, zero if all is seen.
	observe   time.Time
	resources []Resource
	requests  []string
	rights    []Right
	faults    []Fault
}

// New makes an API server without any kind. Time is that of now; controllers may
// be nil.
func New(now func() time.Time, controllers Controllers, dialect Dialect) *API {
	if dialect.Show == nil {
		dialect.Show = func(o Object, _ Resource, _ string) Object { return o }
	}
	if dialect.Take == nil {
		dialect.Take = func(_, sent Object, _ Resource) Object { return sent }
	}
	return &API{controllers: controllers, dialect: dialect, objects: newObjects(now)}
}

// Do runs f on the objects, locked. The controllers do not see what f changes; Change is
// for that.
func (a *API) Do(f func(*Objects)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.objects)
}

// Serve adds kinds.
func (a *API) Serve(resources ...Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resources = append(a.resources, resources...)
}

// Unserve takes a kind away.
func (a *API) Unserve(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resources = slices.DeleteFunc(a.resources, func(r Resource) bool { return r.Kind == kind })
}

// ServeIn changes the versions in which a group is served.
func (a *API) ServeIn(group string, versions ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.resources {
		if a.resources[i].Group == group {
			a.resources[i].Versions = versions
		}
	}
}

// Apply stores objects, new or in place of old ones, and lets the controllers act
// on them when they do.
func (a *API) Apply(objects ...Object) {
	a.Change(func(o *Objects) {
		for _, each := range objects {
			o.Put(Clone(each))
		}
	})
}

// Edit changes an object by hand.
func (a *API) Edit(kind, namespace, name string, change func(Object)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.objects.Copy(Key{kind, namespace, name})
	if o == nil {
		return fmt.Errorf("there is no %s %s/%s", kind, namespace, name)
	}
	change(o)
	a.objects.Put(o)
	a.changed()
	return nil
}

// Drop removes an object at once, whatever its finalizers.
func (a *API) Drop(kind, namespace, name string) {
	a.Change(func(o *Objects) { o.Remove(Key{kind, namespace, name}) })
}

// Get is a copy of an object, nil if there is none.
func (a *API) Get(kind, namespace, name string) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	return a.objects.Copy(Key{kind, namespace, name})
}

// List is copies of all objects of a kind, sorted by name.
func (a *API) List(kind string) []Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	var out []Object
	for _, k := range a.objects.Keys(kind) {
		out = append(out, a.objects.Copy(k))
	}
	return out
}

// Requests are those that came so far: "VERB resource[/subresource] namespace name".
func (a *API) Requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// ForgetRequests empties that list.
func (a *API) ForgetRequests() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = nil
}

func (a *API) note(c call) {
	a.requests = append(a.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.verb, c.what(), c.namespace, c.name)))
}

// resource finds a kind by its plural.
func (a *API) resource(group, version, plural string) (Resource, bool) {
	for _, r := range a.resources {
		if r.Group == group && r.Plural == plural && slices.Contains(r.Versions, version) {
			return r, true
		}
	}
	return Resource{}, false
}
