package sim

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/inventory"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// reader reads the cloud for one leader as the live observer does: each interval, and soon after a
// write has ended. Package inventory decides what to believe of the answers.
type reader struct {
	w *world
	// ahead is how far the process's clock is.
	ahead time.Duration
	// runs does something of the process's.
	runs  func(func())
	known inventory.Known
	err   string
	// generation counts deliveries that show something new, or that were asked for.
	generation uint64
	news       func()
	delivered  func()
	ready      func() func(*provider.Instance) bool
	asked      time.Time // when a read was last asked for that has not begun
	began      time.Time
	reading    bool
	poked      bool
	plan       int // counts plans for a next read: only the last one counts
	closed     bool
}

// refreshGap is the least time between the beginnings of two reads.
const refreshGap = time.Second

// refresh asks for a read that begins after this moment.
func (r *reader) refresh() {
	r.asked, r.poked = r.w.now, true
	if !r.reading {
		r.next(r.began.Add(refreshGap))
	}
}

// next plans the next read.
func (r *reader) next(at time.Time) {
	r.plan++
	plan := r.plan
	r.w.at(at, func() {
		r.runs(func() {
			if plan == r.plan && !r.closed {
				r.read()
			}
		})
	})
}

// read begins a read, which ends later with what the cloud was like in between.
func (r *reader) read() {
	w := r.w
	r.began, r.reading, r.poked = w.now, true, false
	took := w.readTakes()
	if took >= readDeadline {
		w.after(readDeadline, func() {
			r.runs(func() {
				r.end(provider.Inventory{}, &provider.Error{Op: provider.OpInventory, Kind: provider.Unavailable,
					Code: "DeadlineExceeded", Message: "the cloud did not answer"})
			})
		})
		return
	}
	began := w.now
	w.after(took/2, func() {
		answer, err := w.answer(began)
		w.after(took-took/2, func() { r.runs(func() { r.end(answer, err) }) })
	})
}

// answer is what a read that began at an instant gets, faults and all.
func (w *world) answer(began time.Time) (provider.Inventory, *provider.Error) {
	if f := w.meets(readError, nil, ""); f != nil {
		err := f.Err
		err.Op = provider.OpInventory
		return provider.Inventory{}, &err
	}
	for _, f := range w.faults {
		if f.What == readStale && f.on {
			return f.frozen, nil
		}
	}
	inv := w.cloud.Truth()
	inv.AsOf = began
	if w.meets(readEmpty, nil, "") != nil {
		return provider.Inventory{AsOf: began}, nil
	}
	var kept []provider.Group
	for _, g := range inv.Groups {
		own := w.groups[g.ID]
		if w.meets(readMissing, own, zoneOf(own)) != nil {
			continue
		}
		if f := w.meets(readUnreadable, own, zoneOf(own)); f != nil {
			err := f.Err
			err.Op, err.Group = provider.OpInventory, g.ID
			g = provider.Group{ID: g.ID, Pool: g.Pool, Err: &err}
		}
		if w.meets(readBare, own, zoneOf(own)) != nil {
			g.Instances = nil
		}
		if w.meets(readDrift, own, zoneOf(own)) != nil {
			for i := range g.Instances {
				g.Instances[i].ProviderID, g.Instances[i].NodeName = "other:///"+string(g.Instances[i].ID), ""
			}
		}
		if f := w.meets(skewedClock, own, zoneOf(own)); f != nil {
			redate(&g, f.Skew)
		}
		g = w.belied(own, g)
		kept = append(kept, g)
	}
	inv.Groups = kept
	return inv, nil
}

// end takes in the end of a read, and plans the next one.
func (r *reader) end(answer provider.Inventory, failed *provider.Error) {
	if r.closed {
		return
	}
	r.reading = false
	next := r.began.Add(r.w.settings.Loop.ScanInterval)
	if r.poked {
		next = r.began.Add(refreshGap)
	}
	r.deliver(answer, failed)
	r.next(next)
}

func (r *reader) deliver(answer provider.Inventory, failed *provider.Error) {
	var known inventory.Known
	err := error(failed)
	if failed == nil {
		r.w.judge.read(answer)
		r.w.unlisted(answer)
	}
	if failed == nil {
		known, err = r.known.Fold(r.dated(answer), r.ready())
	}
	if err != nil {
		if r.err == "" {
			r.w.log.say("cannot read the cloud: %v", err)
			r.news()
		}
		if why := err.Error(); why != r.err {
			r.err = why
			r.generation++
		}
		return
	}
	if r.err != "" {
		r.w.log.say("the cloud can be read again")
	}
	asked := !r.asked.IsZero() && !answer.AsOf.Before(r.asked)
	if asked {
		r.asked = time.Time{}
	}
	differs := r.err != "" || r.known.Differs(known)
	if asked || differs {
		r.news()
	}
	if asked || differs || r.known.Contradicted() || known.Contradicted() {
		r.generation++
	}
	r.known, r.err = known, ""
	r.delivered()
}
