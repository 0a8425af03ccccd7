package decisions

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// DefaultCount is how many decisions are kept; DefaultBytes is what they may take, as JSON. As values
// they take about as much.
const (
	DefaultCount = 500
	DefaultBytes = 12 << 20
)

// idLayout makes an ID of a time: it sorts as the time does, and needs no escaping anywhere.
const idLayout = "20060102T150405.000Z"

// Book keeps the last decisions. Report belongs to the loop's goroutine; everything else may be
// called from any.
type Book struct {
	count, bytes int
	log          *Log // nil: there is no file

	// These belong to Report.
	before   *seen
	under    map[string]string // call under way → ID of its decision
	growing  map[provider.GroupID]*growing
	forgot   *prometheus.CounterVec
	kept     prometheus.Gauge
	occupied prometheus.Gauge

	mu   sync.Mutex
	ring []entry // oldest first
	size int
}

type entry struct {
	decision Decision
	size     int
}

// New gives a book that keeps at most so many decisions and bytes. log may be nil.
func New(count, bytes int, log *Log, metrics prometheus.Registerer) *Book {
	b := &Book{
		count: count, bytes: bytes, log: log,
		under: map[string]string{}, growing: map[provider.GroupID]*growing{},
		forgot: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "plimsoll", Name: "decisions_forgotten_total",
			Help: "Decisions that are no longer kept in memory, by what made them go: count or bytes."}, []string{"limit"}),
		kept: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "plimsoll", Name: "decisions_kept",
			Help: "Decisions that are kept in memory."}),
		occupied: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "plimsoll", Name: "decisions_kept_bytes",
			Help: "Size of the decisions that are kept in memory, as JSON."}),
	}
	for _, limit := range []string{"count", "bytes"} {
		b.forgot.WithLabelValues(limit)
	}
	metrics.MustRegister(b.forgot, b.kept, b.occupied)
	return b
}

// Report takes in one turn of the loop. It waits for nothing, and never fails.
func (b *Book) Report(_ context.Context, c model.Cycle) error {
	// 1. What became of earlier decisions.
	for i := range c.Ended {
		b.ended(&c.Ended[i])
	}
	b.arrived(c.Snapshot)
	if !c.Decided {
		return nil
	}
	// 2. The decision itself.
	if b.before != nil {
		b.before.vain = b.inVain()
	}
	now := seenOf(&c)
	d, worth := makeDecision(&c, b.before, &now)
	b.before = &now
	if worth {
		b.add(d, c.Snapshot)
	}
	return nil
}

// inVain reports whether no call of the newest decision was begun.
func (b *Book) inVain() bool {
	last, ok := b.Find(Last)
	return ok && !slices.ContainsFunc(last.Calls, func(c Call) bool { return c.End != NotBegun })
}

func (b *Book) add(d Decision, s *model.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// A clock that stands still or steps back must not make an ID twice.
	at := d.Time
	if n := len(b.ring); n > 0 {
		last, err := time.Parse(idLayout, b.ring[n-1].decision.ID)
		if err == nil && !at.Truncate(time.Millisecond).After(last) {
			at = last.Add(time.Millisecond)
		}
	}
	d.ID = at.Format(idLayout)
	text, err := json.Marshal(d)
	if err != nil { // the type has nothing that JSON lacks
		panic(err)
	}
	b.log.decided(text)
	for i := range d.Calls {
		b.under[d.Calls[i].ID] = d.ID
	}
	b.expect(&d, s)
	b.ring = append(b.ring, entry{d, len(text)})
	b.size += len(text)
	b.fit()
}

// fit forgets the oldest decisions that are too many. The last one stays, whatever its size.
func (b *Book) fit() {
	drop := 0
	for ; len(b.ring)-drop > 1; drop++ {
		switch {
		case len(b.ring)-drop > b.count:
			b.forgot.WithLabelValues("count").Inc()
		case b.size > b.bytes:
			b.forgot.WithLabelValues("bytes").Inc()
		default:
			b.forget(drop)
			return
		}
		b.size -= b.ring[drop].size
	}
	b.forget(drop)
}

