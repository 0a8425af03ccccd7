package clusterapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

func TestInventoryReads(t *testing.T) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			w := clusterapitest.New(time.Now, version)
			w.Serve(clusterapitest.Templates())
			w.Apply(clusterapitest.NewCluster(ns, "c1"),
				clusterapitest.NewTemplate(ns, "workers", kubetest.Object{"cpu": "8", "memory": "32Gi"}),
				deployment("workers", 2, clusterapitest.MinSize, "1", clusterapitest.MaxSize, "5",
					ofGroup.options()+"scaledownunneededtime", "3m"),
				clusterapitest.NewGroup("MachineSet", ns, "alone", "c1", 1, annotated("0", "3")...),
				clusterapitest.NewGroup("MachinePool", ns, "pool", "c1", 2, annotated("0", "3")...),
				deployment("not-ours", 1))
			w.Settle()
			p := connect(t, w, ofC1)
			inv := inventory(t, p)
			if diff := cmp.Diff(
				[]string{string(md("workers")), "MachinePool/" + ns + "/pool", "MachineSet/" + ns + "/alone"}, ids(inv),
			); diff != "" {
				t.Fatal(diff)
			}
			g := inv.Groups[0]
			if g.Min != 1 || g.Max != 5 || g.Target != 2 || *g.Options.ScaleDownUnneededTime != 3*time.Minute {
				t.Errorf("%+v", g)
			}
			if g.Template == nil || g.Template.Node.Status.Allocatable.Cpu().Value() != 8 ||
				g.Template.Sources["resource/cpu"] != sourceTemplate {
				t.Errorf("template %+v, error %v", g.Template, g.TemplateErr)
			}
			for _, i := range g.Instances {
				name := machineName(i.ID)
				want := provider.Instance{
					ID: i.ID, ProviderID: "test:///" + ns + "/" + name, NodeName: name, State: provider.Running, Created: i.Created,
				}
				if diff := cmp.Diff(want, i); diff != "" || i.Created.IsZero() {
					t.Error(diff)
				}
			}
			// A MachinePool without Machines has what it lists, and nothing can be
			// chosen among that.
			pool := inv.Groups[1]
			if len(pool.Instances) != 2 || !strings.HasPrefix(string(pool.Instances[0].ID), "test:///pool/") ||
				pool.Instances[0].Hold == "" || !held(pool, provider.OpRemove, string(provider.Unsupported)) {
				t.Errorf("%+v", pool)
			}
			_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: pool.ID, Instances: live(pool)[:1]})
			refusal(t, err, provider.Unsupported)
			if again := group(t, inventory(t, p), pool.ID); again.Target != 2 {
				t.Errorf("the target went to %d", again.Target)
			}
		})
	}
}

// One malformed annotation hides one group, and a notice tells; all others are
// as they were.
func TestABadAnnotationHidesOneGroup(t *testing.T) {
	w := newWorld(t, deployment("good", 1, annotated("0", "5")...), deployment("bad", 1, annotated("1", "five")...))
	p := connect(t, w, ofC1)
	inv := inventory(t, p)
	if g := group(t, inv, md("good")); g.Err != nil || g.Template == nil || len(g.Instances) != 1 {
		t.Errorf("the good one: %+v", g)
	}
	bad := group(t, inv, md("bad"))
	if bad.Err == nil || bad.Err.Kind != provider.BadConfig || !noticed(inv, noticeBadAnnotation, "max-size") {
		t.Errorf("the bad one: %+v, notices %v", bad, inv.Notices)
	}
	_, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("bad"), From: 1, To: 2})
	refusal(t, err, provider.BadConfig)

	// One that says less costs less.
	edit(t, w, "MachineDeployment", "bad", func(o kubetest.Object) {
		annotate(clusterapitest.MaxSize, "5")(o)
		annotate(keyLabels, "a=b,what")(o)
		annotate(ofGroup.options()+"scaledownunneededtime", "soon")(o)
	})
	inv = inventory(t, p)
	mended := group(t, inv, md("bad"))
	if mended.Err != nil || mended.Template.Node.Labels["a"] != "b" || mended.Options.ScaleDownUnneededTime != nil {
		t.Errorf("mended: %+v", mended)
	}
	if !noticed(inv, noticeBadAnnotation, "what") || !noticed(inv, noticeBadAnnotation, "soon") {
		t.Errorf("notices %v", inv.Notices)
	}
}

