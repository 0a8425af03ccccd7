package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

// Envelope is every answer but those of explain and events: a kind, and one field with its content.
type Envelope struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Leader is the name of the process that leads, Leads whether this one does. A process that does not
	// lead has no content.
	Leader  string `json:"leader,omitempty"`
	Leads   bool   `json:"leads"`
	Version string `json:"version"`
	Observe bool   `json:"observe,omitempty"`
	// Number grows with each change, Looked is when the cluster was last seen.
	Number    uint64               `json:"number"`
	Looked    time.Time            `json:"looked,omitzero"`
	State     *State               `json:"state,omitempty"`
	Pods      []Class              `json:"pods,omitempty"`
	Nodes     []Node               `json:"nodes,omitempty"`
	Groups    []Group              `json:"groups,omitempty"`
	Decisions []decisions.Decision `json:"decisions,omitempty"`
}

func (c scene) envelope(kind string) Envelope {
	e := Envelope{APIVersion: explain.APIVersion, Kind: kind, Leader: c.leader, Leads: c.leads, Version: c.Version,
		Observe: c.Observe, Looked: c.looked.UTC(), Number: c.number}
	return e
}

// routes are what the API answers to, by path.
func (s *Server) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/api/v1/state":                    s.list("State", func(e *Envelope, v *View) { e.State = &v.State }),
		"/api/v1/pods":                     s.list("Pods", func(e *Envelope, v *View) { e.Pods = v.Pods }),
		"/api/v1/nodes":                    s.list("Nodes", func(e *Envelope, v *View) { e.Nodes = v.Nodes }),
		"/api/v1/groups":                   s.list("Groups", func(e *Envelope, v *View) { e.Groups = v.Groups }),
		"/api/v1/decisions":                s.listDecisions,
		"/api/v1/decisions/{id}":           s.oneDecision,
		"/api/v1/explain/plan/{id}":        s.oneDecision,
		"/api/v1/explain/{kind}/{name...}": s.explain,
		"/api/v1/events":                   s.events,
	}
}

// list answers with one part of the view.
func (s *Server) list(kind string, fill func(*Envelope, *View)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c := s.scene()
		e := c.envelope(kind)
		if v := c.View(); v != nil {
			fill(&e, v)
		}
		reply(w, http.StatusOK, e)
	}
}

func (s *Server) api(mux *http.ServeMux) {
	for path, handle := range s.routes() {
		mux.HandleFunc("GET "+path, handle)
	}
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, &Refusal{Status: http.StatusNotFound, Code: NotFound, Why: "there is no " + r.URL.Path,
			Hint: "state, pods, nodes, groups, decisions, explain and events are below /api/v1"})
	})
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	hurry(w)
	w.WriteHeader(status)
	// The reader has gone if this fails.
	_ = json.NewEncoder(w).Encode(value)
}

// logKeepsMore is what helps where a decision is not kept any more.
const logKeepsMore = "--decision-log keeps more of them, in a file"

// mostListed is how many decisions are listed unless more are asked for.
const mostListed = 100

// listDecisions answers with the newest first, or with what came after one.
func (s *Server) listDecisions(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	e := s.scene().envelope("Decisions")
	switch {
	case q.Get("at") != "":
		at, err := time.Parse(time.RFC3339, q.Get("at"))
		if err != nil {
			s.refuse(w, r, &Refusal{Status: http.StatusBadRequest, Code: BadRequest,
				Why: fmt.Sprintf("at=%s is no time", q.Get("at")), Hint: "write it as 2026-01-02T15:04:05Z"})
			return
		}
		d, ok := s.book.At(at)
		if !ok {
			s.refuse(w, r, &Refusal{Status: http.StatusNotFound, Code: NotFound,
				Why: fmt.Sprintf("no decision of %s or before is kept", q.Get("at")), Hint: logKeepsMore})
			return
		}
		e.Decisions = []decisions.Decision{d}
	case q.Has("after"):
		e.Decisions = s.book.Since(q.Get("after"))
	default:
		limit := mostListed
		if text := q.Get("limit"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				s.refuse(w, r, &Refusal{Status: http.StatusBadRequest, Code: BadRequest,
					Why: fmt.Sprintf("limit=%s is no number above 0", text), Hint: "write it as limit=100"})
				return
			}
			limit = n
		}
		e.Decisions = s.book.List(limit)
	}
	reply(w, http.StatusOK, e)
}

