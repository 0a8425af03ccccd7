package clusterapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func build(t *testing.T, g scalable, notes map[string]string, behind promise) (*corev1.Node, map[string]string) {
	t.Helper()
	template, err := buildTemplate(&g, readCapacity(notes), behind, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	return template.Node, template.Sources
}

func TestTemplateFromAnnotations(t *testing.T) {
	node, sources := build(t, scalable{}, map[string]string{keyCPU: "4", keyMemory: "16Gi"}, promise{})
	want := corev1.ResourceList{
		"cpu":    resource.MustParse("4"),
		"memory": resource.MustParse("16Gi"),
		"pods":   *resource.NewQuantity(110, resource.DecimalSI),
	}
	if diff := cmp.Diff(want, node.Status.Allocatable); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, node.Status.Capacity); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}, node.Labels,
	); diff != "" {
		t.Error(diff)
	}
	if sources["resource/cpu"] != sourceAnnotation || sources["resource/pods"] != sourceDefault ||
		sources["label/kubernetes.io/arch"] != sourceDefault {
		t.Errorf("sources %v", sources)
	}
}

// An annotation overrides what the infrastructure's template says, amount by
// amount and label by label.
func TestTemplatePrecedence(t *testing.T) {
	behind := readPromise(map[string]string{"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "1", "nonsense": "much"},
		"arm64", "linux")
	if len(behind.bad) != 1 || !strings.Contains(behind.bad[0], "nonsense") {
		t.Errorf("bad: %v", behind.bad)
	}
	g := scalable{
		templateLabels: map[string]string{"node-role.kubernetes.io/worker": "", "node.cluster.x-k8s.io/tier": "front"},
	}
	node, sources := build(t, g,
		map[string]string{keyMemory: "32Gi", keyLabels: "node.cluster.x-k8s.io/tier=back,team=web"}, behind)
	if q := node.Status.Allocatable["memory"]; q.String() != "32Gi" || node.Status.Allocatable.Cpu().String() != "2" {
		t.Errorf("allocatable %v", node.Status.Allocatable)
	}
	if diff := cmp.Diff(map[string]string{
		"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "node-role.kubernetes.io/worker": "",
		"node.cluster.x-k8s.io/tier": "back", "team": "web",
	}, node.Labels); diff != "" {
		t.Error(diff)
	}
	if sources["resource/cpu"] != sourceTemplate || sources["label/team"] != sourceAnnotation ||
		sources["label/node-role.kubernetes.io/worker"] != sourceMachines {
		t.Errorf("sources %v", sources)
	}
}

func TestTemplateTaints(t *testing.T) {
	g := scalable{templateTaints: []corev1.Taint{
		{Key: "a", Value: "machine", Effect: "NoSchedule"}, {Key: "b", Value: "machine", Effect: "NoSchedule"},
		{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"}, {Key: "c", Effect: "Nonsense"},
	}}
	node, _ := build(t, g, map[string]string{
		keyCPU: "1", keyMemory: "1Gi", keyTaints: "a=annotation:NoSchedule,a=annotation:NoExecute",
	}, promise{})
	if diff := cmp.Diff([]corev1.Taint{
		{Key: "a", Value: "annotation", Effect: "NoExecute"}, {Key: "a", Value: "annotation", Effect: "NoSchedule"},
		{Key: "b", Value: "machine", Effect: "NoSchedule"},
	}, node.Spec.Taints); diff != "" {
		t.Error(diff)
	}
}

func TestTemplateDevicesAndVolumes(t *testing.T) {
	said := readCapacity(map[string]string{
		keyCPU:       "1",
		keyMemory:    "1Gi",
		keyDRADriver: "gpu.nvidia.com",
		keyGPUCount:  "3",
		keyCSIDriver: "a.example.com=7,b.example.com=0",
	})
	template, err := buildTemplate(&scalable{}, said, promise{}, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	drivers := template.CSINode.Spec.Drivers
	if len(drivers) != 2 || *drivers[0].Allocatable.Count != 7 || drivers[1].Allocatable != nil {
		t.Errorf("drivers %+v", drivers)
	}
	if s := template.ResourceSlices; len(s) != 1 || s[0].Spec.Driver != "gpu.nvidia.com" || len(s[0].Spec.Devices) != 3 ||
		*s[0].Spec.Devices[2].Attributes["type"].StringValue != "gpu" {
		t.Errorf("slices %+v", s)
	}
	plain, err := buildTemplate(&scalable{}, readCapacity(map[string]string{keyCPU: "1", keyMemory: "1Gi"}),
		promise{}, "amd64")
	if err != nil || plain.CSINode != nil || plain.ResourceSlices != nil || plain.Version == template.Version {
		t.Errorf("without: %+v, %v", plain, err)
	}
}

func TestTemplateThatIsNotKnown(t *testing.T) {
	for _, notes := range []map[string]string{{}, {keyCPU: "4"}, {keyMemory: "4Gi"}, {keyCPU: "0", keyMemory: "4Gi"}} {
		if _, err := buildTemplate(&scalable{}, readCapacity(notes), promise{}, "amd64"); err == nil {
			t.Errorf("%v makes a template", notes)
		}
	}
}

func TestManaged(t *testing.T) {
	for key, want := range map[string]bool{
		"node-role.kubernetes.io/worker": true, "node-restriction.kubernetes.io/x": true,
		"a.node-restriction.kubernetes.io/x": true,
		"node.cluster.x-k8s.io/x":            true, "a.b.node.cluster.x-k8s.io/x": true,
		"team": false, "example.com/x": false, "xnode.cluster.x-k8s.io/x": false, "cluster.x-k8s.io/cluster-name": false,
		"a.node-role.kubernetes.io/x": false,
	} {
		if managed(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}
