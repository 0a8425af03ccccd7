package gardener_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener"
	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/definitions"
)

func label(u *unstructured.Unstructured, key string) string {
	v, _, _ := unstructured.NestedString(u.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels", key)
	return v
}

// TestTwentyChangesNeverMoveTheReplicasBack: the pool changes twenty times while another client
// scales its zones far beyond their shares. What that client set is never undone, not even for a
// moment.
func TestTwentyChangesNeverMoveTheReplicasBack(t *testing.T) {
	s := newShoot(t, "twenty", newPool("a", 3, 40, "za", "zb", "zc"))
	s.run(gardener.Settings{Extent: gardener.Everything})
	s.deploymentsAre("a-z1:1 a-z2:1 a-z3:1")
	h := s.follow()

	scaled := make(chan error, 1)
	go func() {
		for n := 2; n <= 30; n++ { // z1 far above its share of 14, z2 to 0
			if err := s.scale("a-z1", n); err != nil {
				scaled <- err
				return
			}
		}
		scaled <- s.scale("a-z2", 0)
	}()
	for i := range 20 {
		release := fmt.Sprint(i)
		p := newPool("a", 3, 40+i%2, "za", "zb", "zc")
		p["labels"] = map[string]any{"release": release}
		s.want(p)
		s.eventually("the change is applied", func() (bool, string) {
			got := label(s.deployment("a-z3"), "release")
			return got == release, got
		})
	}
	if err := <-scaled; err != nil {
		t.Fatal(err)
	}
	s.conditionIs("PlimsollPoolsApplied", "True Applied")
	s.eventually("the last numbers are seen", func() (bool, string) {
		all := h.of(s.namespace + "-a-z1")
		return len(all) > 0 && all[len(all)-1] == 30, fmt.Sprint(all)
	})
	if got := s.deployments(); got != "a-z1:30 a-z2:0 a-z3:1" {
		t.Errorf("in the end they are %s", got)
	}
	for name, want := range map[string]func([]int64) bool{
		"a-z1": slices.IsSorted[[]int64],
		"a-z2": func(all []int64) bool { return slices.Equal(all, []int64{1, 0}) },
		"a-z3": func(all []int64) bool { return slices.Equal(all, []int64{1}) },
	} {
		if all := h.of(s.namespace + "-" + name); !want(all) {
			t.Errorf("%s moved back: %v", name, all)
		}
	}
}

// TestTheLifeOfAPool, on a server that prunes what definitions do not know: it comes,
// it loses a zone, it sleeps and wakes up, and goes with its Worker. What is not this
// controller's stays as it is.
func TestTheLifeOfAPool(t *testing.T) {
	s := newShoot(t, "life", newPool("a", 3, 9, "za", "zb", "zc"), newPool("b", 0, 2))
	s.run(gardener.Settings{Extent: gardener.Everything})
	s.deploymentsAre("a-z1:1 a-z2:1 a-z3:1 b-z1:0")
	md := s.deployment("a-z2")
	class, _, _ := unstructured.NestedString(md.Object, "spec", "template", "spec", "class", "name")
	limit, _, _ := unstructured.NestedInt64(md.Object, "spec", "poolMaximum")
	if class != s.namespace+"-a-z2-12345" || limit != 9 || label(md, "topology.kubernetes.io/zone") != "zb" ||
		md.GetAnnotations()[machinev1.SizingAnnotation] != "Equitable" {
		t.Errorf("the machine deployment is %v", md.Object)
	}
	s.conditionIs("PlimsollMachineClassesFound", "False MachineClassMissing")
	s.told("MachineClassMissing", "machine class "+s.namespace+"-b-z1 is not there")
	listed, _, _ := unstructured.NestedSlice(s.worker().Object, "status", "machineDeployments")
	if len(listed) != 4 {
		t.Errorf("the status lists %v", listed)
	}

	s.mustPatch(s.deployment("a-z1"), `{"metadata":{"annotations":{"theirs":"kept"}},"spec":{"paused":true,"replicas":4}}`)
	s.want(newPool("a", 3, 9, "za", "zb"), newPool("b", 0, 2))
	s.deploymentsAre("a-z1:4 a-z2:1 b-z1:0")
	s.told("MachineDeploymentDelete", s.namespace+"-a-z3 deleted with its machines")
	md = s.deployment("a-z1")
	if paused, _, _ := unstructured.NestedBool(md.Object, "spec", "paused"); !paused ||
		md.GetAnnotations()["theirs"] != "kept" {
		t.Errorf("what others set is lost: %v", md.Object)
	}

	cluster := s.object("extensions.gardener.cloud", "Cluster", s.namespace)
	s.mustPatch(cluster, `{"spec":{"shoot":{"spec":{"hibernation":{"enabled":true}}}}}`)
	s.deploymentsAre("a-z1:0 a-z2:0 b-z1:0")
	s.mustPatch(cluster, `{"spec":{"shoot":{"spec":{"hibernation":{"enabled":false}}}}}`)
	s.deploymentsAre("a-z1:2 a-z2:1 b-z1:0")
	if kept, _, _ := unstructured.NestedBool(s.worker().Object, "spec", "providerConfig", "kept"); !kept {
		t.Errorf("the Worker lost what is the cloud's: %v", s.worker().Object)
	}

	if err := admin.Delete(t.Context(), s.worker()); err != nil {
		t.Fatal(err)
	}
	s.deploymentsAre("")
	s.eventually("the Worker is gone", func() (bool, string) {
		err := admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "w"},
			s.object("extensions.gardener.cloud", "Worker", "w"))
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// TestLimitsOnly: of what Gardener made, the limits are written and nothing else.
func TestLimitsOnly(t *testing.T) {
	s := newShoot(t, "limits", newPool("a", 3, 9, "za", "zb"))
	s.create(fmt.Sprintf(`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineDeployment","metadata":{"name":"%s-a-z1","namespace":%q,"labels":{"worker.gardener.cloud/pool":"a"}},
		"spec":{"replicas":7,"template":{"spec":{"class":{"name":"theirs"}}}}}`, s.namespace, s.namespace))
	s.run(gardener.Settings{Extent: gardener.LimitsOnly})
	s.eventually("the limits are there", func() (bool, string) {
		md := s.deployment("a-z1")
		limit, _, _ := unstructured.NestedInt64(md.Object, "spec", "poolMaximum")
		return limit == 9 && md.GetAnnotations()[machinev1.PoolMaximumAnnotation] == "9", fmt.Sprint(md.Object)
	})
	s.told("MachineDeploymentNotThere", "pool a has 1 of 2 machine deployments")
	s.conditionIs("PlimsollPoolsApplied", "False MachineDeploymentNotThere")
	if got := s.deployments(); got != "a-z1:7" {
		t.Errorf("they are %s", got)
	}
	if class, _, _ := unstructured.NestedString(
		s.deployment("a-z1").Object, "spec", "template", "spec", "class", "name",
	); class != "theirs" {
		t.Errorf("the class is %s", class)
	}
	if len(s.worker().GetFinalizers()) > 0 {
		t.Error("it holds the Worker")
	}
}

// TestADefinitionWithoutPools prunes the fields: the annotations hold, and nothing
// is written for ever.
func TestADefinitionWithoutPools(t *testing.T) {
	define := func(pools bool) {
		ctx := context.WithoutCancel(t.Context()) // the clean-up, too, needs it
		for _, d := range definitions.All(pools) {
			live := &apiextensionsv1.CustomResourceDefinition{}
			if err := admin.Get(ctx, client.ObjectKey{Name: d.Name}, live); err != nil {
				t.Fatal(err)
			}
			live.Spec = d.Spec
			if err := admin.Update(ctx, live); err != nil {
				t.Fatal(err)
			}
		}
	}
	define(false)
	t.Cleanup(func() { define(true) })
	s := newShoot(t, "pruned", newPool("a", 1, 9, "za"))
	// The server takes a moment to forget the fields.
	probe := 0
	s.eventually("the fields are pruned", func() (bool, string) {
		probe++
		name := fmt.Sprintf("probe-%d", probe)
		s.create(fmt.Sprintf(`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineDeployment","metadata":{"name":%q,"namespace":%q},"spec":{"template":{},"poolMaximum":1}}`, name, s.namespace))
		u := s.get(s.object(machinev1.GroupName, machinev1.KindMachineDeployment, name))
		_, kept, _ := unstructured.NestedInt64(u.Object, "spec", "poolMaximum")
		if err := admin.Delete(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		return !kept, fmt.Sprint(u.Object)
	})
	s.run(gardener.Settings{Extent: gardener.Everything})
	s.deploymentsAre("a-z1:1")
	s.told("PoolFieldsDropped", "its annotations hold")
	s.conditionIs("PlimsollPoolsApplied", "True Applied")
	version := s.deployment("a-z1").GetResourceVersion()
	p := newPool("a", 1, 9, "za")
	p["priority"] = 3 // stands in the status alone
	s.want(p)
	s.eventually("the status follows", func() (bool, string) {
		listed, _, _ := unstructured.NestedSlice(s.worker().Object, "status", "machineDeployments")
		return fmt.Sprint(listed) == fmt.Sprintf("[map[maximum:9 minimum:1 name:%s-a-z1 priority:3]]",
			s.namespace), fmt.Sprint(listed)
	})
	md := s.deployment("a-z1")
	if md.GetResourceVersion() != version {
		t.Error("the machine deployment was written though nothing of it had changed")
	}
	if md.GetAnnotations()[machinev1.PoolMaximumAnnotation] != "9" {
		t.Errorf("the annotations are %v", md.GetAnnotations())
	}
}
