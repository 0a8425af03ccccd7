package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// scene has something to be done of every kind: a machine that failed, one that never
// registered, units that never came, a node that nothing needs, one whose removal is at
// its end, and pods that want a node.
const scene = `
group failed max=9 cpu=4 memory=16Gi
instance f1 group=failed failed=Transient
group silent max=9 cpu=4 memory=16Gi
instance s1 group=silent age=1h
group short max=9 cpu=4 memory=16Gi
asked short count=2 age=1h
group idle max=9 cpu=4 memory=16Gi labels=team:idle
node idle1 group=idle unneeded=1h
group going max=9 cpu=4 memory=16Gi labels=team:going
node going1 group=going tainted=1m
group wanted max=9 cpu=16 memory=64Gi
pods web count=1 cpu=10 memory=1Gi
`

// snapshotOf is a snapshot of a scene in which no group rests any more.
func snapshotOf(t *testing.T, scene string) (*model.Snapshot, model.Policy) {
	t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(scene); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	for i := range snap.Groups {
		snap.Groups[i].Rests = nil
	}
	return snap, s.Policy
}

// writes are a plan's calls that write to the cloud or prepare for it, by group.
func writes(plan model.Plan) map[provider.GroupID][]model.Verb {
	out := map[provider.GroupID][]model.Verb{}
	for _, c := range plan.Calls {
		if c.Verb != model.Mark && c.Verb != model.Unmark && c.Verb != model.Annotate {
			out[c.Group] = append(out[c.Group], c.Verb)
		}
	}
	return out
}

// TestAnOldPictureChangesNothing: on a picture that is too old, or that began before this
// process came to lead, nothing is bought, ended, cancelled or tainted (N3, rule L10).
func TestAnOldPictureChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		mend func(*model.Snapshot, *model.Policy)
		old  bool
	}{
		"fresh":                  {func(*model.Snapshot, *model.Policy) {}, false},
		"as old as it may be":    {func(s *model.Snapshot, p *model.Policy) { s.AsOf = s.Now.Add(-p.InventoryMaxAge) }, false},
		"too old":                {func(s *model.Snapshot, p *model.Policy) { s.AsOf = s.Now.Add(-p.InventoryMaxAge - 1) }, true},
		"of the leader before":   {func(s *model.Snapshot, p *model.Policy) { p.InventoryNotBefore = s.AsOf.Add(1) }, true},
		"of this leader's start": {func(s *model.Snapshot, p *model.Policy) { p.InventoryNotBefore = s.AsOf }, false},
	} {
		t.Run(name, func(t *testing.T) {
			snap, policy := snapshotOf(t, scene)
			policy.InventoryMaxAge, policy.ScaleDown.DelayAfterAdd = 5*time.Minute, 0
			c.mend(snap, &policy)
			plan := decide.Decide(snap, policy)
			got := writes(plan)
			snap.Pending = nil // while a group grows no removal begins
			got["idle"] = writes(decide.Decide(snap, policy))["idle"]
			for group, verb := range map[provider.GroupID]model.Verb{
				"failed": model.Remove, "silent": model.Remove, "short": model.Cancel,
				"idle": model.Taint, "going": model.Remove, "wanted": model.Grow,
			} {
				if slices.Contains(got[group], verb) == c.old {
					t.Errorf("%s: calls %v", group, got[group])
				}
			}
			if c.old && len(plan.Calls) > 0 {
				t.Errorf("calls: %v", plan.Calls)
			}
		})
	}
}

// TestAnUnsureGroupIsLeftAlone: after a write whose effect is unknown, and
// while one is under way, nothing of the group is ended or cancelled; other
// groups go on.
func TestAnUnsureGroupIsLeftAlone(t *testing.T) {
	for _, group := range []string{"failed", "silent", "short"} {
		for name, mend := range map[string]func(*model.Snapshot, *model.Group){
			"unsure": func(_ *model.Snapshot, g *model.Group) { g.Unsure = true },
			"paused": func(s *model.Snapshot, g *model.Group) {
				g.Rests.Put(model.Rest{Cause: model.RestPaused, Until: s.Now.Add(time.Second)})
			},
			"busy":   func(_ *model.Snapshot, g *model.Group) { g.Busy = &model.Call{Verb: model.Grow, Group: g.ID} },
			"unread": func(_ *model.Snapshot, g *model.Group) { g.Err = &provider.Error{Kind: provider.Unavailable} },
		} {
			t.Run(group+", "+name, func(t *testing.T) {
				snap, policy := snapshotOf(t, scene)
				for i := range snap.Groups {
					if g := &snap.Groups[i]; string(g.ID) == group {
						mend(snap, g)
					}
				}
				got := writes(decide.Decide(snap, policy))
				if n := len(got[provider.GroupID(group)]); n != 0 {
					t.Errorf("calls %v", got[provider.GroupID(group)])
				}
				for _, other := range []provider.GroupID{"failed", "silent", "short"} {
					if string(other) != group && len(got[other]) != 1 {
						t.Errorf("%s: calls %v", other, got[other])
					}
				}
			})
		}
	}
}

