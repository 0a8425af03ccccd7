package decisions_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
)

// logged runs a book with a log until it has written what it was given, and gives the messages.
func logged(t *testing.T, path string, most int64, metrics *prometheus.Registry, n int) string {
	t.Helper()
	var said bytes.Buffer
	l := decisions.NewLog(path, most, metrics, slog.New(slog.NewTextHandler(&said, nil)))
	b := decisions.New(100, 1<<20, l, prometheus.NewRegistry())
	for i := range n {
		report(t, b, cycleOf(t, fmt.Sprintf("%s\npods more count=%d cpu=30 memory=1Gi", grows, i+1)))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	l.Run(ended)
	return said.String()
}

// Each line can be read alone, also after half a line that a killed process left.
func TestTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	if err := os.WriteFile(path, []byte(`{"version":1,"deci`), 0o600); err != nil {
		t.Fatal(err)
	}
	logged(t, path, 1<<20, prometheus.NewRegistry(), 3)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines: %s", len(lines), text)
	}
	for _, line := range lines[1:] {
		var got struct {
			Version  int
			Decision decisions.Decision
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Version != 1 || got.Decision.Nodes != 3 {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The file is put aside when it is full, and at most two are kept beside it.
func TestTheLogIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	logged(t, path, 3000, prometheus.NewRegistry(), 12)
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		file, err := os.Open(filepath.Join(filepath.Dir(path), f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || info.Size() > 3000 {
			t.Errorf("%s: %v, %v", f.Name(), info.Size(), err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if !json.Valid(lines.Bytes()) {
				t.Errorf("%s: %s", f.Name(), lines.Text())
			}
		}
	}
}

// A disk that is full is told once, and costs the lines only.
func TestAFullDiskStopsNothing(t *testing.T) {
	metrics := prometheus.NewRegistry()
	said := logged(t, "/dev/full", 1<<20, metrics, 3)
	if strings.Count(said, "decisions are not logged") != 1 || !strings.Contains(said, "no space left") {
		t.Error(said)
	}
	if dropped := value(t, metrics, "plimsoll_decision_log_lines_total", "dropped"); dropped != 3 {
		t.Errorf("%v lines are counted as dropped", dropped)
	}
}

// A pipe, such as /dev/stdout, is neither put aside nor forced onto a disk, and nothing is complained of.
func TestThePipeOfALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := os.OpenFile(path, os.O_RDWR, 0) // neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if said := logged(t, path, 3000, prometheus.NewRegistry(), 6); said != "" {
		t.Error(said)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files: %v", len(files), err) // what is read below is not in the pipe
	}
	lines := bufio.NewScanner(read)
	for range 6 {
		if !lines.Scan() || !json.Valid(lines.Bytes()) {
			t.Errorf("%s: %v", lines.Text(), lines.Err())
		}
	}
}

// A file that cannot be put aside does not grow on: that is told once, and the lines are counted.
func TestALogThatCannotBePutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	if err := os.MkdirAll(filepath.Join(path+".1", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".2", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path+".2", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	metrics := prometheus.NewRegistry()
	said := logged(t, path, 3000, metrics, 12)
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, "decisions are not logged") {
		t.Error(said)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 3000 {
		t.Errorf("it has %v bytes: %v", info.Size(), err)
	}
	written, dropped := value(t, metrics, "plimsoll_decision_log_lines_total", "written"),
		value(t, metrics, "plimsoll_decision_log_lines_total", "dropped")
	if written == 0 || written+dropped != 12 {
		t.Errorf("%v lines are written, %v are dropped", written, dropped)
	}
}

// value is that of the metric's series with such a label.
func value(t *testing.T, metrics *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s of %s", name, label)
	return 0
}
