package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// settled is the policy that counts now, for a process that may lead later.
type settled struct {
	mu     sync.Mutex
	policy model.Policy
	adopt  func(model.Policy)
}

func (s *settled) now() model.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy
}

// hand gives every policy to adopt from now on, the one that counts first.
func (s *settled) hand(adopt func(model.Policy)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopt = adopt
	adopt(s.policy)
}

func (s *settled) set(p model.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
	if s.adopt != nil {
		s.adopt(p)
	}
}

// reread looks at the configuration file until ctx ends. It is not watched: a mounted ConfigMap is replaced by a
// link to another folder, and a file that is gone may come back.
func (s *settled) reread(
	ctx context.Context, file *config.Reread, every time.Duration, tell func([]provider.Notice), log *slog.Logger,
) {
	if file == nil {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		change, ok := file.Look(s.now())
		if !ok {
			continue
		}
		for _, w := range change.Warnings {
			log.Warn(w)
		}
		if change.Policy != nil {
			log.Info("the configuration file has changed; what it says counts from now on")
			s.set(*change.Policy)
		}
		tell(change.Notices)
	}
}
