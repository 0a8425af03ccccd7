package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Grow sets the desired capacity, after a fresh look at the group. AWS launches
// at once, whatever cooldown the group has.
func (p *Provider) Grow(ctx context.Context, req provider.GrowRequest) (provider.GrowResult, error) {
	refuse := func(kind provider.Kind, format string, args ...any) *provider.Error {
		return &provider.Error{Op: provider.OpGrow, Group: req.Group, Kind: kind, Message: fmt.Sprintf(format, args...)}
	}
	if req.To < req.From {
		return provider.GrowResult{}, refuse(provider.Unsupported, "cannot scale up from %d to %d",
			req.From, req.To)
	}
	g, l, err := p.fresh(ctx, provider.OpGrow, req.Group)
	if err != nil {
		return provider.GrowResult{}, err
	}
	n := sizesOf(g.AutoScalingGroup)
	if n.target != req.From {
		return provider.GrowResult{Target: n.target}, refuse(provider.Conflict, "the target is %d, not %d",
			n.target, req.From)
	}
	if req.To > l.max {
		return provider.GrowResult{Target: n.target}, refuse(provider.Limit,
			"a target of %d is above the maximum of %d", req.To, l.max)
	}
	if req.To == req.From {
		return provider.GrowResult{Target: n.target}, nil
	}
	at := p.now()
	if err := p.setDesired(ctx, req.Group, req.To-n.standby); err != nil {
		e := p.failed(ctx, provider.OpGrow, req.Group, fmt.Sprintf("set the desired capacity to %d", req.To-n.standby), err)
		if e.MayHaveHappened {
			p.memory.asked(string(req.Group), at, req.To)
		}
		return provider.GrowResult{Target: n.target}, e
	}
	p.memory.asked(string(req.Group), at, req.To)
	return provider.GrowResult{Target: req.To}, nil
}

// Cancel takes back what AWS has not launched, where AWS cannot end an instance
// for it.
//
// A lowered desired capacity makes AWS end whatever is too much, and between our
// look and our write it may have launched what was asked for: then the one that
// it chooses to end may be a healthy node. No read can rule that out, since a
// launch shows only after it was decided on. So the desired capacity is lowered
// only if all instances are protected from scale-in, by the group's own setting,
// and none is pending, which protection does not reach yet. Nothing is cancelled
// otherwise.
func (p *Provider) Cancel(ctx context.Context, req provider.CancelRequest) (provider.CancelResult, error) {
	g, l, err := p.fresh(ctx, provider.OpCancel, req.Group)
	if err != nil {
		return provider.CancelResult{}, err
	}
	n := sizesOf(g.AutoScalingGroup)
	if n.target != req.From {
		return provider.CancelResult{Target: n.target}, &provider.Error{
			Op: provider.OpCancel, Group: req.Group, Kind: provider.Conflict,
			Message: fmt.Sprintf("the target is %d, not %d", n.target, req.From),
		}
	}
	floor := max(req.To, l.min, n.live)
	if floor >= n.target || !guarded(g.AutoScalingGroup) {
		return provider.CancelResult{Target: n.target}, nil
	}
	if err := p.setDesired(ctx, req.Group, floor-n.standby); err != nil {
		return provider.CancelResult{Target: n.target}, p.failed(ctx, provider.OpCancel, req.Group,
			fmt.Sprintf("set the desired capacity to %d", floor-n.standby), err)
	}
	target := p.makeRoom(ctx, req.Group, floor)
	return provider.CancelResult{Target: target, Cancelled: n.target - target}, nil
}

// makeRoom raises the desired capacity again to the number of instances, if some
// came while it was lowered: nothing ends them, and they are to be counted. A
// failure here costs only a count that the next scale-up corrects.
func (p *Provider) makeRoom(ctx context.Context, id provider.GroupID, target int) int {
	g, ok, err := p.readOne(ctx, string(id))
	if err != nil || !ok {
		p.log.Warn("a group cannot be read again after its desired capacity was lowered", "group", id, "error", err)
		return target
	}
	n := sizesOf(g.AutoScalingGroup)
	if n.target != target || n.live <= target {
		return target
	}
	if err := p.setDesired(ctx, id, n.live-n.standby); err != nil {
		p.log.Warn("instances came while the desired capacity was lowered, and it cannot be raised again", "group",
			id, "error", err)
		return target
	}
	return n.live
}

// fresh reads a group right before a write, which has the last word.
func (p *Provider) fresh(ctx context.Context, op provider.Op, id provider.GroupID) (reading, bounds, error) {
	g, ok, err := p.readOne(ctx, string(id))
	if err != nil {
		e := asError(op, id, "read the Auto Scaling group before the write", err)
		// Nothing was sent; rule P1 wants every write that meets its deadline to
		// count as done all the same.
		e.MayHaveHappened = ctx.Err() != nil
		return g, bounds{}, e
	}
	if !ok {
		return g, bounds{}, &provider.Error{Op: op, Group: id, Kind: provider.NotFound,
			Message: "there is no Auto Scaling group of that name that --nodes or --node-group-auto-discovery means"}
	}
	if why := weighted(g.AutoScalingGroup); why != "" {
		return g, bounds{}, &provider.Error{Op: op, Group: id, Kind: provider.Unsupported, Message: why}
	}
	l, err := boundsOf(g.AutoScalingGroup, g.spec)
	if err != nil {
		return g, l, &provider.Error{Op: op, Group: id, Kind: provider.BadConfig, Message: err.Error()}
	}
	return g, l, nil
}

func (p *Provider) setDesired(ctx context.Context, id provider.GroupID, n int) error {
	_, err := p.asg.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(string(id)), DesiredCapacity: aws.Int32(int32(n)), HonorCooldown: aws.Bool(false),
	}, refusedOnly)
	return err
}

// failed is the error of a write.
func (p *Provider) failed(
	ctx context.Context, op provider.Op, id provider.GroupID, what string, err error,
) *provider.Error {
	e := asError(op, id, what, err)
	e.MayHaveHappened = !refused(err) || ctx.Err() != nil
	return e
}

// refusedOnly lets the SDK repeat a write only if AWS said that it was asked too
// often. After an answer that was lost, a repetition would be a second write:
// ending an instance twice lowers the desired capacity twice.
func refusedOnly(o *autoscaling.Options) {
	if r, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = cautious{r}
		return
	}
	o.Retryer = aws.NopRetryer{}
}

type cautious struct{ aws.RetryerV2 }

func (c cautious) IsErrorRetryable(err error) bool {
	return throttled(codeOf(err)) && c.RetryerV2.IsErrorRetryable(err)
}
