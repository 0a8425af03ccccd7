package workers

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Labels and annotations of Cluster API.
const (
	clusterLabel    = "cluster.x-k8s.io/cluster-name"
	deploymentLabel = "cluster.x-k8s.io/deployment-name"

	minSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// rangeAnnotation is this controller's own: the range that it last applied. Those
// for the autoscaler do not tell that, since others apply them as well.
const rangeAnnotation = "plimsoll.dev/applied-range"

// The versions of Cluster API's machine deployments that are understood, the
// preferred one first.
const (
	V1Beta2 = "v1beta2"
	V1Beta1 = "v1beta1"
)

// Answer is what a condition says, if it is there at all.
type Answer int

// The answers of a condition.
const (
	Unknown Answer = iota
	No
	Yes
)

// MachineDeployment is what matters of a machine deployment, in one shape for
// both versions of its API. Numbers that nobody has written yet are 0.
type MachineDeployment struct {
	Name, Cluster        string
	UID, ResourceVersion string
	Deleting             bool

	Generation, ObservedGeneration int64
	// OnlyScaled: what Cluster API has not observed yet is another number of replicas
	// and nothing else. Read cannot know; it takes a look at an earlier object.
	OnlyScaled bool

	Wanted                               *int // spec.replicas; nil: nobody has set it
	Replicas, Ready, UpToDate, Available int
	RollingOut                           Answer
	NotReady                             bool // a condition says so

	MinSize, MaxSize *string // the annotations for the autoscaler
	AppliedRange     *string // the range that this controller last applied

	// Applied are the fields that this controller applied and still owns. Nil: it
	// never applied any.
	Applied Fields
	// Object is the whole object, to be read only.
	Object map[string]any
}

// Read reads a machine deployment of one of the two versions. What does not have
// the type that the API promises counts as absent.
func Read(object map[string]any, version string) MachineDeployment {
	u := unstructured.Unstructured{Object: object}
	md := MachineDeployment{
		Name:               u.GetName(),
		Cluster:            clusterOf(u),
		UID:                string(u.GetUID()),
		ResourceVersion:    u.GetResourceVersion(),
		Deleting:           u.GetDeletionTimestamp() != nil,
		Generation:         u.GetGeneration(),
		ObservedGeneration: int64(number(object, "status", "observedGeneration")),
		Replicas:           number(object, "status", "replicas"),
		Ready:              number(object, "status", "readyReplicas"),
		Available:          number(object, "status", "availableReplicas"),
		MinSize:            annotation(u, minSizeAnnotation),
		MaxSize:            annotation(u, maxSizeAnnotation),
		AppliedRange:       annotation(u, rangeAnnotation),
		Applied:            appliedBy(u.GetManagedFields(), FieldManager),
		Object:             object,
	}
	if n, found, err := unstructured.NestedInt64(object, "spec", "replicas"); found && err == nil {
		wanted := int(n)
		md.Wanted = &wanted
	}
	// v1beta1 sums its other conditions up in Ready. v1beta2 has no Ready: whether
	// enough machines are available is what comes closest.
	if version == V1Beta1 {
		md.UpToDate = number(object, "status", "updatedReplicas")
		md.NotReady = condition(object, "Ready") == No
	} else {
		md.UpToDate = number(object, "status", "upToDateReplicas")
		md.NotReady = condition(object, "Available") == No
		md.RollingOut = condition(object, "RollingOut")
	}
	return md
}

// SpecWithoutReplicas is a machine deployment's spec but for its replicas, as text
// to compare.
func (md MachineDeployment) SpecWithoutReplicas() string {
	spec, _, _ := unstructured.NestedMap(md.Object, "spec")
	delete(spec, "replicas")
	text, err := json.Marshal(spec) // maps are written in the order of their keys
	if err != nil {
		return "" // what came as JSON can be written as JSON
	}
	return string(text)
}

// ClusterOf is the name of the cluster that a machine deployment belongs to.
func ClusterOf(object map[string]any) string {
	return clusterOf(unstructured.Unstructured{Object: object})
}

func clusterOf(u unstructured.Unstructured) string {
	if name := u.GetLabels()[clusterLabel]; name != "" {
		return name
	}
	name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName")
	return name
}

func annotation(u unstructured.Unstructured, key string) *string {
	if value, ok := u.GetAnnotations()[key]; ok {
		return &value
	}
	return nil
}

func number(object map[string]any, path ...string) int {
	n, found, err := unstructured.NestedInt64(object, path...)
	if !found || err != nil {
		return 0
	}
	return int(n)
}

func condition(object map[string]any, kind string) Answer {
	list, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != kind {
			continue
		}
		switch c["status"] {
		case "True":
			return Yes
		case "False":
			return No
		}
	}
	return Unknown
}
