// Package door is the conformance suite's back door to the AWS that fits in a
// test: what other people, time and bad luck do to a provider's cloud, in the
// words of provider/providertest.
//
// It is imported by the tests of a provider for AWS. A group's id is the name of
// its Auto Scaling group, an instance's the one that EC2 gave it.
package door

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// Door is a providertest.Door to a cloud.
type Door struct{ Cloud *awstest.Cloud }

var _ providertest.Door = Door{}

// SetTarget sets the group's desired capacity, past its limits.
func (d Door) SetTarget(group provider.GroupID, n int) error {
	return d.Cloud.SetDesired(string(group), n)
}

// Settle ends all that is under way.
func (d Door) Settle() { d.Cloud.Settle() }

// Starve makes every launch of the group fail at once for want of capacity: a read right after the
// request finds the activity that says so.
func (d Door) Starve(group provider.GroupID) error {
	found := false
	err := d.Cloud.Change(func(s *awstest.Spec) {
		for i := range s.Groups {
			if g := &s.Groups[i]; g.Name == string(group) {
				timing := s.Timing
				if g.Timing != nil {
					timing = *g.Timing
				}
				timing.Decide, timing.Launch = 0, 0
				g.Timing, found = &timing, true
			}
		}
		s.StockOuts = append([]awstest.StockOut{{Group: string(group)}}, s.StockOuts...)
	})
	if err == nil && !found {
		return fmt.Errorf("starve %q: there is no such Auto Scaling group", group)
	}
	return err
}

// Fail and Recover cannot be played: an instance of AWS is launched, or is none.
func (d Door) Fail(id provider.InstanceID) error {
	return fmt.Errorf("fail %s: an instance of AWS is launched, or is none", id)
}

// Recover is what Fail would need.
func (d Door) Recover(id provider.InstanceID) error { return d.Fail(id) }

// Break disturbs the requests of which an operation is made. A cancellation is
// disturbed at its read already, since with nothing to cancel it writes nothing;
// the provider must read the group by its name for that.
func (d Door) Break(op provider.Op, group provider.GroupID, how providertest.Breakage) <-chan struct{} {
	met := make(chan struct{}, 1)
	actions := map[provider.Op][]string{
		provider.OpInventory: {"DescribeAutoScalingGroups"},
		provider.OpGrow:      {"SetDesiredCapacity"},
		provider.OpRemove:    {"TerminateInstanceInAutoScalingGroup"},
		provider.OpCancel:    {"DescribeAutoScalingGroups", "SetDesiredCapacity"},
	}
	mishap := map[providertest.Breakage]awstest.Mishap{
		providertest.Refused: awstest.Denied, providertest.Hanging: awstest.Hang, providertest.Lost: awstest.Hang,
		providertest.Empty: awstest.EmptyList, providertest.Garbled: awstest.Garbled,
	}
	for _, action := range actions[op] {
		d.Cloud.Arm(awstest.Fault{
			Action: action, On: string(group), Mishap: mishap[how], After: how == providertest.Lost,
			Met: func() {
				select {
				case met <- struct{}{}:
				default: // one is enough
				}
			},
		})
	}
	return met
}

// Mend ends every fault.
func (d Door) Mend() { d.Cloud.ClearFaults() }

// Instances are those that count as capacity.
func (d Door) Instances(group provider.GroupID) []provider.InstanceID {
	state, _ := d.Cloud.Group(string(group))
	var ids []provider.InstanceID
	for _, id := range state.Live() {
		ids = append(ids, provider.InstanceID(id))
	}
	return ids
}
