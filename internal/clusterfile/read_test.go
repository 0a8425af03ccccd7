package clusterfile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// put writes files into a folder of the test's own.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, text string) (*clusterfile.Cluster, error) {
	t.Helper()
	return clusterfile.Read(t.Context(), []string{"-"}, strings.NewReader(text))
}

func mustRead(t *testing.T, text string) *clusterfile.Cluster {
	t.Helper()
	c, err := read(t, text)
	if err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	return c
}

// names lists the objects of a cluster as type namespace/name.
func names(t *testing.T, c *clusterfile.Cluster) []string {
	t.Helper()
	var out []string
	for _, obj := range c.Objects {
		m, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimPrefix(strings.TrimPrefix(strings.SplitN(typeName(obj), ".", 2)[1], "*"), "v1.")
		out = append(out, strings.TrimPrefix(kind+" "+m.GetNamespace()+"/"+m.GetName(), ""))
	}
	return out
}

const (
	nodeJSON = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","creationTimestamp":"2026-01-01T00:00:00Z"},
 "status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T00:00:00Z"}]}}`
	podJSON = `{"kind":"Pod","metadata":{"namespace":"shop","name":"p1"},"spec":{"containers":[]},"apiVersion":"v1"}`
	podYAML = `apiVersion: v1
kind: Pod
metadata:
  name: p1
  namespace: shop
spec: {}
`
	nodeYAML = `apiVersion: v1
kind: Node
metadata:
  name: n1
`
)

// TestForms: the same two objects in every form that tools write.
func TestForms(t *testing.T) {
	list := func(items string) string { return "apiVersion: v1\nitems:\n" + items + "kind: List\nmetadata: {}\n" }
	item := func(text, indent string) string {
		return indent + "- " + strings.TrimRight(strings.ReplaceAll(text, "\n", "\n"+indent+"  "), " ")
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write([]byte(nodeJSON + podJSON)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"documents":             nodeYAML + "---\n" + podYAML,
		"comments and blanks":   "\n# a cluster\n\n%YAML 1.1\n---\n\n" + nodeYAML + "...\n---\n# nothing\n---\n" + podYAML + "\n# end\n",
		"a list as of kubectl":  list(item(nodeYAML, "") + item(podYAML, "")),
		"a list with its kind":  "apiVersion: v1\nkind: List\nitems:\n" + item(nodeYAML, "  ") + item(podYAML, "  "),
		"a list and a document": list(item(nodeYAML, "")) + "---\n" + podYAML,
		"flow style":            `{apiVersion: v1, kind: List, items: [` + nodeJSON + "," + podJSON + `]}` + "\n---\n# end\n",
		"json after a marker":   "---\n" + nodeJSON + "\n---\n" + podJSON,
		"json objects":          nodeJSON + "\n" + podJSON,
		"json, then yaml":       nodeJSON + "\n---\n" + podYAML,
		"json, then json":       nodeJSON + " # one\n---\n# two\n---\n" + podJSON + "\n...\n",
		"json, then a comment":  podJSON + nodeJSON + "\n# end",
		"json, then on a line":  nodeJSON + "\n--- " + podJSON + "\n",
		"json list":             `{"apiVersion":"v1","items":[` + nodeJSON + "," + podJSON + `],"kind":"List"}`,
		"typed lists, kind last": `{"items":[{"metadata":{"name":"n1"}}],"kind":"NodeList","apiVersion":"v1"}` +
			`{"items":[{"metadata":{"name":"p1","namespace":"shop"}}],"kind":"PodList","apiVersion":"v1"}`,
		"typed lists of yaml": "items:\n- metadata:\n    name: n1\nkind: NodeList\napiVersion: v1\n---\n" +
			"kind: PodList\napiVersion: v1\nitems:\n- metadata:\n    namespace: shop\n    name: p1\n",
		"packed": zipped.String(),
		"twice":  nodeYAML + "---\n" + podYAML + "---\n" + nodeYAML,
	} {
		t.Run(name, func(t *testing.T) {
			got := slices.Sorted(slices.Values(names(t, mustRead(t, text))))
			if diff := cmp.Diff([]string{"Node /n1", "Pod shop/p1"}, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestItemsOfYAML: an item ends where the next one of the same indentation begins, whatever is in it.
func TestItemsOfYAML(t *testing.T) {
	c := mustRead(t, `apiVersion: v1
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: cluster-autoscaler-priority-expander
    namespace: kube-system
  data:
    priorities: |-
      10:
      - items:
      # no comment
      - .*
- apiVersion: v1
  kind: Node
  metadata:
    labels:
      a: "b"
    name: n1
  spec:
    taints:
    - effect: NoSchedule
      key: k
