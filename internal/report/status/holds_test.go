package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// A person sees what a group waits for, once for all operations of one reason; not
// what is over.
func TestHolds(t *testing.T) {
	g := model.Group{Group: provider.Group{ID: "web", Holds: []provider.Hold{
		{Op: provider.OpRemove, Reason: "Rollout", Message: "web-1 of an older revision"},
		{Op: provider.OpCancel, Reason: "Rollout", Message: "web-1 of an older revision"},
		{Op: provider.OpGrow, Reason: "Paused"},
		{Op: provider.OpGrow, Reason: "NoCapacity", Until: start.Add(-time.Second)},
	}}}
	g.Err = &provider.Error{Op: provider.OpInventory, Group: "web", Kind: provider.BadConfig,
		Message: "max-size=ten is no number"}
	g.Settled.Pause = &policy.Pause{Until: start.Add(time.Hour), Reason: "an audit", From: policy.FromCommand}
	d := Of(start, model.Cycle{Snapshot: &model.Snapshot{Groups: []model.Group{g}}}, Document{})
	want := []string{"unreadable, and left as it is: " + g.Err.Error(),
		"HeldByOperator: paused by plimsoll pause: an audit, until " + start.Add(time.Hour).UTC().Format(time.RFC3339),
		"no Remove, Cancel: Rollout: web-1 of an older revision", "no Grow: Paused"}
	if diff := cmp.Diff(want, d.NodeGroups[0].Holds); diff != "" {
		t.Error("(-want +got):", diff)
	}
}