func TestWhatIsNoGroup(t *testing.T) {
	w := newWorld(t,
		deployment("no-annotations", 1), deployment("max-0", 1, annotated("0", "0")...),
		deployment("min-alone", 1, clusterapitest.MinSize, "1"),
		clusterapitest.NewGroup("MachineDeployment", ns, "others-cluster", "c2", 1, annotated("0", "5")...),
		clusterapitest.NewGroup("MachineDeployment", "elsewhere", "workers", "c1", 1, annotated("0", "5")...),
		deployment("group", 0, annotated("0", "5")...))
	p := connect(t, w, ofC1)
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{string(md("group"))}) ||
		!noticed(inv, noticeNoMaximum, clusterapitest.MaxSize) || inv.Others < 3 {
		t.Errorf("groups %v and %d others, notices %v", got, inv.Others, inv.Notices)
	}
	for _, id := range []provider.GroupID{md("no-annotations"), md("others-cluster"),
		"MachineDeployment/elsewhere/workers", "Machine/x/y", "MachineDeployment/x",
		"MachineSet/" + provider.GroupID(ns) + "/none"} {
		_, err := p.Grow(t.Context(), provider.GrowRequest{Group: id, From: 1, To: 2})
		refusal(t, err, provider.NotFound)
	}
	// A MachineSet of a MachineDeployment is none, though it inherits annotations.
	set := w.List("MachineSet")[0]
	name := set["metadata"].(kubetest.Object)["name"].(string)
	edit(t, w, "MachineSet", name, annotate(clusterapitest.MaxSize, "5"))
	_, err := p.Grow(t.Context(), provider.GrowRequest{
		Group: provider.GroupID("MachineSet/" + ns + "/" + name), From: 1, To: 2,
	})
	refusal(t, err, provider.NotFound)
	if got := ids(inventory(t, p)); len(got) != 1 {
		t.Errorf("groups %v", got)
	}
}

func TestReplicasThatAreNotSet(t *testing.T) {
	g := deployment("workers", 1, annotated("0", "5")...)
	delete(g["spec"].(kubetest.Object), "replicas")
	w := clusterapitest.New(time.Now)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	w.Apply(g)
	p := connect(t, w, ofC1)
	if seen := group(t, inventory(t, p), md("workers")); seen.Err == nil || seen.Err.Kind != provider.Transient {
		t.Errorf("%+v", seen)
	}
	_, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 0, To: 1})
	refusal(t, err, provider.Transient)
}

// Whatever is paused, or being deleted, is held, and refuses.
func TestPaused(t *testing.T) {
	every := []provider.Op{provider.OpGrow, provider.OpRemove, provider.OpCancel}
	w := newWorld(t, deployment("workers", 2, annotated("0", "5")...))
	p := connect(t, w, ofC1)
	check := func(what, reason string, refused bool) {
		t.Helper()
		g := group(t, inventory(t, p), md("workers"))
		for _, op := range every {
			if !held(g, op, reason) {
				t.Errorf("%s: %s is not held: %+v", what, op, g.Holds)
			}
		}
		if len(g.Instances) != 2 {
			t.Errorf("%s: instances %+v", what, g.Instances)
		}
		if refused {
			_, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 2, To: 3})
			refusal(t, err, provider.Conflict)
			_, err = p.Remove(t.Context(), provider.RemoveRequest{Group: md("workers"), Instances: live(g)[:1]})
			refusal(t, err, provider.Conflict)
		}
	}
	edit(t, w, "MachineDeployment", "workers", annotate(clusterapitest.Paused, ""))
	check("a paused group", holdPaused, true)
	edit(t, w, "MachineDeployment", "workers", func(o kubetest.Object) {
		delete(o["metadata"].(kubetest.Object)["annotations"].(kubetest.Object), clusterapitest.Paused)
	})
	if g := group(t, inventory(t, p), md("workers")); len(g.Holds) != 0 {
		t.Errorf("not paused any more: %+v", g.Holds)
	}
	edit(t, w, "Cluster", "c1", func(o kubetest.Object) { kubetest.Set(o, true, "spec", "paused") })
	check("a paused cluster", holdPaused, false)
	edit(t, w, "Cluster", "c1", func(o kubetest.Object) {
		kubetest.Set(o, false, "spec", "paused")
		annotate(clusterapitest.Paused, "true")(o)
	})
	check("a cluster paused by annotation", holdPaused, false)

	// It stays as it was last, while the Cluster does not answer.
	w.Arm(kubetest.Fault{Verb: "get", Resource: "clusters", Mishap: kubetest.Broken})
	check("a paused cluster that does not answer", holdPaused, false)
	w.Disarm()
	edit(t, w, "MachineDeployment", "workers", func(o kubetest.Object) {
		kubetest.Set(o, "2030-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	})
	check("a group that is being deleted", provider.BeingDeleted, true)
}

// A MachineSet that cannot make its Machines says so: what is missing is not
// waited for, unless Cluster API is only waiting itself.
func TestMachinesThatCannotBeMade(t *testing.T) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		for _, kind := range []string{"MachineDeployment", "MachineSet"} {
			w := clusterapitest.New(time.Now, version)
			w.Apply(clusterapitest.NewCluster(ns, "c1"),
				clusterapitest.NewGroup(kind, ns, "workers", "c1", 1, annotated("0", "9")...))
			w.Settle()
			p := connect(t, w, ofC1)
			id := provider.GroupID(kind + "/" + ns + "/workers")
			stuck := func() *provider.Hold {
				for _, h := range group(t, inventory(t, p), id).Holds {
					if h.Op == provider.OpGrow {
						return &h
					}
				}
				return nil
			}
			w.Starve(kind, ns, "workers")
			grow(t, p, w, id, 3)
			if h := stuck(); h == nil || !h.NoLaunch() || !strings.Contains(h.Message, "nothing to make a Machine of") {
				t.Errorf("%s of %s: %+v", kind, version, h)
			}
			set := w.List("MachineSet")[0]["metadata"].(kubetest.Object)["name"].(string)
			edit(t, w, "MachineSet", set, func(o kubetest.Object) {
				old := o["status"].(kubetest.Object)["deprecated"].(kubetest.Object)["v1beta1"].(kubetest.Object)
				old["conditions"].([]any)[0].(kubetest.Object)["reason"] = holdPreflight
			})
			if h := stuck(); h == nil || h.NoLaunch() || h.Reason != holdPreflight {
				t.Errorf("%s of %s, at the preflight: %+v", kind, version, h)
			}
			w.Feed(kind, ns, "workers")
			w.Settle()
			if h := stuck(); h != nil {
				t.Errorf("%s of %s, when all is well: %+v", kind, version, h)
			}
		}
	}
}

