package kubetest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Key names an object.
type Key struct{ Kind, Namespace, Name string }

// KeyOf is an object's own.
func KeyOf(o Object) Key {
	u := unstructured.Unstructured{Object: o}
	return Key{u.GetKind(), u.GetNamespace(), u.GetName()}
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Namespace, other.Namespace),
		cmp.Compare(k.Name, other.Name))
}

// event is a change, for watches.
type event struct {
	version int
	what    string
	object  Object
}

// Objects is what an API server stores. It is not locked: API.Do and the calls of
// Controllers have it to themselves.
type Objects struct {
	now     func() time.Time
	objects map[Key]Object
	version int
	names   int
	timing  Timing
	starved map[Key]bool
	events  []event
	news    chan struct{} // closed at each event
}

func newObjects(now func() time.Time) *Objects {
	return &Objects{now: now, version: 1, objects: map[Key]Object{}, starved: map[Key]bool{}, news: make(chan struct{})}
}

// Now is the time.
func (s *Objects) Now() time.Time { return s.now() }

// Timing is how long things take.
func (s *Objects) Timing() Timing { return s.timing }

// Starved reports whether nothing can be made for an object.
func (s *Objects) Starved(k Key) bool { return s.starved[k] }

// Version is the newest resource version: it changes with every change.
func (s *Objects) Version() int { return s.version }

// Get is an object as it is stored, which must not be changed; nil if there is
// none.
func (s *Objects) Get(k Key) Object { return s.objects[k] }

// Copy is a copy of an object, nil if there is none.
func (s *Objects) Copy(k Key) Object {
	o, ok := s.objects[k]
	if !ok {
		return nil
	}
	return Clone(o)
}

// Keys are those of a kind, sorted.
func (s *Objects) Keys(kind string) []Key {
	var out []Key
	for k := range s.objects {
		if k.Kind == kind {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, Key.compare)
	return out
}

// Put stores an object with what a server adds to it. What changes spec is
// another generation.
func (s *Objects) Put(o Object) {
	u := unstructured.Unstructured{Object: o}
	k := KeyOf(o)
	old, exists := s.objects[k]
	s.version++
	u.SetResourceVersion(strconv.Itoa(s.version))
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
			Set(o, fmt.Sprintf("uid-%d", s.version), "metadata", "uid")
		}
		if stamp := u.GetCreationTimestamp(); stamp.IsZero() {
			Set(o, s.now().UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
		}
	}
	s.objects[k] = o
	s.tell(what, o)
}

// Delete begins a deletion, or completes that of an object without finalizers.
func (s *Objects) Delete(k Key) {
	o := s.Copy(k)
	if o == nil {
		return
	}
	if held, _ := Get(o, "metadata", "finalizers").([]any); len(held) == 0 {
		s.Remove(k)
		return
	}
	if !Deleting(o) {
		Set(o, s.now().UTC().Format(time.RFC3339), "metadata", "deletionTimestamp")
		s.Put(o)
	}
}

// Remove takes an object away at once.
func (s *Objects) Remove(k Key) {
	gone := s.Copy(k)
	if gone == nil {
		return
	}
	delete(s.objects, k)
	s.version++
	Set(gone, strconv.Itoa(s.version), "metadata", "resourceVersion")
	s.tell("DELETED", gone)
}

func (s *Objects) tell(what string, o Object) {
	s.events = append(s.events, event{s.version, what, Clone(o)})
	close(s.news)
	s.news = make(chan struct{})
}

// Owned are the objects of a kind that belong to another one of the namespace,
// sorted by age, as they are stored.
func (s *Objects) Owned(kind, namespace string, owner types.UID) []Object {
	var out []Object
	for _, k := range s.Keys(kind) {
		refs, _ := Get(s.objects[k], "metadata", "ownerReferences").([]any)
		for _, ref := range refs {
			r, _ := ref.(Object)
			if k.Namespace == namespace && Text(r, "uid") == string(owner) {
				out = append(out, s.objects[k])
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Object) int { return cmp.Compare(age(a), age(b)) })
	return out
}

// age is an object's place in the order of making.
func age(o Object) int {
	n := 0
	_, _ = fmt.Sscanf(Text(o, "metadata", "uid"), "uid-%d", &n) // one of a test's own is the first
	return n
}

// OwnerReference refers to an object as the controller of another one.
func OwnerReference(o Object) Object {
	return Object{"apiVersion": Text(o, "apiVersion"), "kind": Text(o, "kind"), "name": Text(o, "metadata", "name"),
		"uid": Text(o, "metadata", "uid"), "controller": true}
}

// NewName is a name that nothing has, as the API server generates them. In the
// order of their making, names are in no order.
func (s *Objects) NewName(prefix string) string {
	s.names++
	const letters = "bcdfghjklmnpqrstvwxz"
	n := (s.names*7919 + 104729) % (len(letters) * len(letters) * len(letters) * len(letters))
	var out []byte
	for range 4 {
		out = append(out, letters[n%len(letters)])
		n /= len(letters)
	}
	return prefix + string(out)
}
