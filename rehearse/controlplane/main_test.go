package controlplane_test

import (
	"context"
	"testing"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

// shared is the one control plane of all tests of this package but those that
// need another configuration. It revives what is killed.
var shared *controlplane.ControlPlane

func TestMain(m *testing.M) {
	planetest.Plane{
		Config: controlplane.Config{KeepGoing: true},
		Prepare: func(_ context.Context, plane *controlplane.ControlPlane) error {
			shared = plane
			return nil
		},
	}.Main(m)
}
