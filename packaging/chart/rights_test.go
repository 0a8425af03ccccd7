package chart

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestRightsAreThoseThatAreProven: what the chart gives is what the pages and the
// rehearsal's manifests give, no more and no less. Each of these has a test of its own
// that takes its rights away, or compares them with an audit log; package install does the
// same once more for kwok, under the chart's own roles.
func TestRightsAreThoseThatAreProven(t *testing.T) {
	const docs, rehearse = "../../docs", "../../rehearse"
	core := file(t, rehearse+"/controlplane/manifests/plimsoll.yaml")
	kwok := core.and(file(t, rehearse+"/world/kwok-provider.yaml"))
	notKwok := core.without(func(r string) bool { return strings.Contains(r, "kwok-provider-") })
	observe := page(t, docs+"/observe.md", 0)
	// Who only looks writes nothing, and reads single objects before writes alone.
	looks := func(r rights, but ...string) rights {
		return r.without(func(r string) bool {
			verb, _, _ := strings.Cut(r, " ")
			return !slices.Contains([]string{"list", "watch"}, verb) && !slices.Contains(but, r)
		})
	}
	// A machine's node is read to learn what the next one will be like.
	node := rights{"get /nodes": true}
	const machineDeployments = " cluster.x-k8s.io/machinedeployments"
	eksAnywhere := page(t, docs+"/eks-anywhere.md", 0).named("plimsoll-eks-anywhere")
	gardener := page(t, docs+"/gardener-pools.md", 0).named("plimsoll-gardener")
	for _, c := range []struct {
		name, values string
		want         rights
	}{
		{"aws", "{cloudProvider: aws, autoDiscovery: {clusterName: c}}", notKwok},
		{"a page for others", "{cloudProvider: aws, autoDiscovery: {clusterName: c}, ui: {address: ':8443'}}",
			notKwok.and(page(t, docs+"/ui.md", 0))},
		{"a page for others, observing", "{cloudProvider: aws, mode: observe, autoDiscovery: {clusterName: c}, " +
			"ui: {address: ':8443'}}", observe.and(page(t, docs+"/ui.md", 0))},
		{"a page of one's own", "{cloudProvider: aws, autoDiscovery: {clusterName: c}, ui: {address: 'localhost:1'}}", notKwok},
		{"kwok by ConfigMaps", "{cloudProvider: kwok, kwok: {templates: []}}", kwok},
		{"kwok by templates", "{cloudProvider: kwok}", kwok.without(func(r string) bool {
			return strings.HasSuffix(r, " kwok-provider-config") || strings.HasSuffix(r, " kwok-provider-templates")
		})},
		{"clusterapi", "{cloudProvider: clusterapi, clusterAPIInfrastructureTemplates: [vspheremachinetemplates]}", notKwok.and(page(t, docs+"/clusterapi.md", 0))},
		{"gardener", "{cloudProvider: gardener}", notKwok.and(page(t, docs+"/gardener.md", 0))},
		{"gardener with marks of old",
			"{cloudProvider: gardener, extraArgs: {mcm-deletion-marker: priority, mcm-require-available: false}}",
			notKwok.and(page(t, docs+"/gardener.md", 0)).unused(t, "get apps/deployments").
				and(rights{"patch machine.sapcloud.io/machines": true})},
		{"observe aws", "{cloudProvider: aws, mode: observe, autoDiscovery: {clusterName: c}}", observe},
		{"observe kwok by templates", "{cloudProvider: kwok, mode: observe}", observe.and(page(t, docs+"/observe.md", 1))},
		{"observe kwok by ConfigMaps", "{cloudProvider: kwok, mode: observe, kwok: {templates: []}}",
			observe.and(page(t, docs+"/observe.md", 1)).and(
				rights{"get /configmaps kwok-provider-config": true, "get /configmaps kwok-provider-templates": true})},
		{"observe clusterapi", "{cloudProvider: clusterapi, mode: observe, clusterAPIInfrastructureTemplates: " +
			"[vspheremachinetemplates]}", observe.and(node).and(
			looks(page(t, docs+"/clusterapi.md", 0), "get cluster.x-k8s.io/clusters",
				"get infrastructure.cluster.x-k8s.io/vspheremachinetemplates"))},
		{"observe gardener", "{cloudProvider: gardener, mode: observe}", observe.and(node).and(looks(page(t, docs+"/gardener.md", 0), "get apps/deployments"))},
		{"observe with events",
			"{cloudProvider: aws, mode: observe, autoDiscovery: {clusterName: c}, extraArgs: {observe-events: null}}",
			observe.and(rights{"create /events": true, "patch /events": true})},
		{"EKS Anywhere's controller", "{controllers: {eksAnywhere: {enabled: true}}}", eksAnywhere},
		{"EKS Anywhere's, status only", "{controllers: {eksAnywhere: {enabled: true, statusOnly: true}}}",
			eksAnywhere.unused(t,
				"get"+machineDeployments, "create"+machineDeployments, "patch"+machineDeployments, "delete"+machineDeployments)},
		{"Gardener's controller", "{controllers: {gardener: {enabled: true}}}", gardener},
		{"Gardener's, limits only", "{controllers: {gardener: {enabled: true, writes: limits-only}}}", gardener.unused(t,
			"create machine.sapcloud.io/machinedeployments", "delete machine.sapcloud.io/machinedeployments")},
		{"Gardener's, status only", "{controllers: {gardener: {enabled: true, writes: status-only}}}",
			gardener.unused(t, "patch extensions.gardener.cloud/workers",
				"create machine.sapcloud.io/machinedeployments", "patch machine.sapcloud.io/machinedeployments",
				"delete machine.sapcloud.io/machinedeployments")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rights{}
			for _, object := range objects(t, render(t, parse(t, c.values))) {
				got = got.and(ofObject(object))
			}
			for _, r := range slices.Sorted(maps.Keys(got.and(c.want))) {
				switch {
				case !c.want[r]:
					t.Errorf("the chart gives what is not said to be needed: %s", r)
				case !got[r]:
					t.Errorf("the chart does not give what is needed: %s", r)
				}
			}
		})
	}
}

