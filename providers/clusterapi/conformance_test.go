package clusterapi

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest/door"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// conforming are the groups of the suite, of one kind.
func conforming(kind string) []kubetest.Object {
	more := map[string][]string{"MachinePool": {clusterapitest.PoolMachines, "true"}}[kind]
	return []kubetest.Object{
		clusterapitest.NewGroup(kind, ns, "group", "c1", 1, annotated("1", "12", more...)...),
		clusterapitest.NewGroup(kind, ns, "other", "c1", 1, annotated("1", "12", more...)...),
		clusterapitest.NewGroup("MachinePool", ns, "sized-elsewhere", "c1", 2, annotated("0", "12", defaultAPIGroup+"/replicas-managed-by", "external-autoscaler")...),
	}
}

var lacks = map[string]string{"P4/GrowKeepsThePoolsMaximum": "groups of Cluster API share no limits"}

func conforms(t *testing.T, kind, version string, timing clusterapitest.Timing, rights ...kubetest.Right) {
	why := map[string]string{}
	for name, reason := range lacks {
		why[name] = reason
	}
	if kind == "MachinePool" {
		for _, name := range []string{"P5/CancelTakesBackAnonymousRequests", "P5/CancelKeepsTheMinimum"} {
			why[name] = "what a MachinePool's infrastructure is about to do is not known, so that nothing is cancelled"
		}
	}
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		w := clusterapitest.New(time.Now, version)
		w.Apply(clusterapitest.NewCluster(ns, "c1"))
		w.Apply(conforming(kind)...)
		w.Settle()
		w.SetTiming(timing)
		w.SetRights(rights...)
		return providertest.Subject{
			Provider: connect(t, w, ofC1), Door: door.Door{World: w}, Lacks: why,
			Group: provider.GroupID(kind + "/" + ns + "/group"), Other: provider.GroupID(kind + "/" + ns + "/other"),
			Unsupported: provider.GroupID("MachinePool/" + ns + "/sized-elsewhere"),
		}
	})
}

func TestConforms(t *testing.T) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		for _, kind := range []string{"MachineDeployment", "MachineSet", "MachinePool"} {
			t.Run(kind+" of "+version, func(t *testing.T) {
				t.Parallel()
				conforms(t, kind, version, clusterapitest.Timing{})
			})
		}
	}
}

// TestConformsWithTheChartsRights: the same with those alone that the Helm chart
// of the Cluster Autoscaler gives. MachineSets may be updated, not scaled.
func TestConformsWithTheChartsRights(t *testing.T) {
	for _, kind := range []string{"MachineDeployment", "MachineSet"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			conforms(t, kind, "v1beta2", clusterapitest.Timing{}, clusterapitest.ChartRights(ns)...)
		})
	}
}

// TestConformsWithSlowMachines: nodes come, and deleted Machines go, only when
// the suite lets them.
func TestConformsWithSlowMachines(t *testing.T) {
	t.Parallel()
	conforms(t, "MachineDeployment", "v1beta2", clusterapitest.Timing{Boot: time.Hour, End: time.Hour})
}
