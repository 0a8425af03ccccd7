package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// rule is what must never happen, or must: one row of a table. For each kind of fact that it is
// about, on is asked as the fact is about to become true.
type rule struct {
	id, sentence string
	on           map[What]func(j *Judge, e *Event)
}

// rules are all of them.
var rules = slices.Concat(endingRules, sizeRules, buyingRules, movingRules, drainingRules, processRules, timerRules,
	moneyRules, lateRules, restRules)

// Breach is a rule that was broken.
type Breach struct {
	At             time.Time
	Rule, Sentence string
	Subject        string
	Truth          string // what was true
	Saw            Seen   // what the autoscaler saw or said
	// Seed is the world's; Groups are how many of each the groups had in truth. Start is when it began.
	Seed   uint64
	Start  time.Time
	Groups map[string]Have
}

// Seen is what the autoscaler saw and said of the subject of an event: its picture and its record.
type Seen struct {
	When   string
	Groups map[string]Have
	Notes  []string
}

// Have is what a group has.
type Have struct {
	Target, Machines, Nodes, Ready int
	More                           string
}

// Judge holds a history against the rules. It serves one goroutine.
type Judge struct {
	flags  Flags
	saw    func(Event) Seen
	truth  truth
	now    time.Time
	rule   *rule
	broken []Breach
	seen   map[string]bool // breaches by rule and subject: each is reported once
	tested map[string]int
	asked  map[What][]*rule
}

// New makes a judge of a history that begins. Saw tells, for a breach, what the autoscaler saw or said
// of the subject of an event; nil: nothing is known.
func New(flags Flags, saw func(Event) Seen) *Judge {
	j := &Judge{flags: flags, saw: saw, truth: newTruth(), seen: map[string]bool{}, tested: map[string]int{},
		asked: map[What][]*rule{}}
	j.truth.threshold, j.truth.begun, j.truth.moving = flags.UtilizationThreshold, flags.Start, flags.moves()
	for i := range rules {
		for what := range rules[i].on {
			j.asked[what] = append(j.asked[what], &rules[i])
		}
	}
	for _, those := range j.asked {
		slices.SortFunc(those, func(a, b *rule) int { return slices.IndexFunc(rules, a.is) - slices.IndexFunc(rules, b.is) })
	}
	return j
}

func (r *rule) is(other rule) bool { return r.id == other.id }

// Reflag has the history be that of a process with other flags from now on.
func (j *Judge) Reflag(flags Flags) {
	for _, n := range j.truth.nodes {
		n.wasDue = j.due(n)
	}
	j.flags = flags
	j.truth.threshold, j.truth.moving = flags.UtilizationThreshold, j.truth.moving || flags.moves()
}

// Observe takes in the next fact.
func (j *Judge) Observe(e Event) {
	j.now = e.At
	if e.What == Buys && j.truth.writes[e.Call] == nil {
		return // it was decided on, and not asked for
	}
	for _, r := range j.asked[e.What] {
		j.rule = r
		r.on[e.What](j, &e)
	}
	j.truth.apply(&e)
}

// Broken are the breaches so far.
func (j *Judge) Broken() []Breach { return j.broken }

// Count is how often a rule was put to the test.
type Count struct {
	Rule, Sentence string
	Times          int
}

// Tested is how often each rule was put to the test: how often something happened that might have
// broken it.
func (j *Judge) Tested() []Count {
	var out []Count
	for _, r := range rules {
		out = append(out, Count{r.id, r.sentence, j.tested[r.id]})
	}
	return out
}

// test notes that the rule at hand is put to the test; where it does not hold it is broken.
func (j *Judge) test(holds bool, e *Event, subject, format string, args ...any) {
	j.tested[j.rule.id]++
	if holds || j.seen[j.rule.id+"/"+subject] {
		return
	}
	j.seen[j.rule.id+"/"+subject] = true
	b := Breach{At: e.At, Rule: j.rule.id, Sentence: j.rule.sentence, Subject: subject,
		Truth: fmt.Sprintf(format, args...), Seed: j.flags.Seed, Start: j.flags.Start, Groups: j.truth.counts()}
	if j.saw != nil {
		b.Saw = j.saw(*e)
	}
	j.broken = append(j.broken, b)
}

// tolerance is how late a thing may be: one scan interval, the slowest call so far, and five seconds.
func (j *Judge) tolerance() time.Duration {
	return j.flags.ScanInterval + j.truth.slowest + 5*time.Second
}

// rounding is how much earlier than it is true the autoscaler may take a thing to have begun: the times
// of the API server are cut to seconds.
const rounding = 2 * time.Second

// learn is how long before its end a process may have learned what its successor does not know.
const learn = 30 * time.Second

// since is for how long something has been so; nothing has been so since the zero time.
func (j *Judge) since(t time.Time) time.Duration {
	if t.IsZero() {
		return 1 << 62
	}
	return j.now.Sub(t)
}

// relisted is how often all is listed again, at the least, where a watch misses changes.
const relisted = 7 * time.Minute

// lag is how long a change may be unknown that is known within some time otherwise.
func (j *Judge) lag(otherwise time.Duration) time.Duration {
	if j.truth.on("watch=lossy") {
		return max(otherwise, relisted)
	}
	return otherwise
}

// forgotten reports whether a process that has ended may have been the only one that knew of something
// that happened at an instant. What it had asked for may have happened after its end.
func (j *Judge) forgotten(at time.Time) bool {
	return at.Before(j.truth.blank) || slices.ContainsFunc(j.truth.deaths, func(died time.Time) bool {
		return died.Sub(at) > -j.flags.CallDeadline && died.Sub(at) < learn
	})
}

// counts are what the groups have.
func (t *truth) counts() map[string]Have {
	out := map[string]Have{}
	for id, g := range t.groups {
		c := Have{Target: g.target}
		for _, m := range t.machines {
			if m.group != id {
				continue
			}
			c.Machines++
			if n := t.nodeOf(m); n != nil {
				c.Nodes++
				if n.ready {
					c.Ready++
				}
			}
		}
		out[id] = c
	}
	return out
}

// stamp is an instant, for people.
func (j *Judge) stamp(t time.Time) string { return stamp(j.flags.Start, t) }

func stamp(start, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := t.Sub(start).Truncate(100 * time.Millisecond)
	return fmt.Sprintf("%02d:%02d:%04.1f", int(d.Hours()), int(d.Minutes())%60, (d % time.Minute).Seconds())
}

// String is a breach as a person reads it: the seed and the time, the rule, and what was true and what the
// autoscaler saw side by side.
func (b Breach) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "breach of %s at %s, seed %d: %s\n    %s: %s", b.Rule, stamp(b.Start, b.At), b.Seed, b.Sentence,
		b.Subject, b.Truth)
	if b.Saw.When == "" {
		return s.String()
	}
	fmt.Fprintf(&s, "\n    %-12s %-52s Plimsoll, %s", "group", "truth", b.Saw.When)
	for _, id := range sorted(b.Groups) {
		saw, known := b.Saw.Groups[id]
		said := saw.String()
		if !known {
			said = "not known"
		}
		fmt.Fprintf(&s, "\n    %-12s %-52s %s", id, b.Groups[id], said)
	}
	for _, note := range b.Saw.Notes {
		s.WriteString("\n    Plimsoll: " + note)
	}
	return s.String()
}

func (c Have) String() string {
	s := fmt.Sprintf("target %d, %d machines, %d nodes, %d of them ready", c.Target, c.Machines, c.Nodes, c.Ready)
	if c.More != "" {
		s += "; " + c.More
	}
	return s
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