kind: List
`)
	seen, err := c.Observation(settings)
	if err != nil {
		t.Fatal(err)
	}
	if seen.Priorities == nil || len(seen.Nodes) != 1 || len(seen.Nodes[0].Object.Spec.Taints) != 1 {
		t.Errorf("priorities %v, nodes %v", seen.Priorities, seen.Nodes)
	}
}

// TestWhatOtherToolsWrite: what kubectl get prints and kwokctl snapshot export writes of one cluster is that cluster,
// with the ages that things have. kwokctl does not export all kinds, and its times are relative to the export.
func TestWhatOtherToolsWrite(t *testing.T) {
	exported := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "kwokctl.yaml")
	text, err := os.ReadFile(filepath.Join("testdata", "kwokctl.yaml"))
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err == nil {
		err = os.Chtimes(file, exported, exported)
	}
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"DaemonSet default/agent", "Namespace /default", "Namespace /shop", "Node /node-0",
		"Node /node-1", "PersistentVolume /pv-data", "PersistentVolumeClaim shop/data", "Pod shop/web-7d9f-00000",
		"Pod shop/web-7d9f-00001", "Pod shop/web-7d9f-00002", "Pod shop/web-7d9f-00003",
		"Pod shop/web-7d9f-00004", "Pod shop/web-7d9f-00005"}
	for name, x := range map[string]struct {
		objects []string
		skipped map[string]int
	}{
		file: {both,
			map[string]int{"ConfigMap": 1, "Deployment": 1, "PriorityClass": 1, "ReplicaSet": 1, "ServiceAccount": 1}},
		filepath.Join("testdata", "kubectl.yaml"): {
			append([]string{"CSINode /node-0", "CSINode /node-1", "PodDisruptionBudget shop/web", "StorageClass /disk"},
				both...),
			map[string]int{"Deployment": 1, "PriorityClass": 1, "ReplicaSet": 1}},
	} {
		c, err := clusterfile.Read(t.Context(), []string{name}, nil)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		got := names(t, c)
		slices.Sort(got)
		slices.Sort(x.objects)
		if diff := cmp.Diff(x.objects, got); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(x.skipped, c.Skipped); diff != "" {
			t.Errorf("skipped (-want +got):\n%s", diff)
		}
		if !c.Time.Equal(exported) {
			t.Errorf("%s: time %s, want %s", name, c.Time, exported)
		}
		if labels := c.GuessGroups(); len(labels) != 1 || labels[0] != "nodepool" {
			t.Errorf("%s: groups by %v", name, labels)
		}
		cycle := decide(t, c, testkit.Policy())
		grown, waits := cycle.Plan.Grow, cycle.Snapshot.Pending
		if len(grown) != 1 || grown[0].From != 2 || grown[0].To != 3 || len(waits) != 1 ||
			cycle.Snapshot.Now.Sub(waits[0].Oldest) != 10*time.Minute {
			t.Errorf("%s: %s", name, cycle.Plan.Text(cycle.Snapshot))
		}
	}
}

// TestFolders: folders are read with all below them, and files by their ending.
func TestFolders(t *testing.T) {
	dir := put(t, map[string]string{
		"a/nodes.yaml": nodeYAML, "b/c/pods.json": podJSON, "b/log.txt": "no: [yaml", "b/d.yaml.bak": "no: [yaml",
	})
	c, err := clusterfile.Read(t.Context(), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Node /n1", "Pod shop/p1"}, names(t, c)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestWhatIsNotNeeded: other kinds are counted, pods that have ended are not there, and without a dump the
// newest time of the objects is the time.
func TestWhatIsNotNeeded(t *testing.T) {
	c := mustRead(t, nodeJSON+`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"Yg=="}}
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"t"}}{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t"}}
{"apiVersion":"example.com/v1","kind":"Pod","metadata":{"name":"t"}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"t"},"status":{"phase":"Failed"}}`)
	if diff := cmp.Diff([]string{"Node /n1"}, names(t, c)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"Secret": 2, "ConfigMap": 1, "Pod": 1}, c.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if want := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC); !c.Time.Equal(want) {
		t.Errorf("time %s, want %s", c.Time, want)
	}
}

// listOfLists has a mistake in a list within a list.
const listOfLists = `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[
{"kind":"Node",
"apiVersion":"v1",
"metadata":{"name":7}}]}]}`

// TestMistakes: each names file and line.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"yaml":                           {nodeYAML + "---\nkind: Pod\napiVersion: v1\nmetadata:\n  name: a: b\n", "stdin:9: "},
		"yaml in an item":                {"items:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: n1\n- kind: Pod\n  a: b: c\n", "stdin:7: "},
		"yaml, wrong type":               {nodeYAML + "---\napiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: []\n", "stdin:6: Node x: spec: want a map of fields, not a list"},
		"json":                           {"{\"apiVersion\": \"v1\",\n\"kind\": \"Node\",\n\"metadata\": {,}}", "stdin:3: invalid character ','"},
		"json in an item":                {"{\"items\": [\n{\"kind\":\"Node\",\n\"metadata\": ]}", "stdin:3: invalid character ']'"},
		"json cut off":                   {"{\"items\": [\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}},\n", "stdin:3: the file ends within an object"},
		"json, wrong type":               {"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\",\n\"apiVersion\":\"v1\",\n\"metadata\":{\"name\":7}}]}", "stdin:4: Node: metadata.name: want a text, not a number"},
		"json, wrong type, second field": {"{\n\"apiVersion\": \"v1\",\n\"kind\": \"Node\",\n\"metadata\": {\n\"name\": 7}}", "stdin:5: Node: metadata.name: want a text, not a number"},
		"json, wrong type, indented":     {"{\n  \"kind\": \"Pod\",\n  \"apiVersion\":\n    \"v1\",\n  \"metadata\": {\"name\": \"p\"},\n  \"spec\": {\n    \"nodeName\": []\n  }\n}\n", "stdin:7: Pod p: spec.nodeName: want a text, not a list"},
		"json, after a long list":        {"{\"items\": [\n" + strings.Repeat(podJSON+",\n", 2000) + "{\"kind\": \"Node\",\n\"apiVersion\": \"v1\",\n\"metadata\":\n {\"name\": 7}}]}", "stdin:2005: Node: metadata.name: want a text, not a number"},
		"json in yaml's clothes":         {"---\n{\"kind\": \"Node\",\n\"apiVersion\": \"v1\",\n\"metadata\": {\"name\": 7}}", "stdin:2: Node: metadata.name: want a text, not a number"},
		"yaml after json":                {nodeJSON + "\n# two\n---\n\n" + nodeYAML + "spec: []\n", "stdin:6: Node n1: spec: "},
		"json after json":                {nodeJSON + "\n---\n" + podJSON + "\n---\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\n\"metadata\":7}", "stdin:6: Node: metadata: "},
		"json list of lists":             {listOfLists, "stdin:4: Node: metadata.name: want a text, not a number"},
		"items of a number":              {"{\"items\": [\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}},\n\n7]}", "stdin:4: not a Kubernetes object"},
		"items is no array":              {"{\"items\":\n{}}", "stdin:2: items: an array was expected"},
		"no object":                      {"{}\n[]", "stdin:1: neither a Kubernetes object"},
		"an array":                       {"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}\n[]", "stdin:2: an object was expected, and not ["},
		"no name":                        {"apiVersion: v1\nkind: Node\n", "stdin:1: Node: metadata.name: missing"},
		"a word":                         {"\n\nhello\n", "stdin:3: not a Kubernetes object"},
		"nothing":                        {"", "read a cluster from stdin: no Kubernetes objects are in it"},
		"nothing needed":                 {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "only Secret"},
		"groups twice":                   {"groups: []\n---\ngroups: []\n", "stdin has node groups twice"},
		"no apiVersion":                  {nodeYAML + "---\nkind: Node\nmetadata: {name: b}\n", "stdin:6: Node b: apiVersion: missing"},
		"no apiVersion, json":            {nodeJSON + "\n{\"kind\":\"Pod\",\n\"metadata\":{\"namespace\":\"shop\",\"name\":\"p\"}}", "stdin:3: Pod shop/p: apiVersion: missing"},
		"no apiVersion, of any kind":     {nodeYAML + "---\nkind: Deployment\nmetadata: {name: b}\n", "stdin:6: Deployment b: apiVersion: missing"},
		"a dump without apiVersion":      {"kind: Dump\ntime: 2026-01-01T00:00:00Z\n", "stdin:1: Dump: apiVersion: missing"},
		"an item without apiVersion":     {"apiVersion: v1\nkind: List\nitems:\n- kind: Node\n  metadata:\n    name: n1\n", "stdin:4: Node n1: apiVersion: missing"},
		"the same in json":               {"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}}]}", "stdin:2: Node n1: apiVersion: missing"},
		"a typed list without":           {"kind: NodeList\nitems:\n- metadata:\n    name: n1\n", "stdin:3: Node n1: apiVersion: missing"},
		"the same in json, kind last":    {"{\"items\":[\n{\"metadata\":{\"name\":\"n1\"}}],\"kind\":\"NodeList\"}", "stdin:2: Node n1: apiVersion: missing"},
		"dump without time":              {"apiVersion: plimsoll.dev/v1alpha1\nkind: Dump\n", "stdin:1: Dump: time: missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read %q: error %v, want one with %q", c.text, err, c.want)
			}
		})
	}
	if _, err := clusterfile.Read(t.Context(), []string{filepath.Join(t.TempDir(), "none.yaml")}, nil); err == nil {
		t.Error("a file that is not there is no error")
	}
	if _, err := clusterfile.Read(t.Context(), []string{t.TempDir()}, nil); err == nil {
		t.Error("a folder without any file is no error")
	}
}

// TestTooMuch: what has no end is an error, packed or not.
func TestTooMuch(t *testing.T) {
	var bomb bytes.Buffer
	pack := gzip.NewWriter(&bomb)
	for range 40 {
		if _, err := pack.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]io.Reader{"zeros": zeros{}, "bomb": &bomb,
		"one item": io.MultiReader(strings.NewReader(`{"items":[{"kind":"`), letters{})} {
		_, err := clusterfile.Read(t.Context(), []string{"-"}, in)
		if err == nil || !strings.Contains(err.Error(), "stdin") || !strings.Contains(err.Error(), "above 32 MiB") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var c clusterfile.Cluster
	_, err := c.AddPods(1, "/dev/zero", nil)
	if err == nil || !strings.Contains(err.Error(), "/dev/zero: it is above 32 MiB") {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type letters struct{}

func (letters) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

// TestACutPackedFile: it says that it is cut off, wherever it is.
func TestACutPackedFile(t *testing.T) {
	var whole bytes.Buffer
	pack := gzip.NewWriter(&whole)
	for i := range 2000 {
		pod := strings.ReplaceAll(podYAML, "p1", fmt.Sprintf("p%d", i*i*i))
		if _, err := pack.Write([]byte(pod + "---\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5, whole.Len() / 2, whole.Len() - 1} {
		_, err := clusterfile.Read(t.Context(), []string{"-"}, bytes.NewReader(whole.Bytes()[:n]))
		if err == nil || !strings.Contains(err.Error(), "stdin: the packed file is cut off") {
			t.Errorf("%d of %d bytes: %v", n, whole.Len(), err)
		}
	}
}

// TestAnEndWhileReading: nothing waits for input that does not come.
func TestAnEndWhileReading(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := clusterfile.Read(ctx, []string{"-"}, in); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestOrderOfMistakes: the first mistake is reported, however many are parsed at once, and an unreadable file
// is one.
func TestOrderOfMistakes(t *testing.T) {
	long := strings.Repeat(nodeYAML+"---\n", 2_000)
	_, err := read(t, long+"kind: []\n---\n"+long+"b: c: d\n")
	if err == nil || !strings.Contains(err.Error(), "stdin:10001: ") {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{long, strings.ReplaceAll(podJSON, "p1", strings.Repeat("p", 100))} {
		half := iotest.TimeoutReader(strings.NewReader(text + text))
		if _, err := clusterfile.Read(t.Context(), []string{"-"}, half); err == nil {
			t.Error("a file that cannot be read to its end is no error")
		}
	}
}

// FuzzRead: no text makes the reader panic or hang, and what it reads can be written and read again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		nodeYAML + "---\n" + podYAML, nodeJSON + podJSON, `{"apiVersion":"v1","items":[` + nodeJSON + `],"kind":"List"}`,
		"items:\n- metadata:\n    name: n1\nkind: NodeList\napiVersion: v1\n", "groups: [{id: a}]\n", listOfLists,
		strings.ReplaceAll(nodeYAML, "name: n1", "name: n1\n  creationTimestamp: $(time-offset-nanosecond -5)"),
		"apiVersion: plimsoll.dev/v1alpha1\nkind: Dump\ntime: 2026-01-01T00:00:00Z\nmemory: {version: 2}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := clusterfile.Read(context.Background(), []string{"-"}, bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, form := range []clusterfile.Form{clusterfile.JSON, clusterfile.YAML} {
			var out bytes.Buffer
			if c.Time.IsZero() {
				c.Time = time.Unix(1, 0).UTC()
				if c.Inventory != nil {
					c.Inventory.AsOf = c.Time
				}
			}
			if err := clusterfile.Write(&out, c, form); err != nil {
				t.Fatalf("write: %v", err)
			}
			again, err := clusterfile.Read(context.Background(), []string{"-"}, &out)
			if err != nil {
				t.Fatalf("read again: %v", err)
			}
			if !equality.Semantic.DeepEqual(c.Objects, again.Objects) {
				t.Errorf("objects changed: %v", cmp.Diff(c.Objects, again.Objects, cmpopts.EquateEmpty()))
			}
		}
	})
}
