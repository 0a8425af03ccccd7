package stage

import (
	"context"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const metricsTimeout = 5 * time.Second

// Metrics are what Plimsoll tells of itself, by name.
type Metrics map[string]*dto.MetricFamily

// Metrics reads Plimsoll's metrics.
func (s *Stage) Metrics(ctx context.Context) (Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	url := "http://" + s.address + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("read Plimsoll's metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read Plimsoll's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read Plimsoll's metrics: %s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read Plimsoll's metrics: %w", err)
	}
	return families, nil
}

// Sum adds up the samples of a metric that have these labels, a name and a value after the other. It says besides
// whether there is one.
func (m Metrics) Sum(name string, labels ...string) (sum float64, found bool) {
	for _, sample := range m[name].GetMetric() {
		if has(sample, labels) {
			found = true
			sum += sample.GetCounter().GetValue() + sample.GetGauge().GetValue() +
				float64(sample.GetHistogram().GetSampleCount()+sample.GetSummary().GetSampleCount())
		}
	}
	return sum, found
}

func has(sample *dto.Metric, labels []string) bool {
	values := map[string]string{}
	for _, pair := range sample.GetLabel() {
		values[pair.GetName()] = pair.GetValue()
	}
	for i := 0; i+1 < len(labels); i += 2 {
		if values[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}
