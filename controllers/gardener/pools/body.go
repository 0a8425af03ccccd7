package pools

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

const (
	// workerAnnotation, on a machine deployment, names the Worker that it is made
	// from. Only what carries it is ever deleted.
	workerAnnotation = "autoscaler.plimsoll.dev/worker"
	// HibernatedAnnotation is the autoscaler's, too.
	HibernatedAnnotation = mcm.HibernatedAnnotation

	workerNameLabel = "worker.gardener.cloud/name" // on machines that are updated in place
	zoneLabel       = corev1.LabelTopologyZone

	// What Gardener gives every machine deployment.
	minReadySeconds      = 500
	revisionHistoryLimit = 0
)

// Annotations that are the pool's own values of flags of the autoscaler.
const (
	utilizationOption    = mcm.OptionPrefix + "scale-down-utilization-threshold"
	gpuUtilizationOption = mcm.OptionPrefix + "scale-down-gpu-utilization-threshold"
	unneededOption       = mcm.OptionPrefix + "scale-down-unneeded-time"
	unreadyOption        = mcm.OptionPrefix + "scale-down-unready-time"
	provisionOption      = mcm.OptionPrefix + "max-node-provision-time"
)

// limits is what an autoscaler reads of a machine deployment's pool. It stands
// twice: an update by a machine-controller-manager that does not know the fields of
// the spec drops them, and annotations outlive it.
func (c Cluster) limits(p v1alpha1.Pool) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			mcm.PoolMinimumAnnotation: strconv.Itoa(int(p.Minimum)),
			mcm.PoolMaximumAnnotation: strconv.Itoa(int(p.Maximum)),
			mcm.SizingAnnotation:      c.Sizing,
		}},
		"spec": map[string]any{"poolMinimum": int64(p.Minimum), "poolMaximum": int64(p.Maximum)},
	}
}

// body is what is wanted of the zone's machine deployment, but for its replicas.
func (z Zone) body(class string) map[string]any {
	body := z.Cluster.limits(z.Pool)
	metadata := body["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{mcm.PoolLabel: z.Pool.Name}
	annotations := metadata["annotations"].(map[string]any)
	annotations[workerAnnotation] = z.Cluster.Worker
	if z.Cluster.Hibernated {
		annotations[HibernatedAnnotation] = "true"
	} else {
		annotations[HibernatedAnnotation] = nil
	}
	for key, value := range options(z.Pool.ClusterAutoscaler) {
		annotations[key] = value
	}

	spec := body["spec"].(map[string]any)
	spec["minReadySeconds"] = int64(minReadySeconds)
	spec["revisionHistoryLimit"] = int64(revisionHistoryLimit)
	spec["strategy"] = z.strategy()
	spec["selector"] = map[string]any{"matchLabels": map[string]any{mcm.NameLabel: z.Name()}}
	labels := map[string]any{mcm.NameLabel: z.Name()}
	if inPlace(z.Pool) {
		labels[workerNameLabel] = z.Cluster.Worker
	}
	machine := machineSettings(z.Pool.MachineControllerManager)
	machine["class"] = map[string]any{"kind": mcm.KindMachineClass, "name": class}
	machine["nodeTemplate"] = z.nodeTemplate()
	spec["template"] = map[string]any{"metadata": map[string]any{"labels": labels}, "spec": machine}
	spec["autoPreserveFailedMachineMax"] = nil
	if m := z.Pool.MachineControllerManager; m != nil && m.AutoPreserveFailedMachineMax != nil {
		spec["autoPreserveFailedMachineMax"] = int64(z.share(*m.AutoPreserveFailedMachineMax))
	}
	return body
}

// nodeTemplate is what the zone's nodes are to have. A zone without a name gives no
// label: a made-up one would be written to nodes, and volumes would not find them.
func (z Zone) nodeTemplate() map[string]any {
	labels, annotations := whole{}, whole{}
	for key, value := range z.Pool.Labels {
		labels[key] = value
	}
	labels[mcm.PoolLabel] = z.Pool.Name
	if z.Title() != "" {
		labels[zoneLabel] = z.Title()
	}
	for key, value := range z.Pool.Annotations {
		annotations[key] = value
	}
	template := map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}}
	var taints any
	if len(z.Pool.Taints) > 0 {
		list := make([]any, 0, len(z.Pool.Taints))
		for _, t := range z.Pool.Taints {
			taint := map[string]any{"key": t.Key, "effect": string(t.Effect)}
			if t.Value != "" {
				taint["value"] = t.Value
			}
			list = append(list, taint)
		}
		taints = list
	}
	template["spec"] = map[string]any{"taints": taints}
	return template
}

