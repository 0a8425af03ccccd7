package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API group and its version.
const (
	GroupName = "machine.sapcloud.io"
	Version   = "v1alpha1"
)

// GroupVersion is both.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: Version}

// Resource qualifies a resource of the group.
func Resource(name string) schema.GroupVersionResource { return GroupVersion.WithResource(name) }

// AddToScheme makes the kinds known to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&MachineDeployment{}, &MachineDeploymentList{}, &MachineSet{}, &MachineSetList{},
		&Machine{}, &MachineList{}, &MachineClass{}, &MachineClassList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
