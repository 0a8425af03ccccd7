package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/exact"
)

// The rounds fail by themselves if Plimsoll and the scheduler do not agree; here is what they say besides.
func TestExactRounds(t *testing.T) {
	p, out := startProgram(t, "exact", "--plimsoll", shippedPlimsoll(t))
	p.endsWell(out)
	lines := strings.Split(strings.TrimSpace(out.text()), "\n")
	if len(lines) != exact.Rounds+1 || lines[exact.Rounds] != "3 of 3 rounds are as they must be" {
		t.Fatalf("it says\n%s", out.text())
	}
	for i, line := range lines[:exact.Rounds] {
		if !strings.HasPrefix(line, fmt.Sprintf("seed %d: ", exact.Seed+i)) || strings.Contains(line, "pending: none") {
			t.Errorf("of round %d it says: %s", i+1, line)
		}
	}
	p.leavesNothing(nil)
}

func TestExactInterrupted(t *testing.T) {
	p, out := startProgram(t, "exact", "--plimsoll", shippedPlimsoll(t))
	p.until(p.stderr, "playing seed ")
	children := map[string]int{}
	for deadline := time.Now().Add(startTimeout); children["kube-scheduler"] == 0; children = p.children() {
		if time.Now().After(deadline) {
			t.Fatalf("the control plane does not start:\n%s", p.stderr.text())
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err == nil || !strings.Contains(p.stderr.text(), errRoundsCutShort.Error()) {
		t.Errorf("it ended with %v: %s\n%s", err, p.stderr.text(), out.text())
	}
	p.leavesNothing(children)
}
