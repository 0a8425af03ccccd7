package measure

import (
	"context"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const divergenceMetric = "plimsoll_plan_divergence_total"

// divergence reads how often Plimsoll had to grow once more for pods whose room
// others took.
func divergence(ctx context.Context, s *stage.Stage) (int, error) {
	metrics, err := s.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	n, found := metrics.Sum(divergenceMetric)
	if !found {
		return 0, fmt.Errorf("read Plimsoll's metrics: %s: %w", divergenceMetric, errNoFigure)
	}
	return int(n), nil
}
