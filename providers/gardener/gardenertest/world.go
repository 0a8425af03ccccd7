package gardenertest

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Timing is how long things take.
type Timing = kubetest.Timing

// Marks is how machine-controller-manager learns which machines are to go.
type Marks int

// The ages of machine-controller-manager.
const (
	// Times: name~time; a machine that is named goes, whatever the replicas are.
	Times Marks = iota
	// Names: names alone, which it takes literally; a machine that is named is the
	// first to go.
	Names
	// Neither: only the priority of each machine counts.
	Neither
)

// World is a namespace of the control cluster.
type World struct {
	*kubetest.API
	Namespace string
	// What the controllers know, locked with the objects.
	controllers *controllers
}

// New makes a namespace without MachineDeployments, in which
// machine-controller-manager's own Deployment is there and available.
func New(now func() time.Time, namespace string) *World {
	c := &controllers{failing: map[string]v1alpha1.LastOperation{}, machines: map[string]life{}}
	w := &World{API: kubetest.New(now, c, kubetest.Dialect{}), Namespace: namespace, controllers: c}
	for _, r := range []kubetest.Resource{
		{Kind: v1alpha1.KindMachineDeployment, Plural: v1alpha1.ResourceMachineDeployments, Scale: true},
		{Kind: v1alpha1.KindMachineSet, Plural: v1alpha1.ResourceMachineSets, Scale: true},
		{Kind: v1alpha1.KindMachine, Plural: v1alpha1.ResourceMachines},
		{Kind: v1alpha1.KindMachineClass, Plural: v1alpha1.ResourceMachineClasses},
	} {
		r.Group, r.Versions = v1alpha1.GroupName, []string{v1alpha1.Version}
		w.Serve(r)
	}
	w.Serve(kubetest.Resource{Group: "apps", Versions: []string{"v1"}, Kind: "Deployment", Plural: "deployments"})
	w.Apply(Manager(namespace, 1))
	return w
}

// Manager is machine-controller-manager's own Deployment.
func Manager(namespace string, available int) kubetest.Object {
	return kubetest.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": kubetest.Object{"namespace": namespace, "name": v1alpha1.ControllerManagerDeployment},
		"status":   kubetest.Object{"availableReplicas": int64(available)},
	}
}

// Add stores objects, new or in place of old ones, and lets the controllers act on
// them when they do.
func (w *World) Add(objects ...any) {
	w.Change(func(o *kubetest.Objects) {
		for _, each := range objects {
			o.Put(encode(each))
		}
	})
}

// Understands changes machine-controller-manager's age.
func (w *World) Understands(m Marks) {
	w.Do(func(*kubetest.Objects) { w.controllers.marks = m })
}

// Forgetful makes machine-controller-manager one that does not know a pool's limits.
func (w *World) Forgetful() {
	w.Do(func(*kubetest.Objects) { w.controllers.forgetful = true })
}

// Starve keeps a MachineDeployment from getting Machines.
func (w *World) Starve(name string) {
	w.API.Starve(v1alpha1.KindMachineDeployment, w.Namespace, name)
}

// FailCreation makes the cloud refuse the machines of a MachineDeployment from now
// on, with a code and its own words. Each is asked for again after as long as the real
// machine controller waits after that code; CreateAgain lets the next try work.
func (w *World) FailCreation(name, code, description string) {
	w.Do(func(*kubetest.Objects) {
		w.controllers.failing[name] = v1alpha1.LastOperation{Type: v1alpha1.OperationCreate, State: v1alpha1.StateFailed,
			ErrorCode: code, Description: "Cloud provider message - " + description}
	})
}

// CreateAgain ends a FailCreation.
func (w *World) CreateAgain(name string) {
	w.Do(func(*kubetest.Objects) { delete(w.controllers.failing, name) })
}

// Roll begins a rollout: a MachineDeployment gets a new MachineSet with one machine
// more than it has. It ends by Settle.
func (w *World) Roll(name string) {
	w.Change(func(o *kubetest.Objects) {
		if d := get[v1alpha1.MachineDeployment](o, w.Namespace, v1alpha1.KindMachineDeployment, name); d != nil {
			w.controllers.newSet(o, d, 1)
		}
	})
}

// Deployment is a MachineDeployment, nil if there is none.
func (w *World) Deployment(name string) *v1alpha1.MachineDeployment {
	var out *v1alpha1.MachineDeployment
	w.Do(func(o *kubetest.Objects) {
		out = get[v1alpha1.MachineDeployment](o, w.Namespace, v1alpha1.KindMachineDeployment, name)
	})
	return out
}

// Machines are those of a MachineDeployment, from the oldest to the newest of each
// MachineSet.
func (w *World) Machines(name string) []*v1alpha1.Machine {
	var out []*v1alpha1.Machine
	w.Look(func(o *kubetest.Objects) {
		if d := get[v1alpha1.MachineDeployment](o, w.Namespace, v1alpha1.KindMachineDeployment, name); d != nil {
			for _, s := range w.controllers.sets(o, d) {
				out = append(out, w.controllers.members(o, s)...)
			}
		}
	})
	return out
}

// EditMachine changes a machine by hand.
func (w *World) EditMachine(name string, change func(*v1alpha1.Machine)) error {
	return w.Edit(v1alpha1.KindMachine, w.Namespace, name, through(change))
}

// EditDeployment changes a MachineDeployment by hand.
func (w *World) EditDeployment(name string, change func(*v1alpha1.MachineDeployment)) error {
	return w.Edit(v1alpha1.KindMachineDeployment, w.Namespace, name, through(change))
}

// EditSets changes the MachineSets of a MachineDeployment by hand.
func (w *World) EditSets(name string, change func(*v1alpha1.MachineSet)) {
	w.Change(func(o *kubetest.Objects) {
		d := get[v1alpha1.MachineDeployment](o, w.Namespace, v1alpha1.KindMachineDeployment, name)
		for _, s := range w.controllers.sets(o, d) {
			change(s)
			o.Put(encode(s))
		}
	})
}

// through makes a change of a type one of its JSON.
func through[T any](change func(*T)) func(kubetest.Object) {
	return func(o kubetest.Object) {
		typed := decode[T](o)
		if m, ok := any(typed).(metav1.Object); ok { // so that keys can be set
			if m.GetAnnotations() == nil {
				m.SetAnnotations(map[string]string{})
			}
			if m.GetLabels() == nil {
				m.SetLabels(map[string]string{})
			}
		}
		change(typed)
		for field := range o {
			delete(o, field)
		}
		for field, value := range encode(typed) {
			o[field] = value
		}
	}
}

func decode[T any](o kubetest.Object) *T {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, out); err != nil {
		panic(fmt.Sprintf("gardenertest: read an object that was put here: %v", err))
	}
	return out
}

func encode(object any) kubetest.Object {
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("gardenertest: write an object down: %v", err))
	}
	return o
}

// get is an object in its type, nil if there is none that can be read: one that does not parse has no effect.
func get[T any](o *kubetest.Objects, namespace, kind, name string) *T {
	stored := o.Get(kubetest.Key{Kind: kind, Namespace: namespace, Name: name})
	out := new(T)
	if stored == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(stored, out) != nil {
		return nil
	}
	return out
}
