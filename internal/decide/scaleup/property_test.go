package scaleup_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func planOf(c *testkit.Cluster, p model.Policy) (*model.Snapshot, *schedsim.World, scaleup.Result) {
	s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
	w := schedsim.Load(nil, s)
	return s, w, scaleup.Plan(w, s, p, gate.New(s, p))
}

func text(s *model.Snapshot, r scaleup.Result) string {
	return model.Plan{Grow: r.Grow, Pending: r.Pending}.Text(s)
}

// TestPlanIsFeasible: the referee, who knows none of the shortcuts, can carry
// out every placement behind a plan.
func TestPlanIsFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s, w, r := planOf(drawn.Build(testkit.InOrder), drawn.Policy)
		defer w.Close()
		if err := schedsim.Referee(w); err != nil {
			t.Fatalf("%v\n%s", err, text(s, r))
		}
	})
}

// TestPlanByPluginsIsFeasible: so it is where the plugins alone say where pods of all classes may go, and nine in ten
// of those that have a place as a rule have one then.
func TestPlanByPluginsIsFeasible(t *testing.T) {
	placed, counted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s, w, r := planOf(drawn.Build(testkit.InOrder), drawn.Policy)
		w.Close()
		byPlugins := schedsim.Load(nil, s)
		defer byPlugins.Close()
		keys := map[string]string{}
		for i := range s.Classes {
			keys[s.Classes[i].Key] = ""
		}
		byPlugins.AskPlugins(keys)
		asked := scaleup.Plan(byPlugins, s, drawn.Policy, gate.New(s, drawn.Policy))
		if err := schedsim.Referee(byPlugins); err != nil {
			t.Fatalf("%v\n%s", err, text(s, asked))
		}
		for i := range r.Pending {
			counted += r.Pending[i].Pods - r.Pending[i].Left
		}
		for i := range asked.Pending {
			placed += asked.Pending[i].Pods - asked.Pending[i].Left
		}
	})
	if placed < counted*9/10 || counted == 0 {
		t.Errorf("the plugins alone give a place to %d pods of %d", placed, counted)
	}
}

// TestPlanKeepsLimits: no group, pool or cluster limit is exceeded by the plan
// as a whole, whatever it was before.
func TestPlanKeepsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s, w, r := planOf(drawn.Build(testkit.InOrder), drawn.Policy)
		defer w.Close()
		target := map[provider.GroupID]int{}
		for _, g := range s.Groups {
			target[g.ID] = g.Expected
		}
		nodes, milli := len(s.Nodes), int64(0)
		for i := range s.Nodes {
			milli += s.Contents.Shapes[s.Nodes[i].Shape].Capacity.MilliCPU
		}
		for _, g := range r.Grow {
			if g.From != target[g.Group] || g.To <= g.From {
				t.Fatalf("growth %+v from a target of %d", g, target[g.Group])
			}
			i := slices.IndexFunc(s.Groups, func(x model.Group) bool { return x.ID == g.Group })
			if g.To > s.Groups[i].Max {
				t.Fatalf("%s grows to %d above %d", g.Group, g.To, s.Groups[i].Max)
			}
			target[g.Group] = g.To
			nodes += g.To - g.From
			milli += int64(g.To-g.From) * s.Contents.Shapes[s.Groups[i].Shape].Capacity.MilliCPU
		}
		if r.LowerBound > r.Nodes || r.PriceBound > r.Price+1e-9 {
			t.Fatalf("%d nodes are bought, and at least %d are said to be needed\n%s", r.Nodes, r.LowerBound, text(s, r))
		}
		pool := 0
		grew := false
		for _, g := range s.Groups {
			if g.Pool == "pool" {
				pool += target[g.ID]
				grew = grew || target[g.ID] > g.Expected
			}
		}
		if grew && pool > s.Pools[0].Max {
			t.Fatalf("the pool grows to %d above %d", pool, s.Pools[0].Max)
		}
		for _, sh := range r.Shares {
			i := slices.IndexFunc(s.Groups, func(g model.Group) bool { return g.ID == sh.Group })
			if sh.Max < s.Groups[i].Expected {
				t.Fatalf("%s has %d, and its share is %d", sh.Group, s.Groups[i].Expected, sh.Max)
			}
			// Only a pool below its minimum passes a share, and by no more than it lacks.
			if over := target[sh.Group] - sh.Max; over > 0 && pool > s.Pools[0].Min {
				t.Fatalf("%s grows to %d of a share of %d, and the pool to %d of at least %d\n%s",
					sh.Group, target[sh.Group], sh.Max, pool, s.Pools[0].Min, text(s, r))
			}
		}
		p := drawn.Policy.ScaleUp
		if len(r.Grow) > 0 && p.MaxNodesTotal > 0 && nodes > p.MaxNodesTotal {
			t.Fatalf("%d nodes above %d", nodes, p.MaxNodesTotal)
		}
		if len(r.Grow) > 0 && p.MaxCoresTotal > 0 && milli > p.MaxCoresTotal*1000 {
			t.Fatalf("%d thousandths of a core above %d cores", milli, p.MaxCoresTotal)
		}
	})
}

