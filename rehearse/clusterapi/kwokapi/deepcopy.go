package kwokapi

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The copies that runtime.Object asks for. A test compares each with its original
// after every field was set.

// DeepCopy returns a copy that shares nothing.
func (m *KwokMachine) DeepCopy() *KwokMachine {
	out := &KwokMachine{TypeMeta: m.TypeMeta, Spec: m.Spec.deepCopy(), Status: m.Status}
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Initialization = copyOf(m.Status.Initialization)
	out.Status.Conditions = copyEach(m.Status.Conditions, func(c metav1.Condition) *metav1.Condition { return c.DeepCopy() })
	return out
}

// DeepCopyObject implements runtime.Object.
func (m *KwokMachine) DeepCopyObject() runtime.Object { return m.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *KwokMachineList) DeepCopyObject() runtime.Object {
	out := &KwokMachineList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = copyEach(l.Items, func(m KwokMachine) *KwokMachine { return m.DeepCopy() })
	return out
}

func (s KwokMachineSpec) deepCopy() KwokMachineSpec {
	out := s
	out.Node.Labels = maps.Clone(s.Node.Labels)
	out.Node.Taints = copyEach(s.Node.Taints, func(t corev1.Taint) *corev1.Taint { return t.DeepCopy() })
	out.Node.Capacity = s.Node.Capacity.DeepCopy()
	out.Node.Allocatable = s.Node.Allocatable.DeepCopy()
	out.StartupDelay = copyOf(s.StartupDelay)
	out.Failure = copyOf(s.Failure)
	return out
}

// DeepCopy returns a copy that shares nothing.
func (t *KwokMachineTemplate) DeepCopy() *KwokMachineTemplate {
	out := &KwokMachineTemplate{TypeMeta: t.TypeMeta}
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Template = t.Spec.Template.deepCopy()
	out.Status = t.Status.deepCopy()
	return out
}

// DeepCopyObject implements runtime.Object.
func (t *KwokMachineTemplate) DeepCopyObject() runtime.Object { return t.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *KwokMachineTemplateList) DeepCopyObject() runtime.Object {
	out := &KwokMachineTemplateList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = copyEach(l.Items, func(t KwokMachineTemplate) *KwokMachineTemplate { return t.DeepCopy() })
	return out
}

// DeepCopy returns a copy that shares nothing.
func (c *KwokControlPlane) DeepCopy() *KwokControlPlane {
	out := &KwokControlPlane{TypeMeta: c.TypeMeta}
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Initialization = copyOf(c.Status.Initialization)
	out.Status.ExternalManagedControlPlane = copyOf(c.Status.ExternalManagedControlPlane)
	return out
}

// DeepCopyObject implements runtime.Object.
func (c *KwokControlPlane) DeepCopyObject() runtime.Object { return c.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *KwokControlPlaneList) DeepCopyObject() runtime.Object {
	out := &KwokControlPlaneList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = copyEach(l.Items, func(c KwokControlPlane) *KwokControlPlane { return c.DeepCopy() })
	return out
}

func copyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	out := *value
	return &out
}

func copyEach[T any](values []T, deepCopy func(T) *T) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(values))
	for i := range values {
		out[i] = *deepCopy(values[i])
	}
	return out
}
