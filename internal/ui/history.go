package ui

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// What of the past is kept: mostSamples, at least sampled apart.
const (
	sampled     = 15 * time.Second
	mostSamples = 6 * 60 * 4
)

// history is how many nodes each group had, and how many pods waited. Samples are never changed, so
// that a copy shares them.
type history struct {
	samples []sample
}

type sample struct {
	at      time.Time
	waiting int32
	sizes   []size
}

// size is a group's registered nodes. Groups of none have no size.
type size struct {
	group provider.GroupID
	nodes int32
}

func (h *history) add(s *model.Snapshot) {
	if n := len(h.samples); n > 0 && s.Now.Sub(h.samples[n-1].at) < sampled {
		return
	}
	if len(h.samples) == mostSamples {
		h.samples = h.samples[1:] // append makes room when it must
	}
	x := sample{at: s.Now}
	for i := range s.Pending {
		x.waiting += int32(len(s.Pending[i].Pods))
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if n := g.ReadyNodes + g.BootingNodes + g.UnreadyNodes + g.LeavingNodes; n > 0 {
			x.sizes = append(x.sizes, size{g.ID, int32(n)})
		}
	}
	h.samples = append(h.samples, x)
}

func (h *history) copied() history { return history{slices.Clip(h.samples)} }

// last is what is younger than so long.
func (h history) last(d time.Duration) []sample {
	if len(h.samples) == 0 {
		return nil
	}
	from := h.samples[len(h.samples)-1].at.Add(-d)
	i, _ := slices.BinarySearchFunc(h.samples, from, func(s sample, t time.Time) int { return s.at.Compare(t) })
	return h.samples[i:]
}

// only is the history of one group, without the pods that waited: they are not the group's.
func (h history) only(id provider.GroupID) (out history) {
	for _, s := range h.samples {
		one := sample{at: s.at}
		for _, g := range s.sizes {
			if g.group == id {
				one.sizes = []size{g}
			}
		}
		out.samples = append(out.samples, one)
	}
	return out
}
