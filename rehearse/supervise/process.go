package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Process describes one child.
type Process struct {
	Name string // unique in its group
	Path string // the binary
	Args []string
	Env  []string // in addition to the parent's environment
	Log  string   // the file that its output is appended to

	// EndsWithParent promises that the child reads its standard input and exits
	// at its end.
	EndsWithParent bool
	// Revive starts the process again, after a growing pause, whenever it dies.
	Revive bool
	// Ready returns nil once the process serves. A nil func means that a started
	// process is a ready one.
	Ready func(context.Context) error
	// Grace is how long an asked-for end may take before the process is killed.
	Grace time.Duration
}

// Status is what is known of a process at one moment.
type Status struct {
	Name    string
	PID     int // of the newest run; it may have ended
	Running bool
	Starts  int
	Log     string
}

// DeathError says that a process ended though it was not asked to.
type DeathError struct {
	Name    string
	How     string // "exit status 1", "signal: killed"
	Log     string
	LogTail string // the last lines of its log
}

func (e *DeathError) Error() string {
	if e.LogTail == "" {
		return fmt.Sprintf("%s ended unexpectedly (%s) and left no log in %s", e.Name, e.How, e.Log)
	}
	indented := "  " + strings.ReplaceAll(e.LogTail, "\n", "\n  ")
	return fmt.Sprintf("%s ended unexpectedly (%s); the end of its log:\n%s", e.Name, e.How, indented)
}

const (
	tailLines = 20
	tailBytes = 8 << 10
)

// logTail returns the last lines of a log file, as far as it can be read.
func logTail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, tailBytes))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// run is one life of a process.
type run struct {
	cmd   *exec.Cmd
	input io.Closer     // held open for as long as the child may live
	ended chan struct{} // closed after Wait returned
	err   error         // what Wait returned; valid once ended is closed
}

// launch starts the process and a goroutine that waits for its end.
func launch(threads *threadKeeper, p Process) (*run, error) {
	log, err := os.OpenFile(p.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.Name, err)
	}
	defer log.Close() // the child has its own descriptor

	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = processAttributes()
	r := &run{cmd: cmd, ended: make(chan struct{})}
	if p.EndsWithParent {
		if r.input, err = cmd.StdinPipe(); err != nil {
			return nil, fmt.Errorf("make the standard input of %s: %w", p.Name, err)
		}
	}
	if err := threads.do(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() {
		r.err = cmd.Wait() // closes input as well
		close(r.ended)
	}()
	return r, nil
}

func (r *run) pid() int { return r.cmd.Process.Pid }

func (r *run) alive() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

func (r *run) signal(s os.Signal) error {
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (r *run) how() string {
	if state := r.cmd.ProcessState; state != nil {
		return state.String()
	}
	return fmt.Sprint(r.err)
}
