package gardener

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
)

// How often the same write to the same machine deployment may be made in which time. If it is
// needed more often, another writer undoes it each time.
const (
	undoneTimes = 3
	undoneIn    = 10 * time.Minute
)

// memory is what is known from earlier looks. Correctness does not depend on it: after a restart, a
// few events are repeated, and a few writes are made that another controller undoes.
type memory struct {
	mu      sync.Mutex
	workers map[types.NamespacedName]told
	// writes are when patches were made, by the UID of the machine deployment and the patch itself:
	// a writer that undoes two things in turns is answered by alternating patches.
	writes map[string]map[string][]time.Time
}

type told struct {
	uid   types.UID
	notes map[pools.Note]bool
}

func newMemory() *memory {
	return &memory{workers: map[types.NamespacedName]told{}, writes: map[string]map[string][]time.Time{}}
}

// tell returns the notes about a Worker that are new. A note that is gone and comes back is new.
func (m *memory) tell(key types.NamespacedName, uid types.UID, notes []pools.Note) []pools.Note {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.workers[key]
	if before.uid != uid {
		before = told{}
	}
	now := told{uid: uid, notes: map[pools.Note]bool{}}
	var fresh []pools.Note
	for _, n := range notes {
		if !before.notes[n] && !now.notes[n] {
			fresh = append(fresh, n)
		}
		now.notes[n] = true
	}
	m.workers[key] = now
	return fresh
}

// undone is how long to wait with a patch that was made so often lately that another writer must be
// undoing it; 0: it may be made. A person who changes a pool back and forth as often waits as well:
// we err to waiting.
func (m *memory) undone(step pools.Step, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.writes[step.UID][bodyOf(step)]
	if step.Verb != pools.Patch || len(at) < undoneTimes {
		return 0
	}
	return max(0, at[len(at)-undoneTimes].Add(undoneIn).Sub(now))
}

// wrote notes that a step was carried out. One whose answer was lost is not noted: we
// err to writing once more.
func (m *memory) wrote(step pools.Step, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, bodies := range m.writes {
		for body, at := range bodies {
			if bodies[body] = slices.DeleteFunc(at, func(t time.Time) bool {
				return now.Sub(t) > undoneIn
			}); len(bodies[body]) == 0 {
				delete(bodies, body)
			}
		}
		if len(bodies) == 0 {
			delete(m.writes, uid)
		}
	}
	if step.Verb != pools.Patch {
		return
	}
	if m.writes[step.UID] == nil {
		m.writes[step.UID] = map[string][]time.Time{}
	}
	body := bodyOf(step)
	m.writes[step.UID][body] = append(m.writes[step.UID][body], now)
}

func bodyOf(step pools.Step) string {
	raw, err := json.Marshal(step.Body)
	if err != nil {
		return "" // it has been sent as JSON, or will fail there
	}
	return string(raw)
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.workers, key)
}
