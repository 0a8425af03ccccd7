package world

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func TestEachWorldReadsItsOwnFileAndHasOneOfItsOwn(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("moons: 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		read, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if made, err := read(""); err != nil || made == nil {
			t.Errorf("%s, by itself: %v", name, err)
		}
		if _, err := read("/no/such/file"); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
			t.Errorf("%s, a file that is not: %v", name, err)
		}
		// Node templates are Plimsoll's to check.
		if _, err := read(wrong); name != "kwok" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s, a wrong file: %v", name, err)
		}
	}
	if _, err := ByName("mars"); err == nil || !strings.Contains(err.Error(), "aws, clusterapi, gardener, kwok") {
		t.Errorf("another world: %v", err)
	}
	if !slices.Contains(Names(), Default) {
		t.Errorf("the default is none of %v", Names())
	}
}

func TestKwokIsWhatPlimsollIsToldOfIt(t *testing.T) {
	w := Kwok("/t.yaml")
	if !slices.Equal(w.Cloud.Flags, []string{"--cloud-provider=kwok"}) ||
		!slices.Equal(w.Cloud.Env, []string{"KWOK_TEMPLATES_PATH=/t.yaml"}) ||
		len(w.Components) > 0 || !strings.Contains(string(w.Objects), "plimsoll:kwok-provider") {
		t.Errorf("got %+v", w)
	}
}

func TestGroupOf(t *testing.T) {
	for want, meta := range map[string]metav1.ObjectMeta{
		"a":    {Annotations: map[string]string{"cluster-autoscaler.kwok.nodegroup/name": "a"}},
		"b":    {Labels: map[string]string{"eks.amazonaws.com/nodegroup": "b"}},
		"c-d":  {Annotations: map[string]string{"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "c-d-x7k2p"}},
		"e-z1": {Name: "e-z1-x7k2p-9abcd", Labels: map[string]string{machinev1.PoolLabel: "e"}},
		"pool": {Annotations: map[string]string{"cluster.x-k8s.io/owner-kind": "MachinePool", "cluster.x-k8s.io/owner-name": "pool"}},
		"":     {Labels: map[string]string{"group": "c"}},
	} {
		if got := GroupOf(&corev1.Node{ObjectMeta: meta}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
