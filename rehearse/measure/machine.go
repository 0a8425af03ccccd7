package measure

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
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
	return fmt.Sprintf("%s, %d cores, Linux %s, load before: %s", m.When.UTC().Format(time.DateOnly), m.Cores, m.Kernel, m.Load)
}
