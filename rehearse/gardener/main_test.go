package gardener_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

const startTimeout = 3 * time.Minute

// The one control plane of all tests, and its administrator's client.
var (
	shared *controlplane.ControlPlane
	admin  client.Client
)

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	shared, err = controlplane.Start(ctx, controlplane.Config{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the shared control plane:", err)
		return 1
	}
	defer func() {
		if code != 0 {
			if log, err := os.ReadFile(shared.LogFile(gardener.Name)); err == nil {
				fmt.Fprintf(os.Stderr, "the end of the stand-in's log:\n%s\n", log[max(0, len(log)-16<<10):])
			}
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the shared control plane:", err)
			code = 1
		}
	}()
	if admin, err = client.New(shared.AdminConfig(), client.Options{Scheme: gardener.Scheme()}); err != nil {
		fmt.Fprintln(os.Stderr, "make the administrator's client:", err)
		return 1
	}
	// Of the world only the stand-in is wanted: each test makes pools of its own.
	w, err := world.Gardener(shared, pools.Shoot{})
	if err == nil {
		err = w.Enter(ctx, shared)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "enter the world:", err)
		return 1
	}
	// The tests wait most of the time: for each other they need not.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
