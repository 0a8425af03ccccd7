package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The kernel counts processor time in these, whatever its own tick is.
const ticksPerSecond = 100

// Cost is what a process has used.
type Cost struct {
	CPU      time.Duration // user and system time of all its threads
	Resident int64         // bytes of memory now
	Peak     int64         // the most bytes of memory so far
}

var errNoFigure = errors.New("the figure is not there")

// costOf reads what a process has used since it began.
func costOf(pid int) (Cost, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return Cost{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return Cost{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	cost, err := parseCost(string(stat), string(status))
	if err != nil {
		return Cost{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	return cost, nil
}

// parseCost reads the kernel's stat and status files of a process: proc(5).
func parseCost(stat, status string) (Cost, error) {
	// The second field is the program's name in brackets, which may hold anything.
	_, rest, found := cutLast(stat, ")")
	fields := strings.Fields(rest)
	const user, system = 14 - 3, 15 - 3 // proc(5) counts from 1, and two fields are gone
	if !found || len(fields) <= system {
		return Cost{}, fmt.Errorf("processor time: %w", errNoFigure)
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Cost{}, fmt.Errorf("processor time: %w", err)
		}
		ticks += n
	}
	resident, err := kilobytes(status, "VmRSS:")
	if err != nil {
		return Cost{}, err
	}
	peak, err := kilobytes(status, "VmHWM:")
	if err != nil {
		return Cost{}, err
	}
	return Cost{CPU: time.Duration(ticks) * (time.Second / ticksPerSecond), Resident: resident, Peak: peak}, nil
}

func cutLast(text, mark string) (before, after string, found bool) {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(mark):], true
}

// kilobytes reads a line like "VmRSS:	  1234 kB" and returns bytes.
func kilobytes(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s %w", name, err)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("%s %w", name, errNoFigure)
}
