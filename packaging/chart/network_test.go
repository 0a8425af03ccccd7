package chart

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

const everyPod = "cloudProvider: kwok, kwok: {controller: {enabled: true}}, controllers: {eksAnywhere: {enabled: " +
	"true}, gardener: {enabled: true}}"

// TestNetworkPolicies: with networkPolicy.enabled each pod has exactly one. It lets in the clients
// that scrape the metrics, and no others. Egress is open unless it is set.
func TestNetworkPolicies(t *testing.T) {
	if policies := policiesIn(objects(t, render(t, parse(t, "{"+everyPod+"}")))); len(policies) > 0 {
		t.Errorf("%d policies are made though they are not enabled", len(policies))
	}
	for _, c := range []struct {
		name, values string
		peers        int
		types        []networkingv1.PolicyType
	}{
		{"for anybody", "enabled: true", 0, []networkingv1.PolicyType{"Ingress"}},
		{"for Prometheus", "enabled: true, from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: " +
			"monitoring}}, podSelector: {matchLabels: {app.kubernetes.io/name: prometheus}}}]",
			1, []networkingv1.PolicyType{"Ingress"}},
		{"to somewhere", "enabled: true, egress: [{ports: [{port: 443}]}, {to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]", 0, []networkingv1.PolicyType{"Ingress", "Egress"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := objects(t, render(t, parse(t, "{"+everyPod+", networkPolicy: {"+c.values+"}}")))
			policies := policiesIn(all)
			pods := 0
			for file, object := range all {
				d, ok := object.(*appsv1.Deployment)
				if !ok {
					continue
				}
				pods++
				mine := slices.DeleteFunc(slices.Clone(policies), func(p *networkingv1.NetworkPolicy) bool {
					return !selects(t, p, d)
				})
				if len(mine) != 1 {
					t.Errorf("the pods of %s have %d policies", file, len(mine))
					continue
				}
				p := mine[0].Spec
				if len(p.Ingress) != 1 || len(p.Ingress[0].Ports) != 1 || len(p.Ingress[0].From) != c.peers {
					t.Fatalf("%s lets in %+v", file, p.Ingress)
				}
				port := p.Ingress[0].Ports[0].Port.String()
				container := d.Spec.Template.Spec.Containers[0]
				if at := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port }); at < 0 ||
					port == "health" {
					t.Errorf("%s lets in to port %s, which is not that of its metrics: %+v", file, port, container.Ports)
				}
				if !slices.Equal(p.PolicyTypes, c.types) || len(p.Egress) != 2*(len(c.types)-1) {
					t.Errorf("%s: %v %+v", file, p.PolicyTypes, p.Egress)
				}
			}
			if pods != 4 || len(policies) != 4 {
				t.Errorf("%d Deployments and %d policies", pods, len(policies))
			}
		})
	}
}

func policiesIn(all map[string]runtime.Object) []*networkingv1.NetworkPolicy {
	var out []*networkingv1.NetworkPolicy
	for _, object := range all {
		if p, ok := object.(*networkingv1.NetworkPolicy); ok {
			out = append(out, p)
		}
	}
	return out
}

func selects(t *testing.T, p *networkingv1.NetworkPolicy, d *appsv1.Deployment) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	return p.Namespace == d.Namespace && selector.Matches(labels.Set(d.Spec.Template.Labels))
}
