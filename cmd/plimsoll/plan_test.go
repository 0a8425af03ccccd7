package main

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// planOf runs plimsoll plan, and gives its answer without the time at which it was asked.
func planOf(t *testing.T, args ...string) map[string]any {
	t.Helper()
	cmd := root()
	var out, told bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&told)
	cmd.SetArgs(append([]string{"plan", "-o", "json"}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil && !errors.Is(err, errChanges) {
		t.Fatalf("plan %v: %v\n%s", args, err, &told)
	}
	var plan map[string]any
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	delete(plan, "time")
	return plan
}

// serveObjects answers GET requests for lists of the objects, and for the ConfigMap. Anything else is an error.
func serveObjects(t *testing.T, objects []runtime.Object, m *corev1.ConfigMap) string {
	lists := map[string][]runtime.Object{}
	for _, k := range observe.Kinds() {
		path, err := listPath(k)
		if err != nil {
			t.Fatal(err)
		}
		lists[path] = []runtime.Object{}
		for _, obj := range objects {
			if fmt.Sprintf("%T", obj) == fmt.Sprintf("%T", k.Example) {
				lists[path] = append(lists[path], obj)
			}
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		var answer any
		items, ok := lists[r.URL.Path]
		switch {
		case ok:
			list := map[string]any{"metadata": metav1.ListMeta{ResourceVersion: "1"}, "items": items}
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
				list["kind"], list["apiVersion"] = "PartialObjectMetadataList", metav1.SchemeGroupVersion.Group+"/v1"
			}
			answer = list
		case strings.HasSuffix(r.URL.Path, "/configmaps/"+m.Name):
			answer = m
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
				Reason: metav1.StatusReasonNotFound, Message: "none"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// listPath is where all objects of a kind are listed.
func listPath(k observe.Kind) (string, error) {
	if strings.HasPrefix(k.Resource, "configmaps") {
		return "/api/v1/namespaces/kube-system/configmaps", nil
	}
	for group, resources := range map[string]string{
		"/api/v1/":                 "nodes pods namespaces persistentvolumes persistentvolumeclaims",
		"/apis/apps/v1/":           "daemonsets",
		"/apis/policy/v1/":         "poddisruptionbudgets",
		"/apis/storage.k8s.io/v1/": "storageclasses csinodes csidrivers csistoragecapacities volumeattachments",
	} {
		for name := range strings.FieldsSeq(resources) {
			if name == k.Resource {
				return group + name, nil
			}
		}
	}
	return "", fmt.Errorf("where is %s listed?", k.Resource)
}

// TestThePlanOfADumpIsTheLivePlan: plan asks the cluster, the provider and the leader's memory; plan -f of what
// dump writes of them is the same, with the flags that the dump was given. Nothing is written.
func TestThePlanOfADumpIsTheLivePlan(t *testing.T) {
	c := testkit.New()
	for _, name := range []string{"g-1", "g-2"} {
		n := testkit.Node(name, "4", "16Gi", map[string]string{"pool": "g"})
		n.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake", "cluster-autoscaler.kwok.nodegroup/name": "g"}
		c.AddNode(n, "")
		n.Spec.ProviderID = "kwok:" + name
	}
	c.Bound(testkit.Pod("shop", "web", "500m", "1Gi", nil), 3, "g-1")
	api := testkit.Pod("shop", "api", "3", "1Gi", map[string]string{"app": "api"})
	api.CreationTimestamp.Time = time.Now().Add(-5 * time.Minute)
	testkit.Apart(api, corev1.LabelHostname, map[string]string{"app": "api"})
	c.Pending(api, 5)
	c.Pending(testkit.Pod("shop", "giant", "30", "1Gi", nil), 1)
	memory, _, err := status.EncodeMemory(model.Memory{Unneeded: map[string]time.Time{"g-1": time.Now().Add(-time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	left := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-status"}}
	status.Put(left, "autoscalerStatus: Running\n", status.Stamp(time.Now()), memory)
	url := serveObjects(t, c.Objects(), left)
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	t.Setenv("KWOK_TEMPLATES_PATH", write("templates.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: g\n  labels: "+
		"{pool: g}\n  annotations: {cluster-autoscaler.kwok.nodegroup/name: g}\nstatus: {allocatable: {cpu: \"4\", "+
		"memory: 16Gi, pods: \"110\"}}\n"))
	args := []string{"--kubernetes=" + url, "--cloud-provider=kwok", "--kube-api-content-type=application/json"}
	how := []string{"--max-nodes-total=4", "--expander=random,price", "--seed=7", "--balancing-label=a",
		"--balancing-label=b", "--price-file=" + write("prices.yaml", "g: 1.5\n")}
	live := planOf(t, append(args, how...)...)
	if live["changes"] != true || fmt.Sprint(live["after"]) != "map[costPerHour:6 nodes:4 pendingPods:3]" {
		t.Errorf("live: %v", live)
	}
	for _, name := range []string{"dump.yaml", "dump.json.gz"} {
		file := filepath.Join(dir, name)
		if _, told, err := dumped(t, "", append(append(args, how...), "-o", file)...); err != nil {
			t.Fatalf("%v\n%s", err, told)
		}
		if diff := cmp.Diff(live, planOf(t, "-f", file)); diff != "" {
			t.Errorf("%s (-live +file):\n%s", name, diff)
		}
		if more := planOf(t, "-f", file, "--max-nodes-total=5"); fmt.Sprint(more["after"]) !=
			"map[costPerHour:7.5 nodes:5 pendingPods:2]" {
			t.Errorf("%s with another flag: %v", name, more)
		}
	}
}

// TestLiveWithoutAProvider: what would read the node groups is named, once on standard output and once at the end.
func TestLiveWithoutAProvider(t *testing.T) {
	c := testkit.New()
	c.AddNode(testkit.Node("n1", "4", "16Gi", nil), "")
	c.Bound(testkit.Pod("shop", "web", "500m", "1Gi", nil), 1, "n1")
	url := serveObjects(t, c.Objects(), &corev1.ConfigMap{})
	for _, x := range []struct {
		line, out, told string
	}{
		{"plan", "Nothing is bought or removed: the node groups could not be read: --cloud-provider=... reads them, and is " +
			"not given\n",
			"plimsoll: plan without the node groups: no label of a node names one; --cloud-provider=... reads them, or " +
				"--groups=FILE has them\n"},
		{"explain node n1 --max-nodes-total=9", "For whom it was bought is not known: the node groups were not read.\n",
			"explain node n1 without the node groups: no label"},
		{"dump", "kind: Dump",
			"note: no node groups, and no label of a node that names one: nothing can be bought or removed; " +
				"--cloud-provider=... reads them, or --groups=FILE has them\n"},
	} {
		var out, told bytes.Buffer
		args := append([]string{"plimsoll"}, strings.Fields(x.line)...)
		execute(t.Context(), append(args, "--kubernetes="+url, "--kube-api-content-type=application/json"), &out, &told)
		if !strings.Contains(out.String(), x.out) || strings.Count(told.String(), x.told) != 1 ||
			strings.Count(told.String(), "--cloud-provider") != 1 {
			t.Errorf("%s:\n%s%s", x.line, &out, &told)
		}
	}
}
