package catalog_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestRequestsBeyondAllNodes: who creates pods writes any amount. One that no node has counts as such, alone and
// summed, and never as less than nothing; the pod itself stays as it is.
func TestRequestsBeyondAllNodes(t *testing.T) {
	const more = "more than any node has"
	for requests, want := range map[string]string{
		"cpu=2":                            "cpu 2",
		"cpu=1M":                           "cpu 1M",
		"memory=8Pi":                       "memory 8Pi",
		"memory=9Pi":                       "memory " + more,
		"cpu=100E":                         "cpu " + more,
		"memory=100Ei":                     "memory " + more,
		"memory=1e999999999":               "memory " + more,
		"example.com/x=9E":                 "example.com/x " + more,
		"memory=100Ei memory=100Ei":        "memory " + more,
		"cpu=9E cpu=9E memory=1Gi":         "cpu " + more + ", memory 1Gi",
		"memory=1e999999999 memory=1Gi":    "memory " + more,
		"memory=5Pi memory=5Pi":            "memory " + more,
		"memory=1 example.com/x=100E cpu=": "memory 1, example.com/x " + more,
	} {
		pod := &corev1.Pod{}
		for one := range strings.FieldsSeq(requests) {
			name, amount, _ := strings.Cut(one, "=")
			if amount == "" {
				continue
			}
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(amount)}}})
		}
		before := pod.DeepCopy()
		got := model.ResourcesOf(catalog.Cut(pod).Spec.Containers[0].Resources.Requests)
		if got.String() != want {
			t.Errorf("%s: %s, want %s", requests, got, want)
		}
		if least := min(got.MilliCPU, got.Memory, got.Value("example.com/x")); least < 0 {
			t.Errorf("%s: %d", requests, least)
		}
		for i := range before.Spec.Containers {
			for name, q := range before.Spec.Containers[i].Resources.Requests {
				if now := pod.Spec.Containers[i].Resources.Requests[name]; now.String() != q.String() {
					t.Errorf("%s: the pod itself has %s now", requests, now.String())
				}
			}
		}
	}
}
