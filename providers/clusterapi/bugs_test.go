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

// The tests here are named for faults of the Cluster Autoscaler's provider for
// Cluster API, as B1 to B7, with its issues. Each shows that we lack one.

// B1 (kubernetes/autoscaler#9966): labels that Cluster API copies onto nodes are
// read at spec.template.metadata.labels, where Cluster API reads them, and not
// at spec.template.spec.metadata.labels.
func TestB1LabelsAreReadWhereClusterAPIReadsThem(t *testing.T) {
	g := deployment("workers", 0, annotated("0", "5")...)
	kubetest.Set(g, "front", "spec", "template", "metadata", "labels", "node.cluster.x-k8s.io/tier")
	kubetest.Set(g, "team-a", "spec", "template", "metadata", "labels", "team")
	kubetest.Set(g, "wrong", "spec", "template", "spec", "metadata", "labels", "node.cluster.x-k8s.io/tier")
	p := connect(t, newWorld(t, g), ofC1)
	labels := group(t, inventory(t, p), md("workers")).Template.Node.Labels
	if labels["node.cluster.x-k8s.io/tier"] != "front" {
		t.Errorf("labels %v", labels)
	}
	if _, ok := labels["team"]; ok {
		t.Error("a label that Cluster API does not copy is in the template")
	}
}

// B2 (kubernetes/autoscaler#9961, #5417): a Machine that failed in v1beta2 has
// no phase Failed, and its reason is in status.deprecated. It is known to have
// failed, and is not just pending.
func TestB2FailedMachinesAreSeenInBothVersions(t *testing.T) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			w := clusterapitest.New(time.Now, version)
			w.Apply(clusterapitest.NewCluster(ns, "c1"), deployment("workers", 1, annotated("0", "5")...))
			w.Settle()
			p := connect(t, w, ofC1)
			w.SetTiming(clusterapitest.Timing{Boot: time.Hour})
			if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 1, To: 2}); err != nil {
				t.Fatal(err)
			}
			seen := group(t, inventory(t, p), md("workers"))
			at := slices.IndexFunc(seen.Instances, func(i provider.Instance) bool { return i.State == provider.Creating })
			if at < 0 || seen.Instances[at].Err != nil {
				t.Fatalf("instances %+v: one is to be pending and well", seen.Instances)
			}
			id := seen.Instances[at].ID
			err := w.Fail(ns, machineName(id), func(o kubetest.Object) {
				kubetest.Set(o, "CreateError", "status", "deprecated", "v1beta1", "failureReason")
				kubetest.Set(o, "InsufficientInstanceCapacity: none of this type left", "status", "deprecated", "v1beta1",
					"failureMessage")
			})
			if err != nil {
				t.Fatal(err)
			}
			failed := group(t, inventory(t, p), md("workers")).Instances[at]
			if failed.ID != id || failed.State != provider.Creating || failed.Err == nil ||
				failed.Err.Kind != provider.NoCapacity || failed.Err.Code != "CreateError" {
				t.Errorf("the failed Machine: %+v", failed)
			}
		})
	}
}

// B3: labels of discovery are asked of the MachineDeployment alone. Its Machines
// are its own though they lack them, and can be removed.
func TestB3DiscoveryLabelsAreAskedOfTheGroupAlone(t *testing.T) {
	g := deployment("workers", 3, annotated("0", "5")...)
	kubetest.Set(g, "plimsoll", "metadata", "labels", "scaled-by")
	w := newWorld(t, g, deployment("others", 1, annotated("0", "5")...))
	p := connect(t, w, Config{Discovery: []string{"clusterapi:scaled-by=plimsoll"}})
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{string(md("workers"))}) {
		t.Fatalf("groups %v", got)
	}
	machines := live(inv.Groups[0])
	if len(machines) != 3 {
		t.Fatalf("instances %v", machines)
	}
	if _, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: md("workers"), Instances: machines[1:2],
	}); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if got := live(group(t, inventory(t, p), md("workers"))); !slices.Equal(got, []provider.InstanceID{
		machines[0], machines[2],
	}) {
		t.Errorf("instances %v are left of %v", got, machines)
	}
}

