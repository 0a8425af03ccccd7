package controlplane_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// shared is the one control plane of all tests of this package but those that
// need another configuration. It revives what is killed.
var shared *controlplane.ControlPlane

const startTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	shared, err = controlplane.Start(ctx, controlplane.Config{
		KeepGoing: true,
		Log:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the shared control plane:", err)
		return 1
	}
	defer func() {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the shared control plane:", err)
			code = 1
		}
	}()
	return m.Run()
}
