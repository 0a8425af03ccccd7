package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestLegacyMetrics: a limit that keeps many pods from many groups is one event.
func TestLegacyMetrics(t *testing.T) {
	l := newLegacy(func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "cluster_autoscaler", Name: name, Help: help},
			labels)
	})
	limited := model.PendingVerdict{Groups: []model.GroupVerdict{
		{Verdict: model.Verdict{Reason: model.CoresTotal}}, {Verdict: model.Verdict{Reason: model.CoresTotal}},
		{Verdict: model.Verdict{Reason: model.GroupAtMax}},
	}}
	l.decided(model.Plan{Pending: []model.PendingVerdict{limited, limited}})
	l.grew("tesla", 3)
	l.grew("", 5)
	l.removed("empty", "tesla")
	l.removed("empty", "")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(l.all()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			line := f.GetName()
			for _, label := range m.GetLabel() {
				line += " " + label.GetName() + "=" + label.GetValue()
			}
			got = append(got, fmt.Sprintf("%s: %v", line, m.GetCounter().GetValue()))
		}
	}
	want := []string{
		"cluster_autoscaler_scaled_down_gpu_nodes_total gpu_name=tesla gpu_resource_name= reason=empty: 1",
		"cluster_autoscaler_scaled_up_gpu_nodes_total gpu_name=tesla gpu_resource_name=: 3",
		"cluster_autoscaler_skipped_scale_events_count direction=up reason=CpuResourceLimit: 1",
		"cluster_autoscaler_skipped_scale_events_count direction=up reason=MemoryResourceLimit: 0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("(-want +got):", d)
	}
}
