package gardener

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// pairs are "resource verb" of rights, sorted.
func pairs(rights []kubetest.Right) []string {
	var out []string
	for _, r := range rights {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				out = append(out, resource+" "+verb)
			}
		}
	}
	slices.Sort(out)
	return out
}

// called are those of the requests that came, all of them in the namespace.
func called(t *testing.T, w *gardenertest.World) []string {
	t.Helper()
	var out []string
	for _, r := range w.Requests() {
		parts := strings.Fields(r)
		if len(parts) < 3 || parts[2] != ns {
			t.Errorf("a request outside of the namespace: %q", r)
		}
		out = append(out, parts[1]+" "+parts[0])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// everything does all that the provider can do.
func everything(t *testing.T, w *gardenertest.World, cfg Config) {
	t.Helper()
	p := connect(t, w, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- p.Notify(ctx, func() {
			select {
			case told <- struct{}{}:
			default:
			}
		})
	}()
	if err := grow(p, t, id(0), 1, 3); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	remove(t, p, id(0), live(groupOf(t, p, id(0)))[0])
	w.Settle()
	w.Starve(zone(0))
	if err := grow(p, t, id(0), 2, 4); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 4, To: 2}); err != nil ||
		r.Cancelled != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	<-told
	for len(slices.DeleteFunc(called(t, w), func(c string) bool { return !strings.HasSuffix(c, "watch") })) < 4 &&
		t.Context().Err() == nil {
		inventory(t, p) // until each kind is watched
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("Notify ended without its context's error")
	}
}

// TestTheRightsAreWhatIsCalled: docs/gardener.md asks for every right that is used, and
// for none that is not. All of them are in the role that Gardener has.
func TestTheRightsAreWhatIsCalled(t *testing.T) {
	w := zones(limited("0", "9"), 1)
	everything(t, w, anywhere)
	if diff := cmp.Diff(pairs(rights()), called(t, w)); diff != "" {
		t.Errorf("what is asked for, and what is called:\n%s", diff)
	}
	w = zones(limited("0", "9"), 1)
	w.Understands(gardenertest.Neither)
	cfg := anywhere
	cfg.DeletionMarker = "priority"
	everything(t, w, cfg)
	if diff := cmp.Diff(
		pairs(append(rights(), kubetest.Right{Resources: []string{"machines"}, Verbs: []string{"patch"}})), called(t, w),
	); diff != "" {
		t.Errorf("with priorities:\n%s", diff)
	}

	text, err := os.ReadFile("../../docs/gardener.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("docs/gardener.md has no role")
	}
	var role struct{ Rules []kubetest.Right }
	if err := yaml.Unmarshal([]byte(block), &role); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pairs(rights()), pairs(role.Rules)); diff != "" {
		t.Errorf("what is called, and what docs/gardener.md says:\n%s", diff)
	}
}

// Without a right, the error says which, and where they are listed.
func TestAMissingRight(t *testing.T) {
	w := zones(limited("0", "9"), 1)
	w.SetRights(rights()[2:]...)
	_, err := connect(t, w, anywhere).Inventory(t.Context())
	if e := refusal(t, err, provider.Denied); !strings.Contains(e.Message, "docs/gardener.md") {
		t.Error(e)
	}
	w.SetRights()
	for _, kind := range []string{"MachineDeployment", "MachineSet", "Machine", "MachineClass"} {
		w.Unserve(kind)
	}
	_, err = connect(t, w, anywhere).Inventory(t.Context())
	if e := refusal(t, err, provider.NotFound); !strings.Contains(e.Message, "control cluster") {
		t.Error(e)
	}
}