// TestAGroupThatIsResizedDoesNothingElse: in the cycle in which a group is resized or rid
// of an instance, neither it nor a group of its pool grows or lets a node go (step 4);
// others do.
func TestAGroupThatIsResizedDoesNothingElse(t *testing.T) {
	for name, failure := range map[string]string{
		"resized":               "asked a count=2 age=1h",
		"rid of what failed":    "instance a9 group=a failed=Transient",
		"rid of what is silent": "instance a9 group=a age=1h",
		"none":                  "",
	} {
		t.Run(name, func(t *testing.T) {
			snap, policy := snapshotOf(t, `
pool p min=0 max=20
group a max=9 cpu=4 memory=16Gi labels=team:a pool=p
group b max=9 cpu=4 memory=16Gi labels=team:b pool=p
group c max=9 cpu=4 memory=16Gi labels=team:c
node a1 group=a unneeded=1h
node b1 group=b unneeded=1h
node c1 group=c unneeded=1h
pods for-a count=3 cpu=3 memory=1Gi select=team:a
pods for-b count=3 cpu=3 memory=1Gi select=team:b
pods for-c count=3 cpu=3 memory=1Gi select=team:c
`+failure)
			policy.ScaleDown.DelayAfterAdd = 0
			got := writes(decide.Decide(snap, policy))
			for group, want := range map[provider.GroupID]bool{"a": failure == "", "b": failure == "", "c": true} {
				if slices.Contains(got[group], model.Grow) != want {
					t.Errorf("growth: %s: calls %v", group, got[group])
				}
			}
			// Without pods the same nodes are not needed.
			snap.Pending = nil
			got = writes(decide.Decide(snap, policy))
			for group, want := range map[provider.GroupID]bool{"a": failure == "", "b": failure == "", "c": true} {
				if slices.Contains(got[group], model.Taint) != want {
					t.Errorf("removal: %s: calls %v", group, got[group])
				}
			}
		})
	}
}

// TestAnUnhealthyClusterRests: the next look at it is ten seconds later, nudges or not;
// nothing is unneeded, and the only calls are those that give nodes back.
func TestAnUnhealthyClusterRests(t *testing.T) {
	snap, policy := snapshotOf(t, scene)
	snap.Unhealthy = &model.Verdict{Reason: model.ClusterUnhealthy, Since: snap.Now}
	plan := decide.Decide(snap, policy)
	if want := snap.Now.Add(10 * time.Second); !plan.NotBefore.Equal(want) || !plan.Wake.Equal(want) {
		t.Errorf("not before %s, wake %s", plan.NotBefore, plan.Wake)
	}
	if len(plan.Unneeded) > 0 || len(plan.Grow) > 0 {
		t.Errorf("unneeded %v, growth %v", plan.Unneeded, plan.Grow)
	}
	for group, verbs := range writes(plan) {
		if group != "going" || !slices.Equal(verbs, []model.Verb{model.Untaint}) {
			t.Errorf("%s: calls %v", group, verbs)
		}
	}
}

// TestWhatIsAbsentCounts: units that did not come and machines that did not register count
// in their group's health as nodes that are not ready do (S2): four of eight close the
// group, however often it has rested, and three of seven do not.
func TestWhatIsAbsentCounts(t *testing.T) {
	for name, c := range map[string]struct {
		absent string
		grows  bool
	}{
		"four units":               {"asked a count=4 age=1h", false},
		"three units":              {"asked a count=3 age=1h", true},
		"four, two are machines":   {"asked a count=2 age=1h\ninstance i1 group=a age=1h\ninstance i2 group=a age=1h", false},
		"three, two are machines":  {"asked a count=1 age=1h\ninstance i1 group=a age=1h\ninstance i2 group=a age=1h", true},
		"four that still may come": {"asked a count=4 age=1m", true},
	} {
		t.Run(name, func(t *testing.T) {
			snap, policy := snapshotOf(t, `
group a max=20 cpu=4 memory=16Gi
node a1 group=a
node a2 group=a
node a3 group=a
node a4 group=a
pods web count=40 cpu=2 memory=1Gi
`+c.absent)
			// What is given up is to go first: that is another reason not to grow.
			for i := range snap.Groups {
				snap.Groups[i].Overdue, snap.Groups[i].Waiting = 0, nil
			}
			if got := slices.Contains(writes(decide.Decide(snap, policy))["a"], model.Grow); got != c.grows {
				t.Errorf("it grows: %v, %+v", got, snap.Groups[0].Unhealthy)
			}
		})
	}
}
