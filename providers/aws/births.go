package aws

import (
	"maps"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// births is since when instances can be there at most. AWS lists no launch times,
// but what a complete read of its group lacked was not made before that began.
// Nothing is known of those that were there when their group was first read.
type births struct {
	read map[string]time.Time // when the newest read of a group began
	made map[provider.InstanceID]birth
}

type birth struct{ made, seen time.Time }

// birthKept is for how long a group or an instance may be missing from the
// answers without being taken for a new one when it is back.
const birthKept = time.Hour

func newBirths() births {
	return births{read: map[string]time.Time{}, made: map[provider.InstanceID]birth{}}
}

// see notes the instances of a group, by a read that began at a moment.
func (b births) see(g asgtypes.AutoScalingGroup, at time.Time) {
	name := deref(g.AutoScalingGroupName)
	before := b.read[name]
	if at.Before(before) {
		return // a newer read was faster
	}
	b.read[name] = at
	for _, i := range g.Instances {
		id := provider.InstanceID(deref(i.InstanceId))
		was, known := b.made[id]
		// An instance of a warm pool ran before it joined, and may have a node.
		if !known && g.WarmPoolConfiguration == nil {
			was.made = before
		}
		b.made[id] = birth{made: was.made, seen: at}
	}
}

// forget drops what has been missing for long.
func (b births) forget(now time.Time) {
	old := now.Add(-birthKept)
	maps.DeleteFunc(b.read, func(_ string, at time.Time) bool { return at.Before(old) })
	maps.DeleteFunc(b.made, func(_ provider.InstanceID, i birth) bool { return i.seen.Before(old) })
}
