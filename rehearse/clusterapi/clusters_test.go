package clusterapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
)

// This test runs alone, before those that are parallel.
func TestComesBackAfterKill(t *testing.T) {
	w := newWorld(t, "killed")
	group := w.group("workers", workerSpec("one"), bounds(1, 5))
	w.running(group, 1)
	if err := shared.Processes().Kill(clusterapi.Name); err != nil {
		t.Fatal(err)
	}
	if err := shared.Processes().WaitReady(t.Context(), clusterapi.Name); err != nil {
		t.Fatal(err)
	}
	w.scale(group, 2)
	w.running(group, 2)
}

// A paused cluster stands still, while another one moves; then it catches up.
func TestPausedClusterStandsStill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "paused")
	group := w.group("workers", workerSpec("one"), bounds(1, 5))
	machine := w.running(group, 1)[0]
	w.patch(w.cluster, `{"spec":{"paused":true}}`)
	w.conditionIs(group, clusterv1.PausedCondition, metav1.ConditionTrue)
	w.conditionIs(&kwokapi.KwokMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "paused", Name: machine.Name}},
		clusterv1.PausedCondition, metav1.ConditionTrue)
	w.scale(group, 2)

	other := newWorld(t, "not-paused")
	other.running(other.group("workers", workerSpec("one"), bounds(2, 5)), 2)
	if machines := w.machines(group); len(machines) != 1 || machines[0].UID != machine.UID {
		t.Errorf("the paused group has %d machines, want the one of before", len(machines))
	}

	w.patch(w.cluster, `{"spec":{"paused":false}}`)
	w.running(group, 2)
}

// The provider's own pause: a KwokMachine that is annotated gets no node.
func TestPausedMachineGetsNoNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "machine-paused")
	template := objects.MachineTemplate("machine-paused", "workers", workerSpec("one"))
	template.Spec.Template.Metadata.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	w.create(template)
	group := objects.MachineDeployment(w.cluster, "workers", "workers")
	w.create(group)
	w.eventually("there is a machine", func() (bool, string) { return len(w.machines(group)) == 1, "" })
	machine := &kwokapi.KwokMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "machine-paused", Name: w.machines(group)[0].Name},
	}
	w.conditionIs(machine, clusterv1.PausedCondition, metav1.ConditionTrue)
	// Another machine's node shows that the controller had the time.
	w.running(w.group("others", workerSpec("one"), nil), 1)
	w.get(machine)
	if machine.Provisioned() || len(w.nodes()) != 1 {
		t.Error("it was provisioned all the same")
	}
	w.patch(machine, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	w.running(group, 1)
}

func (w world) gone(object client.Object) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%T %s is gone", object, object.GetName()), func() (bool, string) {
		err := admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func TestDeletedClusterLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deleted")
	first := w.group("first", workerSpec("one"), bounds(2, 5))
	spec := workerSpec("one")
	spec.Failure = &kwokapi.Failure{Reason: "Broken", Message: "for the test"}
	second := w.group("second", spec, bounds(1, 5))
	w.running(first, 2)
	w.eventually("the second group has a machine", func() (bool, string) { return len(w.machines(second)) == 1, "" })
	if err := admin.Delete(t.Context(), w.cluster); err != nil {
		t.Fatal(err)
	}
	w.gone(w.cluster)
	if nodes := w.nodes(); len(nodes) != 0 {
		t.Errorf("%d nodes are left", len(nodes))
	}
	for _, list := range []client.ObjectList{
		&clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{},
		&kwokapi.KwokMachineList{}, &kwokapi.KwokControlPlaneList{},
	} {
		w.eventually(fmt.Sprintf("no object is left of a %T", list), func() (bool, string) {
			if err := admin.List(t.Context(), list, client.InNamespace("deleted")); err != nil {
				return false, err.Error()
			}
			count := strings.Count(fmt.Sprintf("%+v", list), "Namespace:deleted")
			return count == 0, fmt.Sprint(count)
		})
	}
}

// The API server calls the webhooks of the kinds that are served, and no others, which no process would answer.
func TestWebhooksOfServedKindsAreRegistered(t *testing.T) {
	t.Parallel()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: clusterapi.Name}, configuration); err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, hook := range configuration.Webhooks {
		for _, rule := range hook.Rules {
			resources = append(resources, rule.Resources...)
		}
		if hook.ClientConfig.URL == nil || !strings.HasPrefix(*hook.ClientConfig.URL, "https://127.0.0.1:") ||
			len(hook.ClientConfig.CABundle) == 0 {
			t.Errorf("%s is called at %+v", hook.Name, hook.ClientConfig)
		}
	}
	slices.Sort(resources)
	if want := []string{
		"clusters", "machinedeployments", "machinepools", "machines", "machinesets",
	}; !slices.Equal(resources, want) {
		t.Errorf("there are defaulting webhooks of %v, want %v", resources, want)
	}
}
