package gardener

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// memory is what the provider knows beside the control cluster. None of it is
// needed for being right; after a restart it is empty.
type memory struct {
	mu   sync.Mutex
	asks map[provider.GroupID]ask
	told map[provider.Notice]bool
	// took is how long the last Inventory took.
	took time.Duration
}

// ask is the last growth of a group.
type ask struct {
	at     time.Time
	target int
}

func newMemory() *memory {
	return &memory{asks: map[provider.GroupID]ask{}, told: map[provider.Notice]bool{}}
}

func (m *memory) asked(id provider.GroupID, at time.Time, target int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks[id] = ask{at, target}
}

// targetSince is when a target was asked for, zero if it was not by us.
func (m *memory) targetSince(id provider.GroupID, target int) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.asks[id]; ok && a.target == target {
		return a.at
	}
	return time.Time{}
}

// news are the notices that have not been told since they last began.
func (m *memory) news(notices []provider.Notice) []provider.Notice {
	m.mu.Lock()
	defer m.mu.Unlock()
	told := map[provider.Notice]bool{}
	var out []provider.Notice
	for _, n := range notices {
		if !m.told[n] && !told[n] {
			out = append(out, n)
		}
		told[n] = true
	}
	m.told = told
	return out
}

func (m *memory) readTook(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took = d
}

func (m *memory) lastRead() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took
}
