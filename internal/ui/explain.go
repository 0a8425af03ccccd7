package ui

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

// explained is what explain says of a pod, a node or a group, as a value.
func (s *Server) explained(kind, name string) (value any, status int, err error) {
	c := s.scene()
	if c.moment == nil || !c.leads {
		return nil, http.StatusServiceUnavailable, errors.New("this process does not lead, or has decided nothing yet")
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	cycle := c.moment.cycle
	switch kind {
	case "pod":
		value, err = explain.PodOf(cycle, cycle.Policy, name)
	case "node":
		value, err = explain.NodeOf(cycle, cycle.Policy, name)
	case "group":
		value, err = explain.GroupOf(cycle, cycle.Policy, name)
	default:
		return nil, http.StatusNotFound, fmt.Errorf("pod, node, group and plan can be explained, %s cannot", kind)
	}
	if missing := (*explain.NotFoundError)(nil); errors.As(err, &missing) {
		return nil, http.StatusNotFound, err
	} else if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	return value, http.StatusOK, nil
}

// said is the same as text for the page; empty if there is no such thing.
func (s *Server) said(kind, name string) string {
	value, _, err := s.explained(kind, name)
	if err != nil {
		return ""
	}
	var b strings.Builder
	switch v := value.(type) {
	case explain.Pod:
		err = cli.Pod(&b, v, cli.Table)
	case explain.Node:
		err = cli.Node(&b, v, cli.Table)
	case explain.Group:
		err = cli.Group(&b, v, cli.Table)
	}
	if err != nil {
		return ""
	}
	return b.String()
}
