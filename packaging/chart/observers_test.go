package chart

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

const (
	observed = "default"
	within   = 20 * time.Second
)

// TestWhatAnObserversProviderReads: under the rights that the chart gives to an observer,
// its provider reads all that it can tell, and watches; it uses each of these rights, and
// asks for nothing else. On aws and kwok there is nothing to it, or package install proves
// it: under these roles an observer lives on a real control plane.
func TestWhatAnObserversProviderReads(t *testing.T) {
	t.Run("clusterapi", func(t *testing.T) {
		w := clusterapitest.New(time.Now)
		w.Serve(clusterapitest.Templates(), clusterapitest.Nodes())
		limits := []string{clusterapitest.MinSize, "0", clusterapitest.MaxSize, "5"}
		w.Apply(clusterapitest.NewCluster(observed, "prod"),
			clusterapitest.NewTemplate(observed, "workers", kubetest.Object{"cpu": "8", "memory": "32Gi"}),
			clusterapitest.NewGroup("MachineDeployment", observed, "workers", "prod", 1, limits...))
		w.Settle()
		uses(t, w.API, "{cloudProvider: clusterapi, mode: observe, clusterAPIInfrastructureTemplates: "+
			"[testmachinetemplates]}", "clusterapi-role.yaml",
			func(rc *rest.Config, nodes *kubernetes.Clientset) (provider.Provider, error) {
				return clusterapi.New(rc, nodes.CoreV1().Nodes(),
					clusterapi.Config{Discovery: []string{"clusterapi:clusterName=prod"}}, slog.New(slog.DiscardHandler))
			})
	})
	t.Run("gardener", func(t *testing.T) {
		w := gardenertest.New(time.Now, observed)
		w.Serve(clusterapitest.Nodes())
		w.Add(gardenertest.NewClass(observed, "web-z1", "a"), gardenertest.NewDeployment(observed, "web-z1", "web", "a", 1,
			v1alpha1.PoolMinimumAnnotation, "0", v1alpha1.PoolMaximumAnnotation, "5"))
		w.Settle()
		uses(t, w.API, "{cloudProvider: gardener, mode: observe}", "gardener-role.yaml",
			func(rc *rest.Config, nodes *kubernetes.Clientset) (provider.Provider, error) {
				return gardener.New(rc, nodes.CoreV1().Nodes(), gardener.Config{Namespace: observed, RequireAvailable: true},
					slog.New(slog.DiscardHandler))
			})
	})
}

// uses lets a provider read and watch an API server, and compares what it asks for with a
// role of the chart. Nodes are read by the core, too: of them, only single ones count here.
func uses(t *testing.T, api *kubetest.API, values, role string, connect func(
	*rest.Config, *kubernetes.Clientset,
) (provider.Provider, error)) {
	t.Helper()
	all := objects(t, render(t, parse(t, values)))
	var rules []rbacv1.PolicyRule
	switch o := all[role].(type) {
	case *rbacv1.ClusterRole:
		rules = o.Rules
	case *rbacv1.Role:
		rules = o.Rules
	default:
		t.Fatalf("there is no role in %s", role)
	}
	granted, want := []kubetest.Right{}, map[string]bool{}
	for _, rule := range rules {
		granted = append(granted, kubetest.Right{Resources: rule.Resources, Verbs: rule.Verbs})
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				want[verb+" "+resource] = true
			}
		}
	}
	if ofClusterRole := ofObject(all["clusterrole.yaml"]); ofClusterRole["get /nodes"] {
		granted = append(granted, kubetest.Right{Resources: []string{"nodes"}, Verbs: []string{"get"}})
		want["get nodes"] = true
	}
	api.SetRights(granted...)

	url := kubetest.Serve(t, api)
	rc := &rest.Config{Host: url, QPS: -1}
	nodes, err := kubernetes.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	p, err := connect(rc, nodes)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	seen, err := p.Inventory(ctx)
	if err != nil || len(seen.Groups) != 1 || len(seen.Groups[0].Instances) != 1 || len(seen.Notices) > 0 {
		t.Fatalf("what is read: %+v, %v", seen, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.(provider.Notifier).Notify(ctx, func() {}) }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for len(missing(want, api)) > 0 && ctx.Err() == nil {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	cancel()
	<-ended
	for _, right := range missing(want, api) {
		t.Errorf("the chart gives what is never used: %s", right)
	}
	for _, request := range asked(api) {
		if !want[request] {
			t.Errorf("the chart does not give what is asked for: %s", request)
		}
	}
}

// asked are the verbs and resources of all requests so far.
func asked(api *kubetest.API) []string {
	var out []string
	for _, request := range api.Requests() {
		if words := strings.Fields(request); len(words) > 1 {
			out = append(out, words[0]+" "+words[1])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// missing are the rights that no request has used.
func missing(want map[string]bool, api *kubetest.API) []string {
	var out []string
	used := asked(api)
	for right := range want {
		if !slices.Contains(used, right) {
			out = append(out, right)
		}
	}
	slices.Sort(out)
	return out
}
