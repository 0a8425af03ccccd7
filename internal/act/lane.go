package act

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// atOnce is how many writes to nodes run at once, and how many evictions. Either
// has slots of its own: the API server may keep an eviction waiting for minutes,
// and a node that is given back must not wait for that.
const atOnce = 20

// laneOf names what a call must not share with another one at the same time.
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

// together is how many instances one write ends at most: its deadline is that of a
// call, and clouds that end instances one by one take some of it for each.
const together = 10

// apart is how much more time one removal may have than another of the same write: they
// all end when the first of them must.
const apart = 10 * time.Second

// head is how many calls at the head of a queue are one write: removals from one group
// that wait for their turn, else one. Whatever has come between them keeps its turn.
// Those that end all of a group or none are never parted.
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

// slots are those that a call needs one of; nil: it needs none, since a write to
// the cloud has its lane alone.
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
