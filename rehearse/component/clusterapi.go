package component

import (
	"log/slog"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
)

// runClusterAPI runs the real Cluster API controllers, with machines that are kwok
// nodes.
func runClusterAPI(args []string) int {
	if err := serveClusterAPI(args); err != nil {
		slog.Error(ClusterAPI+" ends", "error", err)
		return 1
	}
	return 0
}

func serveClusterAPI(args []string) error {
	settings, err := clusterapi.Flags(args)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	return clusterapi.Run(ctx, settings)
}
