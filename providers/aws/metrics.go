package aws

import (
	"cmp"
	"context"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"github.com/prometheus/client_golang/prometheus"
)

// Registerer takes the provider's metrics; prometheus.Registerer is one.
type Registerer interface {
	Register(prometheus.Collector) error
}

// metrics are the provider's own. The name that begins with cluster_autoscaler_
// means what it means there.
type metrics struct {
	requests *prometheus.HistogramVec
	lookups  *prometheus.CounterVec
	messages *prometheus.CounterVec
}

func newMetrics(reg Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "cluster_autoscaler", Name: "aws_request_duration_seconds",
			Help: "Time that calls of AWS took, the SDK's repeats included, by action and end: success, AWS's code, " +
				"or error.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 20, 50, 100},
		}, []string{"endpoint", "status"}),
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "aws_nodegroup_lookups_total",
			Help: "Lookups of EKS node groups: hit and miss of what is remembered; error of DescribeNodegroup, and " +
				"stale where an older answer stood in.",
		}, []string{"result"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "aws_interruption_messages_total",
			Help: "Messages of the queue of interruptions that were new, by what they are about; other takes no machine, " +
				"unreadable cannot be understood, foreign is no event of EventBridge.",
		}, []string{"about"}),
	}
	for _, result := range []string{lookupHit, lookupMiss, lookupError, lookupStale} {
		m.lookups.WithLabelValues(result)
	}
	for _, about := range []string{
		aboutSpot, aboutRebalance, aboutStateChange, aboutScheduled, aboutOther, aboutUnreadable, aboutForeign,
	} {
		m.messages.WithLabelValues(about)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.lookups, m.messages} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register the metrics of the AWS provider: %w", err)
		}
	}
	return m, nil
}

// timed makes the SDK tell how long each of its calls takes.
func (m *metrics) timed(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("PlimsollMetrics",
		func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			begun := time.Now()
			out, meta, err := next.HandleInitialize(ctx, in)
			status := "success"
			if err != nil {
				status = cmp.Or(codeOf(err), "error")
			}
			m.requests.WithLabelValues(awsmiddleware.GetOperationName(ctx), status).Observe(time.Since(begun).Seconds())
			return out, meta, err
		}), middleware.After)
}

func (m *metrics) received(about string) { m.messages.WithLabelValues(about).Inc() }

func (m *metrics) looked(result string) { m.lookups.WithLabelValues(result).Inc() }