// TestPoolsAreFilled: after the plan a pool has its minimum, or no group of it may
// have one more node.
func TestPoolsAreFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		drawn.Policy.ScaleUp.MaxNodesTotal, drawn.Policy.ScaleUp.MaxCoresTotal = 0, 0
		s, w, r := planOf(drawn.Build(testkit.InOrder), drawn.Policy)
		defer w.Close()
		bought := map[provider.GroupID]int{}
		for _, g := range r.Grow {
			bought[g.Group] = g.To - g.From
		}
		has, open := 0, false
		for _, g := range s.Groups {
			if g.Pool == "pool" {
				has += g.Expected + bought[g.ID]
				open = open || g.Expected+bought[g.ID] < g.Max
			}
		}
		if open && has < s.Pools[0].Min {
			t.Fatalf("the pool has %d of at least %d\n%s", has, s.Pools[0].Min, text(s, r))
		}
	})
}

// TestPlanIsComplete: no pod that is left fits any node, and no single further
// growth that the limits allow would take one more.
func TestPlanIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s, w, r := planOf(drawn.Build(testkit.InOrder), drawn.Policy)
		defer w.Close()
		for _, v := range r.Pending {
			if v.Left == 0 {
				continue
			}
			if schedsim.CanTake(w, v.Class, schedsim.OnReady|schedsim.OnComing|schedsim.OnPlanned, nil) {
				t.Fatalf("a pod of class %d still fits a node\n%s", v.Class, text(s, r))
			}
			for _, g := range v.Groups {
				if g.Reason == model.NotChosen || g.Reason == model.StepBudget {
					t.Fatalf("class %d has pods left and %s says %s\n%s", v.Class, g.Group, g.Reason, text(s, r))
				}
				if g.Reason == model.SpreadPostponed {
					continue // the next cycle's, and the verdict says so
				}
				if limited(g.Reason) {
					continue
				}
				i := slices.IndexFunc(s.Groups, func(x model.Group) bool { return x.ID == g.Group })
				for _, tmpl := range next(w, v.Class, i) {
					if schedsim.CanTake(w, v.Class, 0, &tmpl) {
						t.Fatalf("one more node of %s would take a pod of class %d, and the verdict is %s\n%s",
							g.Group, v.Class, g.Reason, text(s, r))
					}
				}
			}
		}
	})
}

// next are the forms that the next node of a group may have, as far as the class tells
// them apart.
func next(w *schedsim.World, c model.ClassID, group int) (out []schedsim.Template) {
	if !w.Choosy(c, group) {
		if t, ok := w.GroupTemplate(group); ok {
			out = append(out, t)
		}
		return out
	}
	l, landed := w.Landing(group), w.Landed(group)
	for v, t := range l.Variants {
		if first, ok := l.First(landed, v); ok && len(first) == 0 {
			out = append(out, t)
		}
	}
	return out
}

func limited(r model.Reason) bool {
	switch r {
	case model.GroupAtMax, model.PoolAtMax, model.PoolShare, model.MaxNodesTotal, model.CoresTotal, model.MemoryTotal:
		return true
	}
	return false
}

// TestPlanDoesNotDependOnOrder: the same cluster, built backwards, has the same
// plan.
func TestPlanDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s1, w1, r1 := planOf(drawn.Build(testkit.InOrder), drawn.Policy)
		defer w1.Close()
		s2, w2, r2 := planOf(drawn.Build(testkit.Backwards), drawn.Policy)
		defer w2.Close()
		if a, b := text(s1, r1), text(s2, r2); a != b {
			t.Fatalf("two plans:\n%s\n%s", a, b)
		}
	})
}

// TestWarmIsCold: a world that reuses another's memory gives the same plan.
func TestWarmIsCold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := testkit.DrawWorld(t), testkit.DrawWorld(t)
		s0, w0, _ := planOf(first.Build(testkit.InOrder), first.Policy)
		seen := second.Build(testkit.InOrder).Observation()
		s1 := snapshot.New(nil, seen, model.Standing{}, second.Policy.Rules)
		w1 := schedsim.Load(w0, s1)
		defer w1.Close()
		warm := text(s1, scaleup.Plan(w1, s1, second.Policy, gate.New(s1, second.Policy)))
		_ = s0
		s2, w2, r2 := planOf(second.Build(testkit.InOrder), second.Policy)
		defer w2.Close()
		if cold := text(s2, r2); warm != cold {
			t.Fatalf("warm:\n%s\ncold:\n%s", warm, cold)
		}
	})
}
