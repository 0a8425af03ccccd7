package awstest

import (
	"fmt"
	"testing"
	"time"
)

// TestWhatIsRememberedIsBounded: of requests and activities the newest are kept,
// and all are counted.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	c, err := New(Spec{Groups: []Group{{Name: "g", Max: 1}}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const n = 5 * callsKept
	for i := range n {
		c.calls.begin(Call{Action: []string{"a", "b"}[i%2], Service: fmt.Sprint(i)})()
	}
	calls := c.Calls()
	if len(calls) < callsKept || len(calls) >= 2*callsKept || calls[len(calls)-1].Service != fmt.Sprint(n-1) {
		t.Errorf("%d are kept", len(calls))
	}
	if c.Count() != n || c.Count("a") != n/2 {
		t.Errorf("%d are counted, %d of a", c.Count(), c.Count("a"))
	}
	g := c.groups["g"]
	for i := range 5 * historyKept {
		c.record(g, &activity{Description: fmt.Sprint(i)})
	}
	if len(g.history) < historyKept || len(g.history) >= 2*historyKept ||
		g.history[len(g.history)-1].Description != fmt.Sprint(5*historyKept-1) {
		t.Errorf("%d activities are kept", len(g.history))
	}
}
