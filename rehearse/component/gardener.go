package component

import (
	"log/slog"

	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
)

// runMachineControllerManager runs the stand-in for Gardener's
// machine-controller-manager, with machines that are kwok nodes.
func runMachineControllerManager(args []string) int {
	if err := serveMachineControllerManager(args); err != nil {
		slog.Error(MachineControllerManager+" ends", "error", err)
		return 1
	}
	return 0
}

func serveMachineControllerManager(args []string) error {
	settings, err := gardener.Flags(args)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	return gardener.Run(ctx, settings)
}
