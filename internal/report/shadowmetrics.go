package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/shadow"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// shadowMetrics count what a process that only observes would have done, and what
// others did. A process that acts has none of them.
type shadowMetrics struct {
	calls         *prometheus.CounterVec
	bought, taken *prometheus.CounterVec
	wanted, waits *prometheus.GaugeVec
	grown, gone   *prometheus.CounterVec
	groups        map[provider.GroupID]bool // those that the gauges have
}

func newShadowMetrics(registry prometheus.Registerer) *shadowMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "plimsoll", Subsystem: "shadow", Name: name,
			Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "plimsoll", Subsystem: "shadow", Name: name,
			Help: help}, []string{"node_group"})
	}
	m := &shadowMetrics{
		calls:  counter("calls_total", "Calls that would have begun, by verb; the same need counts once.", "verb"),
		bought: counter("bought_nodes_total", "Nodes that would have been asked for.", "node_group"),
		taken:  counter("removed_nodes_total", "Nodes whose removal would have begun.", "node_group"),
		wanted: gauge("wanted_nodes", "Nodes that the last plan would ask for."),
		waits:  gauge("waiting_pods", "Pods that those nodes would be for."),
		grown: counter("others_bought_nodes_total",
			"Nodes that others asked for, by whether they would have been asked for here: wanted, elsewhere (in another "+
				"group), unwanted.", "node_group", "here"),
		gone: counter("others_removed_nodes_total",
			"Nodes that others began to remove, or that are gone, by whether they would have gone here: wanted, unneeded "+
				"(later), unwanted.", "node_group", "here"),
		groups: map[provider.GroupID]bool{},
	}
	registry.MustRegister(m.calls, m.bought, m.taken, m.wanted, m.waits, m.grown, m.gone)
	for _, verb := range []model.Verb{model.Grow, model.Taint, model.Remove, model.Cancel} {
		m.calls.WithLabelValues(string(verb))
	}
	return m
}

// noted takes in a cycle that decided.
func (m *shadowMetrics) noted(c model.Cycle, n shadow.News) {
	// 1. Each group has its series from the beginning: a counter that appears with
	// its first value has no rate.
	there := make(map[provider.GroupID]bool, len(c.Snapshot.Groups))
	for i := range c.Snapshot.Groups {
		id := c.Snapshot.Groups[i].ID
		there[id] = true
		if m.groups[id] {
			continue
		}
		group := string(id)
		m.bought.WithLabelValues(group)
		m.taken.WithLabelValues(group)
		for _, here := range []shadow.Agreement{shadow.Wanted, shadow.Elsewhere, shadow.Unwanted} {
			m.grown.WithLabelValues(group, string(here))
		}
		for _, here := range []shadow.Agreement{shadow.Wanted, shadow.Unneeded, shadow.Unwanted} {
			m.gone.WithLabelValues(group, string(here))
		}
	}
	// 2. The gauges.
	nodes, pods := map[provider.GroupID]int{}, map[provider.GroupID]int{}
	for _, g := range c.Plan.Grow {
		nodes[g.Group] += g.To - g.From
		for _, b := range g.Pods {
			pods[g.Group] += b.Count
		}
	}
	for id := range there {
		m.wanted.WithLabelValues(string(id)).Set(float64(nodes[id]))
		m.waits.WithLabelValues(string(id)).Set(float64(pods[id]))
	}
	for id := range m.groups {
		if !there[id] {
			m.wanted.DeleteLabelValues(string(id))
			m.waits.DeleteLabelValues(string(id))
		}
	}
	m.groups = there
	// 3. What is new.
	for _, w := range n.Began {
		m.calls.WithLabelValues(string(w.Verb)).Inc()
		switch w.Verb {
		case model.Grow:
			m.bought.WithLabelValues(string(w.Group)).Add(float64(w.Nodes))
		case model.Taint:
			m.taken.WithLabelValues(string(w.Group)).Inc()
		}
	}
	for _, g := range n.Grown {
		m.grown.WithLabelValues(string(g.Group), string(g.Agreement)).Add(float64(g.Nodes))
	}
	for _, g := range n.Gone {
		m.gone.WithLabelValues(string(g.Group), string(g.Agreement)).Inc()
	}
}
