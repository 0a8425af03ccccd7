package clusterfile_test

import (
	"bytes"
	"compress/gzip"
	"io"
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
		if _, err := c.AddPods(n, file, nil); err != nil {
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

// TestMistakesInAddedPods: each names file and line.
func TestMistakesInAddedPods(t *testing.T) {
	const first = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n---\n"
	for name, x := range map[string]struct{ text, want string }{
		"no kind":       {first + "metadata: {name: b}\n", ":6: not a Kubernetes object: it has no kind"},
		"no apiVersion": {first + "kind: Pod\nmetadata: {name: b}\n", ":6: Pod b: apiVersion: missing"},
		"another kind":  {first + "apiVersion: v1\nkind: Node\nmetadata: {name: b}\n", ":6: Node b: it is no Pod, and has no spec.template"},
		"wrong type":    {first + "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: []\n", ":6: "},
		"a slip": {"apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c, resorces: {}}]}\n",
			":1: Pod b: spec.containers[0].resorces: there is no such field"},
		"a slip in a template": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\n" +
			"spec: {replicas: 2, template: {spec: {nodeSelektor: {}, containers: [{name: c}]}}}\n",
			":1: Deployment b: spec.template.spec.nodeSelektor: there is no such field"},
		"no yaml":        {first + "a: b: c\n", ":6: "},
		"no json":        {"{\"apiVersion\": \"v1\",\n,}", ":2: "},
		"no containers":  {first + "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n", ":6: Pod b: it has no containers"},
		"cut in a value": {"{\"apiVersion\": \"v1\",\n\"kind\": ", ":2: the file ends within an object"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pods.yaml")
			if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
			c := clusterfile.Cluster{}
			_, err := c.AddPods(1, file, nil)
			if err == nil || !strings.Contains(err.Error(), file+x.want) {
				t.Errorf("add pods of %q: error %v, want one with %q", x.text, err, x.want)
			}
			if len(c.Objects) > 0 {
				t.Errorf("%d pods were added all the same", len(c.Objects))
			}
		})
	}
}

// TestPodsOfStandardInput: pods to add come from there as from a file, packed or not; a folder is named once.
func TestPodsOfStandardInput(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	text := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n"
	if _, err := zip.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for _, in := range []io.Reader{strings.NewReader(text), &packed} {
		if added, err := new(clusterfile.Cluster).AddPods(2, "-", in); err != nil || len(added) != 1 {
			t.Errorf("added %v, error %v", added, err)
		}
	}
	dir := t.TempDir()
	_, err := new(clusterfile.Cluster).AddPods(1, dir, nil)
	if want := "read the pods to add: read " + dir + ": is a directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
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
		_, err = new(clusterfile.Cluster).AddPods(1, file, nil)
		if err == nil || !strings.Contains(err.Error(), "UTF-16") {
			t.Errorf("%s, of pods to add: %v", name, err)
		}
	}
}
