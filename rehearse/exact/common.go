package exact

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	priorityHigh, priorityPolite = "exact-high", "exact-polite"
	priorityNone, priorityLow    = "exact-none", "exact-low"
	priorityDaemon               = "exact-daemon"

	heavyRuntime = "exact-heavy"

	// daemonLabel names the DaemonSet of a pod.
	daemonLabel = "daemon"

	// lateStorage binds a claim only once its pod has a node, boundStorage at once.
	lateStorage, boundStorage = "exact-late", "exact-bound"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func inNamespace(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

// common are the classes that workloads name.
func common() []client.Object {
	return []client.Object{
		&corev1.Namespace{ObjectMeta: named(namespace)},
		// As real ones do, daemons take their room from others that came to a new node before them.
		priority(priorityDaemon, 1_000_000, corev1.PreemptLowerPriority),
		priority(priorityHigh, 1000, corev1.PreemptLowerPriority),
		priority(priorityPolite, 500, corev1.PreemptNever),
		priority(priorityNone, 0, corev1.PreemptNever),
		priority(priorityLow, -5, corev1.PreemptNever), // above the cutoff
		&nodev1.RuntimeClass{
			ObjectMeta: named(heavyRuntime), Handler: heavyRuntime,
			Overhead: &nodev1.Overhead{PodFixed: amounts("250m", "128Mi")},
		},
		&storagev1.StorageClass{
			ObjectMeta: named(lateStorage), Provisioner: "kubernetes.io/no-provisioner",
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
		},
		&storagev1.StorageClass{
			ObjectMeta: named(boundStorage), Provisioner: "kubernetes.io/no-provisioner",
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate),
		},
	}
}

func priority(name string, value int32, policy corev1.PreemptionPolicy) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{
		ObjectMeta: named(name), Value: value, GlobalDefault: name == priorityNone, PreemptionPolicy: ptr.To(policy),
	}
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// drawDaemons draws DaemonSets, which take little of each node. Their pods also come to the nodes that are put up to
// ask the scheduler about.
func (d *drawing) drawDaemons() {
	for i := range d.dice.IntN(3) {
		name := fmt.Sprintf("daemon-%d", i)
		own := map[string]string{daemonLabel: name}
		spec := corev1.PodSpec{
			PriorityClassName:             priorityDaemon,
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers:                    []corev1.Container{container("main", "100m", "128Mi")},
			Tolerations:                   []corev1.Toleration{{Key: witnessTaint, Operator: corev1.TolerationOpExists}},
		}
		switch {
		case d.dice.IntN(2) == 0:
			spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		case d.hasDisk && d.dice.IntN(2) == 0:
			spec.NodeSelector = map[string]string{diskLabel: "ssd"}
		}
		d.Daemons = append(d.Daemons, &appsv1.DaemonSet{
			ObjectMeta: inNamespace(name),
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: own},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: own}, Spec: spec},
			},
		})
	}
}

func container(name, cpu, memory string) corev1.Container {
	return corev1.Container{
		Name: name, Image: "none", Resources: corev1.ResourceRequirements{Requests: amounts(cpu, memory)},
	}
}

// budget lets one pod of a workload be away.
func budget(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: inNamespace(name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: ownLabels(name)},
		},
	}
}

// volume is one that can be used in a zone.
func volume(name, class, zone string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: named(name),
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class,
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: "/none"},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: inZones(zone)},
		},
	}
}

func claim(name, class string, mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: inNamespace(name),
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(class),
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
}

// volumeFor is a volume of a zone with the claim that it is for.
func volumeFor(name, zone string, mode corev1.PersistentVolumeAccessMode) []client.Object {
	pv, pvc := volume(name, boundStorage, zone, mode), claim(name, boundStorage, mode)
	pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name}
	pvc.Spec.VolumeName = name
	return []client.Object{pv, &pvc}
}

func inZones(zones ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones},
		},
	}}}
}