func (b *Book) forget(drop int) {
	for _, old := range b.ring[:drop] {
		for i := range old.decision.Calls {
			if id := old.decision.Calls[i].ID; b.under[id] == old.decision.ID {
				delete(b.under, id)
			}
		}
	}
	b.ring = slices.Delete(b.ring, 0, drop)
	b.kept.Set(float64(len(b.ring)))
	b.occupied.Set(float64(b.size))
}

// ended notes what became of a call.
func (b *Book) ended(out *model.Outcome) {
	id, ok := b.under[out.Call.ID]
	if !ok {
		return
	}
	delete(b.under, out.Call.ID)
	b.change(id, func(d *Decision) any {
		i := slices.IndexFunc(d.Calls, func(c Call) bool { return c.ID == out.Call.ID })
		d.Calls = slices.Clone(d.Calls)
		d.Calls[i].end(out)
		return callEnded{id, d.Calls[i]}
	})
	if out.Call.Verb == model.Grow && out.Answer() != model.AnswerDone && out.Answer() != model.AnswerUnknown {
		delete(b.growing, out.Call.Group)
	}
}

func (c *Call) end(out *model.Outcome) {
	c.Ended, c.TookMillis = out.Ended.UTC(), millis(out.Ended.Sub(out.Began))
	switch out.Answer() {
	case model.AnswerDone:
		c.End = Done
		if out.Unchanged {
			c.End = Unchanged
		}
	case model.AnswerUnknown:
		c.End = Unknown
	case model.AnswerNotBegun:
		c.End = NotBegun
	default:
		c.End = Failed
	}
	if out.Err != nil {
		c.Error = out.Err.Error()
	}
}

// change replaces a decision by a changed copy, and logs the news of it.
func (b *Book) change(id string, with func(*Decision) any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.find(id)
	if !ok {
		return
	}
	e := &b.ring[i]
	news, err := json.Marshal(with(&e.decision))
	if err != nil {
		panic(err)
	}
	e.size += len(news)
	b.size += len(news)
	b.log.news(news)
	b.fit()
}

func (b *Book) find(id string) (int, bool) {
	return slices.BinarySearchFunc(b.ring, id, func(e entry, id string) int {
		switch {
		case e.decision.ID < id:
			return -1
		case e.decision.ID > id:
			return 1
		}
		return 0
	})
}

// List gives the newest decisions, the newest first, at most so many.
func (b *Book) List(most int) []Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	most = min(most, len(b.ring))
	out := make([]Decision, 0, most)
	for i := len(b.ring) - 1; len(out) < most; i-- {
		out = append(out, b.ring[i].decision)
	}
	return out
}

// Last names the newest decision.
const Last = "last"

// Find gives a decision by its ID, or the last one.
func (b *Book) Find(id string) (Decision, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id == Last && len(b.ring) > 0 {
		return b.ring[len(b.ring)-1].decision, true
	}
	i, ok := b.find(id)
	if !ok {
		return Decision{}, false
	}
	return b.ring[i].decision, true
}

// At gives the decision that stood at a time: the last one made until then. A time without a fraction is that whole
// second: lists print no more of it.
func (b *Book) At(t time.Time) (Decision, bool) {
	if t.Nanosecond() == 0 {
		t = t.Add(time.Second - 1)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.ring) - 1; i >= 0; i-- {
		if !b.ring[i].decision.Time.After(t) {
			return b.ring[i].decision, true
		}
	}
	return Decision{}, false
}

// Bought gives the newest decision that a node came of. One of the same name that was made at another time is
// another.
func (b *Book) Bought(node string, created time.Time) (Decision, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.ring) - 1; i >= 0; i-- {
		d := &b.ring[i].decision
		if slices.ContainsFunc(d.Made, func(m Made) bool { return m.Node == node && m.Created.Equal(created) }) {
			return *d, true
		}
	}
	return Decision{}, false
}

// Since counts decisions by what is newer than an ID.
func (b *Book) Since(id string) []Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.find(id)
	if ok {
		i++
	}
	out := make([]Decision, 0, len(b.ring)-i)
	for _, e := range b.ring[i:] {
		out = append(out, e.decision)
	}
	return out
}
