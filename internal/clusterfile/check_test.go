package clusterfile_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
)

// dumpHead begins a dump.
const dumpHead = "apiVersion: plimsoll.dev/v1alpha1\nkind: Dump\ntime: \"2026-01-01T00:00:00Z\"\n"

// TestWhatNoClusterIs: what cannot be meant is refused before anything is computed. Each error names the field.
func TestWhatNoClusterIs(t *testing.T) {
	machines := func(list string) string {
		return dumpHead + "inventory: {asOf: \"2026-01-01T00:00:00Z\", groups: [{id: a, max: 3, instances: [" + list +
			"]}]}\n"
	}
	budget := func(spec string) string {
		return "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: " + spec + "\n"
	}
	const at = "stdin:1: Dump: inventory.groups[0].instances"
	for text, want := range map[string]string{
		machines("{id: i, state: Foo}"): at + `[0].state: "Foo" is none of [Creating Running Deleting] (group a)`,
		machines("{id: i}"):             at + `[0].state: "" is none of`,
		machines("{state: Running}"):    at + "[0].id: missing",
		machines("{id: i, state: Running}, {id: i, state: Running}"): at +
			`[1].id: "i" is there twice, as inventory.groups[0].instances[0]`,
		machines("{id: i, state: Running, providerID: p}, {id: j, state: Running, providerID: p}"): at +
			`[1].providerID: "p" is that of inventory.groups[0].instances[0], too`,
		dumpHead + "inventory: {groups: []}\n":             "stdin:1: Dump: inventory.asOf: missing",
		dumpHead + "memory: x\n":                           "stdin:1: Dump: memory: want a map of fields, not a text",
		dumpHead + "memory: {version: {}}\n":               "stdin:1: Dump: memory.version: want a whole number, not a map",
		dumpHead + "inventory: {asOf: null, groups: []}\n": "stdin:1: Dump: inventory.asOf: missing",
		dumpHead + "inventory: {asOf: \"2026-01-01T00:00:01Z\"}\n": "Dump: inventory.asOf: 2026-01-01T00:00:01Z is after " +
			"the time of the dump, 2026-01-01T00:00:00Z",
		nodeYAML + "spec: {}\nspec: {}\n":                       `stdin:6: yaml: key "spec" already set in map`,
		budget("{minAvailable: 1, maxUnavailable: 1}"):          "PodDisruptionBudget b: spec: it has minAvailable and",
		budget("{minAvailable: -1}"):                            "spec.minAvailable: -1 is below 0",
		budget("{maxUnavailable: 150%}"):                        `spec.maxUnavailable: "150%" is neither a number nor a share`,
		budget("{minAvailable: half}"):                          `spec.minAvailable: "half" is neither a number nor a share`,
		strings.ReplaceAll(nodeJSON, `"n1"`, `"n1","labels":7`): "stdin:1: Node n1: metadata.labels: want a map of fields, not a number",
	} {
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %q: error %v, want one with %q", text, err, want)
		}
	}
	for _, spec := range []string{"{}", "{minAvailable: 0}", "{maxUnavailable: 100%}", "{minAvailable: 50%}"} {
		if _, err := read(t, budget(spec)); err != nil {
			t.Error(err)
		}
	}
}

