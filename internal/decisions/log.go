package decisions

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The log's habits.
const (
	// older is how many files are kept beside the current one, as FILE.1 (the newer) and FILE.2.
	older = 2
	// synced is how often what was written is forced onto the disk.
	synced = 5 * time.Second
	// queued is how many lines may wait to be written. What comes when so many wait is dropped.
	queued = 1024
)

// The lines of the log besides decisions. Each line is one JSON object with one key that says what it
// is, and the version of the form.
type (
	callEnded struct {
		Decision string `json:"decision"`
		Call     Call   `json:"call"`
	}
	nodeMade struct {
		Decision string `json:"decision"`
		Node     Made   `json:"node"`
	}
)

// Log writes decisions into a file, a line of JSON each. What cannot be written is counted and
// dropped: a full disk stops nothing.
type Log struct {
	path    string
	most    int64
	lines   chan []byte
	written *prometheus.CounterVec
	log     *slog.Logger

	// These belong to Run.
	file    *os.File
	size    int64
	special bool // a pipe or a device: nothing to put aside, or to force onto a disk
	torn    bool // the last line is not whole
	dirty   bool // something is not forced onto the disk yet
	failing bool
}

// NewLog gives a log that writes to a file once Run runs. The file is put aside when it is larger
// than most bytes.
func NewLog(path string, most int64, metrics prometheus.Registerer, log *slog.Logger) *Log {
	l := &Log{path: path, most: most, lines: make(chan []byte, queued), log: log,
		written: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "plimsoll", Name: "decision_log_lines_total",
			Help: "Lines of the decision log, by end: written or dropped."}, []string{"end"})}
	for _, end := range []string{"written", "dropped"} {
		l.written.WithLabelValues(end)
	}
	metrics.MustRegister(l.written)
	return l
}

// decided queues a decision, news what became of one. There may be no log.
func (l *Log) decided(text []byte) { l.queue("decision", text) }
func (l *Log) news(text []byte)    { l.queue("news", text) }

func (l *Log) queue(kind string, text []byte) {
	if l == nil {
		return
	}
	line, err := json.Marshal(map[string]any{"version": 1, kind: json.RawMessage(text)})
	if err != nil {
		panic(err) // text is JSON
	}
	select {
	case l.lines <- append(line, '\n'):
	default:
		l.written.WithLabelValues("dropped").Inc()
	}
}

// Run writes until ctx ends, and then what is queued.
func (l *Log) Run(ctx context.Context) {
	tick := time.NewTicker(synced)
	defer tick.Stop()
	defer l.close()
	for {
		select {
		case line := <-l.lines:
			l.write(line)
		case <-tick.C:
			l.sync()
		case <-ctx.Done():
			for {
				select {
				case line := <-l.lines:
					l.write(line)
				default:
					return
				}
			}
		}
	}
}

// write writes one line. A failure is logged once, until a write succeeds.
func (l *Log) write(line []byte) {
	err := l.room(int64(len(line)))
	if err == nil {
		if l.torn {
			line = append([]byte{'\n'}, line...)
		}
		var n int
		n, err = l.file.Write(line)
		l.size += int64(n)
		l.torn = err != nil && (n > 0 || l.torn)
		l.dirty = l.dirty || n > 0
	}
	if err != nil {
		l.written.WithLabelValues("dropped").Inc()
		l.fail(fmt.Errorf("write the decision log %s: %w", l.path, err))
		return
	}
	l.written.WithLabelValues("written").Inc()
	if l.failing {
		l.failing = false
		l.log.Info("decisions are logged again", "file", l.path)
	}
}

func (l *Log) fail(err error) {
	if !l.failing {
		l.failing = true
		l.log.Warn("decisions are not logged; deciding goes on", "err", err,
			"hint", "make room on the disk, or name another file with --decision-log")
	}
}

// room has a file with room for a line. Where the old ones cannot be put aside, there is none, or the disk would fill.
func (l *Log) room(line int64) error {
	if err := l.open(); err != nil {
		return err
	}
	if l.special || l.size == 0 || l.size+line <= l.most {
		return nil
	}
	l.close()
	for i := older; i > 0; i-- {
		from := l.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", l.path, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", l.path, i)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return l.open()
}

// open opens the file, unless it is open.
func (l *Log) open() error {
	if l.file != nil {
		return nil
	}
	// Other users must not read the names of pods and nodes.
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.size, l.special = file, info.Size(), !info.Mode().IsRegular()
	// A process that was killed may have left half of a line.
	last := []byte{'\n'}
	if l.size > 0 && !l.special {
		_, err = file.ReadAt(last, l.size-1)
	}
	l.torn = last[0] != '\n'
	return err
}

func (l *Log) sync() {
	if l.file == nil || !l.dirty || l.special {
		return
	}
	if err := l.file.Sync(); err != nil {
		l.fail(fmt.Errorf("force the decision log %s onto the disk: %w", l.path, err))
		return
	}
	l.dirty = false
}

func (l *Log) close() {
	if l.file == nil {
		return
	}
	l.sync()
	if err := l.file.Close(); err != nil {
		l.fail(fmt.Errorf("close the decision log %s: %w", l.path, err))
	}
	l.file, l.size, l.torn, l.dirty = nil, 0, false, false
}