// B4 (kubernetes/autoscaler#6490, #5912, #5509): a template that may not be
// read, that is not there, whose kind is not served, or that does not answer,
// leaves the capacity unknown, and no inventory waits for it.
func TestB4NoTemplateHoldsUpAnInventory(t *testing.T) {
	withAnnotations := deployment("annotated", 1, annotated("0", "5")...)
	without := deployment("bare", 1, clusterapitest.MinSize, "0", clusterapitest.MaxSize, "5")
	for name, disturb := range map[string]func(*clusterapitest.World){
		"forbidden":  func(w *clusterapitest.World) { w.SetRights(clusterapitest.ChartRights(ns)...) },
		"not there":  func(*clusterapitest.World) {},
		"not served": func(w *clusterapitest.World) { w.Unserve("TestMachineTemplate") },
		"hanging": func(w *clusterapitest.World) {
			w.Arm(kubetest.Fault{Verb: "get", Resource: "testmachinetemplates", Mishap: kubetest.Hang})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withAnnotations, without)
			disturb(w)
			p := connect(t, w, ofC1)
			if name == "hanging" {
				impatient(p)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			begun := time.Now()
			inv, err := p.Inventory(ctx)
			if err != nil {
				t.Fatalf("after %s: %v", time.Since(begun), err)
			}
			if g := group(t, inv, md("annotated")); g.Template == nil || len(g.Instances) != 1 {
				t.Errorf("with annotations: %+v", g)
			}
			if g := group(t, inv, md("bare")); g.TemplateErr == nil || g.TemplateErr.Kind != provider.BadConfig ||
				len(g.Instances) != 1 || !strings.Contains(g.TemplateErr.Message, "TestMachineTemplate") {
				t.Errorf("without: %+v", g)
			}
			// Nor is it waited for a second time.
			w.ForgetRequests()
			inventory(t, p)
			if got := slices.DeleteFunc(w.Requests(), func(r string) bool {
				return !strings.Contains(r, "testmachinetemplates")
			}); len(got) > 0 {
				t.Errorf("the next inventory asked again: %v", got)
			}
		})
	}
}

// B5 (kubernetes/autoscaler#8330, #9439): a reference of v1beta2 has no version.
// One is found that has the kind, and the plural is the API server's.
func TestB5TheVersionIsOneThatHasTheKind(t *testing.T) {
	w := newWorld(t)
	const infra = "irregular.example.com"
	// preferred
	w.Serve(kubetest.Resource{Group: infra, Versions: []string{"v2"}, Kind: "Something", Plural: "somethings"})
	w.Serve(kubetest.Resource{
		Group: infra, Versions: []string{"v1alpha3"}, Kind: "FoxMachineTemplate", Plural: "foxenmachinetemplates",
	})
	template := clusterapitest.NewTemplate(ns, "foxes", kubetest.Object{"cpu": int64(8), "memory": "32Gi"})
	template["apiVersion"], template["kind"] = infra+"/v1alpha3", "FoxMachineTemplate"
	g := deployment("foxes", 0, clusterapitest.MinSize, "0", clusterapitest.MaxSize, "5")
	kubetest.Set(g, kubetest.Object{"apiGroup": infra, "kind": "FoxMachineTemplate", "name": "foxes"}, "spec", "template",
		"spec", "infrastructureRef")
	w.Apply(template, g)
	seen := group(t, inventory(t, connect(t, w, ofC1)), md("foxes"))
	if seen.Template == nil || seen.Template.Node.Status.Allocatable.Cpu().Value() != 8 {
		t.Errorf("template %+v, error %v", seen.Template, seen.TemplateErr)
	}
}

