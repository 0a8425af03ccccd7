package story

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// narrate tells Plimsoll's decisions and their reasons, and whatever else shall be
// told, while play runs, and returns its error first.
func narrate(ctx context.Context, s *stage.Stage, screen *Screen, play func() error, more ...func(context.Context) error) error {
	told, stop := context.WithCancel(ctx)
	var telling errgroup.Group
	telling.Go(func() error { return tellDecisions(told, s, screen) })
	telling.Go(func() error { return tellReasons(told, s, screen) })
	for _, tell := range more {
		telling.Go(func() error { return tell(told) })
	}
	err := play()
	stop()
	if errTelling := telling.Wait(); err == nil {
		err = errTelling
	}
	return err
}

// chapter is one thing that must happen within a time.
type chapter struct {
	title     string
	limit     time.Duration
	workloads []stage.Workload // as they are wanted in this chapter
	groups    []stage.Group
}

// play does what begins the chapter, shows the cluster until it is as wanted,
// and returns how long that took.
func (c chapter) play(ctx context.Context, s *stage.Stage, screen *Screen, begin func(context.Context) error, what string, done func(stage.Tally) bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("the limit of %s is over", c.limit))
	defer cancel()
	began := time.Now()
	end := screen.follow(ctx, func() Frame {
		return newFrame(c.title, time.Since(began), s.Watch.Tally(), c.workloads, c.groups)
	})
	defer end()
	if err := begin(ctx); err != nil {
		return 0, err
	}
	err := s.Watch.Wait(ctx, what, done)
	return time.Since(began), err
}

// allRun reports whether exactly the wanted pods are there and run.
func allRun(workloads []stage.Workload) func(stage.Tally) bool {
	return func(t stage.Tally) bool {
		for _, w := range workloads {
			if p := t.Workloads[w.Name]; p.Running != w.Replicas || p.All != w.Replicas {
				return false
			}
		}
		return true
	}
}

// wanted counts the pods of workloads.
func wanted(workloads []stage.Workload) int {
	sum := 0
	for _, w := range workloads {
		sum += w.Replicas
	}
	return sum
}
