package story

import (
	"context"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// The Cluster of the EKS Anywhere story, and its two worker groups. One pod fills a
// machine.
const (
	anywhereCluster = "prod"
	anywhereFixed   = "fixed"
	anywhereAuto    = "auto"

	anywhereFixedCount = 2
	anywhereMin        = 1
	anywhereMax        = 10
	anywhereLastCount  = 3 // of the autoscaled group, once it no longer is

	anywhereOld  = "1.36"
	anywhereNew  = "1.37"
	anywhereBoot = 2 * time.Second

	anywhereLimit = 5 * time.Minute // of each chapter

	user = "a-user" // the field manager of what a user writes
)

// anywhereTemplate is the name of a group's machine template for a Kubernetes
// version.
func anywhereTemplate(group, version string) string { return group + "-" + version }

func anywhereTemplates() map[string]kwokapi.KwokMachineSpec {
	templates := map[string]kwokapi.KwokMachineSpec{}
	for _, group := range []string{anywhereFixed, anywhereAuto} {
		for _, version := range []string{anywhereOld, anywhereNew} {
			templates[anywhereTemplate(group, version)] = kwokapi.KwokMachineSpec{
				StartupDelay: &metav1.Duration{Duration: anywhereBoot},
				Node: kwokapi.NodeSpec{
					Labels: map[string]string{stage.GroupLabel: group},
					Capacity: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
						corev1.ResourcePods: resource.MustParse("110"),
					},
				},
			}
		}
	}
	return templates
}

func anywhereWorkload() stage.Workload {
	return stage.Workload{Name: "web", Replicas: anywhereMax, CPU: "3", Memory: "4Gi",
		Selector: map[string]string{stage.GroupLabel: anywhereAuto}}
}

// anywhereSpec is the Cluster's spec as its user writes it: of a Kubernetes version,
// the second group with a range or without one.
//
// An upgrade makes all new machines of a group at once. Cluster API waits 20 seconds
// before it looks again at a machine that it drains, so that a surge of one would
// make the story last for minutes.
func anywhereSpec(version string, autoscaled bool, count int64) map[string]any {
	group := func(name string, count, surge int64) map[string]any {
		return map[string]any{
			"name":  name,
			"count": count,
			"machineGroupRef": map[string]any{
				"kind": kwokapi.MachineTemplateKind, "name": anywhereTemplate(name, version),
			},
			"upgradeRolloutStrategy": map[string]any{
				"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": int64(0)},
			},
		}
	}
	auto := group(anywhereAuto, count, anywhereMax)
	if autoscaled {
		auto["autoscalingConfiguration"] = map[string]any{"minCount": int64(anywhereMin), "maxCount": int64(anywhereMax)}
	}
	return map[string]any{
		"kubernetesVersion":             version,
		"workerNodeGroupConfigurations": []any{group(anywhereFixed, anywhereFixedCount, anywhereFixedCount), auto},
	}
}

// deploymentOf is the name of a group's machine deployment.
func deploymentOf(group string) string { return anywhereCluster + "-" + group }

// startController starts Plimsoll as the controller, with the rights that
// docs/eks-anywhere.md gives it.
func startController(ctx context.Context, s *stage.Stage, plimsoll string) error {
	kubeconfig, err := s.Cluster.Identify(autoscaler.EKSAnywhereName, eksanywhere.ControllerUser)
	if err != nil {
		return err
	}
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return err
	}
	return s.Launch(ctx, autoscaler.EKSAnywhere(plimsoll, kubeconfig, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))))
}
