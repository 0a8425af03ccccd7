package pools

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// defaults is the command line of a shoot that says nothing about its autoscaler.
const defaults = `--address=:8085
--kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig
--cloud-provider=mcm
--skip-nodes-with-system-pods=false
--skip-nodes-with-local-storage=false
--expendable-pods-priority-cutoff=-10
--balance-similar-node-groups=true
--ignore-taint=node.gardener.cloud/critical-components-not-ready
--expander=least-waste
--max-graceful-termination-sec=600
--max-node-provision-time=20m0s
--initial-node-group-backoff-duration=5m0s
--max-node-group-backoff-duration=30m0s
--node-group-backoff-reset-timeout=3h0m0s
--scale-down-utilization-threshold=0.500000
--scale-down-unneeded-time=30m0s
--scale-down-delay-after-add=1h0m0s
--scale-down-delay-after-delete=0s
--scale-down-delay-after-failure=3m0s
--scan-interval=10s
--ignore-daemonsets-utilization=false
--v=2
--max-scale-down-parallelism=10
--max-drain-parallelism=1
--new-pod-scale-up-delay=0s
--max-nodes-total=0
--emit-per-nodegroup-metrics=false
--node-group-auto-discovery=mcm:k8s.io/cluster-autoscaler/s
--mcm-sizing=Equitable`

func TestCommandLineOfDefaults(t *testing.T) {
	if diff := cmp.Diff(strings.Split(defaults, "\n"), commandLine(testCluster(3, 4, 3), nil)); diff != "" {
		t.Error(diff)
	}
}

// TestCommandLineFollowsTheShoot: each field changes its flag, in its place.
func TestCommandLineFollowsTheShoot(t *testing.T) {
	minute := &metav1.Duration{Duration: time.Minute}
	a := &v1beta1.ClusterAutoscaler{
		Expander: ptr.To("random"), MaxGracefulTerminationSeconds: ptr.To[int32](7), MaxNodeProvisionTime: minute,
		InitialNodeGroupBackoffDuration: minute, MaxNodeGroupBackoffDuration: minute, NodeGroupBackoffResetTimeout: minute,
		ScaleDownUtilizationThreshold: ptr.To(0.25), ScaleDownUnneededTime: minute, ScaleDownDelayAfterAdd: minute,
		ScaleDownDelayAfterDelete:  minute,
		ScaleDownDelayAfterFailure: minute, ScanInterval: minute, IgnoreDaemonsetsUtilization: ptr.To(true),
		Verbosity:               ptr.To[int32](4),
		MaxScaleDownParallelism: ptr.To[int32](2), MaxDrainParallelism: ptr.To[int32](3), NewPodScaleUpDelay: minute,
		EmitPerNodeGroupMetrics: ptr.To(true), MaxBinpackingTime: minute,
		StartupTaints: []string{"s1", "s2"}, StatusTaints: []string{"t"}, IgnoreTaints: []string{"i"},
		MaxEmptyBulkDelete: ptr.To[int32](9),
	}
	c := testCluster(3, 4, 3)
	c.Sizing = "Lax-Greedy"
	c.Pools[0].Priority = ptr.To[int32](0)
	c.Pools[0].MachineControllerManager = &v1beta1.MachineControllerManager{AutoPreserveFailedMachineMax: ptr.To[int32](1)}
	want := append(strings.Split(defaults, "\n")[:8], strings.Split(`--expander=priority,random
--max-graceful-termination-sec=7
--max-node-provision-time=1m0s
--initial-node-group-backoff-duration=1m0s
--max-node-group-backoff-duration=1m0s
--node-group-backoff-reset-timeout=1m0s
--scale-down-utilization-threshold=0.250000
--scale-down-unneeded-time=1m0s
--scale-down-delay-after-add=1m0s
--scale-down-delay-after-delete=1m0s
--scale-down-delay-after-failure=1m0s
--scan-interval=1m0s
--ignore-daemonsets-utilization=true
--v=4
--max-scale-down-parallelism=2
--max-drain-parallelism=3
--new-pod-scale-up-delay=1m0s
--max-nodes-total=0
--emit-per-nodegroup-metrics=true
--startup-taint=s1
--startup-taint=s2
--status-taint=t
--ignore-taint=i
--node-group-auto-discovery=mcm:k8s.io/cluster-autoscaler/s
--mcm-sizing=Lax-Greedy
--max-total-unready-percentage=100`, "\n")...)
	if diff := cmp.Diff(want, commandLine(c, a)); diff != "" {
		t.Error(diff)
	}
	a.Expander = ptr.To("most-pods,priority")
	if got := commandLine(c, a)[8]; got != "--expander=most-pods,priority" {
		t.Errorf("the priority expander is there already: %s", got)
	}
}

// TestTheAutoscalerSleepsWithItsShoot, and while there is nothing to scale.
func TestTheAutoscalerSleepsWithItsShoot(t *testing.T) {
	asleep := testCluster(3, 4, 3)
	asleep.Hibernated = true
	for name, tt := range map[string]struct {
		cluster Cluster
		want    int32
	}{"awake": {testCluster(3, 4, 3), 1}, "hibernated": {asleep, 0}, "fixed pools": {testCluster(3, 3, 3), 0}} {
		if d := Deployment(tt.cluster, nil, Image{}); *d.Spec.Replicas != tt.want {
			t.Errorf("%s: %d", name, *d.Spec.Replicas)
		}
	}
}
