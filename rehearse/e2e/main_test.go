package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// shippedBinary is where `make build` leaves Plimsoll, seen from this package.
const shippedBinary = "../../bin/plimsoll"

// binary is the absolute path of the shipped Plimsoll.
var binary string

// shared is the control plane of all tests that kill no component of it. The
// first of them starts it.
var shared *rig

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if binary, err = findBinary(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctrllog.SetLogger(logr.Discard()) // of the clients here; each component has a log of its own
	code := m.Run()
	if shared != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the shared control plane:", err)
			return 1
		}
	}
	return code
}

func findBinary() (string, error) {
	path, err := filepath.Abs(shippedBinary)
	if err != nil {
		return "", fmt.Errorf("find the shipped binary: %w", err)
	}
	path, err = autoscaler.Find(path)
	if errors.Is(err, autoscaler.ErrNoBinary) {
		return "", fmt.Errorf("the end-to-end scripts run the shipped binary: run `make build` first (%w)", err)
	}
	return path, err
}

func sharedRig(t *testing.T) *rig {
	t.Helper()
	if shared == nil {
		shared = startRig(t, reviving, kwokWorld)
	}
	return shared
}
