package gate

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/order.txt")

// TestOrder: testdata/order.txt shows what each operation asks, in which order.
func TestOrder(t *testing.T) {
	var b strings.Builder
	for op := range ops {
		var names []string
		for _, c := range order[op] {
			names = append(names, c.name)
		}
		fmt.Fprintf(&b, "%-14s %s\n", op, strings.Join(names, ", "))
	}
	const path = "testdata/order.txt"
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("(-want +got):\n%s\n-rewrite writes it", d)
	}
}

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// open is a snapshot with a group that anything may be done to, and the policy.
func open() (*model.Snapshot, model.Policy) {
	g := model.Group{Group: provider.Group{ID: "g", Pool: "p", Max: 9}, HasTemplate: true}
	g.Expected, g.ReadyNodes = 2, 2
	s := &model.Snapshot{Now: now, AsOf: now, Groups: []model.Group{g}, Nodes: []*model.Node{{Kind: model.Ready}}}
	return s, model.Policy{InventoryMaxAge: time.Minute, ScaleUp: model.ScaleUpPolicy{ScaleFromZero: true}}
}

// causes has for each check what makes it object, and its words.
var causes = []struct {
	check string
	make  func(*model.Snapshot, *model.Policy, *model.Group)
	want  string
}{
	{"stale", func(s *model.Snapshot, _ *model.Policy, _ *model.Group) {
		s.AsOf, s.InventoryErr = now.Add(-2*time.Minute), "no answer"
	}, "StaleInventory (the cloud was last read 2m0s ago: no answer)"},
	{"unreadable", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Err = &provider.Error{Op: provider.OpInventory, Group: "g", Kind: provider.Denied, Message: "no"}
	}, "GroupUnreadable (inventory group \"g\": Denied: no)"},
	// A group that the provider no longer lists, as after autoscaling was switched off
	// for it, is reported as that, and not as a failure.
	{"unreadable", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Err = &provider.Error{Op: provider.OpInventory, Group: "g", Kind: provider.NotFound, Message: "missing"}
	}, "GroupNotListed (missing)"},
	{"pool unreadable", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.PoolUnread = "h" },
		"GroupUnreadable (the size of its pool p is unknown: h has not been read yet)"},
	{"no template", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.HasTemplate = false },
		"NoTemplate (the provider has no template for it)"},
	{"all or nothing", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.AllOrNothing = true },
		"Unsupported (it has all of 9 nodes or none, and all-or-nothing groups are not supported yet)"},
	{"busy", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Busy = &model.Call{Verb: model.Grow, From: 2, To: 5}
	}, "GroupBusy (Grow 2 → 5 is under way)"},
	{"busy", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.Busy = &model.Call{Verb: model.Remove} },
		"GroupBusy (Remove is under way)"},
	{"unsure", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.Unsure = true },
		"GroupPaused (the last write to it failed, and the cloud has not been read since)"},
	{"older than our write", func(s *model.Snapshot, _ *model.Policy, g *model.Group) { g.Written = s.AsOf },
		"GroupBusy (the cloud has not been read since our last write to the group)"},
	{"never started", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Unhealthy = &model.Verdict{Reason: model.NodeNeverStarted, Detail: "n1"}
	}, "NodeNeverStarted (n1)"},
	{"backoff", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Rests.Put(model.Rest{Cause: model.RestFailed, Until: now.Add(time.Minute),
			Length: 5 * time.Minute, Message: "sold out"})
	}, "GroupBackoff (for 5m0s, until 12:01:00Z: sold out)"},
	{"unhealthy", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Unhealthy = &model.Verdict{Reason: model.GroupUnhealthy, Detail: "2 of 2"}
	}, "GroupUnhealthy (2 of 2)"},
	{"paused", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Rests.Put(model.Rest{Cause: model.RestPaused, Until: now.Add(time.Second), Message: "throttled"})
	}, "GroupPaused (the last write to it failed: throttled)"},
	{"held from growing", hold(provider.OpGrow), "GroupHeld (Frozen: by a person)"},
	{"held from repair", hold(provider.OpCancel), "GroupHeld (Frozen: by a person)"},
	{"held from removing", hold(provider.OpRemove), "GroupHeld (Frozen: by a person)"},
	{"held by operator", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Settled.Pause = &policy.Pause{Reason: "an audit", From: policy.FromCommand}
	}, "HeldByOperator (paused by plimsoll pause: an audit)"},
	{"from zero", func(s *model.Snapshot, p *model.Policy, _ *model.Group) {
		p.ScaleUp.ScaleFromZero, s.Nodes = false, nil
	},
		"ScaleFromZeroOff (the cluster has no ready node)"},
	{"resized", nil, "Resizing (one more)"},
	{"refused", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Rests.Put(model.Rest{Cause: model.RestRefused, Until: now.Add(time.Minute),
			Length: 5 * time.Minute, Message: "protected"})
	}, "Cooldown (5m0s after the last refused removal in its group: protected)"},
	{"too many", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.UnreadyNodes = 1 },
		"TargetNotReached (its group wants 2 nodes, and has 1 more)"},
	{"too few", func(_ *model.Snapshot, _ *model.Policy, g *model.Group) { g.Missing = 1 },
		"TargetNotReached (its group wants 2 nodes, and lacks 1)"},
}

