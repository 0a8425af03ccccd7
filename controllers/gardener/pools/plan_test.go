package pools

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func stepsOf(p Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, fmt.Sprintf("%s %s", s.Verb, s.Name))
	}
	return all
}

func notesOf(p Plan) []string {
	var all []string
	for _, n := range p.Notes {
		all = append(all, n.Reason+" "+n.Subject)
	}
	return all
}

// classesFor gives each of a cluster's machine deployments its class.
func classesFor(c Cluster) []MachineClass {
	var all []MachineClass
	for _, z := range c.Zones() {
		all = append(all, MachineClass{Name: z.Name()})
	}
	return all
}

func seen(c Cluster, mds ...MachineDeployment) Seen {
	return Seen{MachineDeployments: mds, MachineClasses: classesFor(c)}
}

func TestPlanIsEmptyWhenAllIsAsWanted(t *testing.T) {
	c := testCluster(3, 4, 3)
	if p := MakePlan(c, seen(c, allThere(c, 2, 1, 0)...)); len(p.Steps)+len(p.Notes)+len(p.Missing) > 0 {
		t.Errorf("got %+v", p)
	}
}

// TestPatchTouchesOnlyWhatIsOwned: what others have added to a machine deployment
// stays, what they have changed of the pool's comes back, and what the pool has no
// more goes.
func TestPatchTouchesOnlyWhatIsOwned(t *testing.T) {
	c := testCluster(1, 4, 1)
	p := &c.Pools[0]
	p.Labels, p.Taints = map[string]string{"team": "blue"}, []corev1.Taint{{
		Key: "gpu", Effect: corev1.TaintEffectNoSchedule,
	}}
	p.ClusterAutoscaler = &v1alpha1.PoolAutoscaler{ScaleDownUnneededTime: &metav1.Duration{Duration: time.Minute}}
	p.MachineControllerManager = &v1beta1.MachineControllerManager{
		MachineDrainTimeout: &metav1.Duration{Duration: time.Hour},
	}
	md := there(c.Zones()[0], 3)
	at := func(path ...string) map[string]any { return nested(md.Object, path...).(map[string]any) }
	at("metadata", "annotations")["theirs"] = "kept"
	at("metadata", "labels")["theirs"] = "kept"
	at("spec")["paused"] = true
	at("spec", "template", "spec")["providerID"] = "kept"
	at("spec", "template", "spec", "nodeTemplate", "metadata",
		"labels")["theirs"] = "goes: these are the pool's as a whole"
	at("spec", "template", "spec")["drainTimeout"] = "5m0s"
	p.Labels = map[string]string{"team": "red"}
	p.Taints, p.ClusterAutoscaler = nil, nil
	p.Maximum = 6

	want := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			mcm.PoolMaximumAnnotation:                            "6",
			"autoscaler.gardener.cloud/scale-down-unneeded-time": nil,
		}},
		"spec": map[string]any{
			"poolMaximum": int64(6),
			"template": map[string]any{"spec": map[string]any{
				"drainTimeout": "1h0m0s",
				"nodeTemplate": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"team": "red", "theirs": nil}},
					"spec":     map[string]any{"taints": nil},
				},
			}},
		},
	}
	plan := MakePlan(c, seen(c, md))
	if len(plan.Steps) != 1 || plan.Steps[0].Verb != Patch || plan.Steps[0].UID != md.UID ||
		plan.Steps[0].ResourceVersion != "1" {
		t.Fatalf("got %+v", plan.Steps)
	}
	if diff := cmp.Diff(want, plan.Steps[0].Body); diff != "" {
		t.Error(diff)
	}
	if why := plan.Steps[0].Why; !strings.Contains(why, "patched (zone a of pool a, 1 to 6): metadata.annotations.") {
		t.Errorf("it says %q", why)
	}
}

