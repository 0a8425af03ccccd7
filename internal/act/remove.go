package act

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// remove ends instances of one group, each after a last look at its node, or for a missing one.
// Before each write it checks again that this process may write: looks take time, and the lease may
// be lost (rule L10).
func (a *Actor) remove(ctx context.Context, jobs []job, began time.Time) []model.Outcome {
	outs := make([]model.Outcome, len(jobs))
	// 1. Look again (rule L9).
	var going []int
	for i, j := range jobs {
		outs[i] = outcome(j.call, began)
		if a.mayGo(ctx, j, &outs[i]) {
			going = append(going, i)
		}
	}
	if len(going) == 0 {
		return outs
	}
	whole := jobs[0].call.Whole
	if len(going) < whole {
		why := fmt.Errorf("%d of the %d nodes of its group stay for now, and the cloud would choose which go",
			whole-len(going), whole)
		for _, i := range going {
			outs[i] = a.notBegun(outs[i].Call, why)
		}
		return outs
	}
	// 2. Remove.
	refusal := a.endAll(ctx, outs, going)
	if len(going) == 1 || whole > 0 || !mayBeOfSome(refusal) {
		return outs
	}
	// 3. The reason for a refusal of all may hold for one only: a limit that leaves room for some,
	// an instance that cannot be written. Then each is requested alone, after another look: time
	// has passed.
	for n, i := range going {
		if ctx.Err() != nil {
			break // the rest stays refused
		}
		if !a.mayGo(ctx, jobs[i], &outs[i]) {
			continue
		}
		if e := a.endAll(ctx, outs, []int{i}); e != nil && e.Kind == provider.Limit {
			for _, left := range going[n+1:] {
				outs[left].Err = cloudError(ctx, outs[left].Call, e) // if there is no room for one, there is none for the next
			}
			break
		}
	}
	return outs
}

// mayBeOfSome reports whether a refusal of several removals may hold for some of them only. What
// the cloud cannot do at all it cannot do for one, and what may have happened is not requested
// again.
func mayBeOfSome(e *provider.Error) bool {
	if e == nil || e.MayHaveHappened {
		return false
	}
	switch e.Kind {
	case provider.Throttled, provider.Unavailable, provider.Credentials:
		return false
	}
	return true
}

// mayGo reports whether an instance may be removed now; if not, its end says why, with the pods
// that keep it. If the API server did not answer, the removal has not begun, which is no failure of
// the node or the cloud.
func (a *Actor) mayGo(ctx context.Context, j job, out *model.Outcome) bool {
	out.Landed, out.Err = a.lookAgain(ctx, j.call)
	if e := out.Err; e != nil {
		if e.Kind == provider.Throttled || e.Kind == provider.Unavailable {
			e.Code, e.Message = model.CodeNotBegun, "not begun: "+e.Message
		}
		return false
	}
	if err := a.mayBegin(j); err != nil {
		*out = a.notBegun(j.call, err)
		return false
	}
	return true
}

func (a *Actor) lookAgain(ctx context.Context, call model.Call) ([]string, *provider.Error) {
	if call.Node != "" {
		return a.lastLook(ctx, call)
	}
	return nil, a.stillWithoutNode(ctx, call)
}

// endAll asks the cloud for the end of those instances by one call, and notes what became
// of each. It returns the refusal of them all, nil if there was none.
func (a *Actor) endAll(ctx context.Context, outs []model.Outcome, going []int) *provider.Error {
	first := outs[going[0]].Call
	req := provider.RemoveRequest{Group: first.Group, Force: first.Force, If: first.If}
	for _, i := range going {
		req.Instances = append(req.Instances, outs[i].Call.Instance)
	}
	result, err := a.cloud.Remove(ctx, req)
	if err != nil {
		for _, i := range going {
			outs[i].Err = cloudError(ctx, outs[i].Call, err)
		}
		return outs[going[0]].Err
	}
	for _, i := range going {
		outs[i] = fate(outs[i], result)
	}
	return nil
}

// fate is the end of one removal from the cloud's answer. An answer without the instance is an
// error.
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
	out.Err = callError(out.Call, provider.Transient,
		fmt.Sprintf("the provider's answer does not say what became of instance %q", out.Call.Instance), nil)
	out.Err.MayHaveHappened = true
	return out
}
