package eksanywhere_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
)

// newWorkload is an EKS Anywhere Cluster whose machines are real to Cluster API:
// nodes in the care of kwok, from one of two templates.
func newWorkload(t *testing.T, name string) world {
	t.Helper()
	w := real.newWorld(t, name)
	w.patch(w.clusterObject(), "user", `{"spec":{"kubernetesVersion":"1.37"}}`)
	if _, err := objects.CreateCluster(t.Context(), w.admin, machinesNamespace, name, w.kubeconfig); err != nil {
		t.Fatal(err)
	}
	for _, release := range []string{"one", "two"} {
		template := objects.MachineTemplate(machinesNamespace, name+"-"+release,
			kwokapi.KwokMachineSpec{Node: kwokapi.NodeSpec{
				Labels: map[string]string{"release": release},
				Capacity: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
					corev1.ResourcePods: resource.MustParse("110"),
				},
			}})
		if err := w.admin.Create(t.Context(), template); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// of is the group with machines of one of the two templates.
func (w world) of(release string, g group) group { return g.kwok(w.name + "-" + release) }

// machines waits until a group has exactly that many machines, all of one template
// and all running.
func (w world) machines(group, release string, want int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s has %d machines of release %s", group, want, release), func() (bool, string) {
		var machines clusterv1.MachineList
		var infrastructure kwokapi.KwokMachineList
		selector := client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: w.name + "-" + group}
		if err := w.admin.List(w.t.Context(), &machines, client.InNamespace(machinesNamespace), selector); err != nil {
			return false, err.Error()
		}
		if err := w.admin.List(w.t.Context(), &infrastructure, client.InNamespace(machinesNamespace), selector); err != nil {
			return false, err.Error()
		}
		running, released := 0, 0
		for _, m := range machines.Items {
			if m.Status.Phase == "Running" {
				running++
			}
		}
		for _, m := range infrastructure.Items {
			if m.Annotations[clusterv1.TemplateClonedFromNameAnnotation] == w.name+"-"+release {
				released++
			}
		}
		state := fmt.Sprintf("%d machines, %d running, %d of %d of that release",
			len(machines.Items), running, released, len(infrastructure.Items))
		return len(machines.Items) == want && running == want && released == want && len(infrastructure.Items) == want, state
	})
}

func readiness(cluster *unstructured.Unstructured) string { return condition(cluster, "WorkersReady") }

// TestWithClusterAPI has one controller for all its parts, which run at the same
// time.
func TestWithClusterAPI(t *testing.T) {
	real.start(t)
	real.run(t, eksanywhere.Settings{})
	t.Run("group", func(t *testing.T) { // so that the controller outlives its parallel parts
		t.Run("growth within the range stays ready", growthStaysReady)
		t.Run("upgrade above the minimum keeps the count", func(t *testing.T) {
			upgradeKeepsTheCount(t, "upgrade", func(g group) group { return g })
		})
		t.Run("upgrade that changes the count keeps the autoscaler's", func(t *testing.T) {
			upgradeKeepsTheCount(t, "upgrade-count", func(g group) group { return g.with("count", 2) })
		})
		t.Run("machines without a version", machinesWithoutAVersion)
		t.Run("autoscaling removed and count changed in one update", autoscalingRemoved)
	})
}

func growthStaysReady(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "growth")
	w.want(w.of("one", fixed("fixed", 1)), w.of("one", scaled("auto", 1, 10)))
	w.machines("fixed", "one", 1)
	w.machines("auto", "one", 1)
	w.readyIs("True")
	history := w.follow(w.clusterObject(), readiness)
	w.scale("auto", 10)
	w.machines("auto", "one", 10)
	w.scale("auto", 3)
	w.machines("auto", "one", 3)
	w.readyIs("True")
	if got := history.all(); !slices.Equal(got, []string{"True"}) {
		t.Errorf("WorkersReady was %v", got)
	}
}

