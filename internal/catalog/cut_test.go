package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestRequestsOfOneContainer: they are its own, which is what the scheduler's sum comes to.
func TestRequestsOfOneContainer(t *testing.T) {
	for _, requests := range []corev1.ResourceList{
		nil, {},
		{"cpu": resource.MustParse("1000m"), "memory": resource.MustParse("1024Mi"), "a.b/c": resource.MustParse("0")},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: requests}},
		}}}
		summed := pod.DeepCopy()
		summed.Spec.InitContainers = make([]corev1.Container, 1) // asks for nothing
		c := New()
		if own, sum := c.Pod(pod), c.Pod(summed); own != sum {
			t.Errorf("requests %v: content %v, summed %v", requests, own, sum)
		}
	}
}

// TestLimitsAlone: what a container limits and does not request it requests, as the API server has it in a pod. In the
// template of a DaemonSet, or in a file, that has not been written yet.
func TestLimitsAlone(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, n := range map[corev1.ResourceName]string{"cpu": cpu, "memory": memory} {
			if n != "" {
				out[name] = resource.MustParse(n)
			}
		}
		return out
	}
	said := func(requests, limits corev1.ResourceList) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
	}
	c := New()
	for _, more := range []int{0, 1} { // further containers
		of := func(one corev1.Container) *corev1.Pod {
			all := append([]corev1.Container{one}, make([]corev1.Container, more)...)
			return &corev1.Pod{Spec: corev1.PodSpec{Containers: all}}
		}
		want := c.Pod(of(said(list("3", "1Gi"), nil)))
		for _, one := range []corev1.Container{
			said(nil, list("3", "1Gi")), said(list("3", ""), list("4", "1Gi")), said(list("3", "1Gi"), list("4", "")),
		} {
			if got := c.Pod(of(one)); got != want {
				t.Errorf("%d further containers: %+v has content %v, want %v", more, one.Resources, got, want)
			}
		}
	}
}
