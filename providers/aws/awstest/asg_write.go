package awstest

import (
	"strconv"
	"time"
)

// This file is the two writes of Auto Scaling.

// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_SetDesiredCapacity.html
func (c *Cloud) setDesiredCapacity(q *query) (any, *refusal) {
	if refused := q.only("AutoScalingGroupName", "DesiredCapacity", "HonorCooldown"); refused != nil {
		return nil, refused
	}
	honor, refused := q.flag("HonorCooldown", false)
	if refused != nil {
		return nil, refused
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
	case honor && !g.askedAt.IsZero() && c.at.Before(g.askedAt.Add(time.Duration(g.Cooldown)*time.Second)):
		return nil, coolingDown(c.uuid())
	}
	if n != g.desired {
		g.ask(n, c.at)
	}
	c.notice(g)
	return nil, nil
}

type terminateResult struct {
	Activity   *xmlActivity  `xml:",omitempty"`
	Activities []xmlActivity `xml:"Activities>member"`
}

// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_TerminateInstanceInAutoScalingGroup.html
//
// An instance that is terminating already may be named again: AWS accepts that
// (https://github.com/kubernetes/autoscaler/issues/2930). Whether it decrements
// once more it does not say; one report has a group dwindle to its minimum by it
// (https://github.com/kubernetes/autoscaler/pull/5411), so here it does. A client
// that repeats a call whose answer was lost pays for it with another machine.
func (c *Cloud) terminateInstance(q *query) (any, *refusal) {
	if refused := q.only(
		"InstanceId", "InstanceIds", "AutoScalingGroupName", "ShouldDecrementDesiredCapacity",
	); refused != nil {
		return nil, refused
	}
	if !q.params.Has("ShouldDecrementDesiredCapacity") {
		return nil, missing("shouldDecrementDesiredCapacity")
	}
	decrement, refused := q.flag("ShouldDecrementDesiredCapacity", false)
	if refused != nil {
		return nil, refused
	}
	ids, single := q.list("InstanceIds.member"), q.params.Get("InstanceId")
	name := q.params.Get("AutoScalingGroupName")
	switch {
	case single == "" && len(ids) == 0:
		return nil, missing("instanceId")
	case single != "" && len(ids) > 0:
		return nil, notSimulated("both InstanceId and InstanceIds")
	case len(ids) > 100:
		return nil, tooLarge(ids, "instanceIds", "length", 100)
	case len(ids) > 0 && name == "":
		return nil, missing("autoScalingGroupName")
	case len(ids) > 0 && c.groups[name] == nil:
		return nil, noSuchGroup()
	case single != "":
		ids = []string{single}
	}
	// All or nothing: what AWS does with a list of which one is bad it does not
	// document.
	var targets []*instance
	var g *group
	sum := 0
	for _, id := range ids {
		owner, i := c.groupOf(id)
		if i == nil || i.State == Terminated || name != "" && owner.Name != name {
			return nil, noSuchInstance(id)
		}
		g, targets, sum = owner, append(targets, i), sum+i.weight()
	}
	if decrement && g.desired-sum < g.Min {
		return nil, atMinimum(g.Min)
	}
	if decrement {
		g.desired -= sum
	}
	result := terminateResult{}
	for _, i := range targets {
		result.Activities = append(result.Activities, c.terminate(g, i, decrement).xml(g))
	}
	if single != "" {
		result.Activity, result.Activities = &result.Activities[0], nil
	}
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
