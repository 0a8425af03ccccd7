package eksanywhere

import (
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// TestWhatTheChartAsksForIsServed: the alerts and panels of the chart ask for metrics
// that this controller serves.
func TestWhatTheChartAsksForIsServed(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.see(types.NamespacedName{Namespace: "n", Name: "c"}, true, true, "other")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, f := range families {
		served[f.GetName()] = true
	}
	asked := 0
	for _, file := range []string{"alerts.yaml", "dashboards/overview.json"} {
		text, err := os.ReadFile("../../charts/plimsoll/files/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`plimsoll_eks_anywhere_\w+`).FindAllString(string(text), -1) {
			if asked++; !served[name] {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
	if asked < 3 {
		t.Errorf("the chart's files ask for %d metrics of this controller", asked)
	}
}
