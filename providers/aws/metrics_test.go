package aws

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func TestMetrics(t *testing.T) {
	cloud, err := awstest.New(managed(0), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, cloud)
	cloud.Arm(awstest.Fault{Action: "DescribeNodegroup", Mishap: awstest.Denied})
	reg := prometheus.NewRegistry()
	p, err := New(t.Context(), byTag, slog.New(slog.DiscardHandler), reg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Inventory(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"cluster_autoscaler_aws_request_duration_seconds DescribeAutoScalingGroups success":       2,
		"cluster_autoscaler_aws_request_duration_seconds DescribeNodegroup AccessDeniedException": 1,
		"plimsoll_aws_nodegroup_lookups_total hit":                                                1,
		"plimsoll_aws_nodegroup_lookups_total miss":                                               1,
		"plimsoll_aws_nodegroup_lookups_total error":                                              1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, err := New(t.Context(), byTag, slog.New(slog.DiscardHandler), reg); err == nil {
		t.Error("the same metrics are registered twice without an error")
	}
}

// TestNewTellsWhatIsMissing before any call.
func TestNewTellsWhatIsMissing(t *testing.T) {
	for name, value := range awstest.Environment("http://127.0.0.1:1", "") {
		t.Setenv(name, value)
	}
	if _, err := New(t.Context(), byTag, slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("no region, and no error")
	} else if !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Errorf("no region: %v", err)
	}
	if _, err := New(t.Context(), Config{}, slog.New(slog.DiscardHandler), nil); err == nil ||
		!strings.Contains(err.Error(), "--node-group-auto-discovery") {
		t.Errorf("no groups: %v", err)
	}
}
