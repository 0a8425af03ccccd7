package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Text writes the plan for a person, and for tests to compare: one line per
// scale-up, pending class, group verdict, node verdict and call, in order.
func (p Plan) Text(s *Snapshot) string {
	names := s.ClassNames()
	var b strings.Builder
	for _, g := range p.Grow {
		fmt.Fprintf(&b, "grow %s %d → %d", g.Group, g.From, g.To)
		if len(g.Pods) > 0 {
			b.WriteString(" for " + batchText(names, g.Pods))
		}
		fmt.Fprintf(&b, " (%s)\n", g.Why)
	}
	for _, v := range p.Pending {
		fmt.Fprintf(&b, "pending %s x%d:", names[v.Class], v.Pods)
		if v.Skipped != nil {
			fmt.Fprintf(&b, " not looked at: %s\n", v.Skipped.Text(s))
			continue
		}
		for _, part := range []struct {
			n    int
			what string
		}{{v.Existing, "fit on nodes that are there"}, {
			v.Upcoming, "on nodes on their way",
		}, {v.Planned, "on new nodes"}, {v.Left, "left"}, {v.Delayed, "wish to wait"}} {
			if part.n > 0 {
				fmt.Fprintf(&b, " %d %s;", part.n, part.what)
			}
		}
		b.WriteString("\n")
		if v.Disagrees != nil {
			fmt.Fprintf(&b, "  %s\n", v.Disagrees.Text(s))
		}
		for _, g := range v.Groups {
			fmt.Fprintf(&b, "  %s: %s\n", g.Group, g.Text(s))
		}
	}
	for _, v := range p.Shares {
		fmt.Fprintf(&b, "share of %s: %d to %d of pool %s (%s)\n", v.Group, v.Min, v.Max, v.Pool, v.Sizing)
	}
	b.WriteString(movesText("move", p.Moves) + worthText(p.Worth))
	b.WriteString(nodesText(s, "unneeded", p.Unneeded) + nodesText(s, "kept", p.Kept))
	for _, v := range p.Repair {
		subject := string(v.Instance)
		if subject == "" {
			subject = spelling.Count(v.Count, "unit")
		}
		fmt.Fprintf(&b, "given up %s of %s: %s\n", subject, v.Group, v.Text(s))
	}
	for _, k := range p.Brakes {
		fmt.Fprintf(&b, "braked %s: %s (%s)", k.Group, k.Reason, k.Detail)
		if k.Trials > 0 {
			fmt.Fprintf(&b, ", after %s in vain", spelling.Count(k.Trials, "trial"))
		}
		b.WriteByte('\n')
	}
	for _, c := range p.Calls {
		subject := string(c.Group)
		switch {
		case c.Node != "":
			subject = c.Node
		case c.Instance != "":
			subject = string(c.Instance)
		}
		fmt.Fprintf(&b, "call %s %s", c.Verb, subject)
		switch c.Verb {
		case Grow, Cancel:
			fmt.Fprintf(&b, " %d → %d", c.From, c.To)
		case Evict:
			b.WriteString(" " + c.Pod)
		case Untaint:
			fmt.Fprintf(&b, ": %s (%s)", c.Reason, c.Why)
		case Annotate:
			fmt.Fprintf(&b, " %q", c.Note)
		}
		if c.Whole > 0 {
			fmt.Fprintf(&b, ", one of %d that go together", c.Whole)
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "nothing to do\n"
	}
	return b.String()
}

// Text writes a verdict: reason, numbers, when it ends, what would change it.
func (v Verdict) Text(s *Snapshot) string {
	out := string(v.Reason)
	if v.Detail != "" {
		out += " (" + v.Detail + ")"
	}
	if !v.Until.IsZero() {
		out += fmt.Sprintf(", until in %s", v.Until.Sub(s.Now))
	}
	if v.Fix != "" {
		out += "; would change with: " + v.Fix
	}
	return out
}

func batchText(names []string, batches []Batch) string {
	parts := make([]string, len(batches))
	for i, b := range batches {
		parts[i] = fmt.Sprintf("%s x%d", names[b.Class], b.Count)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func movesText(word string, list []Move) string {
	var b strings.Builder
	for i := range list {
		m := &list[i]
		fmt.Fprintf(&b, "%s %s: %s, %s, %s: %.4g → %.4g an hour\n", word, m.Text(), strings.Join(m.Goes, " "),
			spelling.Count(m.Pods, "pod"), m.Reason, m.Before, m.After)
	}
	return b.String()
}

func worthText(list []WaitingMove) string {
	moves := make([]Move, len(list))
	for i := range list {
		moves[i] = list[i].Move
	}
	return movesText("worth it", moves)
}

func nodesText(s *Snapshot, word string, list []NodeVerdict) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%s %s: %s\n", word, v.Node, v.Text(s))
	}
	return b.String()
}
