package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// beMain makes this test's own binary the product.
const beMain = "PLIMSOLL_TEST_IS_THE_PRODUCT"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestNamesAndFlagsAlone: called cluster-autoscaler, or with flags alone, it runs;
// otherwise it does what it is told.
func TestNamesAndFlagsAlone(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"plimsoll", "cluster-autoscaler"} {
		if err := os.Symlink(binary, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	const missing = "--cloud-provider: name one of the providers"
	kwok := []string{"--cloud-provider=kwok", "--kubeconfig=/does/not/exist"}
	for _, c := range []struct {
		called string
		args   []string
		says   []string
		ok     bool
	}{
		{called: "cluster-autoscaler", args: append([]string{"--v=4", "--stderrthreshold=info"}, kwok...), says: []string{"--stderrthreshold has no effect", "/does/not/exist"}},
		{called: "cluster-autoscaler", says: []string{missing}},
		{called: "cluster-autoscaler", args: []string{"-v", "4"}, says: []string{missing}},
		{called: "cluster-autoscaler", args: append([]string{"run"}, kwok...), says: []string{"/does/not/exist"}},
		{called: "cluster-autoscaler", args: []string{"--help"}, says: []string{"--scale-down-unneeded-time"}, ok: true},
		{called: "cluster-autoscaler", args: []string{"status", "--kubeconfig=/does/not/exist"}, says: []string{"/does/not/exist"}},
		{called: "plimsoll", args: kwok, says: []string{"/does/not/exist"}},
		{called: "plimsoll", args: []string{"-v=4"}, says: []string{missing}},
		{called: "plimsoll", args: []string{"--cloud-provider=gce"}, says: []string{`there is no provider "gce"`}},
		{called: "plimsoll", args: []string{"--help-all"}, says: []string{"--cordon-node-before-terminating"}, ok: true},
		{called: "plimsoll", args: []string{"--help"}, says: []string{"Available Commands"}, ok: true},
		{called: "plimsoll", says: []string{"Available Commands"}, ok: true},
		{called: "plimsoll", args: []string{"--version"}, says: []string{"version"}, ok: true},
		{called: "plimsoll", args: []string{"-v"}, says: []string{"version"}, ok: true},
		{called: "plimsoll", args: []string{"fly"}, says: []string{`unknown command "fly"`}},
	} {
		cmd := exec.Command(filepath.Join(folder, c.called), c.args...)
		cmd.Env = append(os.Environ(), beMain+"=1")
		out, err := cmd.CombinedOutput()
		if (err == nil) != c.ok {
			t.Errorf("%s %v: %v", c.called, c.args, err)
		}
		for _, say := range c.says {
			if !strings.Contains(string(out), say) {
				t.Errorf("%s %v does not say %q:\n%s", c.called, c.args, say, out)
			}
		}
	}
}

// TestTheHelpOfGroups has what groups reads, and no flag that says how to buy or remove.
func TestTheHelpOfGroups(t *testing.T) {
	for _, flag := range []string{"--help", "--help-all"} {
		cmd := root()
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetArgs([]string{"groups", flag})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{
			"Usage:":                     true,
			"-o, --output":               true,
			"--aws-max-pods":             true,
			"--kubeconfig":               true,
			"--scale-down-unneeded-time": false,
		} {
			if strings.Contains(out.String(), text) != want {
				t.Errorf("groups %s: has %s: %v", flag, text, !want)
			}
		}
	}
}

// TestAMistypedCommandIsAnError, below a command as well as at the top.
func TestAMistypedCommandIsAnError(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"nonsense", `unknown command "nonsense"; plimsoll --help lists the commands`},
		{"grops", `unknown command "grops": did you mean groups?`},
		{"run --nodse=1:2:a", "unknown flag: --nodse: did you mean --nodes? plimsoll run --help-all lists the flags"},
		{"status --nonsense", "unknown flag: --nonsense; plimsoll status --help lists the flags"},
		{"run --scan-interval=10", "write 10s for seconds, or 10m for minutes"},
		{"run --scan-interval=1h30", "write 1h30s for seconds, or 1h30m for minutes"},
		{"run --scale-down-unneeded-time=1d", "write 24h"},
		{"run --scale-down-unneeded-time=1.5d", "write 36h"},
		{"run --scale-down-unneeded-time=1w", "there are no days or weeks, write 168h"},
		{"run --scan-interval=1d12h", "write a duration such as 90s, 10m or 1h30m"},
		{"run --scale-down-enabled false", `"false" is not read: write --scale-down-enabled=false`},
		{"groups --emit-per-nodegroup-metrics --leader-elect False",
			`"False" is not read: write --emit-per-nodegroup-metrics=false or --leader-elect=false`},
		{"run --max-nodes-total=x", `flag: write a whole number such as 10`},
		{"run --kube-client-burst=99999999999999999999", "flag: it is too large: write a smaller number"},
		{"run --scale-down-utilization-threshold=half", "write a number such as 0.5"},
		{"run --scale-down-enabled=maybe", "write true or false"},
		{"explain pdo x -f docs", `unknown command "pdo": did you mean pod?`},
		{"gardener rendr --shoot=x", `unknown command "rendr": did you mean render?`},
		{"status all", `"all" is not read: plimsoll status --help lists what it takes`},
		{"version -o json 1", `"1" is not read`},
		{"controller eks-anywhere --leader-elect false", `"false" is not read: write --leader-elect=false`},
		{"status -n ../x", `--namespace: "../x" is not a name that the API server accepts`},
		{"status --namespace= --kubeconfig=/dev/null", "--namespace: it must not be empty"},
		{"status --status-config-map-name=", "--status-config-map-name: it must not be empty"},
		{"status --kubeconfig=/dev/null", "--kubeconfig=/dev/null: it names no cluster"},
		{"help frob", `unknown command "frob"; plimsoll --help lists the commands`},
		{"help gardener rendr", `unknown command "rendr": did you mean render? plimsoll gardener --help lists the commands`},
		{"migrate deployment.yaml", "plimsoll migrate -f deployment.yaml"},
		{"controller nonsense", `there is no command "nonsense"; choose eks-anywhere or gardener`},
		{"controller", "controller: name a command: eks-anywhere or gardener"},
		{"gardener rendr", `there is no command "rendr"; choose render or validate`},
	} {
		cmd := root()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(strings.Fields(c.line))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("plimsoll %s: %v", c.line, err)
		}
	}
}