func hold(op provider.Op) func(*model.Snapshot, *model.Policy, *model.Group) {
	return func(_ *model.Snapshot, _ *model.Policy, g *model.Group) {
		g.Holds = []provider.Hold{{Op: op, Reason: "Frozen", Message: "by a person"}, {Op: op, Reason: "Other"}}
	}
}

// shared are the checks that object to the same thing.
var shared = map[string][]string{
	"never started":      {"unhealthy"},
	"held from removing": {"held from repair"},
}

// TestChecks: a cause closes a group to exactly the operations that ask for it, each in
// the same words, and there is one for every check.
func TestChecks(t *testing.T) {
	src, err := os.ReadFile("checks.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`check\{"([^"]+)"`).FindAllStringSubmatch(string(src), -1) {
		if !slices.ContainsFunc(slices.Concat(order[:]...), func(c check) bool { return c.name == m[1] }) {
			t.Errorf("no operation asks the check %q: give it its places in `order` (gate.go)", m[1])
		}
	}
	tested := map[string]bool{}
	for _, c := range causes {
		tested[c.check] = true
		s, p := open()
		if c.make != nil {
			c.make(s, &p, &s.Groups[0])
		}
		gate := New(s, p)
		if c.make == nil {
			gate.Close(0, model.Verdict{Reason: model.Resizing, Detail: "one more"})
		}
		for op := range ops {
			want := ""
			for _, asked := range order[op] {
				for _, name := range append(shared[c.check], c.check) {
					if asked.name == name {
						want = c.want
					}
				}
			}
			got := ""
			if v := gate.Closed(0, op); v != nil {
				got = fmt.Sprintf("%s (%s)", v.Reason, v.Detail)
			}
			if got != want {
				t.Errorf("%s, %s: %q, want %q", c.check, op, got, want)
			}
		}
	}
	for op := range ops {
		for _, c := range order[op] {
			if !tested[c.name] {
				t.Errorf("%s asks %q, which has no cause: add what makes it object, and its words, to `causes`", op, c.name)
			}
		}
	}
	s, p := open()
	for op := range ops {
		if v := New(s, p).Closed(0, op); v != nil {
			t.Errorf("%s: %+v", op, v)
		}
	}
}

// TestRollsBack: a removal under way is rolled back where the cloud or its provider refuses.
// What else is in the way ends by itself.
func TestRollsBack(t *testing.T) {
	back := map[string]bool{"refused": true, "held from removing": true, "held by operator": true}
	for _, c := range causes {
		if c.make == nil || !slices.ContainsFunc(order[Continue], func(asked check) bool { return asked.name == c.check }) {
			continue
		}
		s, p := open()
		c.make(s, &p, &s.Groups[0])
		v := New(s, p).Closed(0, Continue)
		if v == nil || RollsBack(v) != back[c.check] {
			t.Errorf("%s: rolled back is %t, want %t: %+v", c.check, RollsBack(v), back[c.check], v)
		}
	}
	if RollsBack(nil) || RollsBack(&model.Verdict{Reason: model.Resizing}) {
		t.Error("a removal is rolled back though its group is open, or because the same plan writes to it")
	}
}
