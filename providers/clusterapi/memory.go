package clusterapi

import (
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// memory is what the provider knows beside the management cluster. None of it is
// needed for being right; after a restart it is empty.
type memory struct {
	*kube.Memory

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
	// leaving are the Machines that were to be removed last, by group: those of
	// them that are marked and live may still be on their way out.
	leaving map[provider.GroupID][]provider.InstanceID
	// short are the groups that have fewer Machines than were asked for.
	short map[provider.GroupID]shortage
}

// shortage is what such a group looks like, and since when.
type shortage struct {
	picture string
	since   time.Time
}

// seenCluster is what is known of a Cluster, and, if it could not be read last
// time, why, and until when that is not tried again.
type seenCluster struct {
	paused bool
	err    error
	until  time.Time
}

func newMemory() *memory {
	return &memory{Memory: kube.NewMemory(), clusters: map[string]seenCluster{},
		leaving: map[provider.GroupID][]provider.InstanceID{}, short: map[provider.GroupID]shortage{}}
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

// sawPools notes that MachinePools can be read; hadPools reports whether they ever
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

// shortSince notes what a group looks like that has fewer Machines than were asked for,
// and returns since when it has looked like that; enough says that it has as many.
func (m *memory) shortSince(id provider.GroupID, picture string, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.short[id]; ok && s.picture == picture {
		return s.since
	}
	m.short[id] = shortage{picture, now}
	return now
}

func (m *memory) enough(id provider.GroupID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.short, id)
}
