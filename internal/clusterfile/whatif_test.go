package clusterfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
)

// TestAddedPodsAddUp: pods of one name that are added twice are all there.
func TestAddedPodsAddUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	text := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: c\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := clusterfile.Cluster{}
	for _, n := range []int{2, 3} {
		if _, err := c.AddPods(n, file); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	for _, o := range c.Objects {
		names[o.(*corev1.Pod).Name] = true
	}
	if len(names) != 5 {
		t.Errorf("%d pods, want 5: %v", len(names), names)
	}
}

// TestUTF16IsRefused: it would be read as a cluster without anything.
func TestUTF16IsRefused(t *testing.T) {
	for name, mark := range map[string]string{"little": "\xff\xfe", "big": "\xfe\xff"} {
		file := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(file, []byte(mark+"k\x00:\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := clusterfile.Read(t.Context(), []string{file}, nil)
		if err == nil || !strings.Contains(err.Error(), "UTF-16") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
