package eksanywhere

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

type metrics struct {
	ready  *prometheus.GaugeVec
	valid  *prometheus.GaugeVec
	other  *prometheus.GaugeVec
	writes *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "plimsoll_eks_anywhere", Name: name, Help: help},
			append([]string{"namespace", "cluster"}, labels...))
	}
	m := &metrics{
		ready: gauge("workers_ready",
			"1 if this controller finds the workers ready, else 0, even where it does not write the WorkersReady condition."),
		valid: gauge("worker_node_groups_valid", "1 if the cluster's worker node groups are valid, else 0."),
		other: gauge("condition_other_writer",
			"1 if another manager writes the WorkersReady condition, so that this controller does not.", "manager"),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "plimsoll_eks_anywhere", Name: "writes_total",
			Help: "Writes by what they were and how they ended."}, []string{"verb", "end"}),
	}
	for _, c := range []prometheus.Collector{m.ready, m.valid, m.other, m.writes} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register the metrics of EKS Anywhere's workers (is the controller added twice?): %w", err)
		}
	}
	return m, nil
}

func (m *metrics) see(key types.NamespacedName, ready, valid bool, other string) {
	m.ready.WithLabelValues(key.Namespace, key.Name).Set(number(ready))
	m.valid.WithLabelValues(key.Namespace, key.Name).Set(number(valid))
	m.other.DeletePartialMatch(labels(key))
	if other != "" {
		m.other.WithLabelValues(key.Namespace, key.Name, other).Set(1)
	}
}

func (m *metrics) forget(key types.NamespacedName) {
	for _, g := range []*prometheus.GaugeVec{m.ready, m.valid, m.other} {
		g.DeletePartialMatch(labels(key))
	}
}

func labels(key types.NamespacedName) prometheus.Labels {
	return prometheus.Labels{"namespace": key.Namespace, "cluster": key.Name}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
