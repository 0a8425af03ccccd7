package act

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// atOnce is how many writes to nodes run at once, and how many evictions. Each has its own slots:
// the API server may delay an eviction for minutes, and a rollback must not wait for that.
const atOnce = 20

// laneOf names what only one call may use at a time.
func laneOf(call model.Call) string {
	switch {
	case call.Verb == model.Evict:
		return "pod/" + call.Pod
	case writesNode(call):
		return "node/" + call.Node
	case call.Pool != "":
		return "pool/" + string(call.Pool)
	default:
		return "group/" + string(call.Group)
	}
}

// together is how many instances one write ends at most: its deadline is that of one call, and some
// clouds end instances one by one.
const together = 10

// apart is the largest difference between the deadlines of removals in one write: the earliest
// deadline holds for all.
const apart = 10 * time.Second

// head is how many calls at the head of a queue form one write: consecutive removals from one
// group, else one. Removals of an all-or-nothing group are never separated.
func head(queue []job) int {
	n, first := 1, queue[0].call
	most := together
	if first.Whole > 0 {
		most = first.Whole
	}
	for first.Verb == model.Remove && n < min(len(queue), most) {
		c := queue[n].call
		if c.Verb != model.Remove || c.Group != first.Group || c.Force != first.Force || c.If != first.If ||
			c.Whole != first.Whole || c.Deadline.Sub(first.Deadline).Abs() > apart {
			break
		}
		n++
	}
	return n
}

// slots bound how many writes of a kind run at once.
type slots struct {
	free    int
	waiting []string // the lanes whose first call waits for one
}

// slotsFor are those of which a call needs one, nil if it needs none. A lane limits writes to the
// cloud already.
func (a *Actor) slotsFor(call model.Call) *slots {
	switch {
	case call.Verb == model.Evict:
		return &a.podSlots
	case writesNode(call):
		return &a.nodeSlots
	default:
		return nil
	}
}

// next begins the next write of a lane of which none is under way, as soon as there is a slot. The
// lock must be held.
func (a *Actor) next(lane string) {
	queue := a.lanes[lane]
	if len(queue) == 0 {
		delete(a.lanes, lane)
		return
	}
	s := a.slotsFor(queue[0].call)
	if s != nil && s.free == 0 {
		s.waiting = append(s.waiting, lane)
		a.run.After(queue[0].call.Deadline.Sub(a.run.Now()), func() { a.tooLate(s) })
		return
	}
	a.begin(lane, s)
}

// begin has a job carry out the first write of a lane. The lock must be held.
func (a *Actor) begin(lane string, s *slots) {
	if s != nil {
		s.free--
	}
	queue := a.lanes[lane]
	n := head(queue)
	a.lanes[lane] = queue[n:]
	w := &write{lane: lane, jobs: queue[:n], slots: s}
	a.running.Add(1)
	a.run.Go(func() {
		defer a.running.Done()
		a.carryOut(w)
	})
}

// release returns a slot, for the lane that has waited longest. The lock must be held.
func (a *Actor) release(s *slots) {
	if s == nil {
		return
	}
	s.free++
	if len(s.waiting) > 0 {
		lane := s.waiting[0]
		s.waiting = s.waiting[1:]
		a.begin(lane, s)
	}
}

// tooLate tells the ends of calls whose deadline passed while they waited for a slot.
func (a *Actor) tooLate(s *slots) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lanes := s.waiting
	s.waiting = nil
	for _, lane := range lanes {
		queue := a.lanes[lane]
		if a.run.Now().Before(queue[0].call.Deadline) {
			s.waiting = append(s.waiting, lane)
			continue
		}
		a.tell(a.notBegun(queue[0].call, errLate))
		a.lanes[lane] = queue[1:]
		a.next(lane)
	}
}

func writesNode(call model.Call) bool {
	switch call.Verb {
	case model.Taint, model.Untaint, model.Cordon, model.Mark, model.Unmark, model.Annotate:
		return true
	default:
		return false
	}
}

func touchesCloud(call model.Call) bool {
	return call.Verb == model.Grow || call.Verb == model.Cancel || call.Verb == model.Remove
}