// rights are texts: "verb group/resource [name]".
type rights map[string]bool

func (r rights) and(more rights) rights {
	out := maps.Clone(r)
	maps.Copy(out, more)
	return out
}

func (r rights) without(some func(string) bool) rights {
	out := maps.Clone(r)
	maps.DeleteFunc(out, func(k string, _ bool) bool { return some(k) })
	return out
}

// unused are the same rights without some, which must be among them.
func (r rights) unused(t *testing.T, some ...string) rights {
	t.Helper()
	for _, one := range some {
		if !r[one] {
			t.Fatalf("nothing gives the right to %s, so that it cannot be left out", one)
		}
	}
	return r.without(func(one string) bool { return slices.Contains(some, one) })
}

// named are the same rights, where those of Leases are of the one that a controller has:
// the pages leave it at the namespace.
func (r rights) named(lease string) rights {
	out := rights{}
	for k := range r {
		if k == "get coordination.k8s.io/leases" || k == "update coordination.k8s.io/leases" {
			k += " " + lease
		}
		out[k] = true
	}
	return out
}

func ofObject(object runtime.Object) rights {
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		return ofRules(o.Rules)
	case *rbacv1.Role:
		return ofRules(o.Rules)
	}
	return rights{}
}

func ofRules(rules []rbacv1.PolicyRule) rights {
	out := rights{}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						out[strings.TrimSpace(fmt.Sprintf("%s %s/%s %s", verb, group, resource, name))] = true
					}
				}
			}
		}
	}
	return out
}

// documents are the rights in YAML documents.
func documents(t *testing.T, text, where string) rights {
	t.Helper()
	out := rights{}
	for _, document := range strings.Split("\n"+text, "\n---") {
		var role struct{ Rules []rbacv1.PolicyRule }
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		out = out.and(ofRules(role.Rules))
	}
	if len(out) == 0 {
		t.Fatalf("%s has no rights", where)
	}
	return out
}

func file(t *testing.T, path string) rights {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return documents(t, string(data), path)
}

// page are the rights in the n-th piece of YAML in the section Rights of a page.
func page(t *testing.T, path string, n int) rights {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Rights\n")
	section, _, _ = strings.Cut(section, "\n## ")
	pieces := strings.Split(section, "```yaml\n")
	if len(pieces) < n+2 {
		t.Fatalf("the section Rights of %s has no piece of YAML with the number %d", path, n)
	}
	text, _, _ := strings.Cut(pieces[n+1], "```")
	return documents(t, text, path)
}