// TestPatchLeadsToWhatIsWanted: applied as a JSON merge patch, a patch makes of any
// object one that needs no other.
func TestPatchLeadsToWhatIsWanted(t *testing.T) {
	value := rapid.SampledFrom([]any{"x", "y", int64(1), true, []any{"l"}})
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	var tree func(depth int, wanted bool) *rapid.Generator[map[string]any]
	tree = func(depth int, wanted bool) *rapid.Generator[map[string]any] {
		return rapid.Custom(func(t *rapid.T) map[string]any {
			m := map[string]any{}
			for _, k := range rapid.SliceOfNDistinct(key, 0, 3, rapid.ID).Draw(t, "keys") {
				switch n := rapid.IntRange(0, 3).Draw(t, "kind"); {
				case depth > 0 && n == 0:
					m[k] = tree(depth-1, wanted).Draw(t, "map")
				case depth > 0 && n == 1 && wanted:
					m[k] = whole(rapid.MapOf(key, value).Draw(t, "whole"))
				case n == 2 && wanted:
					m[k] = nil
				default:
					m[k] = value.Draw(t, "value")
				}
			}
			return m
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		live, want := tree(2, false).Draw(t, "live"), tree(2, true).Draw(t, "want")
		patch := mergePatch(live, want)
		after, ok := applied(live, patch).(map[string]any)
		if again := mergePatch(after, want); !ok || again != nil {
			t.Fatalf("%v patched with %v is %v, which needs %v", live, patch, after, again)
		}
	})
}

// applied is a value after a JSON merge patch, as RFC 7386 has it.
func applied(value, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if has, ok := value.(map[string]any); ok {
		for k, v := range has {
			out[k] = v
		}
	}
	for k, v := range fields {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = applied(out[k], v)
	}
	return out
}

// TestDroppedFieldsAreNotWrittenForEver: a machine-controller-manager that does not
// know the pool's limits drops them; the annotations hold, and the fields go along
// when a limit changes.
func TestDroppedFieldsAreNotWrittenForEver(t *testing.T) {
	c := testCluster(1, 4, 1)
	md := there(c.Zones()[0], 3)
	delete(md.Object["spec"].(map[string]any), "poolMinimum")
	delete(md.Object["spec"].(map[string]any), "poolMaximum")
	for name, plan := range map[string]Plan{"all": MakePlan(c, seen(c, md)), "limits": MakeLimits(c, seen(c, md))} {
		if diff := cmp.Diff([]string{"PoolFieldsDropped " + md.Name}, notesOf(plan)); diff != "" || len(plan.Steps) > 0 {
			t.Errorf("%s: got %+v: %s", name, plan.Steps, diff)
		}
	}
	md.Object["spec"].(map[string]any)["paused"] = true // another client's, so that it differs
	c.Pools[0].Maximum = 5
	plan := MakePlan(c, seen(c, md))
	if n := nested(plan.Steps[0].Body, "spec", "poolMaximum"); n != int64(5) {
		t.Errorf("the patch is %v", plan.Steps[0].Body)
	}
	// One that says otherwise is put right: it comes before the annotation.
	md.Object["spec"].(map[string]any)["poolMaximum"] = int64(9)
	c.Pools[0].Maximum = 4
	plan = MakePlan(c, seen(c, md))
	if len(plan.Steps) != 1 || nested(plan.Steps[0].Body, "spec", "poolMaximum") != int64(4) {
		t.Errorf("got %+v", plan.Steps)
	}
}

func TestClasses(t *testing.T) {
	tests := []struct {
		name, before string
		classes      []MachineClass
		want         string
		found        bool
	}{
		{"none at all", "", nil, "d-z1", false},
		{"gone", "d-z1-aaaaa", nil, "d-z1-aaaaa", false},
		{"of its own name", "", []MachineClass{{Name: "d-z1"}}, "d-z1", true},
		{"with a hash", "", []MachineClass{{Name: "d-z1-aaaaa"}}, "d-z1-aaaaa", true},
		{"the newest", "d-z1-aaaaa", []MachineClass{{Name: "d-z1-bbbbb", Created: "2026-01-02T00:00:00Z"}, {Name: "d-z1-aaaaa", Created: "2026-01-01T00:00:00Z"}}, "d-z1-bbbbb", true},
		{"the newest is going", "", []MachineClass{{Name: "d-z1-bbbbb", Created: "2026-01-02T00:00:00Z", Deleting: true}, {Name: "d-z1-aaaaa", Created: "2026-01-01T00:00:00Z"}}, "d-z1-aaaaa", true},
		{"another machine deployment's", "", []MachineClass{{Name: "d-z1-b-z1-aaaaa"}, {Name: "d-z10"}, {Name: "d-z2"}, {Name: "d-z1-"}}, "d-z1", false},
		{"of a name of its own, as before", "small", []MachineClass{{Name: "small"}}, "small", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, found := findClass("d-z1", tt.before, tt.classes); got != tt.want || found != tt.found {
				t.Errorf("got %s, %v", got, found)
			}
		})
	}
}

