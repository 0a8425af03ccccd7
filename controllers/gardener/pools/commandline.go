package pools

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// kubeconfigFolder is where Gardener mounts what the autoscaler reaches the shoot with.
const kubeconfigFolder = "/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig"

const metricsPort = 8085

// commandLine is what the autoscaler of a shoot is started with, flag by flag and
// default by default as Gardener starts its own, in the same order. Where that lists
// machine deployments with their zones' shares (--nodes), this one has them
// discovered, and says how the pools are sized; and flags that have no effect here are
// left out (--stderrthreshold, --max-binpacking-time).
func commandLine(c Cluster, autoscaler *v1beta1.ClusterAutoscaler) []string {
	if autoscaler == nil {
		autoscaler = &v1beta1.ClusterAutoscaler{}
	}
	a := *autoscaler
	expander := ptr.Deref(a.Expander, "least-waste")
	if c.prioritised() && !strings.Contains(expander, "priority") {
		expander = "priority," + expander
	}
	flags := []string{
		fmt.Sprintf("--address=:%d", metricsPort),
		"--kubeconfig=" + kubeconfigFolder + "/kubeconfig",
		"--cloud-provider=mcm",
		"--skip-nodes-with-system-pods=false",
		"--skip-nodes-with-local-storage=false",
		"--expendable-pods-priority-cutoff=-10",
		"--balance-similar-node-groups=true",
		"--ignore-taint=" + mcm.CriticalComponentsNotReadyTaint,
		"--expander=" + expander,
		fmt.Sprintf("--max-graceful-termination-sec=%d", ptr.Deref(a.MaxGracefulTerminationSeconds, 600)),
		"--max-node-provision-time=" + or(a.MaxNodeProvisionTime, 20*time.Minute),
		"--initial-node-group-backoff-duration=" + or(a.InitialNodeGroupBackoffDuration, 5*time.Minute),
		"--max-node-group-backoff-duration=" + or(a.MaxNodeGroupBackoffDuration, 30*time.Minute),
		"--node-group-backoff-reset-timeout=" + or(a.NodeGroupBackoffResetTimeout, 3*time.Hour),
		fmt.Sprintf("--scale-down-utilization-threshold=%f", ptr.Deref(a.ScaleDownUtilizationThreshold, 0.5)),
		"--scale-down-unneeded-time=" + or(a.ScaleDownUnneededTime, 30*time.Minute),
		"--scale-down-delay-after-add=" + or(a.ScaleDownDelayAfterAdd, time.Hour),
		"--scale-down-delay-after-delete=" + or(a.ScaleDownDelayAfterDelete, 0),
		"--scale-down-delay-after-failure=" + or(a.ScaleDownDelayAfterFailure, 3*time.Minute),
		"--scan-interval=" + or(a.ScanInterval, 10*time.Second),
		fmt.Sprintf("--ignore-daemonsets-utilization=%t", ptr.Deref(a.IgnoreDaemonsetsUtilization, false)),
		fmt.Sprintf("--v=%d", ptr.Deref(a.Verbosity, 2)),
		fmt.Sprintf("--max-scale-down-parallelism=%d", ptr.Deref(a.MaxScaleDownParallelism, 10)),
		fmt.Sprintf("--max-drain-parallelism=%d", ptr.Deref(a.MaxDrainParallelism, 1)),
		"--new-pod-scale-up-delay=" + or(a.NewPodScaleUpDelay, 0),
		"--max-nodes-total=0",
		fmt.Sprintf("--emit-per-nodegroup-metrics=%t", ptr.Deref(a.EmitPerNodeGroupMetrics, false)),
	}
	for _, taints := range []struct {
		flag string
		keys []string
	}{{"startup", a.StartupTaints}, {"status", a.StatusTaints}, {"ignore", a.IgnoreTaints}} {
		for _, key := range taints.keys {
			flags = append(flags, "--"+taints.flag+"-taint="+key)
		}
	}
	flags = append(flags,
		"--node-group-auto-discovery=mcm:k8s.io/cluster-autoscaler/"+c.Shoot,
		"--mcm-sizing="+c.Sizing)
	if c.preserves() {
		// Machines that are kept for a person to look at stay in the cluster, not ready.
		// They must not make it look unhealthy.
		flags = append(flags, "--max-total-unready-percentage=100")
	}
	return flags
}

func or(d *metav1.Duration, otherwise time.Duration) string {
	if d == nil {
		return otherwise.String()
	}
	return d.Duration.String()
}

// prioritised reports whether any pool has a priority.
func (c Cluster) prioritised() bool {
	for _, p := range c.Pools {
		if p.Priority != nil {
			return true
		}
	}
	return false
}

// preserves reports whether any pool keeps failed machines.
func (c Cluster) preserves() bool {
	for _, p := range c.Pools {
		if m := p.MachineControllerManager; m != nil && ptr.Deref(m.AutoPreserveFailedMachineMax, 0) > 0 {
			return true
		}
	}
	return false
}
