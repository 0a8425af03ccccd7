package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// TestNoTextMakesALine: a name with an end of a line in it does not write lines of its own, which would look like the
// program's.
func TestNoTextMakesALine(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"cluster.yaml": `
groups: [{id: "g\nFORGED", min: 0, max: 3, target: 1, holds: [{op: Increase, reason: "r\nFORGED", message: "m\nFORGED"}],
  template: {node: {metadata: {name: "t\nFORGED", labels: {a: "\nFORGED"}},
    status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}}}}]
---
{apiVersion: v1, kind: Node, metadata: {name: "n\nFORGED", labels: {a: "\nFORGED"}}, spec: {unschedulable: true}}
---
{apiVersion: v1, kind: "Odd\nFORGED", metadata: {name: o}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "p\nFORGED", namespace: "d\nFORGED"}, spec: {containers: [{name: c}],
  nodeSelector: {"x\nFORGED": "\nFORGED"}},
  status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "\nFORGED"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "alone\nFORGED", namespace: d}, spec: {nodeName: "n\nFORGED", containers: [{name: c}]}}
`,
		"broken.yaml": "{apiVersion: v1, kind: Node, metadata: {name: \"x\\nFORGED\"}, spec: []}\n",
		"config.yaml": `{apiVersion: plimsoll.dev/v1alpha1, kind: Configuration, cloud: {provider: kwok},
  policies: [{name: "a\nFORGED", groups: ["g\nFORGED"], size: {max: 1}}], budgets: [{name: "b\nFORGED", nodes: "1",
    windows: [{schedule: 0 22 * * *, timeZone: UTC, duration: 8h}]}, {name: "b\nFORGED", nodes: "1"}]}`,
		"wrong.yaml":  `{apiVersion: plimsoll.dev/v1alpha1, kind: Configuration, "x\nFORGED": 1, cloud: {provider: "k\nFORGED"}}`,
		"other.yaml":  `{apiVersion: plimsoll.dev/v1alpha1, kind: Configuration, cloud: {provider: kwok}}`,
		"prices.yaml": `"p\nFORGED": -1`,
		"pool.yaml": `
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}, spec: {limits: {"l\nFORGED": "1"}, template: {metadata:
  {labels: {a: "v\nFORGED"}}, spec: {terminationGracePeriod: "1h\nFORGED", nodeClassRef: {kind: "K\nFORGED", name: "n\nFORGED"},
  requirements: [{key: "k\nFORGED", operator: In, values: ["w\nFORGED"], minValues: 2}]}}}}
---
{apiVersion: v1, kind: "Other\nFORGED", metadata: {name: x}}
`,
		"badpool.yaml": `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: "p\nFORGED"}, spec: {disruption:
  {consolidateAfter: "x\nFORGED"}}}`,
		"shoot.yaml": `{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: s, namespace: garden-x}, spec: {provider:
  {type: "t\nFORGED", workers: [{name: "w\nFORGED", minimum: 3, maximum: 1, machine: {type: "m\nFORGED"}}]}}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range [][]string{
		{"plan", "-f", "cluster.yaml", "-o", "wide", "--config=config.yaml"},
		{"plan", "-f", "cluster.yaml", "--until=rest"},
		{"plan", "-f", "cluster.yaml", "--remove-node", "n\nFORGED"},
		{"plan", "-f", "cluster.yaml", "--remove-node", "no\nFORGED"},
		{"plan", "-f", "cluster.yaml", "--set", "group=no\nFORGED,max=1"},
		{"plan", "-f", "broken.yaml"},
		{"plan", "-f", "cluster.yaml", "--price-file=prices.yaml"},
		{"explain", "pod", "d\nFORGED/p\nFORGED", "-f", "cluster.yaml"},
		{"explain", "node", "n\nFORGED", "-f", "cluster.yaml"},
		{"explain", "group", "g\nFORGED", "-f", "cluster.yaml", "--config=config.yaml"},
		{"explain", "group", "no\nFORGED", "-f", "cluster.yaml"},
		{"budgets", "-f", "cluster.yaml", "--config=config.yaml"},
		{"config", "print", "--config=config.yaml"},
		{"config", "diff", "config.yaml", "other.yaml"},
		{"config", "validate", "wrong.yaml", "config.yaml"},
		{"config", "from-flags", "--config=config.yaml", "--cloud-provider=x\nFORGED"},
		{"migrate", "-f", "pool.yaml"}, {"migrate", "-f", "badpool.yaml"}, {"migrate", "-f", "no\nFORGED"},
		{"gardener", "validate", "-f", "shoot.yaml"},
		{"dump", "-f", "cluster.yaml", "-o", "out.yaml"},
		{"pl\nFORGED"}, {"plan", "--x\nFORGED"}, {"plan", "x\nFORGED"},
	} {
		var out, told bytes.Buffer
		execute(t.Context(), append([]string{"plimsoll"}, line...), &out, &told)
		if text := told.String() + out.String(); strings.Contains(text, "\nFORGED") {
			t.Errorf("%q prints\n%s", line, text)
		} else if !strings.Contains(text, "FORGED") {
			t.Errorf("%q says nothing of what it was given:\n%s", line, text)
		}
	}
}

// TestHostileTexts: what a cluster or a file says never reaches the terminal as what moves its cursor or turns
// text around.
func TestHostileTexts(t *testing.T) {
	folder := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("cluster.yaml", `
groups: [{id: "g\e[2J", min: 0, max: 3, target: 1, holds: [{op: Increase, reason: "r\e[1m", message: "m\u202e\r"}]}]
---
{apiVersion: v1, kind: Node, metadata: {name: "n\e[2J", labels: {a: "\e[2J"}}, spec: {unschedulable: true}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "p\e[2J", namespace: "d\e[2J", labels: {a: "\u009b"}}, spec: {containers: [{name: c}],
  nodeSelector: {"x\e[2J": "\u202e"}},
  status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "\e[2J"}]}}
