package workers

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Labels and annotations of Cluster API.
const (
	clusterLabel    = "cluster.x-k8s.io/cluster-name"
	deploymentLabel = "cluster.x-k8s.io/deployment-name"

	minSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// rangeAnnotation is this controller's own: the range that it last applied. The autoscaler's
// annotations do not show that, since others apply them as well.
const rangeAnnotation = "plimsoll.dev/applied-range"

// The versions of Cluster API's machine deployments that are understood, the
// preferred one first.
const (
	V1Beta2 = "v1beta2"
	V1Beta1 = "v1beta1"
)

// MachineDeployment is what matters of a machine deployment, in one shape for both versions of its
// API. Unset numbers are 0.
type MachineDeployment struct {
	Name, Cluster        string
	UID, ResourceVersion string
	Deleting             bool

	Generation, ObservedGeneration int64
	// OnlyScaled: what Cluster API has not observed yet is another number of replicas
	// and nothing else. Read cannot know; it takes a look at an earlier object.
	OnlyScaled bool

	Wanted                     *int // spec.replicas; nil: not set
	Replicas, Ready, Available int
	UpToDate                   int  // machines that are known to be of the present template
	Rolling                    bool // machines are known to be of an older one, or to be replaced in place
	NotReady                   bool // a condition says so

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
		md.Rolling = md.UpToDate < md.Replicas
		md.NotReady = condition(object, "Ready").status == "False"
	} else {
		md.UpToDate, md.Rolling = rollout(object, md.Replicas)
		md.NotReady = condition(object, "Available").status == "False"
	}
	return md
}

// rollout is how many of a v1beta2 machine deployment's machines are known to be of
// the present template, and whether machines are being replaced.
//
// Cluster API has two answers. The one that v1beta1 had, and that v1beta2 still
// carries, counts the machines of the newest machine set: those that were made from
// the present template. The other counts machines that say of themselves that they
// are up to date. A new machine does not say so at first, so that any growth would
// look like a rollout. And one never does if its node is of another version than it
// was told, as with an image that has a version of its own, or a machine deployment
// without a version: that rollout would never end. So the first answer counts, and of
// the second only what the first cannot know: a machine that is replaced in place.
// Without the first answer, the second must do.
func rollout(object map[string]any, replicas int) (upToDate int, rolling bool) {
	c := condition(object, "RollingOut")
	replacing := c.status == "True" && !onlyNodeVersions(c.message)
	if n, found, err := unstructured.NestedInt64(object, "status", "deprecated", "v1beta1", "updatedReplicas"); found &&
		err == nil {
		return int(n), replacing || int(n) < replicas
	}
	upToDate = number(object, "status", "upToDateReplicas")
	known := c.status == "True" || c.status == "False"
	return upToDate, replacing || !known && upToDate < replicas
}

// onlyNodeVersions reports whether a RollingOut condition's text gives no cause but nodes
// of another version than their machines: a headline, then one cause on each line. If
// Cluster API words it otherwise one day, it counts as a rollout.
func onlyNodeVersions(message string) bool {
	causes := strings.Split(message, "\n")[1:]
	for _, cause := range causes {
		if !strings.HasPrefix(cause, "* Node.status.nodeInfo.kubeletVersion ") {
			return false
		}
	}
	return len(causes) > 0
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

// said is what a condition says; without a status it is not there.
type said struct{ status, message string }

func condition(object map[string]any, kind string) said {
	list, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] == kind {
			status, _ := c["status"].(string)
			message, _ := c["message"].(string)
			return said{status, message}
		}
	}
	return said{}
}
