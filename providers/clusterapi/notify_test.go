package clusterapi

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// notified runs Notify, and gives a channel of what it tells.
func notified(t *testing.T, p *Provider) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- p.Notify(ctx, func() {
			select {
			case told <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err == nil {
			t.Error("Notify ended without its context's error")
		}
	})
	return told
}

// A change of a Machine is reported, in every namespace that is read. If one kind may not be
// watched, the others still are.
func TestNotify(t *testing.T) {
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
	w.SetRights(kubetest.Right{
		Namespace: ns, Resources: []string{"machines", "machinedeployments"}, Verbs: []string{"get", "list", "watch"},
	})
	told := notified(t, connect(t, w, Config{Discovery: []string{"clusterapi:clusterName=c1"}, Namespace: ns}))
	tellsOfMachines(t, w, told)
	// Only what is to be watched was asked for.
	for _, r := range w.Requests() {
		if strings.HasPrefix(r, "watch") &&
			!slices.Contains([]string{"watch machines " + ns, "watch machinedeployments " + ns}, r) {
			t.Errorf("request %q", r)
		}
	}
}

// Where the rights are of namespaces, those that one flag names are watched beside the
// own one, whatever another leaves out.
func TestNotifyInSeveralNamespaces(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		w := newWorld(t)
		w.Apply(clusterapitest.NewGroup("MachineDeployment", "second", "workers", "c1", 1, annotated("0", "5")...))
		w.Settle()
		w.SetRights(slices.Concat(clusterapitest.ChartRights(ns), clusterapitest.ChartRights("second"))...)
		p := connect(t, w, Config{
			Discovery: []string{"clusterapi:namespace=second", "clusterapi:clusterName=c1"}, Namespace: ns,
		})
		if known {
			inventory(t, p)
		}
		tellsOfMachinesIn(t, w, "second", notified(t, p))
	}
}

// An upgrade of Cluster API that ends a version ends no watch for long: the next one
// is of the version that is served.
func TestNotifyAfterAVersionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
	w.SetVersions("v1beta1")
	p := connect(t, w, ofC1)
	inventory(t, p) // which remembers the version
	w.SetVersions("v1beta2")
	tellsOfMachines(t, w, notified(t, p))
}

func tellsOfMachines(t *testing.T, w *clusterapitest.World, told <-chan struct{}) {
	t.Helper()
	tellsOfMachinesIn(t, w, ns, told)
}

// tellsOfMachinesIn changes a Machine until that is reported.
func tellsOfMachinesIn(t *testing.T, w *clusterapitest.World, namespace string, told <-chan struct{}) {
	t.Helper()
	name := w.List("Machine")[0]["metadata"].(kubetest.Object)["name"].(string)
	for begun := time.Now(); ; {
		if err := w.Edit("Machine", namespace, name, func(o kubetest.Object) {
			kubetest.Set(o, time.Now().String(), "status", "phase")
		}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
			return
		case <-time.After(time.Millisecond):
			if time.Since(begun) > 20*time.Second {
				t.Fatal("the change was not told")
			}
		}
	}
}
