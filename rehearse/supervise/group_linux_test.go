package supervise_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

// The test binary plays the children too: the first argument says which part.
const part = "play-part"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == part {
		play(os.Args[2], os.Args[3:])
		return
	}
	os.Exit(m.Run())
}

func play(role string, args []string) {
	switch role {
	case "dies":
		fmt.Println("the last words")
		os.Exit(7)
	case "lives": // until it is asked to end; tells when in a file
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("alive")
		<-asked
		file, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(file, args[1])
		file.Close()
	case "ignores": // every request to end
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("alive")
		<-time.After(time.Hour)
	case "follows": // its parent
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "parent": // starts a child, prints its pid, and waits to be killed
		group := supervise.NewGroup(slog.New(slog.DiscardHandler))
		child := supervise.Process{
			Name: "child", Path: os.Args[0], Args: []string{part, args[0]}, Log: args[1], EndsWithParent: args[0] == "follows",
		}
		if err := group.Launch(child); err != nil {
			panic(err)
		}
		fmt.Println(group.Processes()[0].PID)
		<-time.After(time.Hour)
	}
}

func newGroup(t *testing.T) *supervise.Group {
	group := supervise.NewGroup(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := group.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return group
}

func actor(t *testing.T, name string, args ...string) supervise.Process {
	log := filepath.Join(t.TempDir(), name+".log")
	return supervise.Process{
		Name: name,
		Path: os.Args[0],
		Args: append([]string{part}, args...),
		Log:  log,
		Ready: func(context.Context) error {
			if data, err := os.ReadFile(log); err != nil || !strings.Contains(string(data), "alive") {
				return fmt.Errorf("not alive yet: %w", err)
			}
			return nil
		},
	}
}

func launch(t *testing.T, group *supervise.Group, p supervise.Process) {
	t.Helper()
	if err := group.Launch(p); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition of the world outside, and fails after a while.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

func TestDeathIsNamedWithTheEndOfItsLog(t *testing.T) {
	group := newGroup(t)
	p := actor(t, "scapegoat", "dies")
	launch(t, group, p)
	select {
	case err := <-group.Failed():
		var death *supervise.DeathError
		if !errors.As(err, &death) || death.Name != "scapegoat" || death.How != "exit status 7" ||
			death.LogTail != "the last words" {
			t.Fatalf("got %#v", err)
		}
		for _, want := range []string{"scapegoat", "exit status 7", "\n  the last words"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the death was not reported")
	}
	if err := group.WaitReady(t.Context(), "scapegoat"); !errors.As(err, new(*supervise.DeathError)) {
		t.Errorf("a dead process is waited for: %v", err)
	}
}

func TestRevivedAfterKill(t *testing.T) {
	group := newGroup(t)
	p := actor(t, "phoenix", "lives", filepath.Join(t.TempDir(), "ends"), "phoenix")
	p.Revive = true
	launch(t, group, p)
	if err := group.WaitReady(t.Context(), "phoenix"); err != nil {
		t.Fatal(err)
	}
	before := group.Processes()[0]
	if err := group.Kill("phoenix"); err != nil {
		t.Fatal(err)
	}
	if err := group.WaitReady(t.Context(), "phoenix"); err != nil {
		t.Fatal(err)
	}
	after := group.Processes()[0]
	if after.Starts != 2 || after.PID == before.PID || !after.Running {
		t.Errorf("before %+v, after %+v", before, after)
	}
	select {
	case err := <-group.Failed():
		t.Errorf("a revived process was reported: %v", err)
	default:
	}
}

func TestEndIsNoFailureAndFreesTheName(t *testing.T) {
	group := newGroup(t)
	ends := filepath.Join(t.TempDir(), "ends")
	p := actor(t, "guest", "lives", ends, "guest")
	p.Revive = true
	launch(t, group, p)
	if err := group.Launch(p); err == nil {
		t.Error("one name was launched twice")
	}
	if err := group.WaitReady(t.Context(), "guest"); err != nil {
		t.Fatal(err)
	}
	state, err := group.End("guest")
	if err != nil || !state.Success() {
		t.Fatalf("end: %v, %v", state, err)
	}
	if status := group.Processes()[0]; status.Running {
		t.Errorf("still running: %+v", status)
	}
	launch(t, group, p)
	if len(group.Processes()) != 1 {
		t.Errorf("got %+v", group.Processes())
	}
}

func TestStopEndsInReverseOrder(t *testing.T) {
	group := supervise.NewGroup(slog.New(slog.DiscardHandler))
	ends := filepath.Join(t.TempDir(), "ends")
	for _, name := range []string{"first", "second", "third"} {
		launch(t, group, actor(t, name, "lives", ends, name))
	}
	if err := group.WaitReady(t.Context(), "first", "second", "third"); err != nil {
		t.Fatal(err)
	}
	if err := group.Stop(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(ends)
	if err != nil || string(got) != "third\nsecond\nfirst\n" {
		t.Errorf("ended in order %q, %v", got, err)
	}
	if err := group.Launch(actor(t, "late", "dies")); err == nil {
		t.Error("a stopped group launched a process")
	}
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	group := supervise.NewGroup(slog.New(slog.DiscardHandler))
	p := actor(t, "mule", "ignores")
	p.Grace = 100 * time.Millisecond
	launch(t, group, p)
	if err := group.WaitReady(t.Context(), "mule"); err != nil {
		t.Fatal(err)
	}
	if err := group.Stop(); err == nil || !strings.Contains(err.Error(), "mule did not end within 100ms") {
		t.Errorf("got %v", err)
	}
	if group.Processes()[0].Running {
		t.Error("it still runs")
	}
}

// Children end with a parent that is killed: by the parent-death signal, and by
// the end of their standard input.
func TestChildrenEndWithTheParent(t *testing.T) {
	for _, role := range []string{"ignores", "follows"} {
		t.Run(role, func(t *testing.T) {
			parent := exec.Command(os.Args[0], part, "parent", role, filepath.Join(t.TempDir(), "log"))
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if !exists(child) {
				t.Fatal("there is no child")
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			eventually(t, "the child is gone", func() bool { return !exists(child) })
		})
	}
}

// exists reports whether a process runs; one that waits to be reaped does not.
func exists(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
