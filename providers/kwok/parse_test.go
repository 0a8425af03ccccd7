package kwok

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestTemplates walks testdata/templates: each case is a template file, and the
// groups that it makes or the errors that a person would read.
func TestTemplates(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "templates"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			src := source{name: "t.yaml"}
			if d.Cmd == "configmap" {
				src.rules = rules{onlyKeyed: true, taint: !d.HasArg("skip-taint")}
				for _, arg := range d.CmdArgs {
					if arg.Key == "label" || arg.Key == "annotation" {
						src.rules.keys = []nameKey{{key: arg.Vals[0], annotation: arg.Key == "annotation", required: true}}
					}
				}
			}
			nodes, err := parseTemplates(src.name, []byte(d.Input))
			if err != nil {
				return err.Error() + "\n"
			}
			src.nodes = nodes
			groups, notices, err := buildGroups(src)
			if err != nil {
				return err.Error() + "\n"
			}
			var b strings.Builder
			for _, g := range groups {
				fmt.Fprintf(&b, "%s: %d..%d, %d at the start; %s\n", g.name, g.min, g.max, g.desired, describe(g.node))
			}
			for _, n := range notices {
				fmt.Fprintf(&b, "%s: %s\n", n.Code, n.Message)
			}
			return b.String()
		})
	})
}

func describe(n *corev1.Node) string {
	var parts []string
	for _, name := range []corev1.ResourceName{"cpu", "memory", "pods", "nvidia.com/gpu"} {
		if q, ok := n.Status.Allocatable[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", name, q.String()))
		}
	}
	for _, key := range keysOfEither(n.Labels, nil) {
		parts = append(parts, key+"="+n.Labels[key])
	}
	for _, taint := range n.Spec.Taints {
		parts = append(parts, taint.ToString())
	}
	for _, key := range keysOfEither(n.Annotations, nil) {
		if key != annotationFake && key != annotationGroup {
			parts = append(parts, "annotation "+key+"="+n.Annotations[key])
		}
	}
	return strings.Join(parts, ", ")
}

func TestParseConfigMap(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "config"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, err := parseConfigMap("ConfigMap ns/x: data.config", d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			r := c.rules(c.ReadNodesFrom == fromCluster)
			return fmt.Sprintf("from %s %s; groups by %s; taint %v; accelerators by %q: %v\n",
				c.ReadNodesFrom, c.ConfigMap.Name, r.keys[0], r.taint, r.acceleratorLabel, keysOfEither(r.accelerators, nil))
		})
	})
}