// B6 (kubernetes/autoscaler#5465, #7976, #7928): with several MachineSets and
// Machines that have a provider id before they have a node, no healthy Machine
// looks unregistered: each is one instance, under one name, with the node that
// Cluster API found; and none goes while it is not certain which.
func TestB6HealthyMachinesAreNotTakenForUnregistered(t *testing.T) {
	w := newWorld(t, deployment("workers", 3, annotated("1", "6")...))
	p := connect(t, w, ofC1)
	before := group(t, inventory(t, p), md("workers"))
	w.SetTiming(clusterapitest.Timing{Boot: time.Hour})
	w.Roll(ns, "workers")

	// The new Machine's cloud has an id already.
	seen := group(t, inventory(t, p), md("workers"))
	for _, i := range seen.Instances {
		if i.State == provider.Creating {
			edit(t, w, "Machine", machineName(i.ID), func(o kubetest.Object) {
				kubetest.Set(o, "test:////early", "spec", "providerID")
			})
		}
	}
	seen = group(t, inventory(t, p), md("workers"))
	if len(seen.Instances) != 4 || seen.Target != 3 {
		t.Fatalf("target %d, instances %+v", seen.Target, seen.Instances)
	}
	for _, i := range before.Instances {
		if i.NodeName == "" || !slices.Contains(seen.Instances, i) {
			t.Errorf("the healthy Machine %+v is not as it was", i)
		}
	}
	at := slices.IndexFunc(seen.Instances, func(i provider.Instance) bool { return i.ProviderID == "test:////early" })
	if at < 0 || seen.Instances[at].State != provider.Creating {
		t.Fatalf("the Machine with an early id: %+v", seen.Instances)
	}
	if !held(seen, provider.OpRemove, holdRollout) || !held(seen, provider.OpCancel, holdRollout) ||
		held(seen, provider.OpGrow, holdRollout) {
		t.Errorf("holds %+v", seen.Holds)
	}
	_, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: md("workers"), Instances: []provider.InstanceID{seen.Instances[at].ID}, Force: true,
	})
	refusal(t, err, provider.Conflict)
	if got := len(w.Machines("MachineDeployment", ns, "workers")); got != 4 {
		t.Errorf("%d Machines are left", got)
	}
}

// B7 (kubernetes/autoscaler#7273): rights in namespaces alone are enough. Every
// namespace that is named is looked in, and without a name the one that the
// rights are for.
func TestB7RightsInNamespacesAreEnough(t *testing.T) {
	world := func() *clusterapitest.World {
		w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
		w.Apply(clusterapitest.NewCluster("second", "c1"),
			clusterapitest.NewGroup("MachineDeployment", "second", "workers", "c1", 1, annotated("0", "5")...))
		w.Settle()
		w.SetRights(slices.Concat(clusterapitest.ChartRights(ns), clusterapitest.ChartRights("second"))...)
		return w
	}
	both := []string{string(md("workers")), "MachineDeployment/second/workers"}
	slices.Sort(both)
	t.Run("all namespaces that are named", func(t *testing.T) {
		p := connect(t, world(),
			Config{Discovery: []string{"clusterapi:namespace=" + ns, "clusterapi:namespace=second,clusterName=c1"}})
		if got := ids(inventory(t, p)); !slices.Equal(got, both) {
			t.Errorf("groups %v", got)
		}
	})
	t.Run("none is named", func(t *testing.T) {
		w := world()
		p := connect(t, w, Config{Discovery: []string{"clusterapi:clusterName=c1"}, Namespace: ns})
		inv := inventory(t, p)
		if got := ids(inv); !slices.Equal(got, []string{string(md("workers"))}) || !noticed(inv, noticeNarrowed, ns) {
			t.Errorf("groups %v, notices %v", got, inv.Notices)
		}
		w.ForgetRequests()
		inventory(t, p)
		if slices.ContainsFunc(w.Requests(), func(r string) bool { return r == "list machines" }) {
			t.Errorf("all namespaces were asked for again: %v", w.Requests())
		}
	})
	t.Run("one flag names one, and another none", func(t *testing.T) {
		for own, want := range map[string][]string{
			ns: both, "second": {"MachineDeployment/second/workers"}, "": {"MachineDeployment/second/workers"},
		} {
			w := world()
			p := connect(t, w, Config{
				Discovery: []string{"clusterapi:namespace=second", "clusterapi:clusterName=c1"}, Namespace: own,
			})
			for range 2 { // the second time, it is known
				inv := inventory(t, p)
				if got := ids(inv); !slices.Equal(got, want) || !noticed(inv, noticeNarrowed, "second") ||
					own != "" && !noticed(inv, noticeNarrowed, own) {
					t.Errorf("own namespace %q: groups %v, notices %v", own, got, inv.Notices)
				}
			}
		}
	})
	t.Run("none is named and the own one is forbidden, too", func(t *testing.T) {
		_, err := connect(t, world(), Config{Namespace: "third"}).Inventory(t.Context())
		e := refusal(t, err, provider.Denied)
		if !strings.Contains(e.Message, "in all namespaces") || !strings.Contains(e.Message, "in the namespace third") {
			t.Errorf("the error does not tell both: %v", e)
		}
	})
	t.Run("none is named and none is known", func(t *testing.T) {
		_, err := connect(t, world(), Config{}).Inventory(t.Context())
		if e := refusal(t, err, provider.Denied); !strings.Contains(e.Message, "all namespaces") {
			t.Errorf("the error does not tell: %v", e)
		}
	})
}
