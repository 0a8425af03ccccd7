package kube

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// readShare bounds the reads that changes cause: after a read that took a second, the
// next change is told after as many seconds at the earliest.
const readShare = 10

// Memory is what a provider knows beside the objects. None of it is needed for being
// right; after a restart it is empty.
type Memory struct {
	mu   sync.Mutex
	asks map[provider.GroupID]ask
	// took is how long the last Inventory took.
	took time.Duration
}

// ask is the last growth of a group.
type ask struct {
	at     time.Time
	target int
}

// NewMemory is an empty one.
func NewMemory() *Memory {
	return &Memory{asks: map[provider.GroupID]ask{}}
}

// Asked notes a growth that was done, or may have been.
func (m *Memory) Asked(id provider.GroupID, at time.Time, target int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks[id] = ask{at, target}
}

// TargetSince is when a target was asked for, zero if it was not by us.
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

// Rest is how long to rest after a change was told, before the next one is.
func (m *Memory) Rest(longest time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return min(m.took*readShare, longest)
}
