package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
)

// dumped runs plimsoll dump.
func dumped(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := root()
	var out, told bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&told)
	cmd.SetArgs(append([]string{"dump"}, args...))
	err = cmd.ExecuteContext(t.Context())
	return out.String(), told.String(), err
}

const printed = `apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: n1
    annotations: {kubectl.kubernetes.io/last-applied-configuration: secret, kwok.x-k8s.io/node: fake,
      cluster-autoscaler.kwok.nodegroup/name: web}
    creationTimestamp: "2026-01-01T00:00:00Z"
    labels: {agentpool: blue}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: p1, namespace: shop}
  spec: {containers: [{name: c, image: private, env: [{name: PASSWORD, value: secret}]}]}
kind: List
`

// TestDumpOfFiles: what others print becomes a dump, with groups that are guessed, of a file, or of kwok
// templates; what is assumed is told.
func TestDumpOfFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	groups := write("groups.yaml", "groups:\n- {id: blue, min: 1, max: 3, target: 1}\nasOf: 2020-01-01T00:00:00Z\n")
	templates := write("templates.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: web\n  annotations: "+
		"{cluster-autoscaler.kwok.nodegroup/name: web}\nstatus: {allocatable: {cpu: \"4\", memory: 8Gi}}\n")
	for name, c := range map[string]struct {
		args   []string
		group  string
		most   int
		target int
		told   string
	}{
		"guessed":        {nil, "blue", 1<<31 - 1, 1, "guessed from the label agentpool"},
		"of a file":      {[]string{"--groups", groups}, "blue", 3, 1, "no Namespaces"},
		"kwok templates": {[]string{"--groups", templates}, "web", 200, 1, "no Namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "dump.json.gz")
			_, told, err := dumped(t, printed, append(c.args, "-f", "-", "-o", out, "--max-nodes-total=9")...)
			if err != nil || !strings.Contains(told, "note: ") || !strings.Contains(told, c.told) {
				t.Fatalf("%v\n%s", err, told)
			}
			got, err := clusterfile.Read(t.Context(), []string{out}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if g := got.Inventory.Groups; len(g) != 1 || string(g[0].ID) != c.group || g[0].Max != c.most ||
				g[0].Target != c.target || !got.Inventory.AsOf.Equal(got.Time) {
				t.Errorf("groups %+v, read at %s", g, got.Inventory.AsOf)
			}
			if len(got.Objects) != 2 || got.Flags["max-nodes-total"] != "9" || got.Flags["decide-steps"] == "" ||
				len(got.Flags) != 2 {
				t.Errorf("objects %v, flags %v", got.Objects, got.Flags)
			}
		})
	}
	text, _, err := dumped(t, printed, "-f", "-")
	if err != nil || strings.Contains(text, "secret") || strings.Contains(text, "private") ||
		!strings.Contains(text, "shop") {
		t.Errorf("%v\n%s", err, text)
	}
	text, _, err = dumped(t, printed, "-f", "-", "--anonymize", "--max-nodes-total=9", "--expander=priority")
	if err != nil || strings.Contains(text, "shop") || strings.Contains(text, "n1") || strings.Contains(text, "blue") ||
		!strings.Contains(text, "\n  max-nodes-total: \"9\"\ninventory:") {
		t.Errorf("%v\n%s", err, text)
	}
	for want, args := range map[string][]string{
		"the cluster has its node groups already":       {"--groups", groups, "-f", groups, "-f", "-"},
		"no such file or directory":                     {"-f", filepath.Join(dir, "none")},
		"open " + filepath.Join(dir, "none", "x"):       {"-f", "-", "-o", filepath.Join(dir, "none", "x")},
		"unknown flag: --grups: did you mean --groups?": {"--grups=x"},
		"--max-nodes-total":                             {"-f", "-", "--max-nodes-total=-1"},
	} {
		if _, _, err := dumped(t, printed, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dump %v: error %v, want one with %q", args, err, want)
		}
	}
}

// TestDumpLive: the cluster is read once, in pages, with the memory; what may not be read is told, and nothing
// is written.
func TestDumpLive(t *testing.T) {
	memory, _, err := status.EncodeMemory(model.Memory{Unneeded: map[string]time.Time{"n1": time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	left := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	status.Put(&left, "autoscalerStatus: Running\n", status.Stamp(time.Now()), memory)
	pods := func(name, next string) corev1.PodList {
		return corev1.PodList{ListMeta: metav1.ListMeta{Continue: next},
			Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}}}
	}
	answers := map[string]any{
		"/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status": left,
		"/api/v1/nodes":      corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}},
		"/api/v1/pods":       pods("p1", "more"),
		"/api/v1/pods?more":  pods("p2", ""),
		"/api/v1/namespaces": corev1.NamespaceList{},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		path := r.URL.Path
		if next := r.URL.Query().Get("continue"); next != "" {
			path += "?" + next
		}
		answer, ok := answers[path]
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
				Reason: metav1.StatusReasonForbidden, Message: "not for you"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	text, told, err := dumped(t, "", "--kubernetes="+server.URL)
	if err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	if want := "note: persistentvolumes could not be read (not for you): zones of volumes are unknown"; !strings.Contains(
		told, want) || strings.Contains(told, "Namespaces") {
		t.Errorf("told:\n%s", told)
	}
	c, err := clusterfile.Read(t.Context(), []string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Objects) != 3 || len(c.Memory.Unneeded) != 1 || c.Version != version || c.Unread["daemonsets"] == "" {
		t.Errorf("objects %v, memory %+v, version %q, unread %v", c.Objects, c.Memory, c.Version, c.Unread)
	}
	if fmt.Sprint(c.Listed) != "[pods nodes namespaces]" {
		t.Errorf("listed %v", c.Listed)
	}
	// Nothing may be read at all.
	clear(answers)
	_, _, err = dumped(t, "", "--kubernetes="+server.URL)
	if err == nil || !strings.Contains(err.Error(), "not for you") {
		t.Errorf("error %v", err)
	}
}

// TestADumpTakesTheOldOnesPlaceInFull: its owner alone can read it, also where others could read the
// old one, and a write that fails leaves the old one.
func TestADumpTakesTheOldOnesPlaceInFull(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cluster.json.gz")
	link := filepath.Join(t.TempDir(), "link.json.gz")
	if err := errors.Join(os.WriteFile(name, []byte("old"), 0o644), os.Symlink(name, link)); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	c := &clusterfile.Cluster{Time: time.Unix(0, 0)}
	if err := writeCluster(ended, c, name, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "old" {
		t.Errorf("after a write that failed: %q, %v", text, err)
	}
	if err := writeCluster(t.Context(), c, link, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("beside it are %v, %v", left, err)
	}
}
