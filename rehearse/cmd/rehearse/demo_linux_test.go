package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A story on a busy machine; far more than one should take.
const storyLimit = 12 * time.Minute

// shippedPlimsoll is what `make build` builds.
func shippedPlimsoll(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../bin/plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the stories play with the shipped binary; run `make build` first: %v", err)
	}
	return path
}

// demoProgram starts `rehearse demo` and returns what it writes to its output.
func demoProgram(t *testing.T, args ...string) (*program, *lockedBuffer) {
	t.Helper()
	return startProgram(t, append([]string{"demo"}, args...)...)
}

// startProgram starts rehearse and returns what it writes to its output.
func startProgram(t *testing.T, args ...string) (*program, *lockedBuffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storyLimit)
	t.Cleanup(cancel)
	p := &program{t: t, home: t.TempDir(), stderr: &lockedBuffer{}, ended: make(chan error, 1)}
	plain := command(p.home, args...)
	p.cmd = exec.CommandContext(ctx, plain.Path, plain.Args[1:]...)
	p.cmd.Env = plain.Env
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	out := &lockedBuffer{}
	p.cmd.Stdout, p.cmd.Stderr = out, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() { p.ended <- p.cmd.Wait() }()
	return p, out
}

// until waits for a text; the children are those of that moment.
func (p *program) until(out *lockedBuffer, text string) map[string]int {
	p.t.Helper()
	for deadline := time.Now().Add(storyLimit); !strings.Contains(out.text(), text); {
		select {
		case err := <-p.ended:
			p.t.Fatalf("it ended (%v) before it said %q:\n%s\n%s", err, text, out.text(), p.stderr.text())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("it never said %q:\n%s", text, out.text())
		}
	}
	return p.children()
}

// endsWell waits for an end without an error.
func (p *program) endsWell(out *lockedBuffer) {
	p.t.Helper()
	select {
	case err := <-p.ended:
		if err != nil {
			p.t.Fatalf("it ended with %v:\n%s\n%s", err, out.text(), p.stderr.text())
		}
	case <-time.After(storyLimit):
		p.t.Fatalf("it does not end:\n%s", out.text())
	}
}

