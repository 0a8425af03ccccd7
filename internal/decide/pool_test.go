package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestAShortRestMovesNoNode: a zone that rests for some seconds, after a call that was
// throttled, gets its part of the pool's minimum when they are over. The others get no
// more than theirs meanwhile; they do where the rest is long.
func TestAShortRestMovesNoNode(t *testing.T) {
	for _, sizing := range []string{"Equitable", "Lax-Greedy", "Backward-Compatible"} {
		for why, row := range map[string]struct {
			rest func(*model.Group, time.Time)
			want string
		}{
			"throttled": {func(g *model.Group, now time.Time) { rests(g, model.RestPaused, now.Add(30*time.Second)) }, "p-z2 0 → 1, p-z3 0 → 1"},
			"unsure":    {func(g *model.Group, _ time.Time) { g.Unsure = true }, "p-z2 0 → 1, p-z3 0 → 1"},
			"for long":  {func(g *model.Group, now time.Time) { rests(g, model.RestPaused, now.Add(5*time.Minute)) }, "p-z2 0 → 2, p-z3 0 → 1"},
			"failed":    {func(g *model.Group, now time.Time) { g.Unsure = true; rests(g, model.RestFailed, now.Add(time.Second)) }, "p-z2 0 → 2, p-z3 0 → 1"},
		} {
			t.Run(sizing+", "+why, func(t *testing.T) {
				s := testkit.NewScenario()
				if err := s.Add(`
pool p min=3 max=4 sizing=` + sizing + `
group p-z1 max=4 cpu=4 memory=16Gi zone=a pool=p
group p-z2 max=4 cpu=4 memory=16Gi zone=b pool=p
group p-z3 max=4 cpu=4 memory=16Gi zone=c pool=p
`); err != nil {
					t.Fatal(err)
				}
				snap := s.Snapshot(s.Policy)
				row.rest(&snap.Groups[0], snap.Now)
				plan := decide.Decide(snap, s.Policy)
				var got []string
				for _, g := range plan.Grow {
					got = append(got, fmt.Sprintf("%s %d → %d", g.Group, g.From, g.To))
				}
				if text := strings.Join(got, ", "); text != row.want {
					t.Errorf("%s, not %s", text, row.want)
				}
				until := snap.Groups[0].Rests.Of(model.RestPaused).Until
				if !until.IsZero() && (plan.Wake.IsZero() || plan.Wake.After(until)) {
					t.Errorf("it wakes at %s", plan.Wake)
				}
			})
		}
	}
}

// TestWhatDidNotComeAndStays: a machine that never became a node does not keep its zone
// from growing once the group has rested, if it cannot be given up. Where it is not
// known whether it is a node after all, nothing is bought there, and the verdict says
// what would change that.
func TestWhatDidNotComeAndStays(t *testing.T) {
	for _, sizing := range []string{"Equitable", "Lax-Greedy"} {
		for name, row := range map[string]struct{ scene, want string }{
			"held":    {"instance p-z1-0 group=p-z1 age=1h held=preserved", "p-z1 1 → 3"},
			"rollout": {"instance p-z1-0 group=p-z1 age=1h", "p-z1 1 → 3"},
			"doubt": {"instance p-z1-0 group=p-z1 age=2h\nnode stranger cpu=4 memory=16Gi zone=a age=1h cordoned",
				"the end of what did not come, 1 of its nodes, or their arrival"},
		} {
			t.Run(sizing+", "+name, func(t *testing.T) {
				s := testkit.NewScenario()
				if err := s.Add(`
pool p min=0 max=9 sizing=` + sizing + `
group p-z1 max=9 cpu=4 memory=16Gi zone=a pool=p
group p-z2 max=9 cpu=4 memory=16Gi zone=b pool=p
node b1 group=p-z2
pods web count=2 cpu=3 memory=1Gi select=zone:a
` + row.scene); err != nil {
					t.Fatal(err)
				}
				snap := s.Snapshot(s.Policy)
				g := &snap.Groups[0]
				if g.GivenUp() != 1 || !g.Rests.Of(model.RestFailed).Stands(snap.Now) {
					t.Fatalf("the scene is not what it is to be: %+v", g.GroupStanding)
				}
				rests(g, model.RestFailed, snap.Now) // it has rested
				if name == "rollout" {
					g.Holds = []provider.Hold{{Op: provider.OpRemove, Reason: "Rollout"}, {Op: provider.OpCancel, Reason: "Rollout"}}
				}
				if text := decide.Decide(snap, s.Policy).Text(snap); !strings.Contains(text, row.want) {
					t.Errorf("it does not say %q:\n%s", row.want, text)
				}
			})
		}
	}
}

func rests(g *model.Group, cause model.RestCause, until time.Time) {
	g.Rests.Put(model.Rest{Cause: cause, Until: until})
}
