package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// errNotTried marks an instance that was not asked to end.
var errNotTried = errors.New("not tried")

// Remove ends instances one by one, each with the desired capacity lowered in
// the same step, so that AWS neither replaces it nor chooses another.
// Where there are more instances than are desired, the first to go are those too
// many, and the number stays.
func (p *Provider) Remove(ctx context.Context, req provider.RemoveRequest) (provider.RemoveResult, error) {
	g, l, err := p.fresh(ctx, provider.OpRemove, req.Group)
	if err != nil {
		return provider.RemoveResult{}, err
	}
	n := sizesOf(g.AutoScalingGroup)
	target, surplus := n.target, max(0, n.live-n.target)
	result := provider.RemoveResult{Target: target, Instances: make([]provider.InstanceResult, len(req.Instances))}

	// 1. Judge every instance before the first is touched. One that is gone, or
	// on its way out, is what the caller wants: to end it again would lower the
	// desired capacity once more.
	var doomed []provider.InstanceID
	for i, id := range req.Instances {
		result.Instances[i].ID = id
		at := slices.IndexFunc(g.Instances, func(in asgtypes.Instance) bool { return deref(in.InstanceId) == string(id) })
		if at < 0 {
			// It is gone, unless the last Inventory showed it elsewhere.
			if owner := p.memory.owner(id); owner != "" && owner != req.Group {
				result.Instances[i].Err = leftAlone(req.Group, id, fmt.Sprintf("it belongs to the Auto Scaling group %q", owner))
			}
			continue
		}
		seen, ours := instanceOf(g.AutoScalingGroup, g.Instances[at])
		switch {
		case !ours || seen.State == provider.Deleting || slices.Contains(doomed, id):
		case seen.Hold != "":
			result.Instances[i].Err = leftAlone(req.Group, id, seen.Hold)
		default:
			// AWS knows of no nodes: the caller has looked for one in the cluster.
			if why := req.If.Unmet(seen, false); why != "" {
				result.Instances[i].Err = leftAlone(req.Group, id, why)
				break
			}
			doomed = append(doomed, id)
		}
	}
	if left := target - max(0, len(doomed)-surplus); left < l.min && len(doomed) > surplus && !req.Force {
		return provider.RemoveResult{Target: target}, &provider.Error{
			Op: provider.OpRemove, Group: req.Group, Kind: provider.Limit,
			Message: fmt.Sprintf("removing %d of %d instances would leave %d, below the minimum of %d",
				len(doomed), target, left, l.min),
		}
	}

	// 2. The writes, and what came of each.
	errs, lowered := p.end(ctx, doomed, surplus)
	result.Target -= lowered
	for i, id := range doomed {
		if errs[i] == nil {
			continue
		}
		e := p.failed(ctx, provider.OpRemove, req.Group, fmt.Sprintf("end the instance %s", id), errs[i])
		if errors.Is(errs[i], errNotTried) {
			e.MayHaveHappened = false
		}
		if e.Kind == provider.Limit {
			e.Message += "; no removal passes the minimum of the Auto Scaling group itself: lower its minimum"
		}
		for at := range result.Instances {
			if result.Instances[at].ID == id {
				result.Instances[at].Err = e
			}
		}
	}
	if ctx.Err() != nil && len(doomed) > 0 {
		e := asError(provider.OpRemove, req.Group, fmt.Sprintf("end %d instances", len(doomed)), context.Cause(ctx))
		e.MayHaveHappened = true
		return result, e
	}
	return result, nil
}

func leftAlone(group provider.GroupID, id provider.InstanceID, why string) *provider.Error {
	return &provider.Error{Op: provider.OpRemove, Group: group, Kind: provider.Conflict,
		Message: fmt.Sprintf("the instance %s is left alone: %s", id, why)}
}

// end ends instances, one after the other: AWS takes one change of a group at a
// time. It returns their errors by index, and by how much the desired capacity is
// lower. When in doubt whether one of the surplus has gone it lowers less: an
// instance too many costs less than one that AWS ends of its own choice.
func (p *Provider) end(ctx context.Context, doomed []provider.InstanceID, surplus int) ([]error, int) {
	errs, lowered := make([]error, len(doomed)), 0
	for i, id := range doomed {
		if i > 0 && (ctx.Err() != nil || errs[i-1] != nil && (errors.Is(errs[i-1], errNotTried) || pointless(errs[i-1]))) {
			errs[i] = fmt.Errorf("%w, after what became of %s", errNotTried, doomed[i-1])
			continue
		}
		_, errs[i] = p.asg.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
			InstanceId: aws.String(string(id)), ShouldDecrementDesiredCapacity: aws.Bool(surplus <= 0),
		}, refusedOnly)
		switch {
		case errs[i] == nil && surplus <= 0:
			lowered++
		case errs[i] == nil:
			surplus--
		case kindOf(errs[i]) == provider.NotFound:
			errs[i] = nil // it has gone in the meantime, and AWS lowered nothing for us
			surplus--
		}
	}
	return errs, lowered
}