// TestDemosOnce plays every story to its end. A story fails by itself if what must happen does
// not; here is what it says besides.
func TestDemosOnce(t *testing.T) {
	for _, c := range []struct {
		story, until string
		children     []string // that are there when it has said so
		wants        []string
	}{
		{"growth", "Three Deployments arrive", []string{"kube-scheduler"}, []string{
			`▸ plimsoll buys \d+ nodes for \d+ pods`,
			`▸ event on pod \S+: TriggeredScaleUp: pod triggered scale-up: \[`,
			`▸ plimsoll .*removes `,
			`▸ event on node \S+: ScaleDown: `,
			// 50 of the web pods in each zone, 8 to a node; one node was and stays there.
			`general-a +1 +6 +7 +1 +1\n`, `general-b +0 +7 +7 +0 +0\n`, `general-c +0 +7 +7 +0 +0\n`,
			`batch +0 +20 +20 +0 +0\n`, `memory +0 +14 +14 +0 +0\n`,
			`web +150 +150 `, `render +100 +100 `, `cache +42 +42 `,
			`all pods run: \d+\.\d s after`, `all nodes gone that should go: \d+\.\d s after`,
		}},
		{"money", "8 dear nodes were bought for a peak", []string{"kube-scheduler"}, []string{
			// nodes and cost at start; dear, cheap and small ones left, what they cost, and what no fleet is below.
			`as it is +8 +6\.40 +3 +0 +0 +2\.40 +0\.90 `, `WhenCheaper +8 +6\.40 +0 +\d+ +\d+ +[01]\.\d\d +0\.90 `,
			`The fleet cost 6\.40 an hour at the start, 2\.40 after removals alone, and [01]\.\d\d after moves as well\.`,
		}},
		// The proposal's theory: free, kube-scheduler puts some of the 1:7 pods on 1:16
		// nodes; with the affinity none, at the price of more nodes. The pods arrive while Plimsoll
		// decides: what it buys at once is 31 (41 with the affinity), in two halves one or two more or
		// less, and the second half may go to another group. So only what does not depend on the
		// moment of a decision is held exactly.
		{"affinity", "400 pods of 1 core", []string{"kube-scheduler"}, []string{
			// group, run, nodes before, bought, 1:7 pods, ...
			`ratio-1-1 +as it is +26 +0 +0 `, `\n +affinity +26 +0 +0 `,
			`ratio-1-16 +as it is +26 +0 +78 .* 702 +702 +0\n +affinity +26 +0 +0 .* 1248 +0 +78\n`,
			`ratio-1-8 +as it is +26 +(29|30|31|32) +3[12]\d .*\n +affinity +26 +4[123] +400 `,
			`as it is: +3[123] nodes bought; [23]\d\d of 400 pods waited`,
			`affinity: +4[123] nodes bought; [23]\d\d of 400 pods waited`,
			`Nodes bought with the affinity: \+([89]|1[012])\b`,
		}},
		{"eks", "A Deployment arrives", []string{"aws", "eks-nodes"}, []string{
			`ASG tag .*45 +example.com/label-01 +example.com/label-45\n`,
			`EKS node group +15 +example.com/label-46 +example.com/label-60\n`,
			`▸ plimsoll buys 3 nodes for 9 pods .*eks-workers 0->3 \(max 10\)`,
			`every node carries all 60 labels`,
			`▸ plimsoll .*removes `,
			`workers +0 +3 +3 +0\n`,
			`SetDesiredCapacity +1\n`, `TerminateInstanceInAutoScalingGroup +3\n`,
			`all pods run: \d+\.\d s after`, `all nodes gone: \d+\.\d s after`,
		}},
		// And Plimsoll as its controller.
		{"eks-anywhere", "A Deployment arrives", []string{"cluster-api", "eks-anywhere"}, []string{
			`▸ controller: machine deployment prod-fixed created with 2 replicas\n`,
			`▸ controller: machine deployment prod-auto created without replicas, for the autoscaler to size between 1 and 10\n`,
			`▸ plimsoll buys \d+ nodes for \d+ pods .*MachineDeployment/eksa-system/prod-auto 1->`,
			`▸ WorkersReady is False, RollingUpgradeInProgress: `,
			`▸ controller: machine deployment prod-auto taken from the autoscaler: `,
			`▸ controller: machine deployment prod-auto applied with 3 replicas\n`,
			`the Cluster is created +\d+\.\d +1  .*then True\n`,
			`10 pods arrive +\d+\.\d +1 → (\d → )*10  True throughout\n`,
			`upgrade to 1.37 +\d+\.\d +10  .*RollingUpgradeInProgress.*, then True\n`,
			`autoscaling off, count 3 +\d+\.\d +10 → 3  .*ScalingDown.*, then True\n`,
			`The count of an autoscaled group is ignored`,
		}},
		{"explain", "Deployments arrive", []string{"kube-scheduler"}, []string{
			`BLOCKED  PodAffinity: nearest fix: pod anti-affinity over topology.kubernetes.io/zone preferred`,
			`huge +InsufficientResources +request cpu ≤ `, `picky +NodeAffinity +nodeSelector without disk=ssd`,
			`tainted +TaintNotTolerated +toleration of rehearse.plimsoll.dev/batch=only:NoSchedule`,
			`racked +TopologySpread +spread over rehearse.plimsoll.dev/rack ScheduleAnyway`, `apart +PodAffinity `,
			`Nothing would change now.`,
		}},
		{"gardener", "Deployment arrives for each", []string{"machine-controller-manager"}, []string{
			`▸ plimsoll .*gives up .*shoot-equitable-z1-\S+ \(InstanceFailed\)`,
			`▸ plimsoll .*buys \d nodes? that a minimum lacks: .*shoot-equitable-z2 1->2`,
			`▸ plimsoll leaves \d of \d pods of default/backward-compatible\S* pending: .*PoolShareReached`,
			`▸ plimsoll leaves \d of \d pods of default/equitable\S* pending: .*PoolAtMax`,
			// With a zone out of quota, with more pods than machines, with the quota back, and empty.
			`Lax-Greedy +0\+\d\+\d = 3 +0\+\d\+\d = 4 +0\+\d\+\d = 4 +0\+\d\+\d = 3\n`,
			`Backward-Compatible +0\+2\+1 = 3 +0\+2\+1 = 3 +1\+2\+1 = 4 +\d\+\d\+\d = 3\n`,
			`Equitable +0\+2\+1 = 3 +0\+2\+2 = 4 +0\+2\+2 = 4 +0\+\d\+\d = 3\n`,
			`Lax-Greedy +3 +3 +4 +4\n`, `Backward-Compatible +3 +3 +4 +4\n`, `Equitable +3 +3 +4 +4\n`,
		}},
	} {
		t.Run(c.story, func(t *testing.T) {
			p, out := demoProgram(t, "--story="+c.story, "--once", "--plimsoll", shippedPlimsoll(t))
			children := p.until(out, c.until)
			for _, name := range c.children {
				if _, ok := children[name]; !ok {
					t.Errorf("%s is no child; the children are %v", name, children)
				}
			}
			p.endsWell(out)
			p.leavesNothing(children)
			said := out.text()
			for _, want := range c.wants {
				if !regexp.MustCompile(want).MatchString(said) {
					t.Errorf("it did not say %q", want)
				}
			}
			if strings.Contains(said, "\x1b") {
				t.Error("it moved the cursor of what is no terminal")
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

func TestDemoStaysUntilASignal(t *testing.T) {
	p, out := demoProgram(t, "--plimsoll", shippedPlimsoll(t))
	children := p.until(out, "Plimsoll's log: ")
	said := regexp.MustCompile(`Plimsoll's page: (\S+)`).FindAllStringSubmatch(out.text(), -1)
	if len(said) != 2 || said[0][1] != said[1][1] {
		t.Fatalf("where the page is, it says at the beginning and at the end %q", said)
	}
	if page, err := http.Get(said[0][1] + "api/v1/state"); err != nil || page.StatusCode != http.StatusOK {
		t.Error("the page:", page, err)
	}
	if nodes := p.kubectl("get", "nodes", "-o", "name"); strings.Count(nodes, "node/general-a-") != 1 ||
		strings.Count(nodes, "\n") != 1 {
		t.Errorf("the nodes are %q", nodes)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.endsWell(out)
	p.leavesNothing(children)
}

func TestDemoInterruptedInTheMiddle(t *testing.T) {
	p, out := demoProgram(t, "--once", "--plimsoll", shippedPlimsoll(t))
	children := p.until(out, "Three Deployments arrive")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err == nil || !strings.Contains(p.stderr.text(), errCutShort.Error()) {
		t.Errorf("it ended with %v: %s", err, p.stderr.text())
	}
	p.leavesNothing(children)
}

func TestDemoTellsHowPlimsollDied(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "plimsoll")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho cannot start\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, _ := demoProgram(t, "--once", "--plimsoll", broken)
	err := p.wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(p.stderr.text(),
		"plimsoll ended unexpectedly (exit status 3); the end of its log:\n  cannot start") {
		t.Errorf("it ended with %v: %s", err, p.stderr.text())
	}
	p.leavesNothing(nil)
}

func TestCommandsRefuseBeforeTheyStart(t *testing.T) {
	for want, args := range map[string][]string{
		`there is no story "war"; there are growth, affinity, eks, eks-anywhere, explain, money and gardener`: {"demo", "--story=war", "--plimsoll", "/bin/true"},
		"the plimsoll binary is not there":                           {"demo", "--plimsoll", "/no/such/binary"},
		`there is no measurement "all"; there are growth, motive, i`: {"bench", "--only=all"},
		"--rounds: 0 is less than 1":                                 {"exact", "--rounds=0"},
		"plimsoll binary is not there":                               {"exact", "--plimsoll", "/no/such/binary"},
		`unknown command "9" for "rehearse exact"`:                   {"exact", "9"},
	} {
		home := t.TempDir()
		out, err := command(home, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: got %v: %s", args, err, out)
		}
		if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
			t.Errorf("%q left behind: %v, %v", args, entries, err)
		}
	}
}