func (s *Server) oneDecision(w http.ResponseWriter, r *http.Request) {
	d, ok := s.book.Find(r.PathValue("id"))
	if !ok {
		s.refuse(w, r, &Refusal{Status: http.StatusNotFound, Code: NotFound,
			Why: fmt.Sprintf("no decision %s is kept", r.PathValue("id")), Hint: logKeepsMore})
		return
	}
	e := s.scene().envelope("Decisions")
	e.Decisions = []decisions.Decision{d}
	reply(w, http.StatusOK, e)
}

// explain answers for one scene: what is masked are the namespaces of the cluster that the answer is about.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	c := s.scene()
	value, err := s.explained(r.Context(), c, question{r.PathValue("kind"), r.PathValue("name")})
	// Decisions are not for those who may see one namespace: they may name one that the cluster has no more.
	if only := onlyOf(r); err == nil && only != "" {
		value, err = masked(value, only, c.moment.namespaces())
	} else if err == nil {
		value = s.recorded(c.moment, value)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	reply(w, http.StatusOK, value)
}

// namespaces are those of the cluster.
func (m *moment) namespaces() []string {
	known := map[string]bool{}
	for i := range m.cycle.Snapshot.Classes {
		known[m.cycle.Snapshot.Classes[i].Namespace()] = true
	}
	for name := range m.cycle.Snapshot.Namespaces {
		known[name] = true
	}
	var out []string
	for name := range known {
		out = append(out, name)
	}
	return out
}

// masked is an answer in which whatever names an object of another namespace is hidden.
func masked(value any, only string, namespaces []string) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, n := range namespaces {
		if n != only && n != "" {
			others = append(others, regexp.QuoteMeta(n))
		}
	}
	if len(others) == 0 {
		return json.RawMessage(text), nil
	}
	named := regexp.MustCompile(`(^|[^-a-z0-9./])(?:` + strings.Join(others, "|") + `)/[-a-zA-Z0-9.]+`)
	// Each text as it is, and not the JSON of all, in which an escape may stand before a name.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	return hide(out, named), nil
}

func hide(value any, named *regexp.Regexp) any {
	switch v := value.(type) {
	case string:
		return named.ReplaceAllString(v, "${1}(another namespace's)")
	case []any:
		for i := range v {
			v[i] = hide(v[i], named)
		}
	case map[string]any:
		for key := range v {
			v[key] = hide(v[key], named)
		}
	}
	return value
}

// What the stream of events keeps to.
const (
	eventPace   = time.Second
	eventBeat   = 15 * time.Second
	mostLookers = 100
)

// News is the data of an event: a number that grows with each change, the last look, and who leads.
type News struct {
	Number uint64    `json:"number"`
	Looked time.Time `json:"looked"`
	Leads  bool      `json:"leads"`
	Leader string    `json:"leader,omitempty"`
}

// newest are the news of a scene.
func (c scene) newest() News {
	return News{Number: c.number, Looked: c.looked.UTC().Truncate(time.Second), Leads: c.leads, Leader: c.leader}
}

// events streams "change" with each new moment, and when another process leads, and "look" with the time of the last
// look, in between. Both are small; a reader who wants to see the change asks for it.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !s.join() {
		s.refuse(w, r, &Refusal{Status: http.StatusServiceUnavailable, Code: Busy, After: eventBeat,
			Why: fmt.Sprintf("%d look already", mostLookers), Hint: "ask again when one of them has gone"})
		return
	}
	defer s.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	var sent uint64
	wait := time.NewTimer(eventBeat)
	defer wait.Stop()
	for first := true; ; first = false {
		c := s.scene()
		kind, news := "look", c.newest()
		if first || news.Number != sent {
			kind = "change"
		}
		sent = news.Number
		data, err := json.Marshal(news)
		if err != nil {
			return
		}
		if err := control.SetWriteDeadline(time.Now().Add(eventBeat)); err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data); err != nil || control.Flush() != nil {
			return
		}
		wait.Reset(eventPace)
		select {
		case <-r.Context().Done():
			return
		case <-wait.C:
		}
		wait.Reset(eventBeat)
		select {
		case <-r.Context().Done():
			return
		case <-c.news:
		case <-wait.C:
		}
	}
}

func (s *Server) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lookers == mostLookers {
		return false
	}
	s.lookers++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookers--
}
