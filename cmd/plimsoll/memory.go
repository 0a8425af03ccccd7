package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// memoryShare of the container's limit is where garbage is collected harder. The rest is for what Go does not
	// count: the binary's own pages, and what the kernel keeps for the process.
	memoryShare = 7. / 8
	// memoryRead is how often the limit is read: that of a running pod can be changed.
	memoryRead = time.Minute
)

// heedMemoryLimit tells Go's garbage collector of the memory limit of the container, until ctx ends. A GOMEMLIMIT in
// the environment counts instead. Where no limit can be read, the collector works as without one: that costs memory and
// is no reason to stop.
func heedMemoryLimit(ctx context.Context, limit memlimit.Provider, log *slog.Logger) {
	_, err := memlimit.Set(memlimit.WithProvider(limit), memlimit.WithRatio(memoryShare),
		memlimit.WithRefreshInterval(ctx, memoryRead))
	if err != nil && !errors.Is(err, memlimit.ErrCgroupsNotSupported) && !errors.Is(err, memlimit.ErrNoCgroup) {
		log.Warn("the memory limit of this process is not known: garbage is collected without regard to it; "+
			"set GOMEMLIMIT to seven eighths of it", "error", err)
	}
}
