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
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		w := clusterapitest.New(time.Now, version)
		w.Apply(clusterapitest.NewCluster(ns, "c1"))
		w.Apply(conforming(kind)...)
		w.Settle()
		w.SetTiming(timing)
		w.SetRights(rights...)
		p := connect(t, w, ofC1)
		p.standstill = 0 // this infrastructure makes nothing unseen
		return providertest.Subject{
			Provider: p, Door: door.Door{World: w}, Lacks: lacks,
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
