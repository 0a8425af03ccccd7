package ui

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Settings are the operator's.
type Settings struct {
	Version string
	// Observe: the plans are not carried out.
	Observe bool
	// Allow says who may read what; nil: only requests for the loopback are answered.
	Allow Allow
}

// Server shows the newest cycle. Report belongs to the loop's goroutine; everything else may be called
// from any.
type Server struct {
	settings Settings
	book     *decisions.Book
	log      *slog.Logger
	desk     desk
	shelf    shelf

	mu      sync.Mutex
	now     *moment // nil before the first cycle
	number  uint64  // grows with each decision, and when another process leads
	looked  time.Time
	leader  string
	leads   bool
	news    chan struct{} // closed at the next news
	history history
	lookers int
}

// moment is a cycle, and what was made of it for those who asked.
type moment struct {
	cycle model.Cycle

	once sync.Once
	view *View

	// What was explained, and in which order it was asked for. The desk's lock guards both.
	answers map[question]*answer
	asked   []question
}

// New makes a server that has nothing to show yet.
func New(s Settings, book *decisions.Book, log *slog.Logger) *Server {
	return &Server{settings: s, book: book, log: log, desk: desk{log: log, turn: make(chan struct{}, 1)},
		news: make(chan struct{})}
}

// Report takes in one turn of the loop. It keeps the cycle, and computes nothing.
func (s *Server) Report(_ context.Context, c model.Cycle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = c.Snapshot.Now
	s.history.add(c.Snapshot)
	if c.Decided || len(c.Ended) > 0 || s.now == nil {
		s.number++
		s.now = &moment{cycle: c}
	}
	s.tell()
	return nil
}

// Leader notes who leads: this process, or another one, whose name is empty if it is unknown.
func (s *Server) Leader(name string, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leader != name || s.leads != leads {
		s.number++
	}
	s.leader, s.leads = name, leads
	s.tell()
}

// tell wakes those who look.
func (s *Server) tell() {
	close(s.news)
	s.news = make(chan struct{})
}

// scene is all that is shown at one moment.
type scene struct {
	Settings
	moment  *moment // nil: nothing was decided yet
	number  uint64
	history history
	looked  time.Time
	leader  string
	leads   bool
	news    <-chan struct{}
}

func (s *Server) scene() scene {
	s.mu.Lock()
	defer s.mu.Unlock()
	return scene{s.settings, s.now, s.number, s.history.copied(), s.looked, s.leader, s.leads, s.news}
}

// View is what is made of the cycle; nil before the first one.
func (c scene) View() *View {
	if c.moment == nil {
		return nil
	}
	c.moment.once.Do(func() { c.moment.view = viewOf(c.moment.cycle) })
	return c.moment.view
}

// Handler serves the page and the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.api(mux)
	s.pages(mux)
	return s.guard(mux)
}
