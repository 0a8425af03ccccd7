package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

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
