package gardener_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
)

const preferNoSchedule = "deployment.machine.sapcloud.io/prefer-no-schedule"

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// roll gives the deployment another class, annotated so.
func (s shoot) roll(class string, annotations map[string]string) {
	s.t.Helper()
	next := s.class()
	s.get(next)
	next.Name, next.ResourceVersion, next.UID, next.Annotations = class, "", "", annotations
	if err := admin.Create(s.t.Context(), next); err != nil {
		s.t.Fatal(err)
	}
	s.patch(s.deployment(), map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"class": map[string]any{"name": class}}}},
	})
}

// sizes waits until the sets, by revision, have these replicas.
func (s shoot) sizes(want ...int32) []machinev1.MachineSet {
	s.t.Helper()
	var all []machinev1.MachineSet
	s.eventually(fmt.Sprintf("the sets have %v replicas", want), func() (bool, string) {
		all = s.sets()
		var got []int32
		for _, set := range all {
			got = append(got, set.Spec.Replicas)
		}
		return slices.Equal(got, want), fmt.Sprint(got)
	})
	return all
}

// A rollout whose first new machine never comes stands still; one machine less then
// is one of the old ones, though the new one was named; and when machines come again
// it ends.
func TestRollout(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "rolls", 3, nil)
	old := s.running(3)
	s.roll("second", map[string]string{gardener.NeverRegistersAnnotation: "true"})
	sets := s.sizes(3, 1)
	if sets[1].Annotations[machinev1.RevisionAnnotation] != "2" ||
		sets[1].Annotations[machinev1.DesiredReplicasAnnotation] != "3" ||
		sets[1].Annotations[machinev1.MaxReplicasAnnotation] != "4" {
		t.Errorf("the new set has %v", sets[1].Annotations)
	}
	s.eventually("the nodes are marked", func() (bool, string) {
		node := s.node(old[0].Name)
		tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == preferNoSchedule })
		return tainted && node.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] != "",
			fmt.Sprint(node.Annotations, node.Spec.Taints)
	})
	s.scale(2)
	s.sizes(2, 1)
	s.eventually("it progresses", func() (bool, string) {
		status := s.deployment().Status
		return slices.ContainsFunc(status.Conditions, func(c machinev1.Condition) bool {
			return c.Type == machinev1.ConditionProgressing && c.Reason == "MachineSetUpdated"
		}), string(mustJSON(t, status))
	})
	second := s.class()
	second.Name = "second"
	s.annotate(second, gardener.NeverRegistersAnnotation, nil)
	s.sizes(2) // the old set is gone, of which no history is kept
	now := s.running(2)
	for _, m := range now {
		if m.Spec.Class.Name != "second" {
			t.Errorf("%s is still of the class %s", m.Name, m.Spec.Class.Name)
		}
	}
	s.eventually("the marks are gone", func() (bool, string) {
		node := s.node(now[0].Name)
		return node.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] == "", fmt.Sprint(node.Annotations)
	})
}

// A paused deployment is resized and does not roll.
func TestPaused(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "paused", 1, nil)
	first := s.running(1)
	s.patch(s.deployment(), map[string]any{"spec": map[string]any{"paused": true}})
	s.roll("second", nil)
	s.scale(2)
	for _, m := range s.running(2) {
		if m.Spec.Class.Name != s.name {
			t.Errorf("%s is of the class %s", m.Name, m.Spec.Class.Name)
		}
	}
	s.patch(s.deployment(), map[string]any{"spec": map[string]any{"paused": false}})
	s.sizes(2)
	s.eventually("the first machine is replaced", func() (bool, string) {
		names := namesOf(s.machines())
		return !slices.Contains(names, first[0].Name), strings.Join(names, " ")
	})
	s.running(2)
}

// Machines that are slow to end count against the safety rule: the set makes no more
// until they are gone.
func TestFreeze(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "frozen", 4, nil)
	s.running(4)
	s.annotate(s.class(), gardener.DeleteDelayAnnotation, "1h")
	s.scale(1)
	frozen := func() (bool, string) {
		d, set := s.deployment(), s.sets()[0]
		told := slices.ContainsFunc(d.Status.Conditions, func(c machinev1.Condition) bool {
			return c.Type == machinev1.ConditionFrozen
		})
		return told && d.Labels[machinev1.FreezeLabel] == "True" &&
			set.Labels[machinev1.FreezeLabel] == "True", string(mustJSON(t, d.Status))
	}
	s.eventually("the set is frozen", frozen)
	// What may make it thaw: at two replicas the bound is five.
	s.scale(2)
	s.eventually("it thaws", func() (bool, string) {
		yes, state := frozen()
		return !yes && s.sets()[0].Labels[machinev1.FreezeLabel] == "", state
	})
	s.eventually("and makes one", func() (bool, string) {
		return len(s.machines()) == 5, fmt.Sprint(len(s.machines()))
	})
	s.annotate(s.class(), gardener.DeleteDelayAnnotation, nil)
	s.running(2)
}

// A deployment that goes takes its machines and nodes along.
func TestDeploymentEnds(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "ends", 2, func(p *pools.Pool) { p.MaxUnavailable = 1 })
	all := s.running(2)
	if err := admin.Delete(t.Context(), s.deployment()); err != nil {
		t.Fatal(err)
	}
	s.eventually("everything is gone", func() (bool, string) {
		names := namesOf(s.machines())
		return len(names) == 0 && len(s.sets()) == 0 && s.node(all[0].Name) == nil, strings.Join(names, " ")
	})
}
