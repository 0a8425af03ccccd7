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
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

const startTimeout = 5 * time.Minute

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	ctrllog.SetLogger(logr.Discard()) // each controller has a log of its own
	code := m.Run()
	if err := errors.Join(bare.stop(), old.stop(), real.stop()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the control planes:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// toStderr is for what happens to the control planes between tests.
var toStderr = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