`)
	put("broken.yaml", "{apiVersion: v1, kind: Node, metadata: {name: \"x\\e[2J\"}, spec: []}\n")
	put("config.yaml", `{apiVersion: plimsoll.dev/v1alpha1, kind: Configuration, cloud: {provider: kwok},
  policies: [{name: "a\e[2J", groups: ["g\u202e"]}], budgets: [{name: "b\e[2J\u009b", nodes: "1"}]}`)
	put("wrong.yaml", `{apiVersion: plimsoll.dev/v1alpha1, kind: Configuration, "x\e[2J": 1}`)
	put("other.yaml", `{apiVersion: plimsoll.dev/v1alpha1, kind: Configuration, cloud: {provider: kwok}}`)
	t.Chdir(folder)
	for line, wants := range map[string]string{
		"plan -f cluster.yaml -o wide":                  `p \u001b[2J|p [2J`,
		"plan -f cluster.yaml --until=rest":             `[2J`,
		"plan -f cluster.yaml -o yaml":                  `[2J`,
		"plan -f broken.yaml":                           `x\u001b[2J`,
		"explain pod d\x1b[2J/p\x1b[2J -f cluster.yaml": `[2J`,
		"explain node n\x1b[2J -f cluster.yaml":         `[2J`,
		"explain group g\x1b[2J -f cluster.yaml":        `[2J`,
		"explain group no\x1b[2J -f cluster.yaml":       `no\u001b[2J`,
		"budgets -f cluster.yaml --config=config.yaml":  `b [2J`,
		"config print --config=config.yaml":             `a [2J`,
		"config diff config.yaml other.yaml":            `a [2J`,
		"config validate wrong.yaml":                    `x\u001b[2J`,
		"pl\x1b[2Jan":                                   `pl\x1b[2Jan`,
	} {
		var out, told bytes.Buffer
		execute(t.Context(), append([]string{"plimsoll"}, strings.Fields(line)...), &out, &told)
		text := out.String() + told.String()
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q prints %q", line, text[max(0, i-40):min(len(text), i+20)])
		}
		found := false
		for want := range strings.SplitSeq(wants, "|") {
			found = found || strings.Contains(text, want)
		}
		if !found {
			t.Errorf("%q prints nothing of %q:\n%s", line, wants, text)
		}
	}
}
