package observe

import (
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// object is a Kubernetes object that is kept as such.
type object interface {
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
}

// objects keeps one kind of object, for kinds of which there are few and that change seldom. The
// list that it returns is frozen: a change makes a new one. lock is the observer's.
type objects[T object] struct {
	lock    sync.Locker
	changed func()
	byName  map[cache.ObjectName]T
	list    []T
	stale   bool
}

func newObjects[T object](lock sync.Locker, changed func()) *objects[T] {
	return &objects[T]{lock: lock, changed: changed, byName: map[cache.ObjectName]T{}}
}

// store is the reflector's way in.
func (o *objects[T]) store() intake[T, T] {
	return intake[T, T]{cut: cutObject[T], put: o.put, drop: o.drop, replace: o.replace}
}

// cutObject is Cut where the kind is known. The server selects which objects come here.
func cutObject[T object](obj T) T {
	if cut, ok := Cut(obj).(T); ok {
		return cut
	}
	return obj
}

func (o *objects[T]) put(obj T) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if old, ok := o.byName[nameOf(obj)]; ok && sameButVersion(old, obj) {
		return
	}
	o.byName[nameOf(obj)] = obj
	o.touch()
}

// sameButVersion compares two objects without their versions. It may change the second for a
// moment, since no caller has it yet.
func sameButVersion[T object](old, obj T) bool {
	version := obj.GetResourceVersion()
	obj.SetResourceVersion(old.GetResourceVersion())
	same := apiequality.Semantic.DeepEqual(old, obj)
	obj.SetResourceVersion(version)
	return same
}

func (o *objects[T]) drop(name cache.ObjectName) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if _, ok := o.byName[name]; !ok {
		return
	}
	delete(o.byName, name)
	o.touch()
}

func (o *objects[T]) replace(all []T) {
	o.lock.Lock()
	defer o.lock.Unlock()
	clear(o.byName)
	for _, obj := range all {
		o.byName[nameOf(obj)] = obj
	}
	o.touch()
}

func (o *objects[T]) touch() {
	o.stale = true
	o.changed()
}

// sorted is the frozen list, by namespace and name. The lock must be held.
func (o *objects[T]) sorted() []T {
	if !o.stale {
		return o.list
	}
	o.stale = false
	o.list = make([]T, 0, len(o.byName))
	for _, obj := range o.byName {
		o.list = append(o.list, obj)
	}
	slices.SortFunc(o.list, func(a, b T) int { return compareNames(nameOf(a), nameOf(b)) })
	return o.list
}

func nameOf(obj metav1.Object) cache.ObjectName {
	return cache.ObjectName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
