package gardener

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
)

type metrics struct {
	conditions *prometheus.GaugeVec
	writes     *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "plimsoll_gardener", Name: "worker_condition",
			Help: "1 if this condition of the Worker is True, 0 if it is False; none if it is not known."},
			[]string{"namespace", "worker", "condition"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "plimsoll_gardener", Name: "writes_total",
			Help: "Writes by what they were and how they ended."}, []string{"verb", "end"}),
	}
	for _, c := range []prometheus.Collector{m.conditions, m.writes} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register the metrics of Gardener's worker pools (is the controller added twice?): %w", err)
		}
	}
	return m, nil
}

func (m *metrics) see(key types.NamespacedName, conditions []v1alpha1.Condition) {
	m.forget(key)
	for _, c := range conditions {
		value := 0.0
		if c.Status == v1alpha1.True {
			value = 1
		}
		m.conditions.WithLabelValues(key.Namespace, key.Name, c.Type).Set(value)
	}
}

func (m *metrics) forget(key types.NamespacedName) {
	m.conditions.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "worker": key.Name})
}
