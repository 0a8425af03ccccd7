package awstest

import (
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

// callLog remembers the requests.
type callLog struct {
	mu      sync.Mutex
	calls   []Call
	running map[string]int
	peak    map[string]int
}

// begin records a request; the returned function is called at its end.
func (l *callLog) begin(call Call) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running, l.peak = map[string]int{}, map[string]int{}
	}
	l.calls = append(l.calls, call)
	l.running[call.Action]++
	l.peak[call.Action] = max(l.peak[call.Action], l.running[call.Action])
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running[call.Action]--
	}
}

// Calls are the requests so far, in the order in which they came.
func (c *Cloud) Calls() []Call {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return slices.Clone(c.calls.calls)
}

// Count is how many requests there were of the actions, or of all.
func (c *Cloud) Count(actions ...string) int {
	n := 0
	for _, call := range c.Calls() {
		if len(actions) == 0 || slices.Contains(actions, call.Action) {
			n++
		}
	}
	return n
}

// Peak is how many requests of an action were under way at the same time, at
// most.
func (c *Cloud) Peak(action string) int {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return c.calls.peak[action]
}

// ForgetCalls starts the counts anew.
func (c *Cloud) ForgetCalls() {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.calls.calls, c.calls.peak = nil, map[string]int{}
	for action, n := range c.calls.running {
		c.calls.peak[action] = n
	}
}
