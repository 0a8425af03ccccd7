package measure

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	divergenceMetric = "plimsoll_plan_divergence_total"
	metricsTimeout   = 5 * time.Second
)

// divergence reads how often Plimsoll had to grow once more for pods whose room
// others took.
func divergence(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("read Plimsoll's metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read Plimsoll's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("read Plimsoll's metrics: %s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, fmt.Errorf("read Plimsoll's metrics: %w", err)
	}
	family := families[divergenceMetric]
	if family == nil || len(family.Metric) != 1 {
		return 0, fmt.Errorf("read Plimsoll's metrics: %s: %w", divergenceMetric, errNoFigure)
	}
	return int(family.Metric[0].GetCounter().GetValue()), nil
}
