// Package eksanywhere is what a rehearsal has of EKS Anywhere: the kind of its
// Clusters, the rights of Plimsoll's controller of their worker groups, and a world
// in which that controller finds what it needs. EKS Anywhere itself is not there:
// who plays a story, or writes a test, also plays its controller of the control
// plane.
//
// What flows out are YAML documents, a World, and objects to create. Nothing is
// started here; packages stage and controlplane do. Stories and tests use it.
package eksanywhere

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// Namespace is where the machine deployments are.
const Namespace = eksanywhere.DefaultNamespace

// ControllerUser is the user whom Rights means: the controller's service account.
const ControllerUser = "system:serviceaccount:" + Namespace + ":" + eksanywhere.Name

// definition is the CustomResourceDefinition of EKS Anywhere's Clusters.
//
//go:embed clusters.yaml
var definition []byte

// rights are those of the controller: the very text of docs/eks-anywhere.md.
//
//go:embed rights.yaml
var rights []byte

// ClusterKind is the kind of EKS Anywhere's Clusters.
var ClusterKind = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}

// Cluster is a Cluster of that name with nothing in it.
func Cluster(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(ClusterKind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
