package ui

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// What explaining keeps to.
const (
	mostOpen     = 16 // questions that wait for their turn
	mostAnswered = 64 // answers that are kept of one moment
	askAgain     = 2 * time.Second
)

// desk explains one thing at a time. An answer is kept with its moment, so that all who ask for the same share it.
type desk struct {
	log  *slog.Logger
	turn chan struct{} // holds one while an answer is computed

	mu   sync.Mutex // guards what follows, and the answers of all moments
	open int        // questions that wait for their turn
}

// question is what is asked about: a pod, a node or a group, by its name.
type question struct{ kind, name string }

// answer has its value once done is closed.
type answer struct {
	done  chan struct{}
	value any
	err   error
	// wanted counts the requests that wait for it. It is not computed if there is none by its turn.
	wanted int
}

// ask gives what explain says, once it is known or the request has ended.
func (d *desk) ask(ctx context.Context, m *moment, q question) (any, error) {
	a, err := d.join(m, q)
	if err != nil {
		return nil, err
	}
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		a.wanted--
		return nil, fmt.Errorf("explain %s %s: %w", q.kind, q.name, ctx.Err())
	}
}

// join gives the answer that others have asked for already, or puts the question.
func (d *desk) join(m *moment, q question) (*answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := m.answers[q]; a != nil {
		a.wanted++
		return a, nil
	}
	if d.open == mostOpen {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Code: Busy, After: askAgain,
			Why:  fmt.Sprintf("%d other questions wait for an answer", mostOpen),
			Hint: "ask again soon; plimsoll explain -f answers from a file, without the leader"}
	}
	d.open++
	a := &answer{done: make(chan struct{}), wanted: 1}
	m.keep(q, a)
	go d.work(m, q, a)
	return a, nil
}

// work computes an answer when it is its turn.
func (d *desk) work(m *moment, q question, a *answer) {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	d.mu.Lock()
	d.open--
	left := a.wanted == 0
	if left && m.answers[q] == a {
		m.forget(q)
	}
	d.mu.Unlock()
	defer close(a.done)
	if left {
		a.err = context.Canceled
		return
	}
	// A fault in explaining must not end the autoscaler.
	defer func() {
		if r := recover(); r != nil {
			a.value, a.err = nil, fmt.Errorf("explain %s %s: a fault of the program; the log has more", q.kind, q.name)
			d.log.Error("explaining failed; nothing else is affected: please report it", "kind", q.kind, "name", q.name,
				"panic", r, "stack", string(debug.Stack()))
		}
	}()
	a.value, a.err = explained(m.cycle, q)
}

// keep remembers an answer, and forgets the oldest if there are too many. The desk's lock guards it.
func (m *moment) keep(q question, a *answer) {
	if m.answers == nil {
		m.answers = map[question]*answer{}
	}
	if len(m.asked) == mostAnswered {
		m.forget(m.asked[0])
	}
	m.answers[q], m.asked = a, append(m.asked, q)
}

func (m *moment) forget(q question) {
	delete(m.answers, q)
	m.asked = slices.DeleteFunc(m.asked, func(other question) bool { return other == q })
}

// explained is what explain says, as a value.
func explained(c model.Cycle, q question) (any, error) {
	switch q.kind {
	case "pod":
		return valued(explain.PodOf(c, c.Policy, q.name))
	case "node":
		return valued(explain.NodeOf(c, c.Policy, q.name))
	}
	return valued(explain.GroupOf(c, c.Policy, q.name))
}

// valued turns what is not there into a refusal.
func valued[T any](value T, err error) (any, error) {
	if missing, ok := errors.AsType[*explain.NotFoundError](err); ok {
		r := &Refusal{Status: http.StatusNotFound, Code: NotFound, Why: missing.Error()}
		if len(missing.Near) == 0 && missing.What != "group" {
			r.Hint = "kubectl get " + missing.What + "s has the names"
		}
		return nil, r
	}
	return value, err
}

// explained answers for one scene.
func (s *Server) explained(ctx context.Context, c scene, q question) (any, error) {
	switch {
	case c.moment == nil || !c.leads:
		return nil, c.unable()
	case q.kind != "pod" && q.kind != "node" && q.kind != "group":
		return nil, &Refusal{Status: http.StatusNotFound, Code: NotFound,
			Why: fmt.Sprintf("%q cannot be explained", q.kind), Hint: "ask for explain/pod, node, group or plan"}
	case q.kind == "pod" && !strings.Contains(q.name, "/"):
		return nil, &Refusal{Status: http.StatusBadRequest, Code: BadRequest,
			Why: fmt.Sprintf("pod %s has no namespace", q.name), Hint: "name it NAMESPACE/NAME"}
	}
	return s.desk.ask(ctx, c.moment, q)
}

// said is the same as text for the page.
func (s *Server) said(ctx context.Context, c scene, q question) (string, error) {
	value, err := s.explained(ctx, c, q)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	switch v := s.recorded(c.moment, value).(type) {
	case explain.Pod:
		err = cli.Pod(&b, v, cli.Table)
	case explain.Node:
		err = cli.Node(&b, v, cli.Table)
	case explain.Group:
		err = cli.Group(&b, v, cli.Table)
	}
	return b.String(), err
}

// recorded is an answer with what the decisions that are kept know of it: which of them bought a node, and for whom,
// where memory has no more of that.
func (s *Server) recorded(m *moment, value any) any {
	switch v := value.(type) {
	case explain.Pod:
		if v.Running != nil {
			running := *v.Running
			running.Bought = s.bought(m, running.Node, running.Bought)
			v.Running = &running
		}
		return v
	case explain.Node:
		v.Bought = s.bought(m, v.Node, v.Bought)
		return v
	}
	return value
}

func (s *Server) bought(m *moment, node string, known explain.Bought) explain.Bought {
	i := slices.IndexFunc(m.cycle.Snapshot.Nodes, func(n *model.Node) bool { return n.Name == node && n.Object != nil })
	if i < 0 {
		return known
	}
	d, ok := s.book.Bought(node, m.cycle.Snapshot.Nodes[i].Object.CreationTimestamp.Time)
	if !ok {
		return known
	}
	known.By = &explain.BoughtBy{Decision: d.ID, Time: d.Time}
	for _, m := range d.Made {
		for _, g := range d.Grow {
			if m.Node == node && g.Group == m.Group {
				known.By.Why = g.Why
			}
		}
	}
	if len(known.For) > 0 || len(d.Grow) > 1 {
		return known // which of several groups was for which pods, a decision does not say
	}
	for i := range d.Pending {
		if d.Pending[i].Planned > 0 {
			known.For = append(known.For, d.Pending[i].Class)
		}
	}
	if len(known.For) > 0 {
		known.Unknown = ""
	}
	return known
}
