package workers

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// The infrastructure whose machine deployments are rendered from nothing: machines
// that are simulated nodes.
const (
	kwokTemplate = "KwokMachineTemplate"
	kwokGroup    = "infrastructure.cluster.x-k8s.io"
	kwokVersion  = "v1alpha1"
	// Such machines run no bootstrap script. Cluster API wants a name nonetheless and
	// does not look the Secret up.
	noBootstrapData = "none"
)

// rendered reports whether the group's whole machine deployment is made here. Of
// other kinds, EKS Anywhere makes it, and only the number of machines is added.
func (g Group) rendered() bool {
	return g.MachineGroupRef != nil && g.MachineGroupRef.Kind == kwokTemplate
}

// simulated reports whether a machine deployment's machines are simulated nodes.
func (md MachineDeployment) simulated() bool {
	kind, _, _ := unstructured.NestedString(md.Object, "spec", "template", "spec", "infrastructureRef", "kind")
	return kind == kwokTemplate
}

// body is what is applied to the group's i-th machine deployment, but for its
// identity. An autoscaled group's has the range and no replicas.
func (g Group) body(i int, cluster v1alpha1.Cluster, names Names) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{}
	if g.Autoscaled() {
		bounds := g.Range(i)
		metadata["annotations"] = map[string]any{
			minSizeAnnotation: strconv.Itoa(bounds.Min),
			maxSizeAnnotation: strconv.Itoa(bounds.Max),
			rangeAnnotation:   bounds.String(),
		}
	} else {
		spec["replicas"] = int64(g.countOf(i))
	}
	if g.rendered() {
		g.render(metadata, spec, cluster, names)
	}
	body := map[string]any{}
	if len(metadata) > 0 {
		body["metadata"] = metadata
	}
	if len(spec) > 0 {
		body["spec"] = spec
	}
	return body
}

// Names are what an object is called beside its own name.
type Names struct{ Cluster, Namespace, Version string }

// render adds what makes a machine deployment complete. Everything that Cluster
// API's webhook would default is there, but for the replicas.
func (g Group) render(metadata, spec map[string]any, cluster v1alpha1.Cluster, names Names) {
	metadata["labels"] = map[string]any{clusterLabel: names.Cluster}
	selector := map[string]any{clusterLabel: names.Cluster, deploymentLabel: labelValue(g.Title)}
	labels := map[string]any{}
	for key, value := range g.Labels {
		labels[key] = value
	}
	for key, value := range selector {
		labels[key] = value
	}
	surge := map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0)}
	if s := g.UpgradeRolloutStrategy; s != nil && s.Type != v1alpha1.InPlace && s.RollingUpdate != nil {
		surge = map[string]any{
			"maxSurge": int64(s.RollingUpdate.MaxSurge), "maxUnavailable": int64(s.RollingUpdate.MaxUnavailable),
		}
	}
	strategy := map[string]any{"type": "RollingUpdate", "rollingUpdate": surge}
	machine := map[string]any{
		"clusterName": names.Cluster,
		"bootstrap":   map[string]any{"dataSecretName": noBootstrapData},
	}
	if v := machineVersion(cluster, g); v != "" {
		machine["version"] = v
	}
	ref := map[string]any{"kind": kwokTemplate, "name": g.MachineGroupRef.Name}
	if names.Version == V1Beta1 {
		ref["apiVersion"], ref["namespace"] = kwokGroup+"/"+kwokVersion, names.Namespace
		spec["strategy"] = strategy
	} else {
		ref["apiGroup"] = kwokGroup
		spec["rollout"] = map[string]any{"strategy": strategy}
	}
	machine["infrastructureRef"] = ref
	spec["clusterName"] = names.Cluster
	spec["selector"] = map[string]any{"matchLabels": selector}
	spec["template"] = map[string]any{"metadata": map[string]any{"labels": labels}, "spec": machine}
}

// labelValue is a name as the value of a label, which has 63 characters at most: a longer
// one is cut, and a digest of the whole keeps it unique.
func labelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	digest := fmt.Sprintf("-%08x", h.Sum32())
	return strings.TrimRight(name[:validation.LabelValueMaxLength-len(digest)], "-.") + digest
}

// machineVersion is the group's Kubernetes version, which EKS Anywhere gives as
// "1.33", in the form that Cluster API wants.
func machineVersion(cluster v1alpha1.Cluster, g Group) string {
	v := cluster.Spec.KubernetesVersion
	if g.KubernetesVersion != "" {
		v = g.KubernetesVersion
	}
	if v == "" {
		return ""
	}
	return "v" + v + ".0"
}
