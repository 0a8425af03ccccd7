package eksanywhere_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	rehearsed "github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
)

const machinesNamespace = rehearsed.Namespace

// controller is a running controller.
type controller struct {
	t        *testing.T
	registry *prometheus.Registry
	end      func()
}

// asController is how the controller reaches the API server: with its own rights.
func (p *plane) asController() *rest.Config {
	config := p.control.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: rehearsed.ControllerUser, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	return config
}

func logTo(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// run runs the controller, with its own rights, until the test or its caller ends
// it.
func (p *plane) run(t *testing.T, settings eksanywhere.Settings) *controller {
	t.Helper()
	manager, err := eksanywhere.NewManager(p.asController(), settings, eksanywhere.Host{Log: logTo(t)})
	if err != nil {
		t.Fatal(err)
	}
	c := &controller{t: t, registry: prometheus.NewRegistry()}
	if err := eksanywhere.Add(manager, settings, c.registry); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stopped := false
	c.end = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the controller: %v", err)
		}
	}
	t.Cleanup(c.end)
	return c
}

// metric is the sum of a metric's series that have a label of this value.
func (c *controller) metric(name, label string) float64 {
	c.t.Helper()
	families, err := c.registry.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				if pair.GetValue() == label {
					sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
