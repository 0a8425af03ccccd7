package aws

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// memory is what the provider knows beside the cloud: what was asked of a group
// and when, and why AWS could not launch. None of it is needed for being right;
// after a restart it is empty.
type memory struct {
	mu     sync.Mutex
	start  time.Time
	asks   map[string]ask
	rests  map[string]stockOut
	births births
	groups int // of the last complete read that had any
	empty  int // complete reads without any since then
	owners map[provider.InstanceID]provider.GroupID
}

// ask is the last scale-up of a group.
type ask struct {
	at     time.Time
	target int
}

func newMemory(now time.Time) *memory {
	return &memory{start: now, asks: map[string]ask{}, rests: map[string]stockOut{}, births: newBirths()}
}

func (m *memory) asked(group string, at time.Time, target int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks[group] = ask{at, target}
	delete(m.rests, group)
}

// lastAsk is when a group was last asked to grow; if never, when this process began:
// failures before that say nothing here.
func (m *memory) lastAsk(group string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.asks[group]; ok {
		return a.at
	}
	return m.start
}

// targetSince is when a target was asked for, zero if it was not by us.
func (m *memory) targetSince(group string, target int) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.asks[group]; ok && a.target == target {
		return a.at
	}
	return time.Time{}
}

// rest notes that AWS could not launch, and gives the hold that there is now, if
// any: an earlier one goes on until it is over, or the group has more machines.
// A failure while it goes on prolongs it; one after it begins another, which
// what was asked for in between must not outlive.
func (m *memory) rest(group string, found *stockOut, live int, now time.Time) (stockOut, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.rests[group]
	if found != nil {
		s := *found
		s.live = live
		if ok && s.since.Before(was.until) {
			s.since = was.since
		}
		m.rests[group] = s
		return s, now.Before(s.until)
	}
	if ok && (live > was.live || !now.Before(was.until)) {
		delete(m.rests, group)
		ok = false
	}
	return was, ok
}

// emptyBelieved is how many complete reads without any group in a row are
// believed, where there were some before (rule P7).
const emptyBelieved = 3

// emptied reports whether a complete read without any group follows one that had
// some, and is not to be believed yet.
func (m *memory) emptied(groups int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if groups > 0 {
		m.groups, m.empty = groups, 0
		return false
	}
	m.empty++
	return m.groups > 0 && m.empty < emptyBelieved
}

// see notes the instances of all groups, by a complete read that began at a
// moment.
func (m *memory) see(groups []reading, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.births.forget(at)
	for _, g := range groups {
		m.births.see(g.AutoScalingGroup, at)
	}
}

// created is a moment before which an instance was not there, zero if none is
// known.
func (m *memory) created(id provider.InstanceID) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.births.made[id].made
}

// own notes which instances belong to which group, by a complete read.
func (m *memory) own(owners map[provider.InstanceID]provider.GroupID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owners = owners
}

// owner is the group that had an instance when all were last read, empty if none
// had.
func (m *memory) owner(id provider.InstanceID) provider.GroupID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[id]
}
