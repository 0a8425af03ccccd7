package chart

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// understood wants the provider to find no fault with what it is told of node groups, which
// the flags themselves do not look into.
func understood(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	flags, _ := parsed(t, d)
	c, _, err := flags.Config()
	if err != nil {
		t.Fatal(err)
	}
	_, provider := flags.Provider(c)
	env := func(name string) string {
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.Name == name {
				return e.Value
			}
		}
		return ""
	}
	if err := provider.Check(wiring.Host{Nodes: c.Cloud.Nodes, Discovery: c.Cloud.Discovery, Getenv: env}); err != nil {
		t.Errorf("the provider cannot start: %v", err)
	}
}

// TestDiscovery: the ways to say which groups are meant can be combined, and are one flag.
func TestDiscovery(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"cloudProvider: aws, autoDiscovery: {clusterName: prod}", "asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/prod"},
		{"cloudProvider: aws, autoDiscovery: {clusterName: prod, tags: [a=b, c]}", "asg:tag=a=b,c"},
		{"cloudProvider: aws, autoDiscovery: {tags: [a]}, nodeGroups: [{name: g, min: 0, max: 1}]", "asg:tag=a"},
		{"cloudProvider: clusterapi", ""},
		{"cloudProvider: clusterapi, autoDiscovery: {clusterName: prod}", "clusterapi:clusterName=prod"},
		{"cloudProvider: clusterapi, autoDiscovery: {labels: {a: b}}", "clusterapi:a=b"},
		{"cloudProvider: clusterapi, autoDiscovery: {clusterName: prod, namespace: eksa, labels: {a: b, c: d}}", "clusterapi:clusterName=prod,namespace=eksa,a=b,c=d"},
		{"cloudProvider: gardener", ""},
		{"cloudProvider: gardener, autoDiscovery: {clusterName: prod}", "mcm:k8s.io/cluster-autoscaler/prod"},
		{"cloudProvider: gardener, autoDiscovery: {labels: {a: b}}", "mcm:a=b"},
		{"cloudProvider: gardener, autoDiscovery: {clusterName: prod, labels: {a: b, c: d}}", "mcm:k8s.io/cluster-autoscaler/prod,a=b,c=d"},
		{"cloudProvider: gardener, autoDiscovery: {clusterName: prod}, nodeGroups: [{name: kube-system.g, min: 0, max: 1}]", "mcm:k8s.io/cluster-autoscaler/prod"},
	} {
		t.Run(c.values, func(t *testing.T) {
			d := objects(t, render(t, parse(t, "{"+c.values+"}")))["deployment.yaml"].(*appsv1.Deployment)
			flags, _ := told(t, d)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if got := flags.Cloud.Discovery; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("it looks for %q, want %q", got, want)
			}
			understood(t, d)
		})
	}
}
