package pools

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
)

// minReadySeconds is what Gardener sets.
const minReadySeconds = 500

// Objects are the classes and the MachineDeployments of all pools, in the order of
// their zones.
func (s Shoot) Objects() []client.Object {
	var all []client.Object
	for _, p := range s.Pools {
		for zone := range p.Zones {
			all = append(all, s.class(p, zone), s.deployment(p, zone))
		}
	}
	return all
}

// Create makes the namespace and the objects.
func (s Shoot) Create(ctx context.Context, c client.Client) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Control()}}
	if err := client.IgnoreAlreadyExists(c.Create(ctx, namespace)); err != nil {
		return fmt.Errorf("create the shoot's namespace %s: %w", namespace.Name, err)
	}
	for _, object := range s.Objects() {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, object)); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	return nil
}

func (s Shoot) class(p Pool, zone int) *machinev1.MachineClass {
	template := &machinev1.NodeTemplate{
		Capacity: p.Machine.capacity(), InstanceType: p.Machine.Type, Region: s.region(), Zone: p.Zones[zone],
	}
	if p.Machine.Architecture != "" {
		template.Architecture = ptr.To(p.Machine.Architecture)
	}
	knobs := map[string]string{}
	if d := p.JoinDelay.Duration; d > 0 {
		knobs[gardener.JoinDelayAnnotation] = d.String()
	}
	if d := p.DeleteDelay.Duration; d > 0 {
		knobs[gardener.DeleteDelayAnnotation] = d.String()
	}
	if p.CreateError != "" {
		knobs[gardener.CreateErrorAnnotation] = p.CreateError
	}
	if n, ok := p.Quota[p.Zones[zone]]; ok {
		knobs[gardener.QuotaAnnotation] = strconv.Itoa(n)
	}
	return &machinev1.MachineClass{
		ObjectMeta:   metav1.ObjectMeta{Namespace: s.Control(), Name: s.Deployment(p.Name, zone), Annotations: knobs},
		NodeTemplate: template,
		Provider:     "rehearsal",
		ProviderSpec: runtime.RawExtension{Raw: []byte("{}")},
	}
}

func (s Shoot) deployment(p Pool, zone int) *machinev1.MachineDeployment {
	name := s.Deployment(p.Name, zone)
	selected := map[string]string{machinev1.NameLabel: name}
	annotations := map[string]string{
		machinev1.PoolMinimumAnnotation: strconv.Itoa(p.Minimum),
		machinev1.PoolMaximumAnnotation: strconv.Itoa(p.Maximum),
	}
	if p.Sizing != "" {
		annotations[machinev1.SizingAnnotation] = p.Sizing
	}
	maps.Copy(annotations, p.Options)
	surge, unavailable := p.MaxSurge, p.MaxUnavailable
	if surge == 0 && unavailable == 0 {
		surge = 1
	}
	return &machinev1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Control(), Name: name, Annotations: annotations,
			Labels: map[string]string{machinev1.PoolLabel: p.Name},
		},
		Spec: machinev1.MachineDeploymentSpec{
			Replicas:    int32(share(p.Minimum, zone, len(p.Zones))),
			PoolMinimum: ptr.To(int32(p.Minimum)),
			PoolMaximum: ptr.To(int32(p.Maximum)),
			Selector:    &metav1.LabelSelector{MatchLabels: selected},
			Strategy: machinev1.MachineStrategy{
				Type: machinev1.RollingUpdate,
				RollingUpdate: &machinev1.UpdateBounds{
					MaxSurge: ptr.To(intstr.FromInt(surge)), MaxUnavailable: ptr.To(intstr.FromInt(unavailable)),
				},
			},
			MinReadySeconds:      minReadySeconds,
			RevisionHistoryLimit: ptr.To[int32](0),
			Template: machinev1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selected},
				Spec: machinev1.MachineSpec{
					Class:        machinev1.ClassSpec{Kind: machinev1.KindMachineClass, Name: name},
					NodeTemplate: s.nodeTemplate(p, zone),
				},
			},
		},
	}
}

// nodeTemplate has the labels that Gardener puts on a pool's nodes.
func (s Shoot) nodeTemplate(p Pool, zone int) machinev1.NodeTemplateSpec {
	labels := map[string]string{
		machinev1.PoolLabel:            p.Name,
		corev1.LabelTopologyZone:       p.Zones[zone],
		corev1.LabelTopologyRegion:     s.region(),
		corev1.LabelInstanceTypeStable: p.Machine.Type,
	}
	maps.Copy(labels, p.Labels)
	return machinev1.NodeTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: p.Annotations},
		Spec:       corev1.NodeSpec{Taints: p.Taints},
	}
}
