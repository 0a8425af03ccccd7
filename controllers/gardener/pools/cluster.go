package pools

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// Cluster is what concerns the worker pools of a shoot, whether it was read from
// the Shoot itself or on its seed.
type Cluster struct {
	// Shoot is the shoot's name. Namespace is that of its control plane on the seed,
	// which Gardener also calls its technical ID.
	Shoot, Namespace string
	// Worker is the name of the Worker object; Gardener gives it the shoot's.
	Worker     string
	Hibernated bool
	// Sizing is one of the names of sizing strategies, never empty.
	Sizing string
	Pools  []v1alpha1.Pool
}

// The keys that Gardener puts on a pool's nodes.
const (
	nodeRole         = "node.kubernetes.io/role"
	systemComponents = "worker.gardener.cloud/system-components"
)

// FromShoot reads a valid Shoot. namespace is that of its control plane.
func FromShoot(shoot v1beta1.Shoot, namespace string) Cluster {
	c := Cluster{
		Shoot: shoot.Name, Worker: shoot.Name, Namespace: namespace, Hibernated: shoot.Hibernated(), Sizing: sizingOf(shoot),
	}
	for _, w := range shoot.Spec.Provider.Workers {
		c.Pools = append(c.Pools, poolOf(w))
	}
	return c
}

// FromWorker reads a valid Worker. The Shoot says whether the cluster is hibernated
// and how its pools are sized.
func FromWorker(worker v1alpha1.Worker, shoot v1beta1.Shoot) Cluster {
	return Cluster{Shoot: shoot.Name, Worker: worker.Name, Namespace: worker.Namespace, Hibernated: shoot.Hibernated(),
		Sizing: sizingOf(shoot), Pools: worker.Spec.Pools}
}

// poolOf is a Shoot's worker pool in the form that it has on the seed, with the
// defaults that Gardener gives it.
func poolOf(w v1beta1.Worker) v1alpha1.Pool {
	p := v1alpha1.Pool{
		Name: w.Name, Minimum: w.Minimum, Maximum: w.Maximum, Zones: w.Zones, Priority: w.Priority,
		UpdateStrategy: w.UpdateStrategy,
		MaxSurge:       intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0),
		Labels: map[string]string{nodeRole: "node"}, Annotations: w.Annotations, Taints: w.Taints,
		MachineControllerManager: w.MachineControllerManager,
	}
	if inPlace(p) {
		p.MaxSurge, p.MaxUnavailable = intstr.FromInt32(0), intstr.FromInt32(1)
	}
	if w.MaxSurge != nil {
		p.MaxSurge = *w.MaxSurge
	}
	if w.MaxUnavailable != nil {
		p.MaxUnavailable = *w.MaxUnavailable
	}
	if w.SystemComponents == nil || w.SystemComponents.Allow {
		p.Labels[systemComponents] = "true"
	}
	for key, value := range w.Labels {
		p.Labels[key] = value
	}
	if a := w.ClusterAutoscaler; a != nil {
		p.ClusterAutoscaler = &v1alpha1.PoolAutoscaler{
			ScaleDownUtilizationThreshold:    text(a.ScaleDownUtilizationThreshold),
			ScaleDownGpuUtilizationThreshold: text(a.ScaleDownGpuUtilizationThreshold),
			ScaleDownUnneededTime:            a.ScaleDownUnneededTime,
			ScaleDownUnreadyTime:             a.ScaleDownUnreadyTime,
			MaxNodeProvisionTime:             a.MaxNodeProvisionTime,
		}
	}
	return p
}

func text(threshold *float64) *string {
	if threshold == nil {
		return nil
	}
	s := strconv.FormatFloat(*threshold, 'f', -1, 64)
	return &s
}

func inPlace(p v1alpha1.Pool) bool {
	return p.UpdateStrategy != nil &&
		(*p.UpdateStrategy == v1beta1.AutoInPlaceUpdate || *p.UpdateStrategy == v1beta1.ManualInPlaceUpdate)
}

// TechnicalID is the namespace of a shoot's control plane: what its status says,
// else what Gardener will call it, as far as the project can be told.
func TechnicalID(shoot v1beta1.Shoot) (string, error) {
	if id := shoot.Status.TechnicalID; id != "" {
		return id, nil
	}
	project, ok := strings.CutPrefix(shoot.Namespace, "garden-")
	if !ok || project == "" || shoot.Name == "" {
		return "", fmt.Errorf("status.technicalID is empty, and metadata.namespace %q names no project (garden-<project>)",
			shoot.Namespace)
	}
	return "shoot--" + project + "--" + shoot.Name, nil
}

// Zone is one zone of one pool: one machine deployment.
type Zone struct {
	Cluster Cluster
	Pool    v1alpha1.Pool
	// Index counts the pool's zones from 0. A pool without zones has one, without a
	// name.
	Index int32
}

// Zones are all machine deployments that there must be, in the order of the pools
// and of their zones.
func (c Cluster) Zones() []Zone {
	var all []Zone
	for _, p := range c.Pools {
		for i := range max(1, len(p.Zones)) {
			all = append(all, Zone{Cluster: c, Pool: p, Index: int32(i)})
		}
	}
	return all
}

// Autoscaled reports whether there is anything to do for an autoscaler: a pool with
// room between its limits.
func (c Cluster) Autoscaled() bool {
	for _, p := range c.Pools {
		if p.Maximum > p.Minimum {
			return true
		}
	}
	return false
}

// Name is the machine deployment's.
func (z Zone) Name() string { return zoneName(z.Cluster.Namespace, z.Pool.Name, z.Index) }

func zoneName(namespace, pool string, index int32) string {
	return fmt.Sprintf("%s-%s-z%d", namespace, pool, index+1)
}

// Title is the zone's name; empty, if the pool has none.
func (z Zone) Title() string {
	if int(z.Index) < len(z.Pool.Zones) {
		return z.Pool.Zones[z.Index]
	}
	return ""
}

// Minimum and Maximum are the zone's shares of the pool's limits.
func (z Zone) Minimum() int32 { return z.share(z.Pool.Minimum) }
func (z Zone) Maximum() int32 { return z.share(z.Pool.Maximum) }

func (z Zone) share(n int32) int32 {
	return distributeOverZones(z.Index, n, int32(len(z.Pool.Zones)))
}

// Status are the machine deployments as a Worker's status lists them, with the
// shares that Gardener's own worker controllers list, so that the two agree.
func (c Cluster) Status() []v1alpha1.MachineDeployment {
	var all []v1alpha1.MachineDeployment
	for _, z := range c.Zones() {
		all = append(all, v1alpha1.MachineDeployment{
			Name: z.Name(), Minimum: z.Minimum(), Maximum: z.Maximum(), Priority: z.Pool.Priority,
		})
	}
	return all
}
