package window_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/window"
)

func parse(t *testing.T, schedule, zone, duration string) window.Window {
	t.Helper()
	w, err := window.Parse(window.Spec{Schedule: schedule, TimeZone: zone, Duration: duration})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestClocksThatJump plays both changes of a year in three zones, one of them in the southern half of the
// world and one that jumps by half an hour: when the window opens and closes, to the instant.
func TestClocksThatJump(t *testing.T) {
	for _, c := range []struct {
		name, schedule, zone, duration string
		from, to                       string
		spans                          string
	}{
		{"Berlin in spring: the night has an hour less", "0 22 * * *", "Europe/Berlin", "8h",
			"2026-03-28T12:00:00+01:00", "2026-03-29T12:00:00+02:00",
			"2026-03-28T22:00:00+01:00..2026-03-29T06:00:00+02:00"},
		{"Berlin in autumn: it has one more", "0 22 * * *", "Europe/Berlin", "8h",
			"2026-10-24T12:00:00+02:00", "2026-10-25T12:00:00+01:00",
			"2026-10-24T22:00:00+02:00..2026-10-25T06:00:00+01:00"},
		{"Berlin: a start that is skipped takes effect after the gap", "30 2 * * *", "Europe/Berlin", "2h",
			"2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00",
			"2026-03-29T03:00:00+02:00..2026-03-29T04:30:00+02:00"},
		{"Berlin: what lies in the gap does not open", "15 2 * * *", "Europe/Berlin", "30m",
			"2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", ""},
		{"Berlin: what lies in the hour that comes twice opens twice", "15 2 * * *", "Europe/Berlin", "30m",
			"2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00",
			"2026-10-25T02:15:00+02:00..2026-10-25T02:45:00+02:00 2026-10-25T02:15:00+01:00..2026-10-25T02:45:00+01:00"},
		{"Berlin: an end in that hour is reached, and left behind again", "0 0 * * *", "Europe/Berlin", "2h30m",
			"2026-10-25T00:00:00+02:00", "2026-10-25T12:00:00+01:00",
			"2026-10-25T00:00:00+02:00..2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00..2026-10-25T02:30:00+01:00"},
		{"New York in spring", "0 1 * * *", "America/New_York", "3h",
			"2026-03-08T00:00:00-05:00", "2026-03-08T12:00:00-04:00",
			"2026-03-08T01:00:00-05:00..2026-03-08T04:00:00-04:00"},
		{"New York in autumn", "0 1 * * *", "America/New_York", "3h",
			"2026-11-01T00:00:00-04:00", "2026-11-01T12:00:00-05:00",
			"2026-11-01T01:00:00-04:00..2026-11-01T04:00:00-05:00"},
		{"New York, office hours: untouched on the day after", "0 9 * * 1-5", "America/New_York", "8h",
			"2026-03-07T00:00:00-05:00", "2026-03-10T00:00:00-04:00",
			"2026-03-09T09:00:00-04:00..2026-03-09T17:00:00-04:00"},
		{"Lord Howe in spring: half an hour is skipped", "15 2 * * *", "Australia/Lord_Howe", "1h",
			"2026-10-04T00:00:00+10:30", "2026-10-04T12:00:00+11:00",
			"2026-10-04T02:30:00+11:00..2026-10-04T03:15:00+11:00"},
		{"Lord Howe in autumn: half an hour comes twice", "0 1 * * *", "Australia/Lord_Howe", "2h",
			"2026-04-05T00:00:00+11:00", "2026-04-05T12:00:00+10:30",
			"2026-04-05T01:00:00+11:00..2026-04-05T03:00:00+10:30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := parse(t, c.schedule, c.zone, c.duration)
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range w.Spans(at(t, c.from), at(t, c.to), 10) {
				got = append(got, s.From.In(zone).Format(time.RFC3339)+".."+s.To.In(zone).Format(time.RFC3339))
			}
			if text := strings.Join(got, " "); text != c.spans {
				t.Errorf("open\n  %s\nwant\n  %s", text, c.spans)
			}
		})
	}
}

// TestNextIsTheFirstChange: minute by minute over the days around each change of the clocks, Open is what
// Next announced, for windows that are short, long, dense, and that overlap themselves.
func TestNextIsTheFirstChange(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		for _, c := range [][2]string{
			{"0 22 * * *", "8h"}, {"30 2 * * *", "1h"}, {"0,30 22 * * *", "8h"}, {"*/10 1-4 * * *", "15m"},
			{"* * * * 0", "1h"}, {"0 12 * * 6", "36h"}, {"@hourly", "10m"},
		} {
			w := parse(t, c[0], zone, c[1])
			for _, day := range []string{"2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31"} {
				checkNext(t, w, at(t, day+"T00:00:00Z"))
			}
		}
	}
}

