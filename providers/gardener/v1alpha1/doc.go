// Package v1alpha1 is the part of machine.sapcloud.io/v1alpha1, the API of
// Gardener's machine-controller-manager, that Plimsoll reads and writes, in types
// of its own; and the names of the labels, annotations, phases and error codes
// that go with it.
//
// What flows in and out: JSON. Fields that are not used here are left out, so writing one of these
// objects back as a whole would lose them: objects of other owners are changed by patches only.
// Only the client that made an object may update it.
//
// Two fields are not machine-controller-manager's: spec.poolMinimum and
// spec.poolMaximum of a MachineDeployment, which GEP-24 of Gardener proposes. A
// CustomResourceDefinition without them prunes them, and a
// machine-controller-manager that does not know them drops them with its next
// update, so that the annotations PoolMinimumAnnotation and
// PoolMaximumAnnotation say the same.
//
// Values only. It imports k8s.io/api and k8s.io/apimachinery. Who may import it:
// everybody who deals with machine-controller-manager.
//
// +kubebuilder:object:generate=true
package v1alpha1
