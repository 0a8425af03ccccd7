package measure

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	idleNodes = 1000

	// What was busy at the start is over after this.
	settleTime = 45 * time.Second
	// The window holds a whole heartbeat of every node: the nodes are of one age,
	// and in a shorter one there might be none.
	idleWindow = component.NodeHeartbeat
)

// IdleFigures are what nodes cost on which nothing happens.
type IdleFigures struct {
	Nodes           int
	Ready           time.Duration // from Plimsoll's start until all were ready
	Window          time.Duration
	Kwok, Plimsoll  time.Duration // processor time in the window
	KwokMem, OwnMem int64         // resident bytes at its end
	All             time.Duration // processor time of the whole control plane and Plimsoll
}

// Idle measures 1,000 nodes without a pod, which their group's minimum keeps.
func Idle(ctx context.Context, plimsoll string, log *slog.Logger) (f IdleFigures, err error) {
	f.Nodes = idleNodes
	s, err := open(ctx, log)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(s.WithLog(err), s.Close()) }()
	began := time.Now()
	group := stage.Group{Name: "idle", CPU: "8", Memory: "32Gi", Min: idleNodes, Max: idleNodes}
	if err := start(ctx, s, plimsoll, []stage.Group{group}); err != nil {
		return f, err
	}
	err = wait(ctx, s, growthLimit, "1,000 nodes are ready", func(t stage.Tally) bool {
		return t.Nodes().Ready == idleNodes
	})
	if err != nil {
		return f, err
	}
	f.Ready = time.Since(began)

	if err := pause(ctx, settleTime); err != nil {
		return f, err
	}
	before, err := componentTimes(s)
	if err != nil {
		return f, err
	}
	opened := time.Now()
	if err := pause(ctx, idleWindow); err != nil {
		return f, err
	}
	after, err := componentTimes(s)
	if err != nil {
		return f, err
	}
	f.Window = time.Since(opened)
	f.Kwok = after[component.Kwok] - before[component.Kwok]
	f.Plimsoll = after[autoscaler.Name] - before[autoscaler.Name]
	for name, spent := range after {
		f.All += spent - before[name]
	}
	kwok, err := processCost(s, component.Kwok)
	if err != nil {
		return f, err
	}
	own, err := processCost(s, autoscaler.Name)
	if err != nil {
		return f, err
	}
	f.KwokMem, f.OwnMem = kwok.Resident, own.Resident
	return f, nil
}

// nodesPerCore is how many nodes one core could carry at such a pace; none for no
// time at all, which a window too short for the kernel's clock would show.
func nodesPerCore(nodes int, spent, window time.Duration) float64 {
	if spent <= 0 {
		return 0
	}
	return float64(nodes) * float64(window) / float64(spent)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
