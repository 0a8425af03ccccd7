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
	s, err := kubetest.Listen(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	rc := &rest.Config{Host: s.URL(), QPS: -1}
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

func inventory(t *testing.T, p *Provider) provider.Inventory {
	t.Helper()
	inv, err := p.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func group(t *testing.T, inv provider.Inventory, id provider.GroupID) provider.Group {
	t.Helper()
	for _, g := range inv.Groups {
		if g.ID == id {
			return g
		}
	}
	t.Fatalf("no group %q among %v", id, ids(inv))
	return provider.Group{}
}

func ids(inv provider.Inventory) []string {
	var out []string
	for _, g := range inv.Groups {
		out = append(out, string(g.ID))
	}
	return out
}

func md(name string) provider.GroupID {
	return provider.GroupID("MachineDeployment/" + ns + "/" + name)
}

// live are a group's instances that are not on their way out.
func live(g provider.Group) []provider.InstanceID {
	var out []provider.InstanceID
	for _, i := range g.Instances {
		if i.State != provider.Deleting {
			out = append(out, i.ID)
		}
	}
	return out
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

// held tells whether an operation is held for the reason.
func held(g provider.Group, op provider.Op, reason string) bool {
	return slices.ContainsFunc(g.Holds, func(h provider.Hold) bool {
		return h.Op == op && h.Reason == reason && h.Message != ""
	})
}

func noticed(inv provider.Inventory, code, part string) bool {
	return slices.ContainsFunc(inv.Notices, func(n provider.Notice) bool {
		return n.Code == code && strings.Contains(n.Message, part)
	})
}

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

// refusal is the contract's error that err is, of the kind.
func refusal(t *testing.T, err error, kind provider.Kind) *provider.Error {
	t.Helper()
	e := provider.AsError("", "", err)
	if e == nil || e.Kind != kind {
		t.Fatalf("error %v, want one of the kind %s", err, kind)
	}
	return e
}
