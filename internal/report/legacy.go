package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// legacy are metrics of the Cluster Autoscaler that dashboards still read: nodes with accelerators,
// and scale-ups that a limit forbade.
type legacy struct {
	upGPU, downGPU, skipped *prometheus.CounterVec
}

// The reasons of skipped_scale_events_count.
const (
	skippedCPU    = "CpuResourceLimit"
	skippedMemory = "MemoryResourceLimit"
)

func newLegacy(counter func(name, help string, labels ...string) *prometheus.CounterVec) legacy {
	l := legacy{
		upGPU: counter("scaled_up_gpu_nodes_total",
			"Nodes with accelerators asked of the cloud. Deprecated: scaled_up_nodes_total.",
			"gpu_resource_name", "gpu_name"),
		downGPU: counter("scaled_down_gpu_nodes_total",
			"Nodes with accelerators removed, by reason. Deprecated: scaled_down_nodes_total.", "reason",
			"gpu_resource_name", "gpu_name"),
		skipped: counter("skipped_scale_events_count",
			"Decisions in which a limit on cores or memory forbade a growth.", "direction", "reason"),
	}
	for _, reason := range []string{skippedCPU, skippedMemory} {
		l.skipped.WithLabelValues("up", reason)
	}
	return l
}

func (l legacy) all() []prometheus.Collector {
	return []prometheus.Collector{l.upGPU, l.downGPU, l.skipped}
}

func (l legacy) grew(gpu string, nodes int) {
	if gpu != "" {
		l.upGPU.WithLabelValues("", gpu).Add(float64(nodes))
	}
}

func (l legacy) removed(why, gpu string) {
	if gpu != "" {
		l.downGPU.WithLabelValues(why, "", gpu).Inc()
	}
}

// decided counts, once per decision and reason, that a limit kept pods waiting.
func (l legacy) decided(plan model.Plan) {
	met := map[string]bool{}
	for i := range plan.Pending {
		for _, g := range plan.Pending[i].Groups {
			switch g.Reason {
			case model.CoresTotal:
				met[skippedCPU] = true
			case model.MemoryTotal:
				met[skippedMemory] = true
			}
		}
	}
	for _, reason := range []string{skippedCPU, skippedMemory} {
		if met[reason] {
			l.skipped.WithLabelValues("up", reason).Inc()
		}
	}
}
