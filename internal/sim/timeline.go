package sim

import (
	"fmt"
	"strings"
	"time"
)

// timeline is what happened, for a person: a line for each event that was said, and one for each
// kind of event that was counted within an instant.
type timeline struct {
	now    func() time.Time
	lines  []string
	at     time.Time
	counts []counted
	// quiet drops everything: the timeline of a day is not read.
	quiet bool
}

type counted struct {
	about, what string
	n           int
}

// countFor is how long things of one kind are counted into one line.
const countFor = 5 * time.Second

// stamp is an instant as a timeline writes it.
func stamp(t time.Time) string {
	d := t.Sub(start).Truncate(100 * time.Millisecond)
	return fmt.Sprintf("%02d:%02d:%04.1f", int(d.Hours()), int(d.Minutes())%60, (d % time.Minute).Seconds())
}

// say adds a line.
func (l *timeline) say(format string, args ...any) {
	if l.quiet {
		return
	}
	l.flush()
	l.lines = append(l.lines, stamp(l.now())+"  "+fmt.Sprintf(format, args...))
}

// count counts one of a kind.
func (l *timeline) count(about, what string) { l.add(about, what, 1) }

// add counts n of a kind.
func (l *timeline) add(about, what string, n int) {
	if l.quiet || n == 0 {
		return
	}
	if len(l.counts) > 0 && l.now().Sub(l.at) >= countFor {
		l.flush()
	}
	if len(l.counts) == 0 {
		l.at = l.now()
	}
	for i := range l.counts {
		if c := &l.counts[i]; c.about == about && c.what == what {
			c.n += n
			return
		}
	}
	l.counts = append(l.counts, counted{about, what, n})
}

// flush writes down what was counted.
func (l *timeline) flush() {
	for _, c := range l.counts {
		l.lines = append(l.lines, fmt.Sprintf("%s  %s: %d %s", stamp(l.at), c.about, c.n, c.what))
	}
	l.counts = l.counts[:0]
}

// Take gives the lines since it was last called.
func (l *timeline) Take() string {
	l.flush()
	out := strings.Join(l.lines, "\n")
	l.lines = nil
	if out != "" {
		out += "\n"
	}
	return out
}

// Quiet stops the writing of lines.
func (l *timeline) Quiet() { l.quiet = true }
