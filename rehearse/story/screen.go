package story

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	redrawEvery = 150 * time.Millisecond // on a terminal
	lineEvery   = time.Second            // elsewhere: one line, if something changed

	// mostLines bounds what is printed without a terminal, where it may never be read.
	mostLines = 400

	eraseBelow = "\x1b[J"
	bold       = "\x1b[1m"
	plain      = "\x1b[0m"
)

// Screen is where a story is told. On a terminal a frame is redrawn in place
// below what was said; elsewhere it becomes one line at each change.
type Screen struct {
	out   io.Writer
	width func() int          // columns of the terminal; nil: it is none
	edit  func(string) string // what becomes of a line that is told; nil: it stays

	mu    sync.Mutex
	drawn int    // lines of the frame that is on the terminal
	last  string // the last line that stands for a frame
	lines int    // lines told without a terminal
}

// NewScreen tells to out. A nil width means that out is no terminal.
func NewScreen(out io.Writer, width func() int) *Screen {
	return &Screen{out: out, width: width}
}

// Say writes text that stays.
func (s *Screen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.out, text)
}

// link says where a page of this machine is, and on a terminal how to open it.
func (s *Screen) link(url string) string {
	text := "Plimsoll's page: " + url
	if s.width == nil {
		return text
	}
	return text + "\n" + HowToOpen(url)
}

// HowToOpen says how a person opens a page of this machine.
func HowToOpen(url string) string {
	return "Open it in a browser on this machine. On another one: ssh -N -L 8086:" +
		strings.Trim(strings.TrimPrefix(url, "http:"), "/") + " HOST, and open http://127.0.0.1:8086/"
}

// Edit has every line that is told from now on go through a func; one that it leaves
// empty is not shown.
func (s *Screen) Edit(edit func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = edit
}

// Tell writes one line of many that come as things happen. Without a terminal
// their number is bounded.
func (s *Screen) Tell(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.edit != nil {
		if line = s.edit(line); line == "" {
			return
		}
	}
	s.tell(line)
}

func (s *Screen) tell(line string) {
	s.erase()
	if s.width != nil {
		fmt.Fprintln(s.out, line)
		return
	}
	s.lines++
	switch {
	case s.lines < mostLines:
		fmt.Fprintln(s.out, line)
	case s.lines == mostLines:
		fmt.Fprintf(s.out, "... more than %d lines; the story goes on without telling all\n", mostLines)
	}
}

// Show draws a frame in the place of the one before.
func (s *Screen) Show(f Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.width == nil {
		if line := f.Line(); line != s.last {
			s.last = line
			s.tell(fmt.Sprintf("%5.1f s  %s", f.Elapsed.Seconds(), line))
		}
		return
	}
	s.erase()
	lines := f.Lines(s.width() - 1)
	for i, line := range lines {
		if i == 0 {
			line = bold + line + plain
		}
		fmt.Fprintln(s.out, line)
	}
	s.drawn = len(lines)
}

// Keep leaves the present frame where it is: what is said next comes below it.
func (s *Screen) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn, s.last = 0, ""
}

// erase removes the frame from the terminal. The caller holds the lock.
func (s *Screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\r%s", s.drawn, eraseBelow)
		s.drawn = 0
	}
}

// follow shows frames until the returned func is called, which shows the last
// one and keeps it.
func (s *Screen) follow(ctx context.Context, frame func() Frame) (end func()) {
	every := lineEvery
	if s.width != nil {
		every = redrawEvery
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			s.Show(frame())
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		s.Show(frame())
		s.Keep()
	}
}

// clip cuts a line to a number of columns.
func clip(line string, width int) string {
	runes := []rune(line)
	if width < 1 || len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
}

// pad fills text with spaces up to a number of columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len([]rune(text))))
}