// TestPlanLeavesAlone: what is not, or not yet, this controller's.
func TestPlanLeavesAlone(t *testing.T) {
	c := testCluster(3, 4, 2)
	zones := c.Zones()
	edit := func(md MachineDeployment, do func(metadata map[string]any)) MachineDeployment {
		do(md.Object["metadata"].(map[string]any))
		return Read(md.Object)
	}
	leaving := edit(there(zones[0], 9), func(m map[string]any) { m["deletionTimestamp"] = "2026-01-01T00:00:00Z" })
	others := edit(there(zones[0], 9), func(m map[string]any) {
		m["annotations"].(map[string]any)[workerAnnotation] = "other"
	})
	gone := testCluster(3, 4, 3).Zones()[2]
	foreign := edit(there(gone, 1), func(m map[string]any) { delete(m["annotations"].(map[string]any), workerAnnotation) })
	turned := c
	turned.Pools = []v1alpha1.Pool{c.Pools[0]}
	turned.Pools[0].Zones = []string{"b", "a"}
	beheaded := testCluster(3, 4, 3)
	beheaded.Pools[0].Zones = []string{"b", "c"}
	prefixed := testCluster(3, 4, 3)
	prefixed.Pools[0].Zones = []string{"x", "a", "b"}
	zoneless := testCluster(3, 4, 0)
	tests := []struct {
		name         string
		cluster      Cluster
		live         []MachineDeployment
		steps, notes []string
	}{
		{"on its way out", c, []MachineDeployment{leaving, there(zones[1], 1)}, nil, nil},
		{"another Worker's", c, []MachineDeployment{others, there(zones[1], 1)}, nil, []string{"MachineDeploymentNameTaken shoot--p--s-a-z1"}},
		{"not made by this controller", c, append(allThere(c, 1, 1), foreign), nil, []string{"MachineDeploymentNotDeleted shoot--p--s-a-z3"}},
		{"of a zone that is gone", c, append(allThere(c, 1, 1), there(gone, 1)), []string{"Delete shoot--p--s-a-z3"}, nil},
		{"without the first zone: its number means the second one", beheaded, allThere(testCluster(3, 4, 3), 1, 1, 1), nil, []string{"ZoneChanged shoot--p--s-a-z1", "ZoneChanged shoot--p--s-a-z2"}},
		{"with another first zone: none is made", prefixed, allThere(c, 1, 1), nil, []string{"ZoneChanged shoot--p--s-a-z1", "ZoneChanged shoot--p--s-a-z2"}},
		{"without zones any more", zoneless, allThere(c, 1, 1), nil, []string{"ZoneChanged shoot--p--s-a-z1"}},
		{"zones in another order", turned, allThere(c, 1, 1), nil, []string{"ZoneChanged shoot--p--s-a-z1", "ZoneChanged shoot--p--s-a-z2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := MakePlan(tt.cluster, seen(c, tt.live...))
			if diff := cmp.Diff(tt.steps, stepsOf(p)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.notes, notesOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAMissingClassIsNamed: the machine deployment is made all the same.
func TestAMissingClassIsNamed(t *testing.T) {
	c := testCluster(1, 4, 2)
	p := MakePlan(c, Seen{MachineClasses: []MachineClass{{Name: "shoot--p--s-a-z1-12345"}}})
	if diff := cmp.Diff([]string{"shoot--p--s-a-z2"}, p.Missing); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Create shoot--p--s-a-z1", "Create shoot--p--s-a-z2"}, stepsOf(p)); diff != "" {
		t.Error(diff)
	}
	if got := nested(p.Steps[1].Body, "spec", "template", "spec", "class", "name"); got != "shoot--p--s-a-z2" {
		t.Errorf("it names %v", got)
	}
}

// TestLimitsAlone: beside a worker controller of Gardener only the limits are
// written, nothing is made and nothing deleted.
func TestLimitsAlone(t *testing.T) {
	c := testCluster(3, 4, 2)
	md := there(c.Zones()[0], 9)
	metadata := md.Object["metadata"].(map[string]any)
	metadata["name"] = "called-otherwise"
	metadata["annotations"] = map[string]any{"theirs": "kept"}
	delete(md.Object["spec"].(map[string]any), "poolMinimum")
	delete(md.Object["spec"].(map[string]any), "poolMaximum")
	stray := there(testCluster(3, 4, 3).Zones()[2], 1)
	stray.Pool = "another"
	p := MakeLimits(c, seen(c, Read(md.Object), stray))
	if diff := cmp.Diff([]string{"MachineDeploymentNotThere a"}, notesOf(p)); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{mcm.PoolMinimumAnnotation: "3", mcm.PoolMaximumAnnotation: "4", mcm.SizingAnnotation: "Equitable"}},
		"spec":     map[string]any{"poolMinimum": int64(3), "poolMaximum": int64(4)},
	}
	if len(p.Steps) != 1 {
		t.Fatalf("got %v", stepsOf(p))
	}
	if diff := cmp.Diff(want, p.Steps[0].Body); diff != "" {
		t.Error(diff)
	}
}

// TestExistingPools: by their label, by the names of their machine deployments, and by
// those that they had on another seed.
func TestExistingPools(t *testing.T) {
	c := testCluster(1, 2, 3)
	other := c.Pools[0]
	other.Name = "a-z1" // its names begin like those of the other's
	c.Pools = append(c.Pools, other)
	strange := there(c.Zones()[0], 1)
	strange.Pool = ""
	stray := there(c.Zones()[0], 1)
	stray.Name = "called-otherwise"
	for name, s := range map[string]Seen{
		"by the label":     {MachineDeployments: []MachineDeployment{stray}},
		"by the name":      {MachineDeployments: []MachineDeployment{strange}},
		"on another seed":  {Restored: map[string]int32{"shoot--p--s-a-z3": 0}},
		"all at once":      {MachineDeployments: []MachineDeployment{strange, stray}, Restored: map[string]int32{"shoot--p--s-a-z2": 1}},
		"and another's":    {MachineDeployments: []MachineDeployment{stray, {Name: "shoot--p--s-b-z1"}}, Restored: map[string]int32{"else": 1}},
		"and another pool": {MachineDeployments: []MachineDeployment{stray, {Name: "x"}}},
	} {
		if diff := cmp.Diff(map[string]bool{"a": true}, s.Existing(c.Namespace, c.Pools)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDeletionOfAWorker(t *testing.T) {
	c := testCluster(3, 4, 2)
	foreign := there(testCluster(3, 4, 3).Zones()[2], 1)
	foreign.Worker = ""
	if diff := cmp.Diff([]string{
		"Delete shoot--p--s-a-z1", "Delete shoot--p--s-a-z2",
	}, stepsOf(MakeDeletion("s", seen(c, append(allThere(c, 1, 1), foreign)...)))); diff != "" {
		t.Error(diff)
	}
}

// TestInPlaceUpdates have the other half of the strategy, and machines that are
// labelled with their Worker.
func TestInPlaceUpdates(t *testing.T) {
	for strategy, want := range map[string]string{
		v1beta1.AutoInPlaceUpdate: "Auto", v1beta1.ManualInPlaceUpdate: "Manual",
	} {
		c := testCluster(3, 4, 2)
		c.Pools[0].UpdateStrategy = ptr.To(strategy)
		body := plain(c.Zones()[0].body("c"))
		wanted := map[string]any{
			"type":          "InPlaceUpdate",
			"inPlaceUpdate": map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0), "orchestrationType": want},
		}
		if diff := cmp.Diff(wanted, nested(body, "spec", "strategy")); diff != "" {
			t.Error(diff)
		}
		if got := stringAt(body, "spec", "template", "metadata", "labels", "worker.gardener.cloud/name"); got != "s" {
			t.Errorf("the Worker's label is %q", got)
		}
	}
}
