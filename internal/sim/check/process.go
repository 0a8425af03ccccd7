package check

import "time"

// processRules are about the process itself.
var processRules = []rule{
	{"N13", "Two processes never both write, and after the end of a lease no write begins.",
		map[What]func(*Judge, *Event){Asks: leads, Writes: leases}},
	{"N14", "A write whose end is unknown is never followed by the same write before a read that began after it.",
		map[What]func(*Judge, *Event){Asks: known}},
	{"N16", "Nothing is decided on a clock of others: a machine without a node lives as long as it may by our own.",
		map[What]func(*Judge, *Event){MachineEnds: aged}},
	{"N17",
		"A cycle costs no more steps than its budget, whatever the input; and in a world at rest its steps and what is " +
			"kept do not grow with time.",
		map[What]func(*Judge, *Event){Decided: bounded}},
	{"T-rest", "After a cycle that found the cluster unhealthy the next one is ten seconds later.",
		map[What]func(*Judge, *Event){Sees: rested}},
}

func leads(j *Judge, e *Event) {
	j.test(e.Process == j.truth.process, e, e.Call, "%q writes while %q leads", e.Process, j.truth.process)
}

// leases is asked at each request that writes, whenever it was decided on.
func leases(j *Judge, e *Event) {
	t := &j.truth
	j.test(e.Process == t.process && !t.lapsed[e.Process], e, e.Process,
		"it writes while %q leads, and its lease has ended: %t",
		t.process, t.lapsed[e.Process])
}

// known asks about the same write of any process: one that ended with calls under way left their ends
// unknown.
func known(j *Judge, e *Event) {
	t := &j.truth
	for _, id := range sorted(t.writes) {
		w := t.writes[id]
		if w.Verb != e.Verb || w.Group != e.Group || w.Machine != e.Machine || !w.cloud() || w.answer != Unknown {
			continue
		}
		j.test(!t.sees.Before(w.ended), e, e.Call, "%s ended at %s, and its effect is unknown; the last picture is of %s", id,
			j.stamp(w.ended), j.stamp(t.sees))
	}
}

func aged(j *Judge, e *Event) {
	if j.truth.on("clock=skewed") {
		provisioned(j, e)
	}
}

func bounded(j *Judge, e *Event) {
	most := 2 * j.flags.DecideSteps
	j.test(most == 0 || e.N <= most, e, e.Process, "%d steps of at most %d", e.N, most)
	t := &j.truth
	if t.restful.IsZero() || t.stirred.After(t.restful) {
		t.cost = cost{}
		return
	}
	if j.since(t.restful) <= measured {
		t.cost = cost{max(t.cost.steps, e.N), max(t.cost.bytes, e.Memory)}
		return
	}
	j.test(e.N <= 2*t.cost.steps+1000 && e.Memory <= 2*t.cost.bytes+1000, e, e.Process,
		"%d steps and %d bytes; after the world came to rest at %s it took %d steps and %d bytes", e.N, e.Memory,
		j.stamp(t.restful), t.cost.steps, t.cost.bytes)
}

// measured is how long a world at rest is looked at until what it costs is known.
const measured = 12 * time.Hour

// cost is what a cycle takes at most: steps, and bytes of what is kept for the next process.
type cost struct {
	steps int
	bytes int64
}

func rested(j *Judge, e *Event) {
	t := &j.truth
	if t.halted && t.seer == e.Process {
		j.test(j.now.Sub(t.cycle) >= 10*time.Second, e, "the loop", "the cycle before was %s ago", j.now.Sub(t.cycle))
	}
}
