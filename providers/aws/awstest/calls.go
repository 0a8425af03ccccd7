package awstest

import (
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Call is one request as it came, whatever became of it. The SDK's own retries
// are requests of their own.
type Call struct {
	Service string     `json:"service"`
	Action  string     `json:"action"`
	Params  url.Values `json:"params"`
	At      time.Time  `json:"at"` // by the cloud's clock
}

// callLog counts the requests, and remembers the newest of them.
type callLog struct {
	mu      sync.Mutex
	calls   []Call
	counts  map[string]int
	running map[string]int
	peak    map[string]int
}

// callsKept is how many requests are remembered: a served cloud may live for
// days.
const callsKept = 10_000

// begin records a request; the returned function is called at its end.
func (l *callLog) begin(call Call) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running, l.peak = map[string]int{}, map[string]int{}
	}
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[call.Action]++
	l.calls = newest(append(l.calls, call), callsKept)
	l.running[call.Action]++
	l.peak[call.Action] = max(l.peak[call.Action], l.running[call.Action])
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running[call.Action]--
	}
}

// newest are the last n of a list, or up to twice as many: it is not moved for
// each that is added.
func newest[T any](list []T, n int) []T {
	if len(list) < 2*n {
		return list
	}
	return slices.Clone(list[len(list)-n:])
}

// Calls are the newest requests, all of the first ten thousand, in the order in
// which they came.
func (c *Cloud) Calls() []Call {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return slices.Clone(c.calls.calls)
}

// Count is how many requests there were of the actions, or of all.
func (c *Cloud) Count(actions ...string) int {
	n := 0
	for action, count := range c.counted() {
		if len(actions) == 0 || slices.Contains(actions, action) {
			n += count
		}
	}
	return n
}

// counted is how many requests there were of each action.
func (c *Cloud) counted() map[string]int {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	counts := map[string]int{}
	maps.Copy(counts, c.calls.counts)
	return counts
}

// Peak is how many requests of an action were under way at the same time, at
// most.
func (c *Cloud) Peak(action string) int {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return c.calls.peak[action]
}

// ForgetCalls sets all counts to zero.
func (c *Cloud) ForgetCalls() {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.calls.calls, c.calls.counts, c.calls.peak = nil, nil, map[string]int{}
	for action, n := range c.calls.running {
		c.calls.peak[action] = n
	}
}
