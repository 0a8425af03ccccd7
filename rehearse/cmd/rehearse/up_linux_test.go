package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// The test binary is the program as well, when this variable says so.
const actVariable = "REHEARSE_TEST_ACTS_AS_PROGRAM"

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	if os.Getenv(actVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is a running `rehearse up` in folders of its own.
type program struct {
	t          *testing.T
	cmd        *exec.Cmd
	home       string
	kubeconfig string
	stderr     *lockedBuffer
	ended      chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func command(home string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	// Everything that the program may write to by itself is below home.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "KUBECONFIG=") || strings.HasPrefix(v, "XDG_")
	}), actVariable+"=1", "HOME="+home, "TMPDIR="+home)
	return cmd
}

// startUp starts `rehearse up` and waits for its one line.
func startUp(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, home: t.TempDir(), stderr: &lockedBuffer{}, ended: make(chan error, 1)}
	p.cmd = command(p.home, append([]string{"up"}, args...)...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no line: %v\n%s", err, p.stderr.text())
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		p.ended <- p.cmd.Wait()
	}()
	path, ok := strings.CutPrefix(strings.TrimSpace(line), "export KUBECONFIG=")
	if !ok {
		t.Fatalf("got the line %q", line)
	}
	p.kubeconfig = path
	return p
}

func (p *program) kubectl(args ...string) string {
	p.t.Helper()
	out, err := command(p.home, append([]string{"kubectl"}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// wait returns how the program ended.
func (p *program) wait() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(time.Minute):
		p.t.Fatalf("it does not end; so far it said:\n%s", p.stderr.text())
		return nil
	}
}

// children are the ids of the program's child processes.
func (p *program) children() map[string]int {
	p.t.Helper()
	found := map[string]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) < 2 || fields[1] != strconv.Itoa(p.cmd.Process.Pid) {
			continue
		}
		folder := filepath.Dir(path)
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		args := strings.Split(string(line), "\x00")
		if err != nil || len(args) < 3 {
			continue // it has ended, or has not begun
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			p.t.Fatal(err)
		}
		found[args[2]] = pid
	}
	return found
}

// leavesNothing checks that no process and no file is left.
func (p *program) leavesNothing(children map[string]int) {
	p.t.Helper()
	for name, pid := range children {
		if err := syscall.Kill(pid, 0); err == nil {
			p.t.Errorf("%s still runs", name)
		}
	}
	err := filepath.WalkDir(p.home, func(path string, entry os.DirEntry, err error) error {
		// kubectl keeps what it discovered below ~/.kube, as it does everywhere.
		if filepath.Base(path) == ".kube" {
			return filepath.SkipDir
		}
		if err == nil && !entry.IsDir() {
			p.t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	if matches, _ := filepath.Glob(filepath.Join(p.home, "rehearse-*")); len(matches) > 0 {
		p.t.Errorf("left behind: %v", matches)
	}
}

func TestUpServesAndLeavesNothing(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	p := startUp(t, "--without-autoscaler", "--kubeconfig", kubeconfig)
	if p.kubeconfig != kubeconfig {
		t.Errorf("the line names %s", p.kubeconfig)
	}
	if info, err := os.Stat(kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v, %v", info, err)
	}
	// kubectl finds the running cluster by itself, or takes the one that it is told.
	if out := p.kubectl("get", "namespace", "kube-system", "-o", "name"); out != "namespace/kube-system\n" {
		t.Errorf("got %q", out)
	}
	if out := p.kubectl(
		"--kubeconfig", kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}",
	); out != "rehearse:admin" {
		t.Errorf("got %q", out)
	}
	if out := p.kubectl("version"); !strings.Contains(out, "Server Version: v1.37") {
		t.Errorf("got %q", out)
	}
	children := p.children()
	if len(children) != 5 {
		t.Errorf("the components are %v", children)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.stderr.text())
	}
	p.leavesNothing(children)
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is still there: %v", err)
	}
	if out, err := command(p.home, "kubectl", "get", "nodes").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "no rehearsal is running") {
		t.Errorf("kubectl afterwards: %v, %s", err, out)
	}
}

func TestUpNamesTheComponentThatDies(t *testing.T) {
	p := startUp(t, "--without-autoscaler", "--without-kwok")
	children := p.children()
	if _, ok := children["kwok-controller"]; ok || len(children) != 4 {
		t.Errorf("the components are %v", children)
	}
	if err := syscall.Kill(children["kube-scheduler"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err == nil || err.Error() != "exit status 1" {
		t.Errorf("it ended with %v", err)
	}
	said := p.stderr.text()
	if !strings.Contains(said, "kube-scheduler ended unexpectedly (signal: killed); the end of its log:\n  ") {
		t.Errorf("it said:\n%s", said)
	}
	p.leavesNothing(children)
}

func TestUpInterruptedWhileItStarts(t *testing.T) {
	home := t.TempDir()
	cmd := command(home, "up", "--without-autoscaler")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stderr)
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, cmd: cmd, home: home}
	for len(p.children()) == 0 { // the processes begin to appear
		time.Sleep(time.Millisecond)
	}
	children := p.children()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(string(said), errInterrupted.Error()) {
		t.Errorf("it ended with %v: %s", err, said)
	}
	p.leavesNothing(children)
}

func TestUpRefusesBeforeItStarts(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(taken, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a kubeconfig that is there": {[]string{"up", "--without-autoscaler", "--kubeconfig", taken}, "writes over no file"},
		"templates that are not":     {[]string{"up", "--without-autoscaler", "--templates", "/no/such/file"}, "--templates: open /no/such/file"},
		"a world that is not":        {[]string{"up", "--without-autoscaler", "--world=mars"}, `--world: there is no world "mars"; there are aws, clusterapi, gardener, kwok`},
		"groups of another world":    {[]string{"up", "--without-autoscaler", "--world=aws", "--templates", taken}, "--templates: read an EKS cluster from " + taken},
		"no plimsoll":                {[]string{"up", "--plimsoll", "/no/such/binary"}, "the plimsoll binary is not there"},
		"flags without use":          {[]string{"up", "--without-autoscaler", "--", "--v=4"}, "contradict each other"},
		"a stray argument":           {[]string{"up", "now"}, `unexpected argument "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			out, err := command(home, test.args...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("got %v: %s", err, out)
			}
			if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
	if data, err := os.ReadFile(taken); err != nil || string(data) != "another's" {
		t.Errorf("the other file is %q, %v", data, err)
	}
}

func TestKubeconfigOfArguments(t *testing.T) {
	for args, want := range map[string]bool{
		"get pods":                     false,
		"get pods --kubeconfig=x":      true,
		"--kubeconfig x get pods":      true,
		"exec p -- run --kubeconfig=x": false,
		"-s https://x get pods":        true,
	} {
		if got := namesKubeconfig(strings.Fields(args)); got != want {
			t.Errorf("%q: got %v", args, got)
		}
	}
}