// A paused Machine is one that Cluster API would not delete.
func TestPausedMachine(t *testing.T) {
	w := newWorld(t, deployment("workers", 2, annotated("0", "5")...))
	p := connect(t, w, ofC1)
	id := live(group(t, inventory(t, p), md("workers")))[0]
	edit(t, w, "Machine", machineName(id), annotate(clusterapitest.Paused, ""))
	if i := group(t, inventory(t, p), md("workers")).Instances[0]; i.Hold == "" {
		t.Errorf("%+v", i)
	}
	r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: md("workers"), Instances: []provider.InstanceID{id}})
	if err != nil || r.Instances[0].Err == nil || r.Instances[0].Err.Kind != provider.Conflict || r.Target != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Discovery that means several clusters would show the Machines of all but one
// as if they had no nodes: nothing is removed then.
func TestSeveralClusters(t *testing.T) {
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
	w.Apply(clusterapitest.NewCluster(ns, "c2"),
		clusterapitest.NewGroup("MachineDeployment", ns, "more", "c2", 1, annotated("0", "5")...))
	w.Settle()
	inv := inventory(t, connect(t, w, Config{Discovery: []string{"clusterapi:namespace=" + ns}}))
	for _, g := range inv.Groups {
		if !held(g, provider.OpRemove, holdSeveral) || held(g, provider.OpGrow, holdSeveral) {
			t.Errorf("%s: %+v", g.ID, g.Holds)
		}
	}
	if !noticed(inv, noticeSeveral, "c1, "+ns+"/c2") {
		t.Errorf("notices %v", inv.Notices)
	}
}

// Machines of equal names in two namespaces are two instances. An instance that several groups claim belongs to none.
func TestClaimedTwice(t *testing.T) {
	instance := func(id, providerID, node string) provider.Instance {
		return provider.Instance{ID: provider.InstanceID(id), ProviderID: providerID, NodeName: node}
	}
	groups := []provider.Group{
		{Instances: []provider.Instance{instance("a/m", "x://1", "n1"), instance("a/n", "x://2", "same"), instance("a/o", "x://3", "")}},
		{Instances: []provider.Instance{instance("b/m", "x://1", ""), instance("b/n", "x://4", "same"), instance("b/o", "x://3", "")}},
	}
	told := unambiguous(groups)
	if diff := cmp.Diff(
		[]string{"node same: a/n, b/n", "provider id x://1: a/m, b/m", "provider id x://3: a/o, b/o"}, told,
	); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, g := range groups {
		for _, i := range g.Instances {
			got = append(got, fmt.Sprintf("%s %q %q", i.ID, i.ProviderID, i.NodeName))
		}
	}
	if diff := cmp.Diff(
		[]string{`a/m "x://1" "n1"`, `a/n "x://2" ""`, `a/o "" ""`, `b/m "" ""`, `b/n "x://4" ""`, `b/o "" ""`}, got,
	); diff != "" {
		t.Error(diff)
	}
}

// Replicas that a topology applies are put back by it; a person is informed.
func TestReplicasThatAnotherClientApplies(t *testing.T) {
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...), deployment("fine", 1, annotated("0", "5")...))
	manage := func(name, fields string) {
		edit(t, w, "MachineDeployment", name, func(o kubetest.Object) {
			kubetest.Set(o, []any{kubetest.Object{
				"manager": "capi-topology", "operation": "Apply", "apiVersion": "cluster.x-k8s.io/v1beta2",
				"fieldsType": "FieldsV1", "fieldsV1": kubetest.Object{"f:spec": kubetest.Object{fields: kubetest.Object{}}},
			}}, "metadata", "managedFields")
		})
	}
	manage("workers", "f:replicas")
	manage("fine", "f:template")
	var told []provider.GroupID
	for _, n := range inventory(t, connect(t, w, ofC1)).Notices {
		if n.Code == noticeReplicas && strings.Contains(n.Message, "capi-topology") {
			told = append(told, n.Group)
		}
	}
	if !slices.Equal(told, []provider.GroupID{md("workers")}) {
		t.Errorf("told of %v", told)
	}
}
