package eksanywhere_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
)

func replicasOf(md *unstructured.Unstructured) string { return strconv.Itoa(replicas(md)) }

// TestTwentyReappliesNeverMoveTheCountBack: the spec is changed twenty times while
// the autoscaler grows the group, and what the autoscaler set is never undone, not
// even for a moment. There is no webhook that could help.
func TestTwentyReappliesNeverMoveTheCountBack(t *testing.T) {
	w := bare.newWorld(t, "twenty")
	w.run(t, eksanywhere.Settings{})
	w.want(scaled("a", 1, 50).kwok("small"))
	w.eventually("the group starts at its minimum", func() (bool, string) { return w.replicasAre("a", 1) })
	released := func(md *unstructured.Unstructured) string {
		release, _, _ := unstructured.NestedString(md.Object, "spec", "template", "metadata", "labels", "release")
		return release
	}
	counts, releases := w.follow(w.mdObject("a"), replicasOf), w.follow(w.mdObject("a"), released)

	// Each change of the spec is followed at once by two steps of the autoscaler, so
	// that the controller applies it before, between or after them.
	wantCounts, wantReleases := []string{"1"}, []string{""}
	for i := range 20 {
		release := strconv.Itoa(i)
		wantReleases = append(wantReleases, release)
		w.want(scaled("a", 1, 50+i%2).with("labels", map[string]any{"release": release}).with("count", i).kwok("small"))
		for range 2 {
			n := len(wantCounts) + 1
			wantCounts = append(wantCounts, strconv.Itoa(n))
			w.scale("a", n)
		}
		w.eventually("the change is applied", func() (bool, string) {
			got := released(w.md("a"))
			return got == release, got
		})
	}
	if diff := cmp.Diff(wantCounts, counts.all()); diff != "" {
		t.Errorf("the counts of the group: %s", diff)
	}
	if diff := cmp.Diff(wantReleases, releases.all()); diff != "" {
		t.Errorf("what was applied: %s", diff)
	}
	md := w.md("a")
	if got := owners(md, "spec", "replicas"); !slices.Equal(got, []string{"autoscaler"}) {
		t.Errorf("the replicas are owned by %v", got)
	}
	if got := owners(md, "metadata", "annotations", maxSize); !slices.Equal(got, []string{"plimsoll-eks-anywhere"}) {
		t.Errorf("the maximum is owned by %v", got)
	}
}

func (w world) replicasAre(group string, n int) (bool, string) {
	for _, md := range w.deployments(w.t.Context()) {
		if md.GetName() == w.name+"-"+group {
			return replicas(&md) == n, replicasOf(&md)
		}
	}
	return false, "not there"
}

// TestReplicasChangeHands: a group goes from its count to the autoscaler, through
// ranges, and back. There is no moment without replicas, although no webhook
// defaults them, and only what is meant to moves the number.
func TestReplicasChangeHands(t *testing.T) {
	w := bare.newWorld(t, "hands")
	w.run(t, eksanywhere.Settings{})
	w.want(fixed("a", 3).kwok("small"))
	w.eventually("the group has its count", func() (bool, string) { return w.replicasAre("a", 3) })
	counts := w.follow(w.mdObject("a"), replicasOf)
	annotations := func(want string) {
		t.Helper()
		w.eventually("the range is "+want, func() (bool, string) {
			got := w.md("a").GetAnnotations()
			text := got[minSize] + ".." + got[maxSize]
			return text == want, text
		})
	}
	owner := func(want ...string) {
		t.Helper()
		w.eventually(fmt.Sprint("the replicas are owned by ", want), func() (bool, string) {
			got := owners(w.md("a"), "spec", "replicas")
			return slices.Equal(got, want), fmt.Sprint(got)
		})
	}
	owner("plimsoll-eks-anywhere")

	w.want(scaled("a", 1, 5).kwok("small")) // kept: 3
	annotations("1..5")
	owner("plimsoll-eks-anywhere-handover")
	w.scale("a", 4)
	owner("autoscaler")
	w.want(scaled("a", 1, 9).kwok("small")) // kept: 4
	annotations("1..9")
	w.scale("a", 9)
	w.want(scaled("a", 1, 6).kwok("small")) // clamped: 6
	annotations("1..6")
	w.want(scaled("a", 7, 8).with("count", 1).kwok("small")) // clamped: 7
	annotations("7..8")
	w.want(fixed("a", 2).kwok("small")) // the count applies
	annotations("..")
	w.eventually("the group has its count again", func() (bool, string) { return w.replicasAre("a", 2) })
	owner("plimsoll-eks-anywhere")
	w.want(scaled("a", 4, 5).kwok("small")) // clamped: 4
	annotations("4..5")
	w.eventually("the history is complete", func() (bool, string) { return len(counts.all()) == 7, counts.String() })
	if diff := cmp.Diff([]string{"3", "4", "9", "6", "7", "2", "4"}, counts.all()); diff != "" {
		t.Error(diff)
	}
}

