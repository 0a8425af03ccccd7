package gardener_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener"
	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

const (
	account = "system:serviceaccount:garden:plimsoll-gardener"

	// patience is how long something may take on a machine that is busy with other
	// things; on a quiet one it takes seconds at most.
	patience = 90 * time.Second
)

// shoot is one test's shoot, on its seed.
type shoot struct {
	t         *testing.T
	namespace string
}

// pool is a worker pool as it stands in a Worker.
type pool map[string]any

func newPool(name string, minimum, maximum int, zones ...string) pool {
	return pool{
		"name": name, "minimum": minimum, "maximum": maximum, "maxSurge": max(1, len(zones)), "maxUnavailable": 0,
		"machineType": "small", "zones": zones,
	}
}

// newShoot makes a namespace with a Cluster, a Worker, and the machine classes of
// pool a's zones.
func newShoot(t *testing.T, name string, pools ...pool) shoot {
	t.Helper()
	s := shoot{t: t, namespace: "shoot--p--" + name}
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}); err != nil {
		t.Fatal(err)
	}
	s.create(fmt.Sprintf(`{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Cluster","metadata":{"name":%q},
		"spec":{"cloudProfile":{"large":"yes"},"shoot":{"metadata":{"name":%q,"namespace":"garden-p"},"spec":{"hibernation":{"enabled":false}}}}}`, s.namespace, name))
	for i := range 3 {
		s.create(fmt.Sprintf(`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineClass","metadata":{"name":"%s-a-z%d-12345","namespace":%q},"providerSpec":{"secret":"unused"}}`, s.namespace, i+1, s.namespace))
	}
	worker, err := json.Marshal(map[string]any{
		"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
		"metadata": map[string]any{"name": "w", "namespace": s.namespace},
		"spec":     map[string]any{"type": "local", "secretRef": map[string]any{"name": "kept"}, "providerConfig": map[string]any{"kept": true}, "pools": pools},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.create(string(worker))
	return s
}

func (s shoot) create(text string) {
	s.t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
	if err := admin.Create(s.t.Context(), u); err != nil {
		s.t.Fatal(err)
	}
}

// run runs the controller for this shoot alone, with its own rights, until the test
// ends.
func (s shoot) run(settings gardener.Settings) *prometheus.Registry {
	s.t.Helper()
	settings.Namespace = s.namespace
	log := slog.New(slog.NewTextHandler(s.t.Output(), nil))
	manager, err := gardener.NewManager(asController(), settings, gardener.Host{Log: log})
	if err != nil {
		s.t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if err := gardener.Add(manager, settings, registry); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("the controller: %v", err)
		}
	})
	return registry
}

func asController() *rest.Config {
	config := control.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	return config
}

func (s shoot) object(group, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(group + "/v1alpha1")
	u.SetKind(kind)
	u.SetName(name)
	if kind != "Cluster" {
		u.SetNamespace(s.namespace)
	}
	return u
}

func (s shoot) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	s.t.Helper()
	if err := admin.Get(s.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		s.t.Fatal(err)
	}
	return u
}

func (s shoot) worker() *unstructured.Unstructured {
	s.t.Helper()
	return s.get(s.object("extensions.gardener.cloud", "Worker", "w"))
}

func (s shoot) deployment(name string) *unstructured.Unstructured {
	s.t.Helper()
	return s.get(s.object(machinev1.GroupName, machinev1.KindMachineDeployment, s.namespace+"-"+name))
}

// patch is a JSON merge patch by another client.
func (s shoot) patch(u *unstructured.Unstructured, text string) error {
	patch := client.RawPatch(types.MergePatchType, []byte(text))
	return admin.Patch(s.t.Context(), u, patch, client.FieldOwner("another-client"))
}

func (s shoot) mustPatch(u *unstructured.Unstructured, text string) {
	s.t.Helper()
	if err := s.patch(u, text); err != nil {
		s.t.Fatal(err)
	}
}

// want makes these the Worker's pools.
func (s shoot) want(pools ...pool) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"pools": pools}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.mustPatch(s.object("extensions.gardener.cloud", "Worker", "w"), string(text))
}

func (s shoot) scale(name string, replicas int) error {
	return s.patch(s.object(machinev1.GroupName, machinev1.KindMachineDeployment, s.namespace+"-"+name), fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// deployments are all machine deployments with their replicas, as "a-z1:2 a-z2:1".
func (s shoot) deployments() string {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(machinev1.GroupVersion.String())
	list.SetKind(machinev1.KindMachineDeployment)
	if err := admin.List(s.t.Context(), list, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, u := range list.Items {
		all = append(all, fmt.Sprintf("%s:%d", strings.TrimPrefix(u.GetName(), s.namespace+"-"), replicas(&u)))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func replicas(u *unstructured.Unstructured) int64 {
	n, found, err := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !found || err != nil {
		return -1
	}
	return n
}

func (s shoot) deploymentsAre(want string) {
	s.t.Helper()
	s.eventually("the machine deployments are "+want, func() (bool, string) {
		got := s.deployments()
		return got == want, got
	})
}

func (s shoot) eventually(what string, done func() (bool, string)) {
	s.t.Helper()
	planetest.Eventually(s.t, patience, what, done)
}

// conditionIs waits for a condition of the Worker, as "status reason".
func (s shoot) conditionIs(kind, want string) {
	s.t.Helper()
	s.eventually(kind+" is "+want, func() (bool, string) {
		list, _, _ := unstructured.NestedSlice(s.worker().Object, "status", "conditions")
		for _, item := range list {
			if c, ok := item.(map[string]any); ok && c["type"] == kind {
				got := fmt.Sprint(c["status"], " ", c["reason"])
				return got == want, fmt.Sprint(got, ": ", c["message"])
			}
		}
		return false, "none"
	})
}

// told waits for an event about the Worker with a text in it.
func (s shoot) told(reason, text string) {
	s.t.Helper()
	s.eventually("an event "+reason+" with "+text, func() (bool, string) {
		var list eventsv1.EventList
		if err := admin.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
			s.t.Fatal(err)
		}
		var notes []string
		for _, e := range list.Items {
			notes = append(notes, e.Reason+" "+e.Note)
			if e.Reason == reason && e.Regarding.Kind == "Worker" && strings.Contains(e.Note, text) {
				return true, ""
			}
		}
		return false, strings.Join(notes, "\n")
	})
}

// history is all that the replicas of a shoot's machine deployments have ever been,
// by name, without repetitions. Nothing is missed: it is a watch.
type history struct {
	mu   sync.Mutex
	seen map[string][]int64
}

func (s shoot) follow() *history {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(machinev1.GroupVersion.String())
	list.SetKind(machinev1.KindMachineDeployment)
	watch, err := admin.Watch(s.t.Context(), list, client.InNamespace(s.namespace))
	if err != nil {
		s.t.Fatal(err)
	}
	h := &history{seen: map[string][]int64{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range watch.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			h.mu.Lock()
			all := h.seen[u.GetName()]
			if n := replicas(u); len(all) == 0 || all[len(all)-1] != n {
				h.seen[u.GetName()] = append(all, n)
			}
			h.mu.Unlock()
		}
	}()
	s.t.Cleanup(func() { watch.Stop(); <-ended })
	return h
}

func (h *history) of(name string) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen[name])
}
