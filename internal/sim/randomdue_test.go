package sim

import (
	"fmt"
	"strings"
)

// This file draws nodes that go although pods need them: the cloud takes their machines after a notice, they say that
// something is wrong with them, they are not ready for long, they differ from what their group makes now, or they are
// too old.

// drawDue adds such matters to a world, and the flags by which nodes are replaced for them.
func drawDue(d drawn, text string, minutes int) string {
	var groups []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[0] == "group" {
			groups = append(groups, words[1])
		}
	}
	var b strings.Builder
	at := func(format string, args ...any) {
		fmt.Fprintf(&b, "at %s %s\n", d.minutes(1, minutes-1), fmt.Sprintf(format, args...))
	}
	flags := ""
	if !d.once(4) { // what the cloud says of an instance counts without a flag
		flags += " --replace-interrupted=" + takenSign
		if d.once(3) {
			flags += fmt.Sprintf(" --max-interruptions=%d --interruption-span=%s", d.in(1, 3), d.minutes(10, 60))
		}
	}
	for range d.in(1, 5) {
		at("interrupt any for=%ds by=%s", []int{120, d.in(10, 119), d.in(121, 900)}[d.in(0, 2)],
			d.of("cloud", "cloud", "annotation", "taint"))
	}
	if d.once(2) {
		flags += " --replace-drifted"
		for range d.in(1, 2) {
			at("template %s version=of-%dm", d.of(groups...), d.in(1, 99))
		}
	}
	if d.once(2) {
		flags += " --replace-conditions=" + unsoundSign
		for range d.in(1, 3) {
			at("unsound any")
		}
	}
	if d.once(4) {
		// All nodes are replaced again and again, until that is turned off.
		flags += " --replace-after=" + d.minutes(15, minutes)
		fmt.Fprintf(&b, "at %dm flags --replace-after=0s\nat %dm crash for=5s\n", minutes-1, minutes-1)
	}
	if d.once(4) {
		flags += " --move-stay=" + d.minutes(5, 40)
	}
	if d.once(3) {
		flags += " --replace-unready-after=" + d.minutes(3, 30)
	}
	before, after, _ := strings.Cut(text, "\nflags ")
	return before + "\nflags" + flags + " " + after + b.String()
}