// TestADumpThatIsCutOff: it is refused wherever it was cut, also between two documents. What was taken out or added by
// hand is not, and neither is a dump that says no numbers.
func TestADumpThatIsCutOff(t *testing.T) {
	salt := [32]byte{1}
	all := mustRead(t, dumpHead+"---\n"+nodeYAML+"---\n"+podYAML+"---\n"+strings.ReplaceAll(podYAML, "p1", "p2"))
	secret, err := all.Anonymize(salt, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*clusterfile.Cluster{all, secret} {
		var out bytes.Buffer
		if err := clusterfile.Write(&out, c, clusterfile.YAML); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if mustRead(t, strings.TrimSuffix(text, "\n")); !strings.Contains(text, "objects:\n  Node: 1\n  Pod: 2\n") {
			t.Errorf("a dump that does not say what it has:\n%s", text)
		}
		lines := strings.SplitAfter(text, "\n")
		for n := range lines[1 : len(lines)-2] {
			if _, err := read(t, strings.Join(lines[:n+1], "")); err == nil {
				t.Errorf("%d of %d lines are read as all:\n%s", n+1, len(lines), strings.Join(lines[:n+1], ""))
			}
		}
		docs := strings.SplitAfter(text, "---\n") // nothing, the dump, a node, two pods, the end
		for want, cut := range map[string]string{
			"stdin: the file ends early: 2 Pods were written, 1 is here":  strings.Join(docs[:4], ""),
			"stdin: the file ends early: 2 Pods were written, 0 are here": strings.Join(docs[:3], ""),
			"stdin: the file ends early: 1 Node was written, 0 are here":  docs[1] + docs[3] + docs[4] + docs[5],
			"stdin: the file ends early: its last document, DumpEnd, is ": strings.Join(docs[:5], ""),
		} {
			_, err := read(t, cut)
			if early := (*clusterfile.CutOff)(nil); !errors.As(err, &early) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
		fewer := strings.Replace(text, "objects:\n  Node: 1\n  Pod: 2\n", "", 1)
		mustRead(t, strings.Join(strings.SplitAfter(fewer, "---\n")[:3], ""))
		mustRead(t, strings.Replace(strings.Join(docs[:4], "")+docs[5], "  Pod: 2\n", "  Pod: 1\n", 1))
		mustRead(t, text+"---\n"+strings.ReplaceAll(podYAML, "p1", "p3"))
		mustRead(t, strings.Replace(text, "status: {}", "status: {phase: Succeeded}", 1))
	}
}

// TestWhatTheAPIServerRefuses: each error names the field. What it accepts is a note.
func TestWhatTheAPIServerRefuses(t *testing.T) {
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}], " + spec + "}\n"
	}
	spread := func(fields string) string { return pod("topologySpreadConstraints: [{" + fields + "}]") }
	affinity := func(fields string) string { return pod("affinity: {" + fields + "}") }
	const required = "requiredDuringSchedulingIgnoredDuringExecution"
	for text, want := range map[string]string{
		nodeYAML + "spec: {taints: [{key: a, effect: NoScheduel}]}\n": `stdin:1: Node n1: spec.taints[0].effect: "NoScheduel" ` +
			"is none of NoSchedule, PreferNoSchedule and NoExecute",
		nodeYAML + "spec: {taints: [{key: a}]}\n": `spec.taints[0].effect: "" is none of`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{ports: [{hostPort: 99999}]}]}\n": "stdin:1: " +
			"Pod p: spec.containers[0].ports[0].hostPort: 99999 is no port",
		spread("maxSkew: 0, topologyKey: a"):                           "spec.topologySpreadConstraints[0].maxSkew: 0 is below 1",
		spread("maxSkew: 1, whenUnsatisfiable: DoNotSchedule"):         "spec.topologySpreadConstraints[0].topologyKey: missing",
		spread("maxSkew: 1, topologyKey: a, whenUnsatisfiable: Never"): `whenUnsatisfiable: "Never" is none of DoNotSchedule and`,
		affinity("nodeAffinity: {" + required +
			": {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Is}]}]}}"): "spec." +
			"affinity.nodeAffinity." + required + `.nodeSelectorTerms[0].matchExpressions[0].operator: "Is" is none of In,`,
		affinity("podAntiAffinity: {" + required + ": [{labelSelector: {}}]}"): "spec.affinity.podAntiAffinity." + required +
			"[0].topologyKey: missing",
		affinity("podAffinity: {" + required +
			": [{topologyKey: a, labelSelector: {matchExpressions: [{key: a, operator: Gt}]}}]}"): `[0].labelSelector.matchExpressions[0].operator: "Gt" is none of In, NotIn, Exists and DoesNotExist`,
		pod("tolerations: [{operator: Has}]"):                    `spec.tolerations[0].operator: "Has" is none of Equal, Exists`,
		strings.Replace(nodeYAML, "v1", "v2", 1):                 "stdin:1: Node n1: apiVersion: there is no v2; did you mean v1?",
		strings.Replace(nodeYAML, "Node", "node", 1):             "stdin:1: node n1: there is no such kind in v1; did you mean Node?",
		strings.Replace(dumpHead, "2026-01-01", "9999-01-01", 1): "Dump: time: 9999-01-01T00:00:00Z: no cluster has such a time",
	} {
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %q: error %v, want one with %q", text, err, want)
		}
	}
	odd := nodeYAML + "spec: {providerID: i}\nstatus: {conditions: [{lastHeartbeatTime: \"9999-01-01T00:00:00Z\"}]}\n---\n"
	c := mustRead(t, odd+strings.Replace(odd, "n1", "n2", 1)+podYAML+"status: {phase: Foo}\n")
	notes := strings.Join(c.Notes(), "\n")
	for _, want := range []string{
		"the nodes n1 and n2 have one spec.providerID, i: they count as one machine",
		"node n1: status.conditions[0].lastHeartbeatTime: 9999-01-01T00:00:00Z is left out: no cluster has such a time",
		`pod shop/p1: status.phase: "Foo" is none of Pending, Running, Succeeded, Failed and Unknown: it counts as one that`,
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	if !c.Time.IsZero() {
		t.Errorf("the cluster's time is %s", c.Time)
	}
}

