// Package eksanywhere_test proves the controller of EKS Anywhere's worker groups on
// real API servers: who owns which field, what survives, what the condition says
// and when.
//
// There are three control planes, each started by the first test that needs it. The
// bare one and the old one serve the kinds and no more, machine deployments in
// v1beta2 and v1beta1: no webhook defaults anything, and tests play Cluster API. In
// the third one Cluster API runs for real, webhooks included.
// The controller always runs with exactly the rights that docs/eks-anywhere.md
// gives it.
package eksanywhere_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

const startTimeout = 3 * time.Minute

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	if len(os.Args) > 1 && os.Args[1] == clusterAPIMarker {
		os.Exit(runClusterAPI(os.Args[2:]))
	}
	ctrllog.SetLogger(logr.Discard()) // each controller has a log of its own
	code := m.Run()
	if err := errors.Join(bare.stop(), old.stop(), real.stop()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the control planes:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// clusterAPIMarker is the first argument of this binary when it is Cluster API.
const clusterAPIMarker = "run-cluster-api"

func runClusterAPI(args []string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the parent is gone
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings, err := clusterapi.Flags(args)
	if err == nil {
		err = clusterapi.Run(ctx, settings)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// toStderr is for what happens to the control planes between tests.
var toStderr = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
