package gardener

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

const ns = "shoot--core--prod"

// connect makes a provider as a host does, with its real client, to a server of the
// world.
func connect(t *testing.T, w *gardenertest.World, cfg Config) *Provider {
	t.Helper()
	url := kubetest.Serve(t, w)
	p, err := New(&rest.Config{Host: url, QPS: -1}, nil, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.settling = 0 // this machine-controller-manager has no cache
	return p
}

// limited are the annotations of a pool's limits.
func limited(low, high string, more ...string) []string {
	return slices.Concat([]string{v1alpha1.PoolMinimumAnnotation, low, v1alpha1.PoolMaximumAnnotation, high}, more)
}

// zones is a namespace with one pool, named web, whose zones have these replicas.
func zones(annotations []string, replicas ...int) *gardenertest.World {
	w := gardenertest.New(time.Now, ns)
	for i, n := range replicas {
		name, zone := zone(i), "zone"+string(rune('a'+i))
		w.Add(gardenertest.NewClass(ns, name, zone), gardenertest.NewDeployment(ns, name, "web", zone, n, annotations...))
	}
	w.Settle()
	return w
}

// zone is the name of the i-th group of zones.
func zone(i int) string { return ns + "-web-z" + string(rune('1'+i)) }

func id(i int) provider.GroupID { return provider.GroupID(zone(i)) }

func targets(inv provider.Inventory) []int {
	var out []int
	for _, g := range inv.Groups {
		out = append(out, g.Target)
	}
	return out
}

// byAge are the machines of a group, the oldest first.
func byAge(w *gardenertest.World, id provider.GroupID) []provider.InstanceID {
	var out []provider.InstanceID
	for _, m := range w.Machines(string(id)) {
		out = append(out, provider.InstanceID(m.Name))
	}
	return out
}

// without is a list of instances, sorted, less some.
func without(all []provider.InstanceID, gone ...provider.InstanceID) []provider.InstanceID {
	out := slices.DeleteFunc(slices.Clone(all), func(i provider.InstanceID) bool { return slices.Contains(gone, i) })
	slices.Sort(out)
	return out
}

func grow(p *Provider, t *testing.T, id provider.GroupID, from, to int) error {
	t.Helper()
	_, err := p.Grow(t.Context(), provider.GrowRequest{Group: id, From: from, To: to})
	return err
}

func remove(t *testing.T, p *Provider, id provider.GroupID, instances ...provider.InstanceID) provider.RemoveResult {
	t.Helper()
	r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id, Instances: instances})
	if err != nil {
		t.Fatalf("remove %v of %s: %v", instances, id, err)
	}
	for _, each := range r.Instances {
		if each.Err != nil {
			t.Fatalf("remove %v of %s: %v", instances, id, each.Err)
		}
	}
	return r
}

// anywhere is the plain configuration: every MachineDeployment of the namespace.
var anywhere = Config{Namespace: ns, Discovery: []string{"mcm:"}, RequireAvailable: true}

// What every provider's tests look at.
var (
	ids, live, held, noticed = providertest.IDs, providertest.Live, providertest.Held, providertest.Noticed
	refusal                  = providertest.Refusal
)

func inventory(t *testing.T, p *Provider) provider.Inventory {
	t.Helper()
	return providertest.Read(t, p)
}

func groupOf(t *testing.T, p *Provider, id provider.GroupID) provider.Group {
	t.Helper()
	return providertest.GroupIn(t, inventory(t, p), id)
}
