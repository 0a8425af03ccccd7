package measure

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// Machine says where and when figures were taken. Figures of a busy machine are
// worth little: the load is part of them.
type Machine struct {
	Cores  int
	Kernel string
	Load   string // of the last 1, 5 and 15 minutes, before measuring
	When   time.Time
}

// ThisMachine describes the machine as it is now.
func ThisMachine(now time.Time) (Machine, error) {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return Machine{}, fmt.Errorf("describe the machine: %w", err)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return Machine{}, fmt.Errorf("describe the machine: %w", err)
	}
	fields := strings.Fields(string(load))
	return Machine{
		Cores:  runtime.NumCPU(),
		Kernel: strings.TrimSpace(string(kernel)),
		Load:   strings.Join(fields[:min(3, len(fields))], " "),
		When:   now,
	}, nil
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, Linux %s, load before: %s",
		m.When.UTC().Format(time.DateOnly), m.Cores, m.Kernel, m.Load)
}

// foreign measures what share of the machine other programs take.
type foreign struct {
	began     time.Time
	all, ours time.Duration // processor time so far
}

func startForeign(s *stage.Stage) (foreign, error) {
	all, ours, err := spent(s)
	return foreign{began: time.Now(), all: all, ours: ours}, err
}

// share is of all cores, since the start: 0 on a quiet machine.
func (f foreign) share(s *stage.Stage) (float64, error) {
	all, ours, err := spent(s)
	if err != nil {
		return 0, err
	}
	others := (all - f.all) - (ours - f.ours)
	return max(0, float64(others)/float64(time.Since(f.began))/float64(runtime.NumCPU())), nil
}

// spent is the processor time of the whole machine, and of the stage with this
// program.
func spent(s *stage.Stage) (all, ours time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("measure the machine: %w", err)
	}
	if all, err = parseBusy(string(text)); err != nil {
		return 0, 0, fmt.Errorf("measure the machine: %w", err)
	}
	times, err := componentTimes(s)
	if err != nil {
		return 0, 0, err
	}
	self, err := costOf(os.Getpid())
	if err != nil {
		return 0, 0, err
	}
	ours = self.CPU
	for _, time := range times {
		ours += time
	}
	return all, ours, nil
}

// parseBusy reads the kernel's sum over all cores: user, nice and system time,
// interrupts, and what a hypervisor took away. Idle time and waiting are left out.
func parseBusy(stat string) (time.Duration, error) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("processor time: %w", errNoFigure)
	}
	var ticks int64
	for _, at := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / ticksPerSecond), nil
}
