package clusterapi

import (
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// memory is what the provider knows beside the management cluster. None of it is
// needed for being right; after a restart it is empty.
type memory struct {
	mu sync.Mutex
	// narrowed is until when all namespaces at once are not asked for again,
	// since that right is missing.
	narrowed time.Time
	// whole is until when MachineSets are not scaled but updated, since that
	// right is missing.
	whole time.Time
	// pools: MachinePools were read once, so that a refusal is an error now.
	pools bool
	// clusters are Clusters by namespace/name, as they were last read.
	clusters map[string]seenCluster
	asks     map[provider.GroupID]ask
	// leaving are the Machines that were to be removed last, by group: those of
	// them that are marked and live may still be on their way out.
	leaving map[provider.GroupID][]provider.InstanceID
	told    map[provider.Notice]bool
	// took is how long the last Inventory took.
	took time.Duration
}

// seenCluster is what is known of a Cluster, and, if it could not be read last
// time, why, and until when that is not tried again.
type seenCluster struct {
	paused bool
	err    error
	until  time.Time
}

// ask is the last growth of a group.
type ask struct {
	at     time.Time
	target int
}

func newMemory() *memory {
	return &memory{clusters: map[string]seenCluster{}, asks: map[provider.GroupID]ask{}, leaving: map[provider.GroupID][]provider.InstanceID{}, told: map[provider.Notice]bool{}}
}

func (m *memory) narrow(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.narrowed = until
}

func (m *memory) isNarrow(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.narrowed)
}

func (m *memory) keepSetsWhole(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole = until
}

func (m *memory) setsAreWhole(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.whole)
}

// sawPools notes that MachinePools can be read; hadPools tells whether they ever
// could.
func (m *memory) sawPools() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pools = true
}

func (m *memory) hadPools() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pools
}

func (m *memory) saw(cluster string, c seenCluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[cluster] = c
}

func (m *memory) cluster(name string) seenCluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusters[name]
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

// left notes Machines that a group was lowered for, or may have been, and that
// may not be deleted yet; gone says that all of them are.
func (m *memory) left(id provider.GroupID, machines []provider.InstanceID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving[id] = slices.Concat(m.leaving[id], machines)
}

func (m *memory) gone(id provider.GroupID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.leaving, id)
}

// prune forgets those of them that are gone by a read that began after the
// removal, or before it: such a one shows them as they were.
func (m *memory) prune(gone func(provider.InstanceID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, machines := range m.leaving {
		if m.leaving[id] = slices.DeleteFunc(machines, gone); len(m.leaving[id]) == 0 {
			delete(m.leaving, id)
		}
	}
}

func (m *memory) stillLeaving(id provider.GroupID) []provider.InstanceID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.leaving[id])
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
