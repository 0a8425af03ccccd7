package gardener_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

// eventTimeout is how long a condition may take on a machine that is busy with
// other things: on a quiet one it takes seconds.
const eventTimeout = 90 * time.Second

// shoot is one test's pool in one zone, in a namespace of its own.
type shoot struct {
	t         *testing.T
	namespace string
	name      string // of its MachineDeployment
}

func newShoot(t *testing.T, name string, replicas int, edit func(*pools.Pool)) shoot {
	t.Helper()
	pool := pools.Pool{
		Name: "w", Minimum: replicas, Maximum: 10, Zones: []string{"zone-" + name},
		Machine: pools.Machine{Type: "small", Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		}},
	}
	if edit != nil {
		edit(&pool)
	}
	described := pools.Shoot{Namespace: "shoot--" + name, Pools: []pools.Pool{pool}}
	if err := described.Check(); err != nil {
		t.Fatal(err)
	}
	if err := described.Create(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	return shoot{t: t, namespace: described.Control(), name: described.Deployment("w", 0)}
}

func (s shoot) deployment() *machinev1.MachineDeployment {
	s.t.Helper()
	d := &machinev1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
	s.get(d)
	return d
}

func (s shoot) class() *machinev1.MachineClass {
	return &machinev1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
}

func (s shoot) get(o client.Object) {
	s.t.Helper()
	if err := admin.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Fatal(err)
	}
}

// patch is a JSON merge patch.
func (s shoot) patch(o client.Object, fields map[string]any) {
	s.t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := admin.Patch(s.t.Context(), o, client.RawPatch("application/merge-patch+json", text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s shoot) annotate(o client.Object, key string, value any) {
	s.t.Helper()
	s.patch(o, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

func (s shoot) scale(replicas int) {
	s.t.Helper()
	s.patch(s.deployment(), map[string]any{"spec": map[string]any{"replicas": replicas}})
}

// remove asks for the end of these machines as the autoscaler does: in one write.
func (s shoot) remove(replicas int, machines ...string) {
	s.t.Helper()
	at := time.Now().UTC().Format(time.RFC3339)
	var entries []string
	for _, m := range machines {
		entries = append(entries, m+"~"+at)
	}
	s.patch(s.deployment(), map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			machinev1.TriggerDeletionAnnotation:   strings.Join(entries, ","),
			machinev1.LastReplicaChangeAnnotation: at,
		}},
		"spec": map[string]any{"replicas": replicas},
	})
}

// machines are all of them, the oldest first.
func (s shoot) machines() []machinev1.Machine {
	s.t.Helper()
	var list machinev1.MachineList
	if err := admin.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b machinev1.Machine) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list.Items
}

func namesOf(all []machinev1.Machine) []string {
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// sets are the replicas of the sets by revision, the first first.
func (s shoot) sets() []machinev1.MachineSet {
	s.t.Helper()
	var list machinev1.MachineSetList
	if err := admin.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b machinev1.MachineSet) int {
		return strings.Compare(a.Annotations[machinev1.RevisionAnnotation], b.Annotations[machinev1.RevisionAnnotation])
	})
	return list.Items
}

// running waits until there are exactly that many machines, all of them well, each with
// a ready node.
func (s shoot) running(want int) []machinev1.Machine {
	s.t.Helper()
	var all []machinev1.Machine
	s.eventually(fmt.Sprintf("%d machines run", want), func() (bool, string) {
		all = s.machines()
		state, good := "", 0
		for _, m := range all {
			node := s.node(m.Name)
			state += fmt.Sprintf(" %s:%s", m.Name, m.Status.CurrentStatus.Phase)
			if m.Status.CurrentStatus.Phase == machinev1.MachineRunning && m.DeletionTimestamp == nil && node != nil &&
				isReady(node) {
				good++
			}
		}
		return good == want && len(all) == want, state
	})
	return all
}

// phase waits for the one machine that is not well to be in a phase.
func (s shoot) phase(name string, want machinev1.MachinePhase) machinev1.Machine {
	s.t.Helper()
	var found machinev1.Machine
	s.eventually(name+" is "+string(want), func() (bool, string) {
		for _, m := range s.machines() {
			if m.Name == name {
				found = m
			}
		}
		return found.Status.CurrentStatus.Phase == want, fmt.Sprintf("%+v", found.Status)
	})
	return found
}

// node is the one of a name; nil if there is none.
func (s shoot) node(name string) *corev1.Node {
	s.t.Helper()
	node := &corev1.Node{}
	err := admin.Get(s.t.Context(), client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return node
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (s shoot) eventually(what string, condition func() (bool, string)) {
	s.t.Helper()
	planetest.Eventually(s.t, eventTimeout, what, condition)
}
