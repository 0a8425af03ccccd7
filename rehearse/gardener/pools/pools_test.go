package pools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func TestDefaultShoot(t *testing.T) {
	s, err := Read("")
	if err != nil {
		t.Fatal(err)
	}
	var replicas []int32
	var names []string
	for _, o := range s.Objects() {
		d, ok := o.(*machinev1.MachineDeployment)
		if !ok {
			continue
		}
		names, replicas = append(names, d.Name), append(replicas, d.Spec.Replicas)
		if *d.Spec.PoolMinimum != 3 || *d.Spec.PoolMaximum != 4 || d.Annotations[machinev1.PoolMaximumAnnotation] != "4" ||
			d.Labels[machinev1.PoolLabel] != "workers" || d.Spec.Selector.MatchLabels["name"] != d.Name {
			t.Errorf("got %+v", d)
		}
	}
	if want := "shoot--local--rehearsal-workers-z1"; !slices.Equal(replicas, []int32{1, 1, 1}) || names[0] != want {
		t.Errorf("got %v of %v", replicas, names)
	}
}

func TestObjectsOfAPool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shoot.yaml")
	text := `
namespace: shoot--a--b
pools:
- name: gpu
  minimum: 2
  maximum: 3
  zones: [a, b, c]
  sizing: Lax-Greedy
  maxUnavailable: 1
  machine: {type: big, capacity: {cpu: 4, memory: 8Gi, gpu: 2}, architecture: arm64}
  labels: {team: ml}
  taints: [{key: gpu, effect: NoSchedule}]
  options: {autoscaler.gardener.cloud/scale-down-unneeded-time: 1m}
  joinDelay: 2s
  quota: {b: 0}
  createError: Unavailable:2
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	objects := s.Objects()
	if len(objects) != 6 {
		t.Fatalf("got %d objects", len(objects))
	}
	class, d := objects[2].(*machinev1.MachineClass), objects[3].(*machinev1.MachineDeployment)
	if class.Annotations["rehearse.plimsoll.dev/quota"] != "0" ||
		class.Annotations["rehearse.plimsoll.dev/join-delay"] != "2s" ||
		class.Annotations["rehearse.plimsoll.dev/create-error"] != "Unavailable:2" ||
		class.NodeTemplate.Zone != "b" || *class.NodeTemplate.Architecture != "arm64" ||
		class.NodeTemplate.Capacity.Name("gpu", resource.DecimalSI).Value() != 2 {
		t.Errorf("the class is %+v", class)
	}
	node := d.Spec.Template.Spec.NodeTemplate
	if d.Name != "shoot--a--b-gpu-z2" || d.Spec.Template.Spec.Class.Name != class.Name ||
		d.Annotations[machinev1.SizingAnnotation] != "Lax-Greedy" ||
		d.Annotations["autoscaler.gardener.cloud/scale-down-unneeded-time"] != "1m" ||
		d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 ||
		d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 1 ||
		node.Labels["team"] != "ml" || node.Labels[corev1.LabelTopologyZone] != "b" || node.Spec.Taints[0].Key != "gpu" {
		t.Errorf("the deployment is %+v", d)
	}
	if _, limited := objects[0].(*machinev1.MachineClass).Annotations["rehearse.plimsoll.dev/quota"]; limited {
		t.Error("the quota of b is a's too")
	}
}

// Each of the shares is a row of GEP-24's examples.
func TestShare(t *testing.T) {
	for _, test := range []struct {
		of   int
		want []int
	}{
		{3, []int{1, 1, 1}}, {4, []int{2, 1, 1}}, {1, []int{1, 0, 0}}, {2, []int{1, 1, 0}}, {0, []int{0, 0}},
		{5, []int{3, 2}},
	} {
		var got []int
		for i := range test.want {
			got = append(got, share(test.of, i, len(test.want)))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d: got %v, want %v", test.of, got, test.want)
		}
	}
}

func TestCheckTellsEverything(t *testing.T) {
	s := Shoot{Pools: []Pool{
		{Name: "a", Minimum: 2, Maximum: 1, Sizing: "Fair", Quota: map[string]int{"w": 1}},
		{Name: "a", Maximum: 1, Zones: []string{"x", "x"}, MaxSurge: -1},
		{Name: "A_", Zones: []string{"x"}},
	}}
	err := s.Check()
	for _, want := range []string{
		"minimum 2 and maximum 1", `the sizing "Fair"`, "the quota w", "there twice", "a zone is there twice",
		"less than 0", "no zones", "machine.type", "no cpu", "no memory", `the pool "A_": a lowercase`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not tell %q: %v", want, err)
		}
	}
	if err := (Shoot{}).Check(); err == nil {
		t.Error("a shoot without pools is right")
	}
}
