package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// serviceMonitor is what of a ServiceMonitor the chart sets.
type serviceMonitor struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string         `json:"port"`
			Path     string         `json:"path"`
			Interval model.Duration `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

func monitorsIn(t *testing.T, r Rendering) []serviceMonitor {
	t.Helper()
	var out []serviceMonitor
	for file, document := range r.Objects {
		if kindOf(document) != "ServiceMonitor" {
			continue
		}
		var m serviceMonitor
		if err := yaml.UnmarshalStrict([]byte(document), &m); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, m)
	}
	return out
}

// TestEveryPodIsScraped: each pod that serves Plimsoll's metrics is behind one Service, which
// one ServiceMonitor selects if they are asked for, at the port of the metrics; whether the
// controllers are beside the autoscaler or alone.
func TestEveryPodIsScraped(t *testing.T) {
	if monitors := monitorsIn(t, render(t, parse(t, "{"+everyPod+"}"))); len(monitors) > 0 {
		t.Errorf("%d ServiceMonitors are made though they are not enabled", len(monitors))
	}
	for name, c := range map[string]struct {
		values string
		pods   int
	}{
		"all":                       {everyPod, 3},
		"EKS Anywhere's controller": {"controllers: {eksAnywhere: {enabled: true}}", 1},
		"Gardener's controller":     {"controllers: {gardener: {enabled: true}}", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := render(t,
				parse(t, "{"+c.values+", serviceMonitor: {enabled: true, interval: 1m30s, labels: {release: prometheus}}}"))
			all, monitors := objects(t, r), monitorsIn(t, r)
			pods := 0
			for file, object := range all {
				d, ok := object.(*appsv1.Deployment)
				if !ok || file == "kwok-controller-deployment.yaml" { // kwok's own
					continue
				}
				pods++
				var service *corev1.Service
				for _, object := range all {
					if s, ok := object.(*corev1.Service); ok && s.Namespace == d.Namespace &&
						labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) {
						if service != nil {
							t.Errorf("%s is behind two Services", file)
						}
						service = s
					}
				}
				if service == nil || len(service.Spec.Ports) != 1 {
					t.Errorf("%s is behind no Service of one port", file)
					continue
				}
				target := service.Spec.Ports[0].TargetPort.String()
				if target == "health" || !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Ports,
					func(p corev1.ContainerPort) bool { return p.Name == target }) {
					t.Errorf("the Service of %s leads to %s, which is not the port of its metrics", file, target)
				}
				mine := slices.DeleteFunc(slices.Clone(monitors), func(m serviceMonitor) bool {
					selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
					return err != nil || m.Metadata.Namespace != service.Namespace || !selector.Matches(labels.Set(service.Labels))
				})
				if len(mine) != 1 {
					t.Errorf("%s is scraped by %d ServiceMonitors", file, len(mine))
					continue
				}
				m := mine[0]
				if e := m.Spec.Endpoints; len(e) != 1 || e[0].Port != service.Spec.Ports[0].Name || e[0].Path != "/metrics" ||
					e[0].Interval.String() != "1m30s" || m.Metadata.Labels["release"] != "prometheus" {
					t.Errorf("%s is scraped by %+v", file, m)
				}
			}
			if pods != c.pods || len(monitors) != c.pods {
				t.Errorf("%d Deployments and %d ServiceMonitors", pods, len(monitors))
			}
		})
	}
}

// TestIntervals: what Prometheus takes for a time is taken, and nothing else.
func TestIntervals(t *testing.T) {
	for _, interval := range []string{
		"30s", "1m30s", "1h", "500ms", "1d", "1h30m15s100ms", "30", "", "1.5m", "30s1m", "1m 30s", "-1m", "m",
	} {
		parsed, wrong := model.ParseDuration(interval)
		r, err := load(t).Render(Default, map[string]any{
			"cloudProvider": "kwok", "serviceMonitor": map[string]any{"enabled": true, "interval": interval},
		})
		if (wrong == nil) != (err == nil) || err != nil && !strings.Contains(err.Error(), "/serviceMonitor/interval") {
			t.Errorf("%q: the chart says %v, Prometheus %v", interval, err, wrong)
		}
		if err == nil && monitorsIn(t, r)[0].Spec.Endpoints[0].Interval != parsed {
			t.Errorf("%q: it is scraped each %s", interval, monitorsIn(t, r)[0].Spec.Endpoints[0].Interval)
		}
	}
}
