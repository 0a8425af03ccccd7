package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// TestGardener runs `plimsoll gardener` on the Shoots in testdata/gardener. A case
// is the command's name and flags, and the Shoot; what follows is standard output,
// then standard error and how the command ended. -rewrite writes them again.
func TestGardener(t *testing.T) {
	datadriven.Walk(t, "testdata/gardener", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			args := []string{"gardener", d.Cmd}
			for _, arg := range d.CmdArgs {
				if len(arg.Vals) == 0 {
					args = append(args, "--"+arg.Key)
					continue
				}
				args = append(args, "--"+arg.Key+"="+strings.Join(arg.Vals, ","))
			}
			return aboutShoot(t, d.Input, args...)
		})
	})
}

// ourWords are types as Go has them.
var ourWords = regexp.MustCompile(`\b(int(32|64)?|float64|bool|string|struct|interface|v1\w*\.\w+)\b|map\[|%!|<nil>`)

// aboutShoot runs a command beside a file shoot.yaml and returns all that it says.
func aboutShoot(t *testing.T, shoot string, args ...string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("shoot.yaml", []byte(shoot), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetIn(strings.NewReader(shoot))
	cmd.SetArgs(append(args, "--filename=shoot.yaml"))
	err := cmd.ExecuteContext(t.Context())
	if err != nil && strings.HasPrefix(args[1], "render") && out.Len() > 0 {
		t.Errorf("it failed and printed something all the same: %s", out.String())
	}
	text := out.String()
	if err != nil {
		told := errs.String() + err.Error()
		if word := ourWords.FindString(told); word != "" {
			t.Errorf("%q is a word of programmers, not of those who write Shoots: %s", word, told)
		}
	}
	if errs.Len() > 0 {
		text += "stderr:\n" + errs.String()
	}
	if err != nil {
		text += "failed: " + err.Error() + "\n"
	}
	return text
}

// TestGardenerRenderGivesFlagsThatRunTakes: what the autoscaler's Deployment starts
// is understood by this binary, and there is nothing in it that has no effect.
func TestGardenerRenderGivesFlagsThatRunTakes(t *testing.T) {
	shoot, _, err := pools.ParseShoot([]byte(`{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: s, namespace: garden-p},
spec: {kubernetes: {clusterAutoscaler: {startupTaints: [a], statusTaints: [b], ignoreTaints: [c]}},
 provider: {workers: [{name: a, minimum: 1, maximum: 3, zones: [x], machineControllerManager: {autoPreserveFailedMachineMax: 1}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := pools.Deployment(pools.FromShoot(shoot, "shoot--p--s"), shoot.Spec.Kubernetes.ClusterAutoscaler, pools.Image{})
	line := d.Spec.Template.Spec.Containers[0].Command
	cmd, args, err := root().Find(line[1:])
	if err != nil || cmd.Name() != "run" {
		t.Fatalf("%v leads to %v: %v", line, cmd.Name(), err)
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Error(err)
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := config.Bind(set, providers.All())
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	if _, warnings, err := flags.Config(); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %q, %v", warnings, err)
	}
}

// TestGardenerFlagsAreDocumented: docs/gardener-pools.md has every flag, with its
// default.
func TestGardenerFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/gardener-pools.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{{"controller", "gardener"}, {"gardener", "render"}, {"gardener", "validate"}} {
		cmd, _, err := root().Find(path)
		if err != nil {
			t.Fatal(err)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			row := ""
			for _, line := range strings.Split(string(text), "\n") {
				if strings.HasPrefix(line, "| `--"+f.Name+"`") {
					row = line
				}
			}
			switch {
			case f.Name == "help" || f.Name == "v":
			case row == "":
				t.Errorf("%v: --%s is not documented", path, f.Name)
			case f.DefValue != "" && f.DefValue != "[]" &&
				!strings.Contains(row, strings.ReplaceAll(f.DefValue, ":"+imageTag(), ":<version>")):
				t.Errorf("%v: --%s: its default %q is not in %q", path, f.Name, f.DefValue, row)
			}
		})
	}
}
