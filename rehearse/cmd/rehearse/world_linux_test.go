package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	p := startUp(t, "--without-autoscaler", "--world", "aws", "--templates", file, "--keep-going")
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

// What is printed for a person can be pasted: both commands list the groups that the
// world has by itself, with the program and the rights of the Plimsoll that runs.
func TestUpTellsHowToSeeTheGroups(t *testing.T) {
	for name, test := range map[string]struct{ component, objects, groups string }{
		"clusterapi": {
			component: "cluster-api",
			objects:   `(?m)^fixed (.*\n)*general-a (.*\n)*small `,
			groups:    `(?m)^MachineDeployment/default/general-a +0 +1000 .* 8 +32Gi (.*\n)*MachineDeployment/default/small +0 +200 .* 2 +8Gi `,
		},
		"gardener": {
			component: "machine-controller-manager",
			objects:   `(?m)^machinedeployment\S*/shoot--local--rehearsal-\S+-z1 `,
			groups:    `(?m)^shoot--local--rehearsal-\S+-z1 +0 +4 (.*\n)*workers +3 +4 `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startUp(t, "--world", name, "--plimsoll", shippedPlimsoll(t))
			children := p.until(p.stderr, " groups --cloud-provider=")
			if children[test.component] == 0 || len(children) != 7 {
				t.Errorf("the components are %v", children)
			}
			for label, want := range map[string]string{"the groups: ": test.objects, "as Plimsoll sees them: ": test.groups} {
				if out := p.paste(label); !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("%snothing like %q:\n%s", label, want, out)
				}
			}
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := p.wait(); err != nil {
				t.Errorf("it ended with %v:\n%s", err, p.stderr.text())
			}
			p.leavesNothing(children)
		})
	}
}

// paste runs the command that was printed after a label, as a person's shell does that
// knows where rehearse is.
func (p *program) paste(label string) string {
	p.t.Helper()
	_, text, found := strings.Cut(p.stderr.text(), "\n"+label)
	if !found {
		p.t.Fatalf("it did not say %q:\n%s", label, p.stderr.text())
	}
	line, _, _ := strings.Cut(text, "\n")
	folder := p.t.TempDir()
	program, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(folder, "rehearse")); err != nil {
		p.t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", line)
	shell.Env = append(command(p.home).Env, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// The cloud fails the first two tries for each machine, and machine-controller-manager goes
// on trying every five seconds: each machine comes, and none is given up for it.
func TestATransientCreateErrorEndsNoMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pools.yaml")
	text := "pools: [{name: workers, minimum: 3, maximum: 4, zones: [a, b, c], machine: {type: m, capacity: {cpu: 4, " +
		"memory: 16Gi}}, createError: 'Unavailable:2'}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startUp(t, "--world", "gardener", "--templates", file, "--plimsoll", shippedPlimsoll(t))
	machines := func() string {
		return p.kubectl("-n", "shoot--local--rehearsal", "get", "machines.machine.sapcloud.io", "-o",
			`jsonpath={range .items[*]}{.metadata.name}={.status.currentStatus.phase} {end}`)
	}
	var failing []string
	for deadline := time.Now().Add(time.Minute); ; {
		now := strings.Fields(machines())
		if len(failing) < 3 {
			failing = nil
			for _, m := range now {
				if name, found := strings.CutSuffix(m, "=CrashLoopBackOff"); found {
					failing = append(failing, name+"=Running")
				}
			}
		}
		if len(failing) == 3 && slices.Equal(failing, now) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v failed at first, and in the end there are %v", failing, now)
		}
	}
}
