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

// slots are those of which a call needs one. Writes to the cloud need none: a lane limits them
// already.
func (a *Actor) slots(call model.Call) chan struct{} {
	switch {
	case call.Verb == model.Evict:
		return a.podSlots
	case writesNode(call):
		return a.nodeSlots
	default:
		return nil
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
