package gardener_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

func TestMachinesBecomeNodes(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "nodes", 2, func(p *pools.Pool) { p.Labels = map[string]string{"team": "a"} })
	for _, m := range s.running(2) {
		node := s.node(m.Name)
		if m.Labels[machinev1.NodeLabel] != node.Name || m.Spec.ProviderID != node.Spec.ProviderID ||
			m.Spec.ProviderID != "fake:///zone-nodes/"+m.Name ||
			m.Annotations[machinev1.PriorityAnnotation] != "3" || m.Labels[machinev1.TemplateHashLabel] == "" ||
			m.Labels[machinev1.NameLabel] != s.name {
			t.Errorf("the machine is %+v, its node %s", m, node.Spec.ProviderID)
		}
		if world.GroupOf(node) != s.name || node.Labels["team"] != "a" ||
			node.Labels[corev1.LabelTopologyZone] != "zone-nodes" || node.Status.Allocatable.Cpu().Value() != 4 {
			t.Errorf("the node is of %q: %+v", world.GroupOf(node), node)
		}
	}
	s.eventually("the status tells of both", func() (bool, string) {
		d := s.deployment()
		for _, c := range d.Status.Conditions {
			if c.Type == machinev1.ConditionProgressing && c.Reason == "NewMachineSetAvailable" &&
				d.Status.AvailableReplicas == 2 && d.Status.ObservedGeneration == d.Generation {
				return true, ""
			}
		}
		return false, string(mustJSON(t, d.Status))
	})
	if d := s.deployment(); *d.Spec.PoolMaximum != 10 || d.Annotations[machinev1.RevisionAnnotation] != "1" ||
		len(s.sets()) != 1 {
		t.Errorf("the deployment is %s", mustJSON(t, d))
	}
}

// The schemas are structural: what they do not know is gone.
func TestUnknownFieldsArePruned(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "pruned", 0, nil)
	s.patch(s.deployment(), map[string]any{"spec": map[string]any{"poolAverage": 2, "poolMaximum": 7}})
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(machinev1.GroupVersion.WithKind("MachineDeployment"))
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name}, raw); err != nil {
		t.Fatal(err)
	}
	spec := raw.Object["spec"].(map[string]any)
	if _, ok := spec["poolAverage"]; ok || spec["poolMaximum"] != int64(7) {
		t.Errorf("the spec is %v", spec)
	}
	mapping, err := admin.RESTMapper().RESTMapping(schema.GroupKind{Group: machinev1.GroupName, Kind: "MachineClass"})
	if err != nil || mapping.Resource.Resource != "machineclasses" {
		t.Errorf("a MachineClass is %+v, %v", mapping, err)
	}
}

// Left to itself the oldest machine would go; the autoscaler names the newest, which
// has a pod.
func TestNamedMachineGoes(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "named", 2, nil)
	old := namesOf(s.running(2))
	s.scale(3)
	all := namesOf(s.running(3))
	newest := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(old, name) })[0]
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "on-the-named-machine"},
		Spec:       corev1.PodSpec{NodeName: newest, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	if err := admin.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	s.eventually("the pod runs", func() (bool, string) {
		s.get(pod)
		return pod.Status.Phase == corev1.PodRunning, string(pod.Status.Phase)
	})
	s.remove(2, newest)
	if left := namesOf(s.running(2)); !slices.Equal(left, old) {
		t.Errorf("%v are left of %v, not %v", left, all, old)
	}
	if s.node(newest) != nil {
		t.Error("its node is still there")
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); client.IgnoreNotFound(err) != nil ||
		err == nil {
		t.Errorf("its pod is still there: %v", err)
	}
	s.eventually("the annotation is gone", func() (bool, string) {
		text, ok := s.deployment().Annotations[machinev1.TriggerDeletionAnnotation]
		return !ok, text
	})
}

// Who names a machine and asks for one more at once loses it all the same, and gets
// another one for it.
func TestRemovalThenGrowth(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "again", 2, nil)
	before := s.running(2)
	s.remove(1, before[1].Name)
	s.scale(2)
	s.eventually("the named machine is gone", func() (bool, string) {
		names := namesOf(s.machines())
		return !slices.Contains(names, before[1].Name), strings.Join(names, " ")
	})
	if after := namesOf(s.running(2)); !slices.Contains(after, before[0].Name) {
		t.Errorf("of %s and %s, %v are there", before[0].Name, before[1].Name, after)
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "quota", 2, func(p *pools.Pool) { p.Quota = map[string]int{"zone-quota": 1} })
	short := func() (name string) {
		s.eventually("one machine has no quota", func() (bool, string) {
			for _, m := range s.machines() {
				op := m.Status.LastOperation
				if m.Status.CurrentStatus.Phase == machinev1.MachineCrashLoopBackOff {
					name = m.Name
					if op.ErrorCode != machinev1.CodeResourceExhausted || op.Type != machinev1.OperationCreate ||
						op.State != machinev1.StateFailed ||
						m.Labels[machinev1.NodeLabel] != "" || m.Spec.ProviderID != "" {
						t.Fatalf("it is %+v", m)
					}
				}
			}
			return name != "", ""
		})
		return name
	}
	s.remove(1, short())
	s.running(1)
	s.scale(2)
	name := short()
	s.annotate(s.class(), gardener.QuotaAnnotation, "2")
	if now := namesOf(s.running(2)); !slices.Contains(now, name) {
		t.Errorf("%s did not come up; there are %v", name, now)
	}
}

// A machine whose node is lost is replaced when its time is over, and not before.
func TestLostNode(t *testing.T) {
	t.Parallel()
	s := newShoot(t, "lost", 2, nil)
	all := s.running(2)
	m := &all[0]
	s.annotate(m, gardener.NotReadyAnnotation, "true")
	s.phase(m.Name, machinev1.MachineUnknown)
	s.annotate(m, gardener.NotReadyAnnotation, nil)
	s.phase(m.Name, machinev1.MachineRunning)
	s.patch(s.deployment(),
		map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"healthTimeout": "1s"}}}})
	s.annotate(m, gardener.NotReadyAnnotation, "true")
	s.eventually("it is replaced", func() (bool, string) {
		names := namesOf(s.machines())
		return !slices.Contains(names, m.Name), strings.Join(names, " ")
	})
	if after := namesOf(s.running(2)); !slices.Contains(after, all[1].Name) {
		t.Errorf("the other one of %v went too: %v", namesOf(all), after)
	}
}
