package model

import (
	"errors"
	"fmt"
	"math"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Priorities is the document of the priority expander. nil: there is none.
type Priorities struct {
	patterns map[int][]*regexp.Regexp
	err      error
}

// YAMLVersion finds the line that says which version of YAML a text is. The readers refuse all
// but 1.1, and read 1.2 as well.
var YAMLVersion = regexp.MustCompile(`(?m)^%YAML .*$`)

// ParsePriorities reads the document: YAML, numbers to lists of regular expressions for
// ids of groups. It is called once per change of the document.
func ParsePriorities(text string) *Priorities {
	if text == "" {
		return nil
	}
	var raw map[int][]string
	if err := yaml.UnmarshalStrict(YAMLVersion.ReplaceAll([]byte(text), nil), &raw); err != nil {
		return &Priorities{err: fmt.Errorf("priorities: not a map of numbers to lists of patterns: %w", err)}
	}
	patterns := make(map[int][]*regexp.Regexp, len(raw))
	for n, list := range raw {
		for _, s := range list {
			re, err := regexp.Compile(s)
			if err != nil {
				return &Priorities{err: fmt.Errorf("priorities: %d: pattern %q: %w", n, s, err)}
			}
			patterns[n] = append(patterns[n], re)
		}
	}
	return &Priorities{patterns: patterns}
}

// ErrNoPriorities is the error of a document that is not there.
var ErrNoPriorities = errors.New("the priority expander has no document")

// Err says why the document names no group: it is not there, or it cannot be read.
func (p *Priorities) Err() error {
	if p == nil {
		return ErrNoPriorities
	}
	return p.err
}

// Empty reports whether the document has no pattern.
func (p *Priorities) Empty() bool { return p == nil || len(p.patterns) == 0 }

// Of is the highest number with a pattern that matches the group; false if none does.
func (p *Priorities) Of(g provider.GroupID) (highest int, found bool) {
	if p == nil {
		return 0, false
	}
	for n, patterns := range p.patterns {
		for _, re := range patterns {
			if re.MatchString(string(g)) && (!found || n > highest) {
				highest, found = n, true
			}
		}
	}
	return highest, found
}

// Preference is the less, the higher the number that a group's policy, else the priorities, have for it: infinite for
// one that has none.
func (s *Snapshot) Preference(group int) float64 {
	g := &s.Groups[group]
	p, ok := s.Priorities.Of(g.ID)
	if own := g.Settled.Priority; own != nil {
		p, ok = *own, true
	}
	if !ok {
		return math.Inf(1)
	}
	return -float64(p)
}

// Preferences are those of all groups.
func (s *Snapshot) Preferences() []float64 {
	out := make([]float64, len(s.Groups))
	for i := range out {
		out[i] = s.Preference(i)
	}
	return out
}
