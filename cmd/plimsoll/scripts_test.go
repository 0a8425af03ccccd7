package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs command lines in docs/examples, and shows what they print and the exit
// code. API is a server that has ConfigMaps. `go test ./cmd/plimsoll -run Scripts -rewrite` writes what they print now.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "scripts", "*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts %v, %v", scripts, err)
	}
	files, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range scripts {
		if scripts[i], err = filepath.Abs(scripts[i]); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(files)
	t.Setenv("KUBECONFIG", filepath.Join(files, "no-kubeconfig"))
	t.Setenv("HOME", t.TempDir())
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			api := servingConfigMaps(t, statusOfGroups("web", "batch-a", "batch-b"))
			datadriven.RunTest(t, script, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "plimsoll" {
					d.Fatalf(t, "there is no command %q", d.Cmd)
				}
				var out bytes.Buffer
				code := 0
				for line := range strings.Lines(strings.ReplaceAll(d.Input, "=API", "="+api)) {
					cmd := root()
					cmd.SetOut(&out)
					cmd.SetErr(&out)
					cmd.SetArgs(arguments(append([]string{"plimsoll"}, strings.Fields(line)...)))
					code = exitCode(cmd.ExecuteContext(t.Context()), &out)
					fmt.Fprintf(&out, "exit %d\n", code)
				}
				return strings.NewReplacer(files, "FILES", api, "API").Replace(out.String())
			})
		})
	}
}

// TestTheFirstThingToTry: README.md shows what it prints.
func TestTheFirstThingToTry(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", ".."))
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"plan", "-f", "docs/examples/shop"})
	if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, errChanges) {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "$ bin/plimsoll plan -f docs/examples/shop\n"+out.String()+"```") {
		t.Errorf("README.md shows another plan than this:\n%s", out.String())
	}
	if lines := strings.Count(string(text), "\n"); lines > 220 {
		t.Errorf("README.md has %d lines; at most 220 are read: move some to docs", lines)
	}
}

// rewriting reports whether -rewrite was given, which datadriven defines.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }
