package awstest

import (
	"cmp"
	"strconv"
)

// This file is the two writes of Auto Scaling.

// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_SetDesiredCapacity.html
func (c *Cloud) setDesiredCapacity(q *query) (any, *refusal) {
	if refused := q.only("AutoScalingGroupName", "DesiredCapacity", "HonorCooldown"); refused != nil {
		return nil, refused
	}
	if honor, refused := q.flag("HonorCooldown", false); refused != nil || honor {
		return nil, cmp.Or(refused, notSimulated("HonorCooldown"))
	}
	n, err := strconv.Atoi(q.params.Get("DesiredCapacity"))
	if err != nil {
		return nil, missing("desiredCapacity")
	}
	g := c.groups[q.params.Get("AutoScalingGroupName")]
	switch {
	case g == nil:
		return nil, noSuchGroup()
	case g.Status != "":
		return nil, pendingDelete(g.Name)
	case n > g.Max:
		return nil, aboveMax(n, g.Max)
	case n < g.Min:
		return nil, belowMin(n, g.Min)
	}
	if n != g.desired {
		g.ask(n, c.at)
	}
	c.notice(g)
	return nil, nil
}

type terminateResult struct{ Activity xmlActivity }

// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_TerminateInstanceInAutoScalingGroup.html
//
// An instance that is terminating already may be named again: AWS accepts that
// (https://github.com/kubernetes/autoscaler/issues/2930). Whether it decrements
// once more it does not say; one report has a group dwindle to its minimum by it
// (https://github.com/kubernetes/autoscaler/pull/5411), so here it does. A client
// that repeats a call whose answer was lost pays for it with another machine.
func (c *Cloud) terminateInstance(q *query) (any, *refusal) {
	if refused := q.only("InstanceId", "ShouldDecrementDesiredCapacity"); refused != nil {
		return nil, refused
	}
	if !q.params.Has("ShouldDecrementDesiredCapacity") {
		return nil, missing("shouldDecrementDesiredCapacity")
	}
	decrement, refused := q.flag("ShouldDecrementDesiredCapacity", false)
	if refused != nil {
		return nil, refused
	}
	id := q.params.Get("InstanceId")
	if id == "" {
		return nil, missing("instanceId")
	}
	g, i := c.groupOf(id)
	if i == nil || i.State == Terminated {
		return nil, noSuchInstance(id)
	}
	if decrement {
		if g.desired-i.weight() < g.Min {
			return nil, atMinimum(g.Min)
		}
		g.desired -= i.weight()
	}
	result := terminateResult{c.terminate(g, i, decrement).xml(g)}
	c.notice(g)
	return result, nil
}

// terminate ends one instance by request. The words are those of
// https://github.com/kubernetes/autoscaler/issues/144
func (c *Cloud) terminate(g *group, i *instance, decrement bool) *activity {
	switch i.State {
	case Terminating, TerminatingWait, TerminatingProceed:
		if i.activity != nil {
			return i.activity
		}
	}
	cause := "instance " + i.ID + " was taken out of service in response to a user request."
	if decrement {
		cause = "instance " + i.ID + " was taken out of service in response to a user request, shrinking the capacity from " +
			strconv.Itoa(g.capacity()) + " to " + strconv.Itoa(g.capacity()-i.weight()) + "."
	}
	return c.end(g, i, cause)
}
