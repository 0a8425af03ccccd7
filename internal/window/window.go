// Package window answers whether a span of time that comes again is open: "every night from 22:00, for
// eight hours, in Berlin".
//
// A window is about the clock on the wall of its zone. One that opens at 22:00 for eight hours closes
// when that clock shows 06:00, in every night of the year: the night in which clocks go forward has an
// hour less, that in which they go back an hour more. A start that clocks skip (02:30 in spring) takes
// effect at the first instant after the gap, and a window that lies in the gap as a whole does not
// open on that day. What begins and ends within the hour that comes twice opens twice.
//
// What flows in: the words of a schedule, and instants. What flows out: whether the window is open, and
// when that changes. It has no clock of its own. Who may import it: everybody.
package window

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // images without a file system of their own have no zones

	"github.com/robfig/cron/v3"
)

// Spec is a window as people write it.
type Spec struct {
	// Schedule says when the window opens: five cron fields (minute, hour, day of month, month, day of
	// week), or one of @hourly, @daily, @weekly, @monthly, @yearly.
	Schedule string `json:"schedule"`
	// TimeZone is the IANA name of the zone whose clock counts, such as Europe/Berlin. Default: UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// Duration says how long the window stays open by that clock, such as 8h or 90m.
	Duration string `json:"duration"`
}

// FieldError names the field of a Spec that is wrong.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// Window is a Spec that was understood. The zero value is never open.
type Window struct {
	spec     Spec
	starts   cron.Schedule
	zone     *time.Location
	duration time.Duration
	always   bool
}

// longest bounds how long a window may stay open, and how far Next looks for its end.
const longest = 366 * 24 * time.Hour

var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse gives the window. An error is made of FieldErrors, one for each field that is wrong.
func Parse(s Spec) (Window, error) {
	w := Window{spec: s}
	errs := []error{}
	wrong := func(field string, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Errorf(format, args...)})
	}
	switch starts, err := fields.Parse(s.Schedule); {
	case strings.Contains(s.Schedule, "TZ="):
		wrong("schedule", "%q names a zone; give it as timeZone", s.Schedule)
	case strings.HasPrefix(s.Schedule, "@every"):
		wrong("schedule", "%q has no place on the clock; give five cron fields, such as */30 * * * *", s.Schedule)
	case err != nil:
		wrong("schedule", "%q is no cron expression of five fields: %w", s.Schedule, err)
	case starts.Next(epoch).IsZero():
		wrong("schedule", "%q never comes: no year has such a day", s.Schedule)
	default:
		w.starts = starts
	}
	name := s.TimeZone
	if name == "" {
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if w.zone = zone; err != nil || name == "Local" {
		wrong("timeZone", "%q is no zone of the IANA database; Europe/Berlin and UTC are", s.TimeZone)
	}
	switch d, err := time.ParseDuration(s.Duration); {
	case err != nil:
		wrong("duration", "%q is no duration; 8h and 1h30m are", s.Duration)
	case d < time.Minute || d > longest:
		wrong("duration", "%s is not between 1m and %s", d, longest)
	default:
		w.duration = d
	}
	if len(errs) > 0 {
		return Window{}, errors.Join(errs...)
	}
	w.always = w.open(epoch) && w.end(epoch).IsZero()
	return w, nil
}

// epoch is where it is tried whether a schedule ever comes. A leap year follows within five years.
var epoch = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// Spec gives the words that the window was made of.
func (w Window) Spec() Spec { return w.spec }

// Always reports whether the window never closes, which is hardly what was meant.
func (w Window) Always() bool { return w.always }

// Open reports whether the window is open at an instant. It is at its start, and not at its end.
func (w Window) Open(at time.Time) bool {
	return w.starts != nil && w.open(wall(at.In(w.zone)))
}

// open is Open by the clock on the wall.
func (w Window) open(clock time.Time) bool {
	start := w.starts.Next(clock.Add(-w.duration))
	return !start.IsZero() && !start.After(clock)
}

// Next gives the first instant after another at which the window opens or closes; false if that does
// not happen within years.
func (w Window) Next(at time.Time) (time.Time, bool) {
	if w.starts == nil || w.always {
		return time.Time{}, false
	}
	open := w.Open(at)
	for t := at.In(w.zone); ; {
		// Until the zone's clock jumps, what it shows and time go together.
		_, jump := t.ZoneBounds()
		clock := wall(t)
		change := w.starts.Next(clock)
		if open {
			change = w.end(clock)
		}
		if !change.IsZero() {
			if next := t.Add(change.Sub(clock)); jump.IsZero() || next.Before(jump) {
				return next, true
			}
		}
		if jump.IsZero() || jump.Sub(at) > 5*longest {
			return time.Time{}, false
		}
		if t = jump.In(w.zone); w.Open(t) != open {
			return t, true
		}
	}
}

// end gives when a window that is open at clock closes; zero if it stays open for the longest time.
func (w Window) end(clock time.Time) time.Time {
	start := w.starts.Next(clock.Add(-w.duration))
	for end := start.Add(w.duration); end.Sub(clock) <= longest; end = start.Add(w.duration) {
		next := w.later(start, end)
		if next.IsZero() {
			return end
		}
		start = next
	}
	return time.Time{}
}

// later gives a start after another one, and not after the end that this one brings: such a start moves
// the end. Zero if there is none. The latest are tried first, so that dense schedules take few steps.
func (w Window) later(start, end time.Time) time.Time {
	for _, after := range []time.Time{end.Add(-time.Minute), start.Add(w.duration / 2), start} {
		if next := w.starts.Next(after); next.After(start) && !next.After(end) {
			return next
		}
	}
	return time.Time{}
}

// wall gives what the clock shows, as an instant of a zone whose clock never jumps.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Span is one opening.
type Span struct{ From, To time.Time }

// Spans gives the openings between two instants, at most so many, cut to them.
func (w Window) Spans(from, to time.Time, most int) []Span {
	var out []Span
	for open := w.Open(from); from.Before(to) && len(out) < most; open = !open {
		next, ok := w.Next(from)
		if !ok || next.After(to) {
			next = to
		}
		if open {
			out = append(out, Span{from, next})
		}
		from = next
	}
	return out
}

// Together is the first instant from one on at which both windows are open, and whether there is one within a year. It
// looks at so many changes of them at most: we err to saying that they are never open together.
func Together(a, b Window, from time.Time, looks int) (time.Time, bool) {
	at := from
	for ; looks > 0 && at.Sub(from) <= longest; looks-- {
		next := at
		for _, w := range []Window{a, b} {
			if w.Open(at) {
				continue
			}
			opens, ok := w.Next(at)
			if !ok {
				return time.Time{}, false
			}
			if opens.After(next) {
				next = opens
			}
		}
		if next.Equal(at) {
			return at, true
		}
		at = next
	}
	return time.Time{}, false
}

// String gives the window in words that fit in a line.
func (w Window) String() string {
	zone := w.spec.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return fmt.Sprintf("%s %s for %s", w.spec.Schedule, zone, w.spec.Duration)
}