// TestMachineDeploymentsOfEKSAnywhere: of what EKS Anywhere made, only the number
// and the range are touched, and everything else stays EKS Anywhere's.
func TestMachineDeploymentsOfEKSAnywhere(t *testing.T) {
	w := bare.newWorld(t, "theirs")
	w.made("a", 4)
	w.made("b", 4)
	w.made("c", -1)
	before := w.md("a").Object["spec"]
	w.run(t, eksanywhere.Settings{})
	w.want(scaled("a", 1, 5), fixed("b", 2), scaled("c", 2, 3), scaled("d", 0, 3))
	w.eventually("the group without autoscaling has its count", func() (bool, string) { return w.replicasAre("b", 2) })
	w.eventually("replicas that were not set are the minimum", func() (bool, string) { return w.replicasAre("c", 2) })
	w.tells("MachineDeploymentNotCreated", "machine deployment theirs-d is not there")
	a := w.md("a")
	if diff := cmp.Diff(before, a.Object["spec"]); diff != "" {
		t.Errorf("the autoscaled group's spec changed: %s", diff)
	}
	if got := owners(a, "spec", "replicas"); !slices.Equal(got, []string{"eks-a-controller"}) {
		t.Errorf("its replicas are owned by %v", got)
	}
	if a.GetAnnotations()[minSize] != "1" || a.GetAnnotations()[maxSize] != "5" {
		t.Errorf("its annotations are %v", a.GetAnnotations())
	}

	// EKS Anywhere applies its template again, now without replicas. It was their only
	// owner, so they go; where Cluster API's webhook runs, it puts them back. Here
	// nothing does, and what the number was is lost: the group starts again.
	w.made("a", -1)
	w.eventually("there are replicas", func() (bool, string) { return w.replicasAre("a", 1) })

	// Machine deployments of groups that are gone are EKS Anywhere's to delete.
	w.made("foreign", 1)
	w.want(scaled("a", 1, 5))
	for _, left := range []string{"b", "c", "foreign"} {
		w.tells("MachineDeploymentNotDeleted", "machine deployment theirs-"+left+" belongs to no worker node group")
	}
	if got := w.left(t); got != "theirs-a 1, theirs-b 2, theirs-c 2, theirs-foreign 1" {
		t.Errorf("there are %s", got)
	}
}

// left are the world's machine deployments with their replicas.
func (w *world) left(t *testing.T) string {
	var all []string
	for _, md := range w.deployments(t.Context()) {
		all = append(all, md.GetName()+" "+replicasOf(&md))
	}
	return strings.Join(all, ", ")
}

// TestRenamedGroupOfRealMachines: a group that is renamed loses no machine by this
// controller, whether its successor is missing or there. EKS Anywhere makes the new
// machine deployment, and it alone takes the old one away, however long that takes.
func TestRenamedGroupOfRealMachines(t *testing.T) {
	w := bare.newWorld(t, "renamed")
	w.made("old", 4)
	w.run(t, eksanywhere.Settings{})
	w.want(scaled("old", 2, 10))
	w.eventually("it is applied to", func() (bool, string) {
		got := owners(w.md("old"), "metadata", "annotations", maxSize)
		return slices.Contains(got, "plimsoll-eks-anywhere"), fmt.Sprint(got)
	})
	w.want(scaled("new", 2, 10))
	w.tells("MachineDeploymentNotCreated", "machine deployment renamed-new is not there")
	w.tells("MachineDeploymentNotDeleted",
		"machine deployment renamed-old belongs to no worker node group: EKS Anywhere's own controller deletes it")
	w.made("new", -1)
	w.eventually("the new one starts at the minimum", func() (bool, string) { return w.replicasAre("new", 2) })
	if got := w.left(t); got != "renamed-new 2, renamed-old 4" {
		t.Errorf("there are %s", got)
	}
}

