package kube

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// readShare bounds the share of time for reads that changes cause: after a read of one second, the
// next change is signalled readShare seconds later at the earliest.
const readShare = 10

// Memory is what a provider knows beside the objects. Correctness does not depend on it; after a
// restart it is empty.
type Memory struct {
	mu   sync.Mutex
	asks map[provider.GroupID]ask
	// took is how long the last Inventory took.
	took time.Duration
}

// ask is the last scale-up of a group.
type ask struct {
	at     time.Time
	target int
}

// NewMemory is an empty one.
func NewMemory() *Memory {
	return &Memory{asks: map[provider.GroupID]ask{}}
}

// Asked notes a scale-up that was done, or may have been.
func (m *Memory) Asked(id provider.GroupID, at time.Time, target int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks[id] = ask{at, target}
}

// TargetSince is when this provider requested a target, zero if it did not.
func (m *Memory) TargetSince(id provider.GroupID, target int) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.asks[id]; ok && a.target == target {
		return a.at
	}
	return time.Time{}
}

// ReadTook notes how long an Inventory took.
func (m *Memory) ReadTook(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took = d
}

// Rest is the least time between two signals of changes.
func (m *Memory) Rest(longest time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return min(m.took*readShare, longest)
}
