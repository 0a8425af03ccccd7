package clusterapitest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Group is the API group of the Cluster API.
const Group = "cluster.x-k8s.io"

// Object is one object, as its JSON is read: in v1beta2 if it is of the Cluster
// API.
type Object = map[string]any

// Resource is a kind that is served.
type Resource struct {
	Group string
	// Versions, the preferred one first.
	Versions     []string
	Kind, Plural string
	// Scale: it has that subresource.
	Scale bool
}

// Timing is how long things take.
type Timing struct {
	// Observe is how long the controllers take to see a change; Boot how long a
	// Machine has no node; End how long a finalizer holds a deleted one.
	Observe, Boot, End time.Duration
}

// World is the management cluster.
type World struct {
	now func() time.Time

	mu        sync.Mutex
	resources []Resource
	objects   map[key]Object
	version   int
	names     int
	events    []event
	news      chan struct{} // closed at each event
	requests  []string
	rights    []Right
	faults    []Fault
	timing    Timing
	starved   map[key]bool
	// observe is when the controllers look again, zero if all is seen.
	observe time.Time
	machine map[key]life
}

// key names an object.
type key struct{ kind, namespace, name string }

func keyOf(o Object) key {
	u := unstructured.Unstructured{Object: o}
	return key{u.GetKind(), u.GetNamespace(), u.GetName()}
}

func (a key) compare(b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// event is a change, for watches.
type event struct {
	version int
	what    string
	object  Object
}

// New makes an empty world that serves the Cluster API in the given versions,
// the preferred one first; v1beta2 alone if there are none.
func New(now func() time.Time, versions ...string) *World {
	if len(versions) == 0 {
		versions = []string{"v1beta2"}
	}
	w := &World{now: now, version: 1, objects: map[key]Object{}, news: make(chan struct{}), starved: map[key]bool{}, machine: map[key]life{}}
	for _, r := range []Resource{
		{Kind: "Cluster", Plural: "clusters"}, {Kind: "MachineDeployment", Plural: "machinedeployments", Scale: true},
		{Kind: "MachineSet", Plural: "machinesets", Scale: true}, {Kind: "MachinePool", Plural: "machinepools", Scale: true}, {Kind: "Machine", Plural: "machines"},
	} {
		r.Group, r.Versions = Group, versions
		w.resources = append(w.resources, r)
	}
	return w
}

// Serve adds a kind of any API group.
func (w *World) Serve(r Resource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resources = append(w.resources, r)
}

// Unserve takes a kind away.
func (w *World) Unserve(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resources = slices.DeleteFunc(w.resources, func(r Resource) bool { return r.Kind == kind })
}

// SetVersions changes the versions in which the Cluster API is served.
func (w *World) SetVersions(versions ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.resources {
		if w.resources[i].Group == Group {
			w.resources[i].Versions = versions
		}
	}
}

// SetTiming changes how long things take from now on.
func (w *World) SetTiming(t Timing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timing = t
}

// Apply stores an object, new or in place of the old one, and lets the
// controllers act on it when they do.
func (w *World) Apply(objects ...Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range objects {
		w.put(clone(o))
	}
	w.changed()
	w.advance()
}

// Edit changes an object by hand.
func (w *World) Edit(kind, namespace, name string, change func(Object)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.objects[key{kind, namespace, name}]
	if !ok {
		return fmt.Errorf("there is no %s %s/%s", kind, namespace, name)
	}
	o = clone(o)
	change(o)
	w.put(o)
	w.changed()
	w.advance()
	return nil
}

// Drop removes an object at once, whatever its finalizers.
func (w *World) Drop(kind, namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(key{kind, namespace, name})
	w.changed()
	w.advance()
}

// Get is a copy of an object, nil if there is none.
func (w *World) Get(kind, namespace, name string) Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance()
	o, ok := w.objects[key{kind, namespace, name}]
	if !ok {
		return nil
	}
	return clone(o)
}

// List is copies of all objects of a kind, sorted by name.
func (w *World) List(kind string) []Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance()
	var out []Object
	for _, k := range w.keys(kind) {
		out = append(out, clone(w.objects[k]))
	}
	return out
}

// Requests are those that came so far: "VERB resource[/subresource] namespace name".
func (w *World) Requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// ForgetRequests empties that list.
func (w *World) ForgetRequests() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = nil
}

// keys are those of a kind, sorted.
func (w *World) keys(kind string) []key {
	var out []key
	for k := range w.objects {
		if k.kind == kind {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, key.compare)
	return out
}

// put stores an object with what a server adds to it. What changes spec is
// another generation.
func (w *World) put(o Object) {
	u := unstructured.Unstructured{Object: o}
	k := keyOf(o)
	old, exists := w.objects[k]
	w.version++
	u.SetResourceVersion(strconv.Itoa(w.version))
	what := "ADDED"
	if exists {
		before := unstructured.Unstructured{Object: old}
		what = "MODIFIED"
		u.SetUID(before.GetUID())
		u.SetCreationTimestamp(before.GetCreationTimestamp())
		u.SetGeneration(before.GetGeneration())
		if fmt.Sprint(old["spec"]) != fmt.Sprint(o["spec"]) {
			u.SetGeneration(before.GetGeneration() + 1)
		}
	} else {
		u.SetGeneration(1)
		if u.GetUID() == "" {
			setText(o, fmt.Sprintf("uid-%d", w.version), "metadata", "uid")
		}
		if stamp := u.GetCreationTimestamp(); stamp.IsZero() {
			setText(o, w.now().UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
		}
	}
	w.objects[k] = o
	w.tell(what, o)
}

func (w *World) remove(k key) {
	o, ok := w.objects[k]
	if !ok {
		return
	}
	delete(w.objects, k)
	delete(w.machine, k)
	w.version++
	gone := clone(o)
	setText(gone, strconv.Itoa(w.version), "metadata", "resourceVersion")
	w.tell("DELETED", gone)
}

func (w *World) tell(what string, o Object) {
	w.events = append(w.events, event{w.version, what, clone(o)})
	close(w.news)
	w.news = make(chan struct{})
}

// resource finds a kind by its plural.
func (w *World) resource(group, version, plural string) (Resource, bool) {
	for _, r := range w.resources {
		if r.Group == group && r.Plural == plural && slices.Contains(r.Versions, version) {
			return r, true
		}
	}
	return Resource{}, false
}

func clone(o Object) Object { return (&unstructured.Unstructured{Object: o}).DeepCopy().Object }

func setText(o Object, value string, path ...string) { set(o, value, path...) }

// set writes a field, and what is missing on the way to it.
func set(o Object, value any, path ...string) {
	for _, field := range path[:len(path)-1] {
		next, ok := o[field].(Object)
		if !ok {
			next = Object{}
			o[field] = next
		}
		o = next
	}
	o[path[len(path)-1]] = value
}

// Set is for tests: it writes a field, and what is missing on the way to it.
func Set(o Object, value any, path ...string) { set(o, value, path...) }

func get(o Object, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return v
}

func getText(o Object, path ...string) string { v, _ := get(o, path...).(string); return v }

func getInt(o Object, path ...string) int { v, _ := get(o, path...).(int64); return int(v) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
