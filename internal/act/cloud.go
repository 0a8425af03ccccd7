package act

import (
	"context"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// grow raises a group's target. The plan's limit is checked here again (rule P4): whatever went
// wrong before, no higher target is sent.
func (a *Actor) grow(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	switch {
	case call.To > call.MaxTo:
		out.Err = callError(call, provider.Limit,
			fmt.Sprintf("the target %d is above the limit %d", call.To, call.MaxTo), nil)
		return out
	case call.To <= call.From:
		out.Err = callError(call, provider.BadConfig,
			fmt.Sprintf("a scale-up from %d to %d adds no node", call.From, call.To), nil)
		return out
	}
	result, err := a.cloud.Grow(ctx, provider.GrowRequest{Group: call.Group, From: call.From, To: call.To})
	if err != nil {
		out.Err = cloudError(ctx, call, err)
		if out.Err.MayHaveHappened && result.Target > call.From {
			out.Target = result.Target // it happened in part, and the provider knows the new target
		}
		return out
	}
	out.Target = result.Target
	return out
}

// cancel lowers a group's target by units that have no instance.
func (a *Actor) cancel(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	if call.To >= call.From || call.To < 0 {
		out.Err = callError(call, provider.BadConfig,
			fmt.Sprintf("a target cannot be lowered from %d to %d", call.From, call.To), nil)
		return out
	}
	result, err := a.cloud.Cancel(ctx, provider.CancelRequest{Group: call.Group, From: call.From, To: call.To})
	if err != nil {
		out.Err = cloudError(ctx, call, err)
		return out
	}
	out.Target = result.Target
	return out
}
