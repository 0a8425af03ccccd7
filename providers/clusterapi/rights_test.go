package clusterapi

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// With the chart's rights alone nothing is missing but what the optional ones
// would tell, and notices tell that.
func TestOptionalRights(t *testing.T) {
	objects := []kubetest.Object{
		deployment("workers", 1, annotated("0", "5")...),
		clusterapitest.NewGroup("MachinePool", ns, "pool", "c1", 1, annotated("0", "5")...),
	}
	t.Run("no right to Clusters", func(t *testing.T) {
		w := newWorld(t, objects...)
		w.SetRights(clusterapitest.ChartRights(ns)...)
		inv := inventory(t, connect(t, w, ofC1))
		if len(inv.Groups) != 2 || !noticed(inv, noticeNoClusters, "c1") || len(inv.Groups[0].Holds) != 0 {
			t.Errorf("groups %v, notices %v", ids(inv), inv.Notices)
		}
	})
	t.Run("no right to MachinePools", func(t *testing.T) {
		w := newWorld(t, objects...)
		w.SetRights(kubetest.Right{
			Resources: []string{"machinedeployments", "machines", "machinesets", "clusters"}, Verbs: []string{"get", "list"},
		})
		p := connect(t, w, ofC1)
		inv := inventory(t, p)
		if got := ids(inv); !slices.Equal(got, []string{string(md("workers"))}) ||
			!noticed(inv, noticeNoPools, "machinepools") {
			t.Errorf("groups %v, notices %v", got, inv.Notices)
		}
		// A right that was there and is lost is an error (rule P7).
		w.SetRights()
		inventory(t, p)
		w.SetRights(kubetest.Right{
			Resources: []string{"machinedeployments", "machines", "machinesets", "clusters"}, Verbs: []string{"get", "list"},
		})
		_, err := p.Inventory(t.Context())
		refusal(t, err, provider.Denied)
	})
	t.Run("MachinePools and MachineDeployments are not served", func(t *testing.T) {
		w := newWorld(t, clusterapitest.NewGroup("MachineSet", ns, "alone", "c1", 1, annotated("0", "5")...))
		w.Unserve("MachinePool")
		w.Unserve("MachineDeployment")
		w.Unserve("Cluster")
		inv := inventory(t, connect(t, w, ofC1))
		if len(inv.Groups) != 1 || len(inv.Notices) != 0 {
			t.Errorf("groups %v, notices %v", ids(inv), inv.Notices)
		}
	})
	t.Run("no right to Machines", func(t *testing.T) {
		w := newWorld(t, objects...)
		w.SetRights(kubetest.Right{Resources: []string{"machinedeployments", "machinesets"}, Verbs: []string{"get", "list"}})
		_, err := connect(t, w, ofC1).Inventory(t.Context())
		if e := refusal(t, err, provider.Denied); !strings.Contains(e.Message, "docs/clusterapi.md") {
			t.Errorf("no hint: %v", e)
		}
	})
}

// The rights of docs/clusterapi.md, and none beside them, are enough to read, grow and
// remove in groups of every kind; and each of their verbs is used.
func TestTheRightsOfTheDocumentation(t *testing.T) {
	w := newWorld(t,
		deployment("workers", 2, annotated("0", "5")...),
		clusterapitest.NewGroup("MachineSet", ns, "alone", "c1", 2, annotated("0", "5")...),
		clusterapitest.NewGroup("MachinePool", ns, "pool", "c1", 1, annotated("0", "5")...))
	role := documentedRole(t)
	var rights, withoutSetScale []kubetest.Right
	for _, rule := range role.Rules {
		right := kubetest.Right{Resources: rule.Resources, Verbs: rule.Verbs}
		rights = append(rights, right)
		if !slices.Contains(rule.Resources, "machinesets/scale") {
			withoutSetScale = append(withoutSetScale, right)
		}
	}
	everything := func(rights []kubetest.Right) {
		t.Helper()
		w.SetRights(rights...)
		p := connect(t, w, ofC1)
		for _, g := range inventory(t, p).Groups {
			grow(t, p, w, g.ID, g.Target+1)
			if strings.HasPrefix(string(g.ID), "MachinePool/") {
				continue // without Machines, it is not made smaller
			}
			machines := live(group(t, inventory(t, p), g.ID))
			for range 2 { // the second time, it is gone
				if r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: g.ID, Instances: machines[:1]}); err != nil ||
					r.Instances[0].Err != nil {
					t.Errorf("remove from %s: %+v, %v", g.ID, r, err)
				}
				w.Settle()
			}
		}
	}
	everything(rights)
	everything(withoutSetScale)

	used := map[string]bool{}
	for _, r := range w.Requests() {
		if words := strings.Fields(r); len(words) > 1 {
			used[words[0]+" "+words[1]] = true
		}
	}
	for _, rule := range role.Rules {
		if rule.APIGroups[0] != clusterapitest.Group {
			continue // of an infrastructure provider
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if verb != "watch" && !used[verb+" "+resource] {
					t.Errorf("the right to %s %s is never used", verb, resource)
				}
			}
		}
	}
}

// documentedRole is the ClusterRole of docs/clusterapi.md.
func documentedRole(t *testing.T) rbacv1.ClusterRole {
	t.Helper()
	page, err := os.ReadFile("../../docs/clusterapi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## Rights\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil || !found || len(role.Rules) == 0 {
		t.Fatalf("no ClusterRole is found there: %v", err)
	}
	return role
}

// A Cluster that hangs is waited for once, and briefly.
func TestAHangingClusterHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
	w.Arm(kubetest.Fault{Verb: "get", Resource: "clusters", Mishap: kubetest.Hang})
	p := impatient(connect(t, w, ofC1))
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	inv, err := p.Inventory(ctx)
	if err != nil || len(inv.Groups) != 1 || !noticed(inv, noticeNoClusters, "c1") {
		t.Fatalf("%+v, %v", inv, err)
	}
	w.ForgetRequests()
	inventory(t, p)
	if slices.ContainsFunc(w.Requests(), func(r string) bool { return strings.Contains(r, "clusters") }) {
		t.Errorf("it was asked again at once: %v", w.Requests())
	}
}

// An upgrade of Cluster API that ends a version costs one inventory.
func TestAVersionThatIsServedNoMore(t *testing.T) {
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
	w.SetVersions("v1beta1")
	p := connect(t, w, ofC1)
	inventory(t, p)
	w.SetVersions("v1beta2")
	_, err := p.Inventory(t.Context())
	refusal(t, err, provider.NotFound)
	if g := group(t, inventory(t, p), md("workers")); len(g.Instances) != 1 {
		t.Errorf("%+v", g)
	}
}

func TestNoClusterAPI(t *testing.T) {
	w := clusterapitest.New(time.Now)
	for _, kind := range []string{"Cluster", "MachineDeployment", "MachineSet", "MachinePool", "Machine"} {
		w.Unserve(kind)
	}
	_, err := connect(t, w, ofC1).Inventory(t.Context())
	if e := refusal(t, err, provider.NotFound); !strings.Contains(e.Message, "cluster.x-k8s.io") {
		t.Error(e)
	}
}
