package aws

import (
	"maps"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// memo remembers answers for a time. A failure is remembered briefly, so that
// AWS is not asked in vain at each read; while it fails, the last answer still counts,
// unless AWS says that there is no such thing. No lock is held while AWS is asked.
type memo[K comparable, V any] struct {
	ttl   func(K) time.Duration
	retry time.Duration // how long a failed question is not asked again
	now   func() time.Time

	mu   sync.Mutex
	kept map[K]answer[V]
}

type answer[V any] struct {
	value V
	known bool
	err   error
	until time.Time
	asked time.Time // when it was last wanted
}

// memoKept is how long an answer is kept that is not asked for.
const memoKept = 24 * time.Hour

// failureTTL is how long a failed question is not asked again, as a rule.
const failureTTL = 20 * time.Second

func newMemo[K comparable, V any](now func() time.Time, ttl func(K) time.Duration) *memo[K, V] {
	return &memo[K, V]{ttl: ttl, retry: failureTTL, now: now, kept: map[K]answer[V]{}}
}

func always[K comparable](d time.Duration) func(K) time.Duration {
	return func(K) time.Duration { return d }
}

// due are those of the keys for which AWS must be asked, each once. What has not
// been among them for long is forgotten.
func (m *memo[K, V]) due(keys []K) []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	seen := map[K]bool{}
	var out []K
	for _, key := range keys {
		a, ok := m.kept[key]
		if (!ok || !now.Before(a.until)) && !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
		if ok {
			a.asked = now
			m.kept[key] = a
		}
	}
	maps.DeleteFunc(m.kept, func(_ K, a answer[V]) bool { return a.asked.Before(now.Add(-memoKept)) })
	return out
}

func (m *memo[K, V]) put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.kept[key] = answer[V]{value: value, known: true, until: now.Add(m.ttl(key)), asked: now}
}

// fail notes that the question had no answer. What was known stays known, unless
// the thing itself is gone.
func (m *memo[K, V]) fail(key K, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, now := m.kept[key], m.now()
	if kindOf(err) == provider.NotFound {
		a = answer[V]{}
	}
	a.err, a.until, a.asked = err, now.Add(m.retry), now
	m.kept[key] = a
}

// trouble is why the last question had no answer, nil if it had one.
func (m *memo[K, V]) trouble(key K) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[key].err
}

// get is the last answer, whatever its age; or why there is none.
func (m *memo[K, V]) get(key K) (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.kept[key]
	if a.known {
		return a.value, nil
	}
	return a.value, a.err
}