// TestGivenTwice: each error names the files.
func TestGivenTwice(t *testing.T) {
	dir := put(t, map[string]string{"a.yaml": nodeYAML, "b.yaml": dumpHead, "c.yaml": dumpHead,
		"d.yaml": "groups: []\n", "e.yaml": "groups: []\n"})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{in("a.yaml"), in("a.yaml")}, in("a.yaml") + " is given twice"},
		{[]string{in("a.yaml"), dir + "/../" + filepath.Base(dir) + "/a.yaml"}, "a.yaml is given twice"},
		{[]string{dir, dir}, dir + " is given twice"},
		{[]string{"-", in("a.yaml"), "-"}, "standard input is given twice"},
		{[]string{in("b.yaml"), in("c.yaml")}, "both " + in("b.yaml") + " and " + in("c.yaml") + " have a dump"},
		{[]string{in("d.yaml"), in("e.yaml")}, "both " + in("d.yaml") + " and " + in("e.yaml") + " have node groups"},
	} {
		_, err := clusterfile.Read(t.Context(), c.paths, strings.NewReader(""))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("read %v: error %v, want one with %q", c.paths, err, c.want)
		}
	}
}

// TestNumbersThatNoClusterHas: each names the field.
func TestNumbersThatNoClusterHas(t *testing.T) {
	dump := func(inventory string) string {
		return dumpHead + "inventory: " + inventory + "\n"
	}
	group := func(fields string) string {
		return dump("{asOf: \"2026-01-01T00:00:00Z\", groups: [{id: a, min: 0, max: 3}, {id: b, " + fields + "}]}")
	}
	node := func(fields string) string {
		return "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n" + fields + "\n"
	}
	for text, want := range map[string]string{
		group("min: -1"):                      "Dump: inventory.groups[1].min: -1 is not between 0 and 100000 (group b)",
		group("min: 2, max: 1"):               "inventory.groups[1].max: 1 is below min, 2",
		group("target: -5"):                   "inventory.groups[1].target: -5 is not between 0 and 100000",
		group("target: 2000000000"):           "inventory.groups[1].target: 2000000000 is not between",
		group("pricePerHour: -1"):             "inventory.groups[1].pricePerHour: -1 is not a price",
		group("pricePerHour: .nan"):           "stdin:4: pricePerHour: .nan: no number",
		group("pricePerHour: 1e999"):          "inventory.groups[1].pricePerHour: want a number, not a text",
		group("prices: [{perHour: -2}]"):      "inventory.groups[1].prices[0].perHour: -2 is not a price",
		group("size: 3"):                      "Dump: inventory.groups[1].size: there is no such field",
		group("min: many"):                    "Dump: inventory.groups[1].min: want a whole number, not a text",
		group("id: a"):                        `yaml: key "id" already set in map`,
		group("min: 1.5"):                     "inventory.groups[1].min: want a whole number, not 1.5",
		group("target: 1}, {id: b"):           `inventory.groups[2].id: "b" is there twice`,
		group("target: 1}, {target: 2"):       "inventory.groups[2].id: missing",
		dump("{pools: [{id: p, min: -2}]}"):   "inventory.pools[0].min: -2 is not between",
		dump("{}") + "colour: red\n":          "Dump: colour: there is no such field",
		"groups: [{id: a, target: -1}]\n":     "node groups: groups[0].target: -1 is not between",
		"groups: [{id: a, mx: 1}]\n":          "node groups: groups[0].mx: there is no such field",
		node("status: {capacity: {cpu: 4x}}"): "stdin:1: Node n1: status.capacity[cpu]: \"4x\" is no quantity",
		node("status: {capacity: {cpu: -4}}"): "Node n1: status.capacity[cpu]: -4 is below 0",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}, {resources: {requests: {memory: lots}}}]}\n": "Pod p: spec.containers[1].resources.requests[memory]: \"lots\" is no quantity",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, resources: {requests: {cpu: -1}}}]}\n":        "Pod p: spec.containers[0].resources.requests[cpu]: -1 is below 0",
		"apiVersion: plimsoll.dev/v2\nkind: Dump\ntime: \"2026-01-01T00:00:00Z\"\n":                                                  `stdin:1: Dump: apiVersion: "plimsoll.dev/v2" is not known; want plimsoll.dev/v1alpha1`,
		"apiVersion: plimsoll.dev/v1alpha1\nkind: Dump\ntime: yesterday\n":                                                           `Dump: time: "yesterday" is no time`,
	} {
		_, err := read(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "stdin:") {
			t.Errorf("read %q: error %v, want one with %q", text, err, want)
		}
	}
}
