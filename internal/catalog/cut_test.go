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