// machinesWithoutAVersion: Cluster API calls every machine outdated whose node is of
// another version than the machine was told, and so for ever if it was told none.
// Nothing is being replaced, so the workers are ready, and stay so while they grow.
func machinesWithoutAVersion(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "versionless")
	w.patch(w.clusterObject(), "user", `{"spec":{"kubernetesVersion":null}}`)
	w.want(w.of("one", fixed("fixed", 1)), w.of("one", scaled("auto", 1, 5)))
	w.machines("fixed", "one", 1)
	w.machines("auto", "one", 1)
	for _, group := range []string{"fixed", "auto"} {
		w.eventually("Cluster API calls the machines of "+group+" outdated", func() (bool, string) {
			got := condition(w.md(group), "RollingOut")
			return strings.HasPrefix(got, "True"), got
		})
	}
	w.readyIs("True")
	history := w.follow(w.clusterObject(), readiness)
	w.scale("auto", 3)
	w.machines("auto", "one", 3)
	w.readyIs("True")
	if got := history.all(); !slices.Equal(got, []string{"True"}) {
		t.Errorf("WorkersReady was %v", got)
	}

	// A rollout is one nonetheless.
	w.want(w.of("one", fixed("fixed", 1)), w.of("two", scaled("auto", 1, 5)))
	w.machines("auto", "two", 3)
	w.readyIs("True")
	if got := history.String(); !strings.Contains(got, "False RollingUpgradeInProgress Worker nodes of versionless-auto") {
		t.Errorf("the rollout was never reported: %s", got)
	}
}

// upgradeKeepsTheCount: the autoscaler has grown the group to its maximum, so that
// the surge of a rollout exceeds it.
func upgradeKeepsTheCount(t *testing.T, name string, change func(group) group) {
	t.Parallel()
	w := newWorkload(t, name)
	auto := scaled("auto", 1, 4)
	w.want(w.of("one", fixed("fixed", 1)), w.of("one", auto))
	w.machines("auto", "one", 1)
	w.scale("auto", 4)
	w.machines("auto", "one", 4)
	w.readyIs("True")
	counts, history := w.follow(w.mdObject("auto"), replicasOf), w.follow(w.clusterObject(), readiness)

	w.want(w.of("two", fixed("fixed", 1)), w.of("two", change(auto)))
	w.machines("auto", "two", 4)
	w.machines("fixed", "two", 1)
	w.readyIs("True")

	if got := counts.all(); !slices.Equal(got, []string{"4"}) {
		t.Errorf("the replicas were %v", got)
	}
	rolled := false
	for _, seen := range history.all() {
		rolled = rolled || strings.HasPrefix(seen, "False RollingUpgradeInProgress Worker nodes of "+name+"-auto")
		if strings.Contains(seen, "AutoscalerConstraintNotMet") || strings.Contains(seen, "Scaling") {
			t.Errorf("WorkersReady was %s", seen)
		}
	}
	if !rolled {
		t.Errorf("the rollout of the autoscaled group was never reported: %s", history)
	}
}

func autoscalingRemoved(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "removed")
	w.want(w.of("one", scaled("auto", 1, 5).with("count", 1)))
	w.machines("auto", "one", 1)
	w.scale("auto", 4)
	w.machines("auto", "one", 4)
	w.readyIs("True")
	history := w.follow(w.clusterObject(), readiness)

	w.want(w.of("one", fixed("auto", 2)))
	w.machines("auto", "one", 2)
	w.readyIs("True")
	md := w.md("auto")
	if replicas(md) != 2 || md.GetAnnotations()[minSize] != "" || md.GetAnnotations()[maxSize] != "" {
		t.Errorf("replicas %d, annotations %v", replicas(md), md.GetAnnotations())
	}
	if got := owners(md, "spec", "replicas"); !slices.Equal(got, []string{"plimsoll-eks-anywhere"}) {
		t.Errorf("the replicas are owned by %v", got)
	}
	if !strings.Contains(history.String(), "False ScalingDown Scaling down worker nodes, 2 expected (") {
		t.Errorf("scaling down was never reported: %s", history)
	}

	// And back, with a count that means nothing from then on. The event comes after the
	// condition, so that what the condition was is known by then.
	before := len(history.all())
	w.want(w.of("one", scaled("auto", 1, 5).with("count", 4)))
	w.tells("CountIgnored", "count 4 of worker node group auto is ignored")
	w.readyIs("True")
	w.machines("auto", "one", 2)
	if after := history.all(); len(after) > before {
		t.Errorf("autoscaling was switched on, and WorkersReady was %v", after[before:])
	}
}
