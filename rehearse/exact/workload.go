package exact

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// appLabel names a pod's workload; it is that by which a stage counts pods.
const appLabel = "app"

// openGate is the scheduling gate that pods may have until the judge opens it.
const openGate = "exact.plimsoll.dev/wait"

func ownLabels(name string) map[string]string { return map[string]string{appLabel: name} }

func ownSelector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: ownLabels(name)}
}

// draft is a workload that is being drawn.
type draft struct {
	*drawing
	w    *Workload
	spec corev1.PodSpec
	// zones are those that its pods may be in; as where nothing is wanted, all of them.
	zones []string
	// claims are made for each pod.
	claims []corev1.PersistentVolumeClaim
}

func (d *drawing) newDraft(name string, pods int) *draft {
	return &draft{
		drawing: d, zones: d.Zones,
		w:    &Workload{Name: name, Pods: pods, Most: mostPods},
		spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](0)},
	}
}

// drawWorkload draws pods all of which can run.
func (d *drawing) drawWorkload(name string) *Workload {
	f := d.newDraft(name, 1+d.dice.IntN(mostPods))
	f.apply(pick(d.dice, sizes))
	if d.dice.IntN(3) > 0 {
		f.apply(pick(d.dice, places))
	}
	if d.dice.IntN(4) > 0 {
		f.apply(pick(d.dice, neighbours))
	}
	if d.dice.IntN(2) == 0 {
		f.apply(pick(d.dice, others))
	}
	if d.dice.IntN(3) == 0 {
		f.w.Needs = append(f.w.Needs, budget(name))
	}
	f.w.Pods = min(f.w.Pods, f.w.Most)
	f.finish()
	if !f.w.Gated {
		d.leaders = append(d.leaders, f.w)
	}
	return f.w
}

// finish makes the object that makes the pods.
func (f *draft) finish() {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(ownLabels(f.w.Name))}, Spec: f.spec,
	}
	size := ptr.To(int32(f.w.Pods))
	if len(f.claims) > 0 {
		f.w.Maker = &appsv1.StatefulSet{
			ObjectMeta: inNamespace(f.w.Name),
			Spec: appsv1.StatefulSetSpec{
				Replicas: size, Selector: ownSelector(f.w.Name), ServiceName: f.w.Name, Template: template,
				VolumeClaimTemplates: f.claims, PodManagementPolicy: appsv1.ParallelPodManagement,
			},
		}
		return
	}
	f.w.Maker = &appsv1.Deployment{
		ObjectMeta: inNamespace(f.w.Name),
		Spec:       appsv1.DeploymentSpec{Replicas: size, Selector: ownSelector(f.w.Name), Template: template},
	}
}

// trait is something that pods want. It does nothing, and says so, where the round has not what it needs.
type trait struct {
	name string
	draw func(*draft) bool
}

func (f *draft) apply(t trait) {
	if t.draw(f) {
		f.w.Traits = append(f.w.Traits, t.name)
	}
}

func (f *draft) cpu() string    { return pick(f.dice, []string{"100m", "250m", "500m", "1", "1500m"}) }
func (f *draft) memory() string { return pick(f.dice, []string{"64Mi", "256Mi", "1Gi", "2Gi"}) }

// sizes are what pods request: at most 1,750m and 3 GiB, which the smallest node has beside all daemons.
var sizes = []trait{
	{"requests", func(f *draft) bool {
		f.spec.Containers = []corev1.Container{container("main", f.cpu(), f.memory())}
		return true
	}},
	{"an init container", func(f *draft) bool {
		f.spec.InitContainers = []corev1.Container{container("init", f.cpu(), f.memory())}
		f.spec.Containers = []corev1.Container{container("main", f.cpu(), f.memory())}
		return true
	}},
	{"a sidecar", func(f *draft) bool {
		sidecar := container("sidecar", "250m", "512Mi")
		sidecar.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		f.spec.InitContainers = []corev1.Container{sidecar, container("init", f.cpu(), "64Mi")}
		f.spec.Containers = []corev1.Container{container("main", f.cpu(), f.memory())}
		return true
	}},
	{"overhead", func(f *draft) bool {
		f.spec.RuntimeClassName = ptr.To(heavyRuntime)
		f.spec.Containers = []corev1.Container{container("main", f.cpu(), f.memory())}
		return true
	}},
	{"pod-level resources", func(f *draft) bool {
		f.spec.Resources = &corev1.ResourceRequirements{Requests: amounts(f.cpu(), f.memory())}
		f.spec.Containers = []corev1.Container{{Name: "main", Image: "none"}, {Name: "second", Image: "none"}}
		return true
	}},
	{"no requests", func(f *draft) bool {
		f.spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
		return true
	}},
}

// places are which nodes pods want.
var places = []trait{
	{"a node selector for a zone", func(f *draft) bool {
		f.zones = []string{f.zone()}
		f.spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: f.zones[0]}
		return true
	}},
	{"a node selector for a disk", func(f *draft) bool {
		if !f.hasDisk {
			return false
		}
		f.zones = f.zonesOf("disk")
		f.spec.NodeSelector = map[string]string{diskLabel: "ssd"}
		return true
	}},
	{"a node affinity to zones", func(f *draft) bool {
		f.zones = f.someZones()
		f.require(inZones(f.zones...))
		return true
	}},
	{"a node affinity with two terms", func(f *draft) bool {
		terms := inZones(f.zones...)
		terms.NodeSelectorTerms = append(terms.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "none", Operator: corev1.NodeSelectorOpExists}},
		})
		f.require(terms)
		return true
	}},
	{"a node affinity away from a disk", func(f *draft) bool {
		f.require(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: diskLabel, Operator: corev1.NodeSelectorOpDoesNotExist}},
		}}})
		return true
	}},
	{"a toleration and a selector", func(f *draft) bool {
		if !f.hasDedicated {
			return false
		}
		f.zones = f.zonesOf("dedicated")
		f.spec.NodeSelector = map[string]string{"rehearse.plimsoll.dev/group": "dedicated"}
		f.tolerate(corev1.Toleration{Key: dedicatedTaint, Operator: corev1.TolerationOpEqual, Value: "batch"})
		return true
	}},
	{"a toleration alone", func(f *draft) bool {
		f.tolerate(corev1.Toleration{Key: dedicatedTaint, Operator: corev1.TolerationOpExists})
		return true
	}},
}

func (f *draft) zonesOf(group string) []string {
	for _, g := range f.Groups {
		if g.Name == group {
			return []string{g.Zone}
		}
	}
	return nil
}

func (f *draft) affinity() *corev1.Affinity {
	if f.spec.Affinity == nil {
		f.spec.Affinity = &corev1.Affinity{}
	}
	return f.spec.Affinity
}

func (f *draft) require(nodes *corev1.NodeSelector) {
	f.affinity().NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: nodes}
}

func (f *draft) tolerate(t corev1.Toleration) { f.spec.Tolerations = append(f.spec.Tolerations, t) }

// others are what decides when pods are looked at.
var others = []trait{
	{"a high priority", func(f *draft) bool { f.spec.PriorityClassName = priorityHigh; return true }},
	{"a low priority", func(f *draft) bool { f.spec.PriorityClassName = priorityLow; return true }},
	{"a priority that takes no room", func(f *draft) bool { f.spec.PriorityClassName = priorityPolite; return true }},
	{"a gate", func(f *draft) bool {
		f.w.Gated = true
		f.spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: openGate}}
		return true
	}},
}

func (w *Workload) String() string { return fmt.Sprintf("%s (%d pods: %v)", w.Name, w.Pods, w.Traits) }
