package act

import (
	"context"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// remove ends instances of one group, each after a last look at its node, or for one.
func (a *Actor) remove(ctx context.Context, outs []model.Outcome) []model.Outcome {
	// 1. Look again (rule L9).
	var going []int
	for i := range outs {
		if outs[i].Landed, outs[i].Err = a.mayGo(ctx, outs[i].Call); outs[i].Err == nil {
			going = append(going, i)
		}
	}
	if len(going) == 0 {
		return outs
	}
	// 2. Remove.
	limited := a.end(ctx, outs, going)
	// 3. A limit that refuses all of them may leave room for some: then each is asked for
	// alone. Whatever else refuses all refuses each.
	if limited && len(going) > 1 {
		for _, i := range going {
			outs[i].Err = nil
			a.end(ctx, outs, []int{i})
		}
	}
	return outs
}

// mayGo returns an error if an instance must stay, with the pods that keep it.
func (a *Actor) mayGo(ctx context.Context, call model.Call) ([]string, *provider.Error) {
	if call.Node != "" {
		return a.lastLook(ctx, call)
	}
	return nil, a.stillWithoutNode(ctx, call)
}

// end asks the cloud for the end of those instances by one call, and notes what became
// of each. It tells whether a limit refused them all.
func (a *Actor) end(ctx context.Context, outs []model.Outcome, going []int) (limited bool) {
	req := provider.RemoveRequest{Group: outs[going[0]].Call.Group, Force: outs[going[0]].Call.Force}
	for _, i := range going {
		req.Instances = append(req.Instances, outs[i].Call.Instance)
	}
	result, err := a.cloud.Remove(ctx, req)
	if err != nil {
		for _, i := range going {
			outs[i].Err = cloudError(ctx, outs[i].Call, err)
		}
		e := outs[going[0]].Err
		return e.Kind == provider.Limit && !e.MayHaveHappened
	}
	for _, i := range going {
		outs[i] = fate(outs[i], result)
	}
	return false
}

// fate is the end of one removal by the cloud's answer. An answer without the instance
// is no answer.
func fate(out model.Outcome, result provider.RemoveResult) model.Outcome {
	for _, r := range result.Instances {
		if r.ID != out.Call.Instance {
			continue
		}
		if r.Err != nil {
			out.Err = r.Err
			return out
		}
		out.Target = result.Target
		return out
	}
	out.Err = callError(out.Call, provider.Transient, fmt.Sprintf("the provider's answer does not tell what became of instance %q", out.Call.Instance), nil)
	out.Err.MayHaveHappened = true
	return out
}
