package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// clock is virtual time: a heap of what will happen. What is due at the same
// instant happens in the order in which it was asked for, so that a run depends
// on nothing but its seed.
type clock struct {
	now    time.Time
	events events
	asked  uint64
}

type event struct {
	at    time.Time
	order uint64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at.Equal(e[j].at) {
		return e[i].order < e[j].order
	}
	return e[i].at.Before(e[j].at)
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = event{}
	*e = (*e)[:len(*e)-1]
	return last
}

// at does something at an instant. An instant in the past means now, after all that is due now.
func (c *clock) at(t time.Time, do func()) {
	if t.Before(c.now) {
		t = c.now
	}
	c.asked++
	heap.Push(&c.events, event{t, c.asked, do})
}

func (c *clock) after(d time.Duration, do func()) { c.at(c.now.Add(d), do) }

// runUntil lets everything happen that is due until an instant, which is now
// afterwards.
func (c *clock) runUntil(end time.Time) {
	for len(c.events) > 0 && !c.events[0].at.After(end) {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
	c.now = end
}

// dice are sources of chance, one for each part of the world, so that what one
// part draws does not change what another one gets.
type dice struct {
	kubelet, watch, cloud, act, people, pods, zones, sched, api, faults *rand.Rand
}

func newDice(seed uint64) dice {
	stream := uint64(0)
	next := func() *rand.Rand {
		stream++
		return rand.New(rand.NewPCG(seed, stream))
	}
	return dice{kubelet: next(), watch: next(), cloud: next(), act: next(), people: next(), pods: next(), zones: next(),
		sched: next(), api: next(), faults: next()}
}

// Span is a range of durations, drawn from evenly.
type Span struct{ Least, Most time.Duration }

func (s Span) draw(r *rand.Rand) time.Duration {
	if s.Most <= s.Least {
		return s.Least
	}
	return s.Least + time.Duration(r.Int64N(int64(s.Most-s.Least)+1)).Round(time.Millisecond)
}
