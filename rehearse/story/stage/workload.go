package stage

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// namespace is where the workloads of a stage live.
const namespace = metav1.NamespaceDefault

// workloadLabel tells a pod's workload.
const workloadLabel = "app"

// Workload is a Deployment of a stage.
type Workload struct {
	Name        string
	Replicas    int
	CPU, Memory string // requests of each pod, quantities

	Selector   map[string]string // node labels that its nodes must have
	Required   map[string]string // the same, as a required node affinity
	Tolerates  string            // key of a taint that it tolerates; empty: none
	SpreadOver string            // topology key to spread evenly over; empty: none
}

// Deployment is the workload as the API server takes it.
func (w Workload) Deployment() (*appsv1.Deployment, error) {
	requests := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: w.CPU, corev1.ResourceMemory: w.Memory} {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %s %q: %w", w.Name, name, text, err)
		}
		requests[name] = quantity
	}
	labels := map[string]string{workloadLabel: w.Name}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:      "main",
			Image:     "registry.invalid/main", // nothing pulls it: kwok runs the pods
			Resources: corev1.ResourceRequirements{Requests: requests},
		}},
		NodeSelector: w.Selector,
		Affinity:     w.affinity(),
	}
	if w.Tolerates != "" {
		spec.Tolerations = []corev1.Toleration{{Key: w.Tolerates, Operator: corev1.TolerationOpExists}}
	}
	if w.SpreadOver != "" {
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew:           1,
			TopologyKey:       w.SpreadOver,
			WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: labels},
		}}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(w.Replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}, nil
}

func (w Workload) affinity() *corev1.Affinity {
	if len(w.Required) == 0 {
		return nil
	}
	var term corev1.NodeSelectorTerm
	for key, value := range w.Required {
		term.MatchExpressions = append(term.MatchExpressions,
			corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{term},
		},
	}}
}

// WorkloadOf is the name of a pod's workload; empty for other pods.
func WorkloadOf(pod *corev1.Pod) string { return pod.Labels[workloadLabel] }

// Create makes the workloads' Deployments.
func (s *Stage) Create(ctx context.Context, workloads ...Workload) error {
	for _, w := range workloads {
		deployment, err := w.Deployment()
		if err != nil {
			return err
		}
		if _, err := s.Client.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create the Deployment %s: %w", w.Name, err)
		}
	}
	return nil
}

// Scale sets how many pods a workload wants.
func (s *Stage) Scale(ctx context.Context, name string, replicas int) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
	}
	if _, err := s.Client.AppsV1().Deployments(namespace).
		UpdateScale(ctx, name, scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale the Deployment %s to %d: %w", name, replicas, err)
	}
	return nil
}
