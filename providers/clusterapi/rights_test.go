package clusterapi

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

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
		w.SetRights(kubetest.Right{Resources: []string{"machinedeployments", "machines", "machinesets", "clusters"}, Verbs: []string{"get", "list"}})
		p := connect(t, w, ofC1)
		inv := inventory(t, p)
		if got := ids(inv); !slices.Equal(got, []string{string(md("workers"))}) || !noticed(inv, noticeNoPools, "machinepools") {
			t.Errorf("groups %v, notices %v", got, inv.Notices)
		}
		// A right that was there and is lost is an error (rule P7).
		w.SetRights()
		inventory(t, p)
		w.SetRights(kubetest.Right{Resources: []string{"machinedeployments", "machines", "machinesets", "clusters"}, Verbs: []string{"get", "list"}})
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