// TestAnnotationsOfAnotherApplier: another client applies another range by force, as
// EKS Anywhere does where it gives each failure domain the whole of it. The range is
// put back, and the number of nodes, which the range of the spec has not changed for,
// stays where it is.
func TestAnnotationsOfAnotherApplier(t *testing.T) {
	w := bare.newWorld(t, "flipped")
	w.made("a", 4)
	w.run(t, eksanywhere.Settings{})
	w.want(scaled("a", 1, 5))
	range1to5 := func() (bool, string) {
		got := w.md("a").GetAnnotations()
		return got[minSize] == "1" && got[maxSize] == "5", fmt.Sprint(got)
	}
	w.eventually("the range is applied", range1to5)
	w.scale("a", 8)
	counts := w.follow(w.mdObject("a"), replicasOf)
	for range 3 {
		theirs := w.mdObject("a")
		theirs.SetAnnotations(map[string]string{minSize: "3", maxSize: "9"})
		if err := w.admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(theirs),
			client.FieldOwner("another-applier"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		w.eventually("the range is put back", range1to5)
	}
	if diff := cmp.Diff([]string{"8"}, counts.all()); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsWrittenTwice: looking again, for whatever cause, writes nothing.
func TestNothingIsWrittenTwice(t *testing.T) {
	w := bare.newWorld(t, "quiet")
	c := w.run(t, eksanywhere.Settings{})
	w.want(fixed("a", 1).kwok("small"), scaled("b", 1, 5).kwok("small"))
	w.eventually("both are there", func() (bool, string) {
		_, a := w.replicasAre("a", 1)
		_, b := w.replicasAre("b", 1)
		return a == "1" && b == "1", a + " " + b
	})
	w.settle("a", 1)
	w.settle("b", 1)
	w.readyIs("True")
	a, b, writes := w.md("a").GetResourceVersion(), w.md("b").GetResourceVersion(), c.metric(
		"plimsoll_eks_anywhere_writes_total", "done",
	)
	for i := range 5 {
		w.patch(w.clusterObject(), "user", fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, i))
	}
	// The last look is over when what it has to do is done: a count that changes.
	w.want(fixed("a", 1).kwok("small"), scaled("b", 1, 5).with("count", 3).kwok("small"))
	w.tells("CountIgnored", "count 3 of worker node group b is ignored: the autoscaler sizes it between 1 and 5")
	if w.md("a").GetResourceVersion() != a || w.md("b").GetResourceVersion() != b {
		t.Error("a machine deployment was written though nothing had changed")
	}
	if n := c.metric("plimsoll_eks_anywhere_writes_total", "done"); n != writes {
		t.Errorf("%v writes more", n-writes)
	}
}

// TestAnotherClustersMachineDeployment: cluster "x" with a group "y-z" and cluster
// "x-y" with a group "z" would have a machine deployment of one name.
func TestAnotherClustersMachineDeployment(t *testing.T) {
	other := bare.newWorld(t, "x")
	w := bare.newWorld(t, "x-y")
	other.made("y-z", 3)
	w.run(t, eksanywhere.Settings{})
	w.want(fixed("z", 1).kwok("small"))
	w.tells("MachineDeploymentNameTaken", "machine deployment x-y-z is one of cluster x and is left alone")
	if ok, got := other.replicasAre("y-z", 3); !ok {
		t.Errorf("its replicas are %s", got)
	}
}

// TestV1Beta1: where Cluster API serves only the old version, all is as with the
// new one.
func TestV1Beta1(t *testing.T) {
	w := old.newWorld(t, "old")
	w.made("theirs", 4)
	w.run(t, eksanywhere.Settings{})
	w.want(fixed("a", 2).kwok("small"), scaled("b", 1, 5).kwok("small"), scaled("theirs", 1, 3))
	w.eventually("what EKS Anywhere made is moved into its range", func() (bool, string) {
		return w.replicasAre("theirs", 3)
	})
	w.eventually("the others are made", func() (bool, string) {
		_, a := w.replicasAre("a", 2)
		_, b := w.replicasAre("b", 1)
		return a == "2" && b == "1", a + " " + b
	})
	w.settle("a", 2)
	w.settle("b", 1)
	w.settle("theirs", 3)
	w.readyIs("True")
	w.scale("b", 5)
	w.settle("b", 5)
	w.want(fixed("a", 2).kwok("small"), scaled("b", 1, 9).kwok("big"), scaled("theirs", 1, 3))
	w.readyIs("False OutdatedInformation")
	w.settle("b", 5)
	w.readyIs("True")
	if ok, got := w.replicasAre("b", 5); !ok {
		t.Errorf("the upgrade made the replicas %s", got)
	}
	w.patchStatus(w.mdObject("a"), "cluster-api",
		`{"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	w.readyIs("False MachineDeploymentNotReady Machine deployment old-a not ready yet")
}
