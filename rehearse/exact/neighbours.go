package exact

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// neighbours are what pods want of others: where those are, what those use. Each can be had for all pods on new nodes.
var neighbours = []trait{
	{"an even spread over zones", func(f *draft) bool {
		c := f.spread(corev1.LabelTopologyZone)
		c.MinDomains = ptr.To(int32(1 + f.dice.IntN(len(f.zones))))
		return true
	}},
	{"a spread that counts all nodes", func(f *draft) bool {
		if len(f.zones) < len(f.Zones) {
			return false // a zone that its pods may not use would hold the others back
		}
		f.spread(corev1.LabelTopologyZone).NodeAffinityPolicy = ptr.To(corev1.NodeInclusionPolicyIgnore)
		return true
	}},
	{"a spread over nodes", func(f *draft) bool {
		f.spread(corev1.LabelHostname)
		return true
	}},
	{"a spread over nodes that honours taints", func(f *draft) bool {
		f.spread(corev1.LabelHostname).NodeTaintsPolicy = ptr.To(corev1.NodeInclusionPolicyHonor)
		return true
	}},
	{"a spread of each generation", func(f *draft) bool {
		f.spread(corev1.LabelTopologyZone).MatchLabelKeys = []string{"pod-template-hash"}
		return true
	}},
	{"a node of their own", func(f *draft) bool {
		f.apart(corev1.LabelHostname, ownLabels(f.w.Name))
		return true
	}},
	{"a zone of their own", func(f *draft) bool {
		f.apart(corev1.LabelTopologyZone, ownLabels(f.w.Name))
		f.w.Most = len(f.zones)
		return true
	}},
	{"one zone for all of them", func(f *draft) bool {
		f.beside(ownLabels(f.w.Name))
		return true
	}},
	{"the zone of others", func(f *draft) bool {
		if len(f.leaders) == 0 || len(f.zones) < len(f.Zones) || f.claims != nil {
			return false
		}
		leader := pick(f.dice, f.leaders)
		leader.Least = 1
		f.beside(ownLabels(leader.Name))
		return true
	}},
	{"a node without others", func(f *draft) bool {
		if len(f.leaders) == 0 {
			return false
		}
		f.apart(corev1.LabelHostname, ownLabels(pick(f.dice, f.leaders).Name))
		return true
	}},
	{"a host port", func(f *draft) bool {
		f.spec.Containers[0].Ports = []corev1.ContainerPort{hostPort(int32(8000 + f.dice.IntN(2)))}
		f.w.Most = 4
		return true
	}},
	{"a volume in a zone", func(f *draft) bool {
		f.w.Needs = append(f.w.Needs, volumeFor(f.w.Name, pick(f.dice, f.zones), corev1.ReadWriteOnce)...)
		f.mount(f.w.Name)
		f.w.Most = 3
		return true
	}},
	{"volumes that are bound late", func(f *draft) bool {
		// Each pod keeps its volume for good, and has one in each zone to choose from.
		for i := range mostPods {
			for _, zone := range f.zones {
				name := fmt.Sprintf("%s-%d-%s", f.w.Name, i, zone)
				pv := volume(name, lateStorage, zone, corev1.ReadWriteOnce)
				pv.Labels = ownLabels(f.w.Name)
				f.w.Needs = append(f.w.Needs, pv)
			}
		}
		c := claim("data", lateStorage, corev1.ReadWriteOnce)
		c.Namespace = ""
		c.Spec.Selector = ownSelector(f.w.Name)
		f.claims = append(f.claims, c)
		return true
	}},
}

func (f *draft) spread(key string) *corev1.TopologySpreadConstraint {
	f.spec.TopologySpreadConstraints = append(f.spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: int32(1 + f.dice.IntN(2)), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: ownSelector(f.w.Name),
	})
	return &f.spec.TopologySpreadConstraints[len(f.spec.TopologySpreadConstraints)-1]
}

func terms(key string, labels map[string]string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
}

func (f *draft) apart(key string, from map[string]string) {
	f.affinity().PodAntiAffinity = &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: terms(key, from),
	}
}

func (f *draft) beside(others map[string]string) {
	f.affinity().PodAffinity = &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: terms(corev1.LabelTopologyZone, others),
	}
}

func (f *draft) mount(claimName string) {
	f.spec.Volumes = append(f.spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName},
	}})
}

func hostPort(port int32) corev1.ContainerPort {
	return corev1.ContainerPort{ContainerPort: port, HostPort: port}
}
