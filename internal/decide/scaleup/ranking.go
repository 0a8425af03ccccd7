package scaleup

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file ranks the groups once for all classes that ask the same of new nodes. Of some thousand classes that depend
// on topology domains most differ only in which pods count for them.

// ranking is which groups may grow for such classes, the best first; of those in one region the best alone, since it is
// not used up before they are served.
type ranking struct {
	open    []byte // by head: 1 if its group may grow at all
	heads   []head
	options int
}

// seekers are what is known of rankings: by what a class asks of new nodes, and how many of its pods wait.
type seekers struct {
	known map[string]*ranking
	// starts are the pods that new nodes start with, a list for each kind of them; uneven: what a group's next node is,
	// or costs, depends on those before it.
	starts [][]model.Batch
	uneven bool
	open   []byte
}

// seekers looks at the groups, once.
func (pl *planner) seekers() *seekers {
	if pl.ranked != nil {
		return pl.ranked
	}
	k := &seekers{known: map[string]*ranking{}, uneven: pl.s.Prices.Committed()}
	for _, h := range pl.heads {
		k.uneven = k.uneven || pl.w.Landing(h.group) != nil
		if len(h.template.Pods) > 0 && !slices.ContainsFunc(k.starts, func(s []model.Batch) bool {
			return reflect.DeepEqual(s, h.template.Pods)
		}) {
			k.starts = append(k.starts, h.template.Pods)
		}
	}
	pl.ranked = k
	return k
}

// ranking is that of a class, nil where it is not the same for all classes that ask for the same, or where a limit may
// be used up for it.
func (pl *planner) ranking(q *waiting) *ranking {
	k := pl.seekers()
	if k.uneven || len(q.postponed) > 0 || !pl.ample(q.left) {
		return nil
	}
	name, ok := pl.w.Seeks(q.Class, k.starts)
	if !ok {
		return nil
	}
	perHost := pl.w.MostPerHost(q.Class)
	name = string(binary.AppendVarint(binary.AppendVarint([]byte(name), int64(q.left)), int64(perHost)))
	r := k.known[name]
	if r == nil || !bytes.Equal(r.open, k.open) {
		options := pl.answersOf(q, perHost)
		r = &ranking{open: slices.Clone(k.open), options: len(options)}
		seen := map[int32]bool{}
		for _, i := range pl.rank(options) {
			h := options[i].head
			if region := pl.w.RegionOf(q.Class, h.template); !seen[region] {
				seen[region] = true
				r.heads = append(r.heads, h)
			}
		}
		k.known[name] = r
	}
	pl.options += r.options
	return r
}

// ample reports whether each group that may grow can have a node for each of so many pods, and one more in each region.
// It notes which groups may.
func (pl *planner) ample(pods int) bool {
	k := pl.seekers()
	k.open = k.open[:0]
	for _, h := range pl.heads {
		switch most := pl.limits.most(h.group); {
		case most == 0:
			k.open = append(k.open, 0)
		case most < pods+len(pl.heads):
			return false
		default:
			k.open = append(k.open, 1)
		}
	}
	pl.w.Looked(len(pl.heads) / looksPerGroup)
	return true
}
