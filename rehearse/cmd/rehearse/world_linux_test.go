package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The world's processes are the rehearsal's own: each can be killed alone, and none
// outlives it.
func TestUpInTheWorldOfAWS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "eks.yaml")
	text := "nodegroups: [{name: workers, instanceTypes: [m5.large], max: 5, desired: 2, labels: {team: web}}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startUp(t, "--world", "aws", "--templates", file, "--keep-going")
	children := p.children()
	if len(children) != 7 || children["aws"] == 0 || children["eks-nodes"] == 0 {
		t.Errorf("the components are %v", children)
	}
	if said := p.stderr.text(); !strings.Contains(said, "aws.env") {
		t.Errorf("it does not tell how to reach AWS:\n%s", said)
	}
	if err := syscall.Kill(children["eks-nodes"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ours := func() string {
		return p.kubectl("get", "nodes", "-l", "team=web,eks.amazonaws.com/nodegroup=workers", "-o", "name")
	}
	for deadline := time.Now().Add(time.Minute); strings.Count(ours(), "node/ip-10-0-") != 2; {
		if time.Now().After(deadline) {
			t.Fatalf("the nodes are %q", ours())
		}
	}
	p.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "nodes", "--all")
	for deadline := time.Now().Add(time.Minute); p.children()["eks-nodes"] == 0; {
		if time.Now().After(deadline) {
			t.Fatal("eks-nodes does not come back")
		}
	}
	children = p.children()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.stderr.text())
	}
	p.leavesNothing(children)
}
