package kwokapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// full is a spec with every field set.
func full() KwokMachineSpec {
	resources := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return KwokMachineSpec{
		ProviderID: "kwok://a/b",
		Node: NodeSpec{
			Labels:       map[string]string{"l": "v"},
			Taints:       []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: time.Unix(1, 0)}}},
			Capacity:     resources("4"),
			Allocatable:  resources("3"),
			Architecture: "arm64", OperatingSystem: "linux",
		},
		StartupDelay: &metav1.Duration{Duration: time.Second},
		Failure:      &Failure{Reason: "R", Message: "m"},
	}
}

// spoil changes everything that a shallow copy would share.
func spoil(spec *KwokMachineSpec) {
	spec.Node.Labels["l"] = "spoiled"
	spec.Node.Taints[0].TimeAdded.Time = time.Unix(2, 0)
	spec.Node.Taints[0].Key = "spoiled"
	spec.Node.Capacity[corev1.ResourceCPU] = resource.MustParse("9")
	spec.Node.Allocatable[corev1.ResourceCPU] = resource.MustParse("9")
	spec.StartupDelay.Duration = time.Hour
	spec.Failure.Reason = "Spoiled"
}

func TestCopiesAreEqualAndShareNothing(t *testing.T) {
	meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "y"}} }
	machine := func() *KwokMachine {
		return &KwokMachine{ObjectMeta: meta(), Spec: full(), Status: KwokMachineStatus{
			Initialization: &MachineInitialization{Provisioned: true},
			NodeName:       "n", FailureReason: "r", FailureMessage: "m",
			Conditions: []metav1.Condition{{Type: "Ready"}},
		}}
	}
	template := func() *KwokMachineTemplate {
		t := &KwokMachineTemplate{ObjectMeta: meta()}
		t.Spec.Template.Metadata = TemplateMetadata{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
		t.Spec.Template.Spec = full()
		t.Status = KwokMachineTemplateStatus{Capacity: full().Node.Capacity, NodeInfo: &TemplateNodeInfo{Architecture: "arm64"}}
		return t
	}
	pool := func() *KwokMachinePool {
		p := &KwokMachinePool{ObjectMeta: meta()}
		p.Spec = KwokMachinePoolSpec{ProviderIDList: []string{"kwok://a/b"}, Template: template().Spec.Template}
		p.Status = KwokMachinePoolStatus{
			KwokMachineTemplateStatus: template().Status,
			Ready:                     true, Replicas: 1, InfrastructureMachineKind: MachineKind,
			Conditions: []metav1.Condition{{Type: "Ready"}},
		}
		return p
	}
	controlPlane := func() *KwokControlPlane {
		return &KwokControlPlane{ObjectMeta: meta(), Status: KwokControlPlaneStatus{
			Initialization:              &ControlPlaneInitialization{ControlPlaneInitialized: true},
			ExternalManagedControlPlane: ptr.To(true),
		}}
	}

	m, tmpl, pl, plane := machine(), template(), pool(), controlPlane()
	originals := []runtime.Object{
		m, tmpl, pl, plane,
		&KwokMachineList{Items: []KwokMachine{*m}},
		&KwokMachineTemplateList{Items: []KwokMachineTemplate{*tmpl}},
		&KwokMachinePoolList{Items: []KwokMachinePool{*pl}},
		&KwokControlPlaneList{Items: []KwokControlPlane{*plane}},
	}
	copies := make([]runtime.Object, len(originals))
	for i, original := range originals {
		copies[i] = original.DeepCopyObject()
		if diff := cmp.Diff(original, copies[i]); diff != "" {
			t.Errorf("the copy of a %T differs: %s", original, diff)
		}
	}

	spoil(&m.Spec)
	m.Labels["x"], m.Status.Initialization.Provisioned, m.Status.Conditions[0].Type = "spoiled", false, "Spoiled"
	spoil(&tmpl.Spec.Template.Spec)
	tmpl.Spec.Template.Metadata.Labels["a"], tmpl.Spec.Template.Metadata.Annotations["c"] = "spoiled", "spoiled"
	tmpl.Status.Capacity[corev1.ResourceCPU], tmpl.Status.NodeInfo.Architecture = resource.MustParse("9"), "spoiled"
	spoil(&pl.Spec.Template.Spec)
	pl.Spec.ProviderIDList[0], pl.Spec.Template.Metadata.Labels["a"] = "spoiled", "spoiled"
	pl.Status.Capacity[corev1.ResourceCPU], pl.Status.Conditions[0].Type = resource.MustParse("9"), "Spoiled"
	plane.Status.Initialization.ControlPlaneInitialized, *plane.Status.ExternalManagedControlPlane = false, false

	fresh := []runtime.Object{
		machine(), template(), pool(), controlPlane(),
		&KwokMachineList{Items: []KwokMachine{*machine()}},
		&KwokMachineTemplateList{Items: []KwokMachineTemplate{*template()}},
		&KwokMachinePoolList{Items: []KwokMachinePool{*pool()}},
		&KwokControlPlaneList{Items: []KwokControlPlane{*controlPlane()}},
	}
	for i := range fresh {
		if diff := cmp.Diff(fresh[i], copies[i]); diff != "" {
			t.Errorf("the copy of a %T shares something with its original: %s", fresh[i], diff)
		}
	}
}

// Cluster API finds a kind's version through this label, and its definition by the
// name of plural and group.
func TestDefinitionsKeepTheContract(t *testing.T) {
	definitions, err := Definitions()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, definition := range definitions {
		kinds[definition.Spec.Names.Kind] = true
		if got := definition.Labels["cluster.x-k8s.io/v1beta2"]; got != definition.Spec.Versions[0].Name {
			t.Errorf("%s: the label names version %q", definition.Name, got)
		}
		if want := definition.Spec.Names.Plural + "." + definition.Spec.Group; definition.Name != want {
			t.Errorf("the definition of %s is called %s", want, definition.Name)
		}
	}
	for _, kind := range []string{MachineKind, MachineTemplateKind, MachinePoolKind, ControlPlaneKind} {
		if !kinds[kind] {
			t.Errorf("there is no definition of %s", kind)
		}
	}
}