// The same templates in every shape that a file may have are the same groups.
func TestShapesOfAFileAreEqual(t *testing.T) {
	node := func(name, indent string) string {
		lines := []string{"metadata:", "  name: " + name, "  annotations: {" + annotationGroup + ": " + name + "}",
			"status:", "  allocatable: {cpu: \"4\", memory: 16Gi, pods: \"110\"}"}
		return indent + strings.Join(lines, "\n"+indent) + "\n"
	}
	kind := "apiVersion: v1\nkind: Node\n"
	item := "- apiVersion: v1\n  kind: Node\n"
	shapes := map[string]string{
		"documents": "# two\n---\n" + kind + node("a", "") + "---\n" + kind + node("b", "") + "---\n# nothing more\n",
		"List":      "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n" + item + node("a", "  ") + item + node("b", "  "),
		"NodeList":  "apiVersion: v1\nkind: NodeList\nitems:\n-\n" + node("a", "  ") + "-\n" + node("b", "  "),
		"mixed":     kind + node("a", "") + "---\napiVersion: v1\nkind: List\nitems:\n" + item + node("b", "  "),
		"JSON, one after the other": `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","annotations":{"` +
			annotationGroup + `":"a"}},"status":{"allocatable":{"cpu":"4","memory":"16Gi","pods":110}}}` +
			"{\n\t\"apiVersion\":\"v1\",\n\t\"kind\":\"Node\",\n" + `"metadata":{"name":"b","annotations":{"` + annotationGroup +
			`":"b"}},"status":{"allocatable":{"cpu":"4","memory":"16Gi","pods":110}}}`,
		"with tabs": "{\n\t\"apiVersion\": \"v1\", # not JSON\n\t\"kind\": \"List\",\n\t\"items\": [\n" +
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","annotations":{"` + annotationGroup +
			`":"a"}},"status":{"allocatable":{"cpu":"4","memory":"16Gi","pods":110}}},` +
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"b","annotations":{"` + annotationGroup +
			`":"b"}},"status":{"allocatable":{"cpu":"4","memory":"16Gi","pods":110}}}]}`,
		"ends":   kind + node("a", "") + "...\n" + kind + node("b", "") + "...\n",
		"of DOS": strings.ReplaceAll("---\n"+kind+node("a", "")+"...\n---\n"+kind+node("b", ""), "\n", "\r\n"),
		"JSON": `{"apiVersion":"v1","kind":"List","items":[` +
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","annotations":{"` + annotationGroup +
			`":"a"}},"status":{"allocatable":{"cpu":"4","memory":"16Gi","pods":110}}},` +
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"b","annotations":{"` + annotationGroup +
			`":"b"}},"status":{"allocatable":{"cpu":"4","memory":"16Gi","pods":110}}}]}`,
	}
	var first map[string]string
	for name, text := range shapes {
		nodes, err := parseTemplates(name, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		versions := map[string]string{}
		for _, g := range mustBuild(t, source{name: name, nodes: nodes}) {
			versions[g.name] = g.template.Version
		}
		if first == nil {
			first = versions
		}
		if diff := cmp.Diff(first, versions); diff != "" || len(versions) != 2 {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// FuzzParseTemplates: no input makes the parser panic, and what it accepts can
// be created in a cluster.
func FuzzParseTemplates(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "templates", "*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(data), "\n\n") {
			if _, input, ok := strings.Cut(block, "\n"); ok {
				f.Add([]byte(strings.SplitN(input, "\n----", 2)[0]))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := parseTemplates("fuzz", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz: ") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		groups, _, err := buildGroups(source{name: "fuzz", nodes: nodes})
		if err != nil {
			return
		}
		for _, g := range groups {
			if g.name == "" || g.min > g.desired || g.desired > g.max || g.min < 0 {
				t.Fatalf("group %+v", g.counts)
			}
			if err := validate(nodeOf(g, nodeName(g.name))); err != nil {
				t.Fatalf("group %q makes nodes that the API server refuses: %v", g.name, err)
			}
		}
	})
}

// One document that cannot be read does not hide what is wrong with the others.
func TestAllMistakesOfAFileAreToldAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	text := `apiVersion: v1
kind: Node
metadata: {name: one, annotations: {cluster-autoscaler.kwok.nodegroup/max-count: many}}
status: {allocatable: {cpu: "4", memory: 8Gi}}
---
apiVersion: v1
kind: Node
metadata: {name: two}
status: {allocatable: {cpu: four, memory: 8Gi}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := loadFile(path)
	for _, want := range []string{
		`document 1, node "one": metadata.annotations`, `document 2, node "two": status.allocatable[cpu]`,
	} {
		if err == nil || !strings.Contains(err.Error(), path+": "+want) {
			t.Errorf("got %v, want it to say %s", err, want)
		}
	}
}

// TestAmountsThatCannotBe: amounts that no pod fits, or that cannot be counted,
// are told at the start and by field.
func TestAmountsThatCannotBe(t *testing.T) {
	for amount, want := range map[string]string{
		`cpu: "0", memory: 8Gi`:            "allocatable[cpu]",
		`cpu: "1e30", memory: 8Gi`:         "allocatable[cpu]",
		`cpu: "2", memory: "0"`:            "allocatable[memory]",
		`cpu: "2", memory: 8Gi, pods: "0"`: "allocatable[pods]",
		`cpu: "2", memory: 8Ei`:            "allocatable[memory]",
	} {
		node := &corev1.Node{}
		if err := yaml.Unmarshal([]byte("metadata: {name: n}\nstatus: {allocatable: {"+amount+"}}"), node); err != nil {
			t.Fatal(err)
		}
		if err := validate(node); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", amount, err, want)
		}
	}
}

// TestPricesByAnnotation: a group's price is that of its template node. One that is no price is
// told, and hides its group.
func TestPricesByAnnotation(t *testing.T) {
	for text, want := range map[string]float64{"0.25": 0.25, "0": 0, "-1": -1, "NaN": -1, "": -1} {
		nodes, err := parseTemplates("t.yaml", []byte("apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations: {"+
			annotationGroup+": a, "+provider.PriceAnnotation+": \""+text+"\"}\n"+
			"status:\n  allocatable: {cpu: \"4\", memory: 16Gi, pods: \"110\"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		groups, _, err := buildGroups(source{name: "t.yaml", nodes: nodes})
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), "is no price") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err != nil || len(groups) != 1 || groups[0].price == nil || *groups[0].price != want {
			t.Errorf("%q: %v, %v", text, groups, err)
		}
	}
}
