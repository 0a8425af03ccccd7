package door_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/smithy-go"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest/door"
)

// plain is the plainest provider that passes the suite, by the real SDK. It
// shows that the suite can be played on this cloud through this door, and is no
// model for a real one: it cancels without caring for launches under way.
type plain struct {
	api    *autoscaling.Client
	groups []string
	now    func() time.Time
}

func fail(op provider.Op, group provider.GroupID, err error) *provider.Error {
	e := &provider.Error{Op: op, Group: group, Kind: provider.Unavailable, Message: err.Error(), Err: err,
		MayHaveHappened: op != provider.OpInventory}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		e.Kind, e.Code, e.MayHaveHappened = provider.Denied, api.ErrorCode(), false
	}
	return e
}

func (p plain) read(ctx context.Context, op provider.Op, id provider.GroupID) (provider.Group, *provider.Error) {
	if !slices.Contains(p.groups, string(id)) {
		return provider.Group{}, &provider.Error{Op: op, Group: id, Kind: provider.NotFound, Message: "no such group"}
	}
	out, err := p.api.DescribeAutoScalingGroups(ctx,
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{string(id)}})
	if err != nil {
		return provider.Group{}, fail(op, id, err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return provider.Group{}, &provider.Error{
			Op: op, Group: id, Kind: provider.NotFound, Message: "AWS does not know the group",
		}
	}
	return asGroup(out.AutoScalingGroups[0]), nil
}

func asGroup(a types.AutoScalingGroup) provider.Group {
	g := provider.Group{
		ID: provider.GroupID(*a.AutoScalingGroupName), Min: int(*a.MinSize), Max: int(*a.MaxSize),
		Target:      int(*a.DesiredCapacity),
		TemplateErr: &provider.Error{Op: provider.OpInventory, Kind: provider.Unsupported, Message: "it has no templates"},
	}
	for _, i := range a.Instances {
		instance := provider.Instance{
			ID:         provider.InstanceID(*i.InstanceId),
			ProviderID: "aws:///" + *i.AvailabilityZone + "/" + *i.InstanceId,
			Zone:       *i.AvailabilityZone,
			State:      provider.Running,
		}
		switch i.LifecycleState {
		case types.LifecycleStatePending:
			instance.State = provider.Creating
		case types.LifecycleStateTerminating:
			instance.State = provider.Deleting
		}
		g.Instances = append(g.Instances, instance)
	}
	return g
}

func (p plain) Inventory(ctx context.Context) (provider.Inventory, error) {
	inv := provider.Inventory{AsOf: p.now()}
	out, err := p.api.DescribeAutoScalingGroups(ctx,
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: p.groups})
	if err != nil {
		return inv, fail(provider.OpInventory, "", err)
	}
	if len(out.AutoScalingGroups) != len(p.groups) {
		return inv, &provider.Error{
			Op: provider.OpInventory, Kind: provider.NotFound, Message: "AWS does not know all groups",
		}
	}
	for _, a := range out.AutoScalingGroups {
		inv.Groups = append(inv.Groups, asGroup(a))
	}
	return inv, nil
}

func (p plain) set(ctx context.Context, op provider.Op, id provider.GroupID, n int) *provider.Error {
	_, err := p.api.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(string(id)), DesiredCapacity: aws.Int32(int32(n)),
	})
	if err != nil {
		return fail(op, id, err)
	}
	return nil
}

func (p plain) Grow(ctx context.Context, r provider.GrowRequest) (provider.GrowResult, error) {
	g, refused := p.read(ctx, provider.OpGrow, r.Group)
	switch {
	case refused != nil:
		return provider.GrowResult{}, refused
	case g.Target != r.From || r.To < r.From:
		return provider.GrowResult{}, &provider.Error{
			Op: provider.OpGrow, Group: r.Group, Kind: provider.Conflict, Message: "another target",
		}
	case r.To > g.Max:
		return provider.GrowResult{}, &provider.Error{
			Op: provider.OpGrow, Group: r.Group, Kind: provider.Limit, Message: "above the maximum",
		}
	}
	if refused := p.set(ctx, provider.OpGrow, r.Group, r.To); refused != nil {
		return provider.GrowResult{}, refused
	}
	return provider.GrowResult{Target: r.To}, nil
}