// TestEveryCommandHasExamples: three of its own, and each is a command line that can be parsed.
func TestEveryCommandHasExamples(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		lines := strings.Split(strings.TrimSpace(cmd.Example), "\n")
		if n := strings.Count(cmd.Example, cmd.Root().Name()+" "); n < 3 && cmd.Name() != "help" {
			t.Errorf("%s: examples of its own: %d, want 3", cmd.CommandPath(), n)
		}
		for _, line := range lines {
			at := strings.LastIndex(line, "plimsoll ")
			if at < 0 {
				continue // it has none
			}
			line = line[at+len("plimsoll "):]
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " #")
			found, args, err := root().Find(strings.Fields(line))
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %q: %v", cmd.CommandPath(), line, err)
			}
		}
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look(root())
}

// TestWhatIsOnlyForTheEnd: an error beside that of the end is told.
func TestWhatIsOnlyForTheEnd(t *testing.T) {
	canceled := fmt.Errorf("read the cluster: %w", context.Canceled)
	failed := errors.New("the disk is full")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{context.Canceled, true}, {canceled, true}, {errors.Join(canceled, context.Canceled), true},
		{failed, false}, {errors.Join(canceled, failed), false}, {fmt.Errorf("write: %w: %w", failed, canceled), false},
		{context.DeadlineExceeded, false},
	} {
		if got := forTheEnd(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}
