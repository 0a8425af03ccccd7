package pool

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestWhoCannotGrow: one of a pool's groups leaves its share to the others while it
// cannot grow, and only then.
func TestWhoCannotGrow(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	never := model.Waiting{Instance: "i", Long: true}
	preserved := model.Waiting{Instance: "p", Long: true, Hold: "it is preserved"}
	hold := func(op provider.Op, reason string) []provider.Hold { return []provider.Hold{{Op: op, Reason: reason}} }
	for name, row := range map[string]struct {
		group model.Group
		whole bool // nothing is spread
		want  Member
	}{
		"it may grow":                        {want: Member{Target: 2}},
		"it rests shortly":                   {group: model.Group{GroupStanding: model.GroupStanding{Rests: model.Rests{{Cause: model.RestPaused, Until: now.Add(time.Second)}}, Unsure: true}}, want: Member{Target: 2}},
		"it rests":                           {group: model.Group{GroupStanding: model.GroupStanding{Rests: model.Rests{{Cause: model.RestFailed, Until: now.Add(time.Second)}}}}, want: Member{Target: 2, Blocked: true}},
		"growth is held":                     {group: model.Group{Group: provider.Group{Holds: hold(provider.OpGrow, "Frozen")}}, want: Member{Target: 2, Blocked: true}},
		"removal is held":                    {group: model.Group{Group: provider.Group{Holds: hold(provider.OpRemove, "Rollout")}}, want: Member{Target: 2}},
		"it is on its way out":               {group: model.Group{Group: provider.Group{Holds: hold(provider.OpGrow, provider.BeingDeleted)}}, want: Member{Target: 2, Blocked: true, Leaving: true}},
		"one never came":                     {group: model.Group{GroupStanding: model.GroupStanding{Waiting: []model.Waiting{never}}}, want: Member{Target: 2, Blocked: true}},
		"a request was not filled":           {group: model.Group{GroupStanding: model.GroupStanding{Overdue: 1}}, want: Member{Target: 2, Blocked: true}},
		"one never came, nothing is spread":  {whole: true, group: model.Group{GroupStanding: model.GroupStanding{Waiting: []model.Waiting{never}}}, want: Member{Target: 2}},
		"it rests, and nothing is spread":    {whole: true, group: model.Group{GroupStanding: model.GroupStanding{Rests: model.Rests{{Cause: model.RestFailed, Until: now.Add(time.Second)}}}}, want: Member{Target: 2, Blocked: true}},
		"one never came and is held":         {group: model.Group{GroupStanding: model.GroupStanding{Waiting: []model.Waiting{preserved}}}, want: Member{Target: 2}},
		"one of two that never came is held": {group: model.Group{GroupStanding: model.GroupStanding{Waiting: []model.Waiting{preserved, never}}}, want: Member{Target: 2, Blocked: true}},
		"one never came, during a rollout":   {group: model.Group{Group: provider.Group{Holds: hold(provider.OpCancel, "Rollout")}, GroupStanding: model.GroupStanding{Waiting: []model.Waiting{never}}}, want: Member{Target: 2}},
		"one never came, at its own minimum": {group: model.Group{Group: provider.Group{Min: 2}, GroupStanding: model.GroupStanding{Waiting: []model.Waiting{never}}}, want: Member{Target: 2}},
		"one is held, and it rests": {group: model.Group{GroupStanding: model.GroupStanding{
			Waiting: []model.Waiting{preserved}, Rests: model.Rests{{Cause: model.RestFailed, Until: now.Add(time.Second)}}}},
			want: Member{Target: 2, Blocked: true}},
	} {
		t.Run(name, func(t *testing.T) {
			g := row.group
			g.ID, g.Pool, g.Max, g.HasTemplate, g.Expected = "g", "p", 9, true, 2
			sizing := string(Equitable)
			if row.whole {
				sizing = ""
			}
			s := &model.Snapshot{Now: now, Groups: []model.Group{g}, Pools: []provider.Pool{
				{ID: "p", Max: 9, Sizing: sizing}}}
			if d := cmp.Diff([]Member{row.want}, Of(s, gate.New(s, model.Policy{}))[0].Members); d != "" {
				t.Error("(-want +got):", d)
			}
		})
	}
}

// TestRead: what the command shows of an inventory, pool by pool. A zone that is held
// leaves its share under Equitable; a pool with a group that cannot be read shows nothing.
func TestRead(t *testing.T) {
	group := func(id, pool string, target int, holds ...provider.Hold) provider.Group {
		return provider.Group{
			ID: provider.GroupID(id), Pool: provider.PoolID(pool), Max: 4, Target: target,
			Template: &provider.Template{}, Holds: holds,
		}
	}
	unread := group("d2", "d", 1)
	unread.Err = &provider.Error{Kind: provider.Throttled}
	inv := provider.Inventory{
		Pools: []provider.Pool{
			{ID: "a", Min: 3, Max: 4, Sizing: "Backward-Compatible"}, {ID: "b", Min: 3, Max: 4, Sizing: "Equitable"},
			{ID: "c", Max: 4}, {ID: "d", Max: 4, Sizing: "Equitable"},
		},
		Groups: []provider.Group{
			group("a1", "a", 0), group("a2", "a", 0), group("a3", "a", 4),
			group("b1", "b", 0, provider.Hold{Op: provider.OpGrow, Reason: "Frozen"}), group("b2", "b", 1), group("b3", "b", 1),
			group("c1", "c", 1), group("d1", "d", 1), unread, group("e", "", 1),
		},
	}
	var got []string
	for _, s := range Read(inv) {
		got = append(got, fmt.Sprintf("%s %s %d..%d", s.Group, s.Sizing, s.Min, s.Max))
	}
	want := []string{
		"a1 Backward-Compatible 0..0", "a2 Backward-Compatible 0..0", "a3 Backward-Compatible 1..4",
		"b1 Equitable 0..0", "b2 Equitable 2..2", "b3 Equitable 1..2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("(-want +got):", d)
	}
}