func (p plain) Cancel(ctx context.Context, r provider.CancelRequest) (provider.CancelResult, error) {
	g, refused := p.read(ctx, provider.OpCancel, r.Group)
	if refused != nil {
		return provider.CancelResult{}, refused
	}
	if g.Target != r.From {
		return provider.CancelResult{}, &provider.Error{
			Op: provider.OpCancel, Group: r.Group, Kind: provider.Conflict, Message: "another target",
		}
	}
	to := max(r.To, g.Min, len(providertest.Live(g)))
	if to >= g.Target {
		return provider.CancelResult{Target: g.Target}, nil
	}
	if refused := p.set(ctx, provider.OpCancel, r.Group, to); refused != nil {
		return provider.CancelResult{}, refused
	}
	return provider.CancelResult{Target: to, Cancelled: g.Target - to}, nil
}

func (p plain) Remove(ctx context.Context, r provider.RemoveRequest) (provider.RemoveResult, error) {
	g, refused := p.read(ctx, provider.OpRemove, r.Group)
	if refused != nil {
		return provider.RemoveResult{}, refused
	}
	inv, err := p.Inventory(ctx)
	if err != nil {
		return provider.RemoveResult{}, fail(provider.OpRemove, r.Group, err)
	}
	going := slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(r.Instances),
		func(id provider.InstanceID) bool { return !slices.Contains(providertest.Live(g), id) }))))
	if g.Target-len(going) < g.Min && len(going) > 0 {
		return provider.RemoveResult{}, &provider.Error{
			Op: provider.OpRemove, Group: r.Group, Kind: provider.Limit, Message: "AWS keeps the minimum",
		}
	}
	result := provider.RemoveResult{Target: g.Target}
	done := map[provider.InstanceID]*provider.Error{}
	for _, id := range r.Instances {
		if _, again := done[id]; !again {
			switch {
			case slices.Contains(providertest.Live(g), id):
				_, err := p.api.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
					InstanceId: aws.String(string(id)), ShouldDecrementDesiredCapacity: aws.Bool(true),
				},
					func(o *autoscaling.Options) { o.Retryer = aws.NopRetryer{} })
				if err != nil {
					return result, fail(provider.OpRemove, r.Group, err)
				}
				done[id] = nil
				result.Target--
			case slices.ContainsFunc(inv.Groups, func(other provider.Group) bool {
				return other.ID != g.ID && slices.Contains(providertest.Live(other), id)
			}):
				done[id] = &provider.Error{
					Op: provider.OpRemove, Group: r.Group, Kind: provider.Conflict, Message: "another group's",
				}
			default:
				done[id] = nil
			}
		}
		result.Instances = append(result.Instances, provider.InstanceResult{ID: id, Err: done[id]})
	}
	return result, nil
}

func TestTheSuiteCanBePlayed(t *testing.T) {
	for name, timing := range map[string]awstest.Timing{
		"at once": {},
		"slow":    {Decide: 10 * time.Second, Launch: 5 * time.Second, Boot: time.Minute, End: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			providertest.Run(t, func(t *testing.T) providertest.Subject {
				ref := &awstest.TemplateRef{ID: "lt-1"}
				clock := awstest.NewClock(time.Now())
				cloud, err := awstest.New(awstest.Spec{
					Timing: timing,
					LaunchTemplates: []awstest.LaunchTemplate{{
						ID: "lt-1", Name: "nodes", Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}},
					}},
					Groups: []awstest.Group{
						{Name: "group", Min: 1, Max: 12, Desired: 1, LaunchTemplate: ref},
						{Name: "other", Min: 1, Max: 12, Desired: 1, LaunchTemplate: ref},
					},
				}, clock.Now)
				if err != nil {
					t.Fatal(err)
				}
				server, err := awstest.Listen("127.0.0.1:0", cloud)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = server.Close() })
				for name, value := range awstest.Environment(server.URL(), "us-east-1") {
					t.Setenv(name, value)
				}
				cfg, err := config.LoadDefaultConfig(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return providertest.Subject{
					Provider: plain{autoscaling.NewFromConfig(cfg), []string{"group", "other"}, clock.Now},
					Group:    "group", Other: "other", Door: door.Door{Cloud: cloud}, Now: clock.Now, Lacks: lacks,
				}
			})
		})
	}
}

var lacks = map[string]string{
	"P4/GrowKeepsThePoolsMaximum":        "it has no pools",
	"P4/ForcePassesTheMinimum":           "AWS itself keeps the minimum",
	"P9/WhatRunsIsNotEndedAsFailed":      "it knows no conditions",
	"P9/OnlyWhatStillFailsIsEnded":       "an instance of AWS is launched, or is none",
	"P9/OnlyWhatHasNoNodeIsEndedForThat": "AWS knows of no nodes",
	"P8/WhatCannotBeDoneIsHeld":          "it tells of no group that cannot grow",
}