func checkNext(t *testing.T, w window.Window, from time.Time) {
	t.Helper()
	next, _ := w.Next(from)
	open := w.Open(from)
	for now := from; now.Before(from.Add(48 * time.Hour)); now = now.Add(time.Minute) {
		if now.Equal(next) {
			open = !open
			next, _ = w.Next(now)
		}
		if w.Open(now) != open {
			t.Fatalf("%s: at %s open is %t, and the next change was to be at %s", w, now, !open, next)
		}
	}
}

func TestWindowsThatAreOpenTogether(t *testing.T) {
	day := parse(t, "0 7 * * *", "Europe/Berlin", "4h")
	for _, c := range []struct{ schedule, zone, duration, want string }{
		{"0 10 * * *", "Europe/Berlin", "1h", "2026-01-16T09:00:00Z"},
		{"0 11 * * *", "Europe/Berlin", "1h", "never"},
		{"0 9 * * *", "", "1h", "2026-01-16T09:00:00Z"},            // in winter
		{"0 5 * * *", "", "1h", "2026-03-29T05:00:00Z"},            // in summer alone
		{"0 0 24 12 *", "", "72h", "2026-12-24T06:00:00Z"},         // it is open first
		{"@daily", "Europe/Berlin", "24h", "2026-01-16T06:00:00Z"}, // it is always open
		{"0 0 29 2 *", "", "24h", "never"},                         // not within a year
		{"*/2 11-23 * * *", "Europe/Berlin", "1m", "never"},
	} {
		w := parse(t, c.schedule, c.zone, c.duration)
		for _, pair := range [][2]window.Window{{day, w}, {w, day}} {
			got := "never"
			if together, ok := window.Together(pair[0], pair[1], at(t, "2026-01-15T10:00:00Z"), 2000); ok {
				got = together.UTC().Format(time.RFC3339)
			}
			if got != c.want {
				t.Errorf("%s %s for %s: open together at %s, want %s", c.schedule, c.zone, c.duration, got, c.want)
			}
		}
	}
	if _, ok := window.Together(day, window.Window{}, at(t, "2026-01-15T10:00:00Z"), 2000); ok {
		t.Error("the zero window is open together with another")
	}
}

func TestWindowsThatHardlyChange(t *testing.T) {
	now := at(t, "2026-01-15T10:00:00Z")
	leap := parse(t, "0 0 29 2 *", "", "24h")
	if next, ok := leap.Next(now); !ok || !next.Equal(at(t, "2028-02-29T00:00:00Z")) {
		t.Errorf("leap day: next is %s, %t", next, ok)
	}
	december := parse(t, "0 0 1 12 *", "", "744h")
	if next, ok := december.Next(at(t, "2026-12-10T00:00:00Z")); !ok || !next.Equal(at(t, "2027-01-01T00:00:00Z")) {
		t.Errorf("december: next is %s, %t", next, ok)
	}
	dense := parse(t, "* * * 1-11 *", "", "1h")
	if next, ok := dense.Next(now); !ok || !next.Equal(at(t, "2026-12-01T00:59:00Z")) || dense.Always() {
		t.Errorf("all but december: next is %s, %t", next, ok)
	}
	always := parse(t, "@daily", "Europe/Berlin", "24h")
	if _, ok := always.Next(now); ok || !always.Open(now) || !always.Always() {
		t.Error("a window of every day for a day changes")
	}
	var none window.Window
	if _, ok := none.Next(now); ok || none.Open(now) {
		t.Error("the zero window opens")
	}
}

func TestMistakesNameTheField(t *testing.T) {
	for _, c := range []struct {
		spec  window.Spec
		wrong string
	}{
		{window.Spec{Schedule: "0 22 * *", Duration: "8h"}, `schedule: "0 22 * *" is no cron expression of five fields`},
		{window.Spec{Schedule: "0 0 30 2 *", Duration: "8h"}, `schedule: "0 0 30 2 *" never comes`},
		{window.Spec{Schedule: "TZ=UTC 0 22 * * *", Duration: "8h"}, "give it as timeZone"},
		{window.Spec{Schedule: "@every 1h", Duration: "8h"}, "has no place on the clock"},
		{window.Spec{Schedule: "0 61 * * *", Duration: "8h"}, "schedule:"},
		{window.Spec{Schedule: "@daily", TimeZone: "CEST", Duration: "8h"}, `timeZone: "CEST" is no zone`},
		{window.Spec{Schedule: "@daily", TimeZone: "Local", Duration: "8h"}, `timeZone: "Local" is no zone`},
		{window.Spec{Schedule: "@daily", Duration: "8"}, `duration: "8" is no duration`},
		{window.Spec{Schedule: "@daily", Duration: "-8h"}, "duration: -8h0m0s is not between 1m"},
		{window.Spec{Schedule: "@daily"}, `duration: "" is no duration`},
	} {
		_, err := window.Parse(c.spec)
		var field *window.FieldError
		if !errors.As(err, &field) || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.wrong)
		}
	}
}
