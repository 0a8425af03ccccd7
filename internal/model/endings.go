package model

import "time"

// Endings counts the machines of a group that were ended because something was amiss
// with them: they did not register, lost their node, or were not ready. It counts on as
// long as two of them are less than EndingsApart apart, so that never more than Count
// of them lie within so much time.
type Endings struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// EndingsApart is the time in which only a few machines are ended so.
const EndingsApart = 10 * time.Minute

// Add counts one more.
func (e Endings) Add(at time.Time) Endings {
	if at.Before(e.Last) {
		at = e.Last
	}
	return Endings{Count: e.Within(at) + 1, Last: at}
}

// Within is how many count at an instant.
func (e Endings) Within(now time.Time) int {
	if now.Sub(e.Last) >= EndingsApart {
		return 0
	}
	return e.Count
}

// MostEndings is how many machines of a group may be ended so within EndingsApart, and
// MostEndingsOfAll how many of all groups together. When more are to go, the fault is
// rarely theirs: a network, a zone, or somebody who deletes nodes.
func MostEndings(group int) int { return max(3, group/10) }

// MostEndingsOfAll is the bound for all groups together.
func MostEndingsOfAll(nodes int) int { return max(10, nodes/20) }
