package check

import "time"

// processRules are about the process itself.
var processRules = []rule{
	{"N13", "Two processes never both write, and after the end of a lease no write begins.",
		map[What]func(*Judge, *Event){Asks: leads}},
	{"N14", "A write whose end is unknown is never followed by the same write before a read that began after it.",
		map[What]func(*Judge, *Event){Asks: known}},
	{"N16", "Nothing is decided on a clock of others: a machine without a node lives as long as it may by our own.",
		map[What]func(*Judge, *Event){MachineEnds: aged}},
	{"N17", "A cycle costs no more steps than its budget, whatever the input.",
		map[What]func(*Judge, *Event){Decided: bounded}},
	{"T-rest", "After a cycle that found the cluster unhealthy the next one is ten seconds later.",
		map[What]func(*Judge, *Event){Sees: rested}},
}

func leads(j *Judge, e *Event) {
	j.test(e.Process == j.truth.process, e, e.Call, "%q writes while %q leads", e.Process, j.truth.process)
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
		j.test(!t.sees.Before(w.ended), e, e.Call, "%s ended at %s, and nobody knows how; the last picture is of %s", id,
			j.stamp(w.ended), j.stamp(t.sees))
	}
}

func aged(j *Judge, e *Event) {
	if j.truth.on("clock=skewed") {
		provisioned(j, e)
	}
}

func bounded(j *Judge, e *Event) {
	most := j.flags.SpreadStepLimit + j.flags.SpreadStepLimit/10 + j.flags.ScaleDownStepLimit
	j.test(most == 0 || e.N <= most, e, e.Process, "%d steps of at most %d", e.N, most)
}

func rested(j *Judge, e *Event) {
	t := &j.truth
	if t.halted && t.seer == e.Process {
		j.test(j.now.Sub(t.cycle) >= 10*time.Second, e, "the loop", "the cycle before was %s ago", j.now.Sub(t.cycle))
	}
}
