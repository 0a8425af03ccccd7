package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/google/go-cmp/cmp"
)

// cmdPlanned waits until `plimsoll plan -f` of what `plimsoll dump` writes is what `plimsoll plan` says of the live
// cluster, and until it buys and leaves pending what the script says. Between the two reads of the cluster a
// kubelet may have said something.
func (w *world) cmdPlanned(c *call) error {
	file := filepath.Join(w.dir, "dump.yaml")
	return poll(c.ctx, func() (bool, string) {
		live, err := w.planJSON(c.ctx, c.args[2:]...)
		if err != nil {
			return false, err.Error()
		}
		flags := append([]string{"dump", "-o", file}, c.args[2:]...)
		if out, err := w.tool(c.ctx, true, flags...).CombinedOutput(); err != nil {
			return false, fmt.Sprintf("plimsoll dump: %v:\n%s", err, out)
		}
		again, err := w.planJSON(c.ctx, "-f", file)
		if err != nil {
			return false, err.Error()
		}
		if diff := cmp.Diff(live, again); diff != "" {
			return false, "plan of the dump (-live +dump):\n" + diff
		}
		after, _ := live["after"].(map[string]any)
		got := fmt.Sprint(after["nodes"], " nodes, ", after["pendingPods"], " pending")
		want := fmt.Sprint(c.args[0], " nodes, ", c.args[1], " pending")
		return got == want, fmt.Sprintf("the plan ends with %s, want %s", got, want)
	})
}

// planJSON is what plimsoll plan says, but for times, which go on.
func (w *world) planJSON(ctx context.Context, flags ...string) (map[string]any, error) {
	live := !slices.Contains(flags, "-f")
	out, err := w.tool(ctx, live, append([]string{"plan", "-o", "json"}, flags...)...).Output()
	// 3 says that something would change.
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 3) {
		return nil, fmt.Errorf("plimsoll plan %v: %w\n%s", flags, err, out)
	}
	var plan map[string]any
	if err := json.Unmarshal(out, &plan); err != nil {
		return nil, fmt.Errorf("plimsoll plan %v: %w", flags, err)
	}
	delete(plan, "time")
	return plan, nil
}

// tool is one of plimsoll's commands, on the script's cluster and its cloud where live.
func (w *world) tool(ctx context.Context, live bool, args ...string) *exec.Cmd {
	if live {
		args = slices.Concat(args, w.cloud.Flags, []string{"--kubeconfig=" + w.plane.PlimsollKubeconfig()})
	}
	process := exec.CommandContext(ctx, binary, args...)
	process.Env = append(os.Environ(), w.cloud.Env...)
	return process
}
