// Package kwokapi is the API of an infrastructure and control plane provider for
// Cluster API whose machines are simulated nodes: KwokMachine,
// KwokMachineTemplate and KwokMachinePool in infrastructure.cluster.x-k8s.io,
// KwokControlPlane in controlplane.cluster.x-k8s.io, all v1alpha1.
//
// It holds the Go types and their CustomResourceDefinitions, and nothing that
// acts: package infrastructure does. Stories and tests may import it; it is light.
//
// +kubebuilder:object:generate=true
package kwokapi

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The groups and versions of our kinds, and the names of the kinds.
var (
	InfrastructureGroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1"}
	ControlPlaneGroupVersion   = schema.GroupVersion{Group: "controlplane.cluster.x-k8s.io", Version: "v1alpha1"}
)

const (
	MachineKind         = "KwokMachine"
	MachineTemplateKind = "KwokMachineTemplate"
	MachinePoolKind     = "KwokMachinePool"
	ControlPlaneKind    = "KwokControlPlane"
)

// AddToScheme makes our kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(InfrastructureGroupVersion,
		&KwokMachine{}, &KwokMachineList{}, &KwokMachineTemplate{}, &KwokMachineTemplateList{}, &KwokMachinePool{},
		&KwokMachinePoolList{})
	scheme.AddKnownTypes(ControlPlaneGroupVersion, &KwokControlPlane{}, &KwokControlPlaneList{})
	metav1.AddToGroupVersion(scheme, InfrastructureGroupVersion)
	metav1.AddToGroupVersion(scheme, ControlPlaneGroupVersion)
	return nil
}

//go:embed definitions/*.yaml
var definitions embed.FS

// Definitions are the CustomResourceDefinitions of our kinds.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := definitions.ReadDir("definitions")
	if err != nil {
		return nil, fmt.Errorf("list our CustomResourceDefinitions: %w", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := definitions.ReadFile("definitions/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read our CustomResourceDefinition %s: %w", file.Name(), err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("decode our CustomResourceDefinition %s: %w", file.Name(), err)
		}
		all = append(all, definition)
	}
	return all, nil
}
