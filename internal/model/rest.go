package model

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// RestCause is what a group rests from.
type RestCause string

// The causes. A group rests from each of them on its own.
const (
	// RestFailed: a scale-up failed. Its length counts for the next one until a scale-up
	// succeeds or the reset time is over.
	RestFailed RestCause = "failed"
	// RestPaused: a write failed for no fault of the group. Nothing is written to it.
	RestPaused RestCause = "paused"
	// RestRefused: the cloud refused removals, from the second time in a row on.
	RestRefused RestCause = "refused"
	// RestEnded: machines were ended because they were unhealthy. While it lasts, only
	// MostEndings of them are.
	RestEnded RestCause = "ended"
	// What has happened to scale-ups several times in a row, each time with a longer pause:
	// no answer, a throttled write, the pool's maximum, another client's write to the target.
	RestUnanswered RestCause = "unanswered"
	RestThrottled  RestCause = "throttled"
	RestLimited    RestCause = "limited"
	RestConflict   RestCause = "conflict"
)

// Rest is for how long a group is left alone, and why. One without an end only counts, for
// the length of the next.
type Rest struct {
	Cause RestCause `json:"-"`
	// Until is when it is over, and Length how long it is.
	Until  time.Time     `json:"until"`
	Length time.Duration `json:"duration"`
	// Since is when its cause was there last, and Count how often in a row.
	Since time.Time `json:"since"`
	Count int       `json:"-"`
	// Kind, Code and Message say what went wrong then.
	Kind    provider.Kind `json:"kind"`
	Code    string        `json:"code,omitempty"`
	Message string        `json:"message,omitempty"`
}

// Stands reports whether the rest is not over.
func (r Rest) Stands(now time.Time) bool { return r.Until.After(now) }

// Rests are the rests of one group, one for each cause, over or not.
type Rests []Rest

// Of is the rest for a cause, empty if there is none.
func (r Rests) Of(c RestCause) Rest {
	for i := range r {
		if r[i].Cause == c {
			return r[i]
		}
	}
	return Rest{Cause: c}
}

// Put takes a rest in, in place of the one of the same cause.
func (r *Rests) Put(rest Rest) {
	if i := slices.IndexFunc(*r, func(was Rest) bool { return was.Cause == rest.Cause }); i >= 0 {
		(*r)[i] = rest
		return
	}
	*r = append(*r, rest)
}

// End forgets the rests for some causes.
func (r *Rests) End(causes ...RestCause) {
	*r = slices.DeleteFunc(*r, func(was Rest) bool { return slices.Contains(causes, was.Cause) })
}

// Endings is the rest after machines were ended, as the memory has it.
type Endings struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// EndingsApart is the time within which only a few machines are ended so. The count goes on
// while two of them are less than this apart, so that it is never too low.
const EndingsApart = 10 * time.Minute

// Ended is the rest after one more machine was ended.
func (r Rests) Ended(at time.Time) Rest {
	was := r.Of(RestEnded)
	return Endings{Count: was.Count, Last: was.Since}.more(at).Rest()
}

// more is the endings with one at an instant.
func (e Endings) more(at time.Time) Endings {
	at = Latest(at, e.Last)
	return Endings{Count: e.Rest().Within(at) + 1, Last: at}
}

// Ended remembers one more machine of a group that was ended.
func (m *Memory) Ended(group provider.GroupID, at time.Time) {
	if m.Endings == nil {
		m.Endings = map[provider.GroupID]Endings{}
	}
	m.Endings[group] = m.Endings[group].more(at)
}

// Rest is the rest that the memory has.
func (e Endings) Rest() Rest {
	return Rest{Cause: RestEnded, Since: e.Last, Until: e.Last.Add(EndingsApart), Length: EndingsApart, Count: e.Count}
}

// Within is how often the cause counts at an instant.
func (r Rest) Within(now time.Time) int {
	if r.Stands(now) {
		return r.Count
	}
	return 0
}

// MostEndings is how many machines of a group may be ended so within EndingsApart, and
// MostEndingsOfAll how many of all groups together. When more are to go, the cause is
// rarely in them: a network, a zone, or a client that deletes nodes.
func MostEndings(group int) int { return max(3, group/10) }

// MostEndingsOfAll is the bound for all groups together.
func MostEndingsOfAll(nodes int) int { return max(10, nodes/20) }
