package clusterapi

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

const ns = "eksa-system"

// annotated are the annotations of a group of these sizes, with a capacity.
func annotated(low, high string, more ...string) []string {
	return slices.Concat([]string{clusterapitest.MinSize, low, clusterapitest.MaxSize, high},
		clusterapitest.Capacity("4", "16Gi"), more)
}

// newWorld is a management cluster of one Cluster c1, with what is applied to it.
func newWorld(t *testing.T, objects ...kubetest.Object) *clusterapitest.World {
	t.Helper()
	w := clusterapitest.New(time.Now)
	w.Serve(clusterapitest.Templates())
	w.Apply(clusterapitest.NewCluster(ns, "c1"))
	w.Apply(objects...)
	w.Settle()
	return w
}

func deployment(name string, replicas int, annotations ...string) kubetest.Object {
	return clusterapitest.NewGroup("MachineDeployment", ns, name, "c1", replicas, annotations...)
}

// connect makes a provider as a host does, with its real client, to a server of
// the world.
func connect(t *testing.T, w *clusterapitest.World, cfg Config) *Provider {
	t.Helper()
	url := kubetest.Serve(t, w)
	rc := &rest.Config{Host: url, QPS: -1}
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(rc, client.CoreV1().Nodes(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.settling = 0 // this Cluster API has no cache
	return p
}

// impatient makes a provider wait for what is optional no longer than a test
// likes to.
func impatient(p *Provider) *Provider {
	p.patience, p.infrastructure.patience, p.examples.patience = 500*time.Millisecond, 500*time.Millisecond,
		500*time.Millisecond
	return p
}

var ofC1 = Config{Discovery: []string{"clusterapi:clusterName=c1,namespace=" + ns}}

func md(name string) provider.GroupID {
	return provider.GroupID("MachineDeployment/" + ns + "/" + name)
}

func edit(t *testing.T, w *clusterapitest.World, kind, name string, change func(kubetest.Object)) {
	t.Helper()
	if err := w.Edit(kind, ns, name, change); err != nil {
		t.Fatal(err)
	}
}

func annotate(key, value string) func(kubetest.Object) {
	return func(o kubetest.Object) { kubetest.Set(o, value, "metadata", "annotations", key) }
}

func annotation(o kubetest.Object, key string) (string, bool) {
	meta, _ := o["metadata"].(kubetest.Object)
	notes, _ := meta["annotations"].(kubetest.Object)
	v, ok := notes[key].(string)
	return v, ok
}

// machineName is the Machine's name in an instance's id.
func machineName(id provider.InstanceID) string { return strings.TrimPrefix(string(id), ns+"/") }

// grow grows a group to n, and lets it settle.
func grow(t *testing.T, p *Provider, w *clusterapitest.World, id provider.GroupID, n int) []provider.InstanceID {
	t.Helper()
	from := group(t, inventory(t, p), id).Target
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: id, From: from, To: n}); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	return live(group(t, inventory(t, p), id))
}

// What every provider's tests look at.
var (
	ids, live, held, noticed = providertest.IDs, providertest.Live, providertest.Held, providertest.Noticed
	refusal                  = providertest.Refusal
	group                    = providertest.GroupIn
)

func inventory(t *testing.T, p *Provider) provider.Inventory {
	t.Helper()
	return providertest.Read(t, p)
}
