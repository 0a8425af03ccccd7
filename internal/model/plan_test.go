package model

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestBounds: a share narrows a group's own bounds, and never so that the least is above
// the most: where the pool's other groups have what it lacks, its part of the minimum is
// out of its reach.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		min, max    int
		share       *PoolShareOf
		least, most int
	}{
		"no share":                     {1, 5, nil, 1, 5},
		"narrowed":                     {0, 5, &PoolShareOf{Min: 1, Max: 2}, 1, 2},
		"its own are narrower":         {1, 2, &PoolShareOf{Min: 0, Max: 4}, 1, 2},
		"the pool is full without it":  {0, 4, &PoolShareOf{Min: 1, Max: 0}, 0, 0},
		"its own minimum is above":     {2, 4, &PoolShareOf{Min: 0, Max: 1}, 1, 1},
		"another group's share is not": {0, 4, &PoolShareOf{Group: "h", Min: 1, Max: 1}, 0, 4},
	} {
		var p Plan
		if c.share != nil {
			if c.share.Group == "" {
				c.share.Group = "g"
			}
			p.Shares = []PoolShareOf{*c.share}
		}
		g := Group{Group: provider.Group{ID: "g", Min: c.min, Max: c.max}}
		if least, most := p.Bounds(&g); least != c.least || most != c.most {
			t.Errorf("%s: %d to %d, want %d to %d", name, least, most, c.least, c.most)
		}
	}
}

// TestAnswers: what the end of a call says, of each kind of error.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		verb Verb
		err  *provider.Error
		want Answer
	}{
		{Taint, nil, AnswerDone},
		{Remove, &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true}, AnswerUnknown},
		{Remove, &provider.Error{Kind: provider.Transient, Code: CodeNotBegun}, AnswerNotBegun},
		{Cordon, &provider.Error{Kind: provider.Throttled, Code: CodeNotBegun}, AnswerNotBegun},
		{Remove, &provider.Error{Kind: provider.Throttled, Code: CodeNotBegun}, AnswerBusy},
		{Remove, &provider.Error{Kind: provider.Unavailable}, AnswerBusy},
		{Remove, &provider.Error{Kind: provider.Transient}, AnswerBusy},
		{Remove, &provider.Error{Kind: provider.Conflict}, AnswerConflict},
		{Remove, &provider.Error{Kind: provider.Denied}, AnswerRefused},
	} {
		if o := (Outcome{Call: Call{Verb: c.verb}, Err: c.err}); o.Answer() != c.want {
			t.Errorf("%s, %v: answer %d, want %d", c.verb, c.err, o.Answer(), c.want)
		}
	}
}