// strategy is how the zone's machines are replaced, with its share of the surge and
// of what may be missing.
func (z Zone) strategy() map[string]any {
	zones := int32(len(z.Pool.Zones))
	bounds := map[string]any{
		"maxSurge":       number(distributePositiveIntOrPercent(z.Index, z.Pool.MaxSurge, zones, z.Pool.Maximum)),
		"maxUnavailable": number(distributePositiveIntOrPercent(z.Index, z.Pool.MaxUnavailable, zones, z.Pool.Minimum)),
	}
	if !inPlace(z.Pool) {
		return map[string]any{"type": string(mcm.RollingUpdate), "rollingUpdate": bounds, "inPlaceUpdate": nil}
	}
	bounds["orchestrationType"] = "Auto"
	if *z.Pool.UpdateStrategy == v1beta1.ManualInPlaceUpdate {
		bounds["orchestrationType"] = "Manual"
	}
	return map[string]any{"type": string(mcm.InPlaceUpdate), "inPlaceUpdate": bounds, "rollingUpdate": nil}
}

func number(v intstr.IntOrString) any {
	if v.Type == intstr.Int {
		return int64(v.IntVal)
	}
	return v.StrVal
}

// options are the annotations of a pool's own values; nil: there must be none.
func options(a *v1alpha1.PoolAutoscaler) map[string]any {
	if a == nil {
		a = &v1alpha1.PoolAutoscaler{}
	}
	return map[string]any{
		utilizationOption:    orNil(a.ScaleDownUtilizationThreshold),
		gpuUtilizationOption: orNil(a.ScaleDownGpuUtilizationThreshold),
		unneededOption:       duration(a.ScaleDownUnneededTime),
		unreadyOption:        duration(a.ScaleDownUnreadyTime),
		provisionOption:      duration(a.MaxNodeProvisionTime),
	}
}

// machineSettings is what a pool says to the machine-controller-manager; nil: the
// field must not be there, so that the manager's own value holds.
func machineSettings(m *v1beta1.MachineControllerManager) map[string]any {
	if m == nil {
		m = &v1beta1.MachineControllerManager{}
	}
	settings := map[string]any{
		"drainTimeout":           duration(m.MachineDrainTimeout),
		"healthTimeout":          duration(m.MachineHealthTimeout),
		"creationTimeout":        duration(m.MachineCreationTimeout),
		"inPlaceUpdateTimeout":   duration(m.MachineInPlaceUpdateTimeout),
		"machinePreserveTimeout": duration(m.MachinePreserveTimeout),
		"disableHealthTimeout":   orNil(m.DisableHealthTimeout),
		"maxEvictRetries":        nil,
		"nodeConditions":         nil,
	}
	if m.MaxEvictRetries != nil {
		settings["maxEvictRetries"] = int64(*m.MaxEvictRetries)
	}
	if len(m.NodeConditions) > 0 {
		settings["nodeConditions"] = strings.Join(m.NodeConditions, ",")
	}
	return settings
}

func duration(d *metav1.Duration) any {
	if d == nil {
		return nil
	}
	return d.Duration.String()
}

func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// Render is the zone's machine deployment as it is when it is new.
func (z Zone) Render(class string) map[string]any {
	object := plain(z.body(class))
	object["apiVersion"] = mcm.GroupVersion.String()
	object["kind"] = mcm.KindMachineDeployment
	metadata := object["metadata"].(map[string]any)
	metadata["name"], metadata["namespace"] = z.Name(), z.Cluster.Namespace
	object["spec"].(map[string]any)["replicas"] = int64(z.first())
	return object
}

func (z Zone) describe() string {
	if z.Title() == "" {
		return describe(z.Pool)
	}
	return "zone " + z.Title() + " of " + describe(z.Pool)
}

func describe(p v1alpha1.Pool) string {
	return fmt.Sprintf("pool %s, %d to %d", p.Name, p.Minimum, p.Maximum)
}
