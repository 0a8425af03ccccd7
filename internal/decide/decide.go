// Package decide is the product: what to do, given a snapshot and a policy.
//
// What flows in: a frozen model.Snapshot. What flows out: a model.Plan, sorted,
// with a reason for all that was not done. Deciding never fails: where it must
// not act, it returns a plan that says why. It is pure: the clock is the
// snapshot's Now, chance is its Seed, and budgets are counted in steps, so that
// the same snapshot gives the same plan on any machine.
//
//	snapshot → health → what does not arrive → growth → removals → plan
//
// These are the nine steps of a cycle, by number; see docs/architecture.md.
//
// Who may import it: loop and the hosts.
package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/repair"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaledown"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Decide makes the plan for one snapshot.
func Decide(s *model.Snapshot, p model.Policy) model.Plan {
	var d Decider
	defer d.Close()
	return d.Decide(s, p)
}

// Decider is Decide with a memory that only saves work: its plans are those of
// Decide. It serves one goroutine.
type Decider struct {
	world *schedsim.World
	steps atomic.Int64
}

// Steps counts the steps of all decisions so far. It may be read while one is being
// made, from any goroutine: one that gets on counts.
func (d *Decider) Steps() int64 { return d.steps.Load() }

// Decide makes the plan for one snapshot.
func (d *Decider) Decide(s *model.Snapshot, p model.Policy) model.Plan {
	plan, world := decide(d.world, s, p, &d.steps)
	d.world = world
	return plan
}

// rest is how long an unhealthy cluster is left alone before it is looked at
// again.
const rest = 10 * time.Second

func decide(prev *schedsim.World, s *model.Snapshot, p model.Policy, taken *atomic.Int64) (model.Plan, *schedsim.World) {
	var plan model.Plan
	// 1. All nodes, as the snapshot has them: the cluster in memory.
	world := schedsim.Load(prev, s)
	world.CountSteps(taken)
	taken.Add(int64(len(s.Nodes))) // to load them took as many
	// 2. An unhealthy cluster is left alone, and looked at again a little later.
	if s.Unhealthy != nil {
		return halted(s, p), world
	}
	// 3. and 4. What does not arrive is given up, and the rest of the cycle is
	// skipped for its group.
	rate := repair.NewRate(s)
	access := gate.New(s, p)
	fix := repair.Plan(s, p, rate, access)
	for i := range fix.Steps {
		plan.Calls = append(plan.Calls, repairCall(s, p, &fix.Steps[i]))
	}
	if p.Repair.WholeCycle && fix.Resized() {
		for i := range s.Groups {
			access.Close(i, model.Verdict{Reason: model.Resizing, Detail: "another group is resized", Fix: "the next cycle"})
		}
	}
	plan.Repair = fix.Verdicts
	// Pods of nodes that are being emptied have their room before all others (rule
	// L7). Where nothing has been done but the taint, pending pods come first: they
	// may have that room, or the node itself, before anything is bought. What is left
	// is asked for by the same search that began the removal.
	cluster := rules.Of(s, p)
	budgets := cluster.Budgets()
	drains, guests := openDrains(s, cluster), map[model.NodeID]bool{}
	waits, late := waiting(s)
	gather(s, cluster, budgets, drains, func(o *open) bool { return !tainted(s, o) }, waits)
	house(s, p, world, drains, guests)
	// 5. to 7. Pods without a node: room that is there or coming, and growth.
	up := scaleup.Plan(world, s, p, access)
	wanted := world.Reserved()
	gather(s, cluster, budgets, drains, func(o *open) bool { return tainted(s, o) && !wanted[o.node] }, waits)
	waited := served(&up)
	shelter(s, p, world, cluster, guests)
	plan.Grow, plan.Pending, plan.Nodes, plan.LowerBound = up.Grow, up.Pending, up.Nodes, up.LowerBound
	plan.Notices, plan.Brakes, plan.Shares, plan.Unseen = up.Notices, up.Brakes, up.Shares, up.Unseen
	for i := range up.Grow {
		plan.Calls = append(plan.Calls, growCall(s, p, &up.Grow[i]))
	}
	// 8. Which nodes does nothing need? Removals under way go on, or are taken back.
	down := scaledown.Plan(scaledown.Input{
		Snapshot: s, Policy: p, World: world, Reserved: wanted, Rules: cluster, Budgets: budgets, Gate: access,
		Guests: guests, Drafts: drafts(s, drains), Moving: onTheMove(s, drains, waited), Growing: growing(s, up.Grow), Waiting: told(waits), Rate: rate, Unseen: len(up.Unseen),
	})
	plan.Unneeded, plan.Kept, plan.Resume = down.Unneeded, down.Kept, down.Resume
	missed(world, s, drains, waited)
	accompany(world, s, drains)
	doubtful(s, drains, len(up.Unseen))
	steps, wake := advance(s, drains, wanted, p, access, &down)
	plan.Calls, plan.Wake = append(plan.Calls, steps...), wake
	// 9. Some of those begin to go.
	for _, start := range down.Start {
		n := &s.Nodes[start.Node]
		step := removal.Step{Verb: model.Taint, Reason: model.Unneeded, Unready: n.Kind == model.Unready, Known: start.Known, Why: start.Why}
		plan.Calls = append(plan.Calls, nodeCall(s, p, n, step))
	}
	marks(s, p, &plan)
	for _, at := range []time.Time{up.Wake, down.Wake, fix.Wake, late} {
		plan.Wake = earliest(plan.Wake, at)
	}
	for i := range s.Nodes {
		if s.Nodes[i].Kind == model.Booting {
			plan.Wake = earliest(plan.Wake, s.Nodes[i].BootsUntil)
		}
	}
	slices.SortFunc(plan.Calls, func(a, b model.Call) int { return cmp.Compare(a.ID, b.ID) })
	plan.Notices = append(plan.Notices, panics(s, world)...)
	plan.Work = world.Work()
	plan.Work.Options = up.Options
	return plan, world
}

// panics tells of the classes that a filter of the scheduler panicked on, each by
// one of its pods.
func panics(s *model.Snapshot, world *schedsim.World) []provider.Notice {
	var out []provider.Notice
	for _, p := range world.Panicked() {
		out = append(out, provider.Notice{Code: "FilterPanicked",
			Message: fmt.Sprintf("pod %s: %s; pods like it are left alone for this cycle, all others are served", podOf(s, p.Class), p.Words)})
	}
	return out
}

// podOf names a pod of a class: one that waits, else one that is bound.
func podOf(s *model.Snapshot, c model.ClassID) string {
	namespace := s.Classes[c].Namespace() + "/"
	for i := range s.Pending {
		if s.Pending[i].Class == c {
			return namespace + s.Pending[i].Pods[0].Name
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Bound {
			p := &s.Nodes[i].Bound[j]
			if id, ok := s.ClassOf(p); ok && id == c {
				return namespace + p.Name
			}
		}
	}
	return namespace + "of a DaemonSet or a template"
}

// growing are the groups, by index, that the plan lets grow or that a growth is
// under way in.
func growing(s *model.Snapshot, grow []model.Growth) map[int]bool {
	groups := map[int]bool{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if slices.ContainsFunc(grow, func(x model.Growth) bool { return x.Group == g.ID }) || (g.Busy != nil && g.Busy.Verb == model.Grow && g.Busy.Group == g.ID) {
			groups[i] = true
		}
	}
	return groups
}

// halted is the plan for an unhealthy cluster: nothing is bought or removed, no
// node is unneeded, and nodes that were about to go are given back.
func halted(s *model.Snapshot, p model.Policy) model.Plan {
	plan := model.Plan{Brakes: s.Brakes, NotBefore: s.Now.Add(rest), Wake: s.Now.Add(rest)}
	for i := range s.Pending {
		q := &s.Pending[i]
		plan.Pending = append(plan.Pending, model.PendingVerdict{Class: q.Class, Pods: len(q.Pods), Left: len(q.Pods), Since: q.Oldest, Skipped: s.Unhealthy})
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Object == nil {
			continue
		}
		v := model.NodeVerdict{Node: n.Name, Verdict: *s.Unhealthy}
		if n.Group >= 0 {
			v.Group = s.Groups[n.Group].ID
		}
		plan.Kept = append(plan.Kept, v)
		if n.Standing.Drain == nil || n.Unknown {
			continue
		}
		p.ScaleDown.Enabled = false
		steps, _ := removal.Next(n, removal.View{}, s.Now, p.ScaleDown)
		for _, step := range steps {
			if step.Verb == model.Untaint {
				step.Reason, step.Why = s.Unhealthy.Reason, s.Unhealthy.Detail
				plan.Calls = append(plan.Calls, nodeCall(s, p, n, step))
			}
		}
	}
	return plan
}

func kinds(n int) string {
	if n == 1 {
		return "1 kind"
	}
	return fmt.Sprintf("%d kinds", n)
}

func growCall(s *model.Snapshot, p model.Policy, g *model.Growth) model.Call {
	i, _ := slices.BinarySearchFunc(s.Groups, g.Group, func(x model.Group, id provider.GroupID) int { return cmp.Compare(x.ID, id) })
	pods := 0
	for _, b := range g.Pods {
		pods += b.Count
	}
	reason, why := model.Fits, fmt.Sprintf("%d pods of %s; %s", pods, kinds(len(g.Pods)), g.Why)
	if pods == 0 {
		reason, why = model.PoolBelowMin, g.Why
		if p.ScaleUp.EnforceMin && g.From < s.Groups[i].Min {
			reason = model.GroupBelowMin
		}
	}
	return model.Call{
		ID: fmt.Sprintf("grow/%s/%d", g.Group, s.Now.UnixNano()), Verb: model.Grow,
		Group: g.Group, Pool: s.Groups[i].Pool, From: g.From, To: g.To, MaxTo: s.Groups[i].Max,
		Deadline: s.Now.Add(p.CallDeadline), Reason: reason, Why: why,
	}
}

func repairCall(s *model.Snapshot, p model.Policy, step *repair.Step) model.Call {
	g := &s.Groups[step.Group]
	c := model.Call{
		Verb: step.Verb, Group: g.ID, Pool: g.Pool, From: step.From, To: step.To, Force: step.Force,
		Deadline: s.Now.Add(p.CallDeadline), Reason: step.Reason, Why: step.Why,
	}
	subject := string(g.ID)
	if step.Verb == model.Remove {
		c.Instance, c.ProviderID, c.NodeName, c.If = step.Waiting.Instance, step.Waiting.ProviderID, step.Waiting.NodeName, step.If
		subject = "instance/" + string(c.Instance)
	}
	c.ID = fmt.Sprintf("%s/%s/%d", verbID(step.Verb), subject, s.Now.UnixNano())
	return c
}

func nodeCall(s *model.Snapshot, p model.Policy, n *model.Node, step removal.Step) model.Call {
	subject := n.Name
	if step.Verb == model.Evict {
		subject += "/" + step.Pod
	}
	c := model.Call{
		ID: fmt.Sprintf("%s/%s/%d", verbID(step.Verb), subject, s.Now.UnixNano()), Verb: step.Verb,
		Node: n.Name, Instance: n.Instance,
		ExpendableBelow: p.Rules.ExpendableBelow, Unready: step.Unready, Whole: step.Whole,
		Known: step.Known, LookOnly: step.LookOnly, Pod: step.Pod, PodUID: step.PodUID, Grace: step.Grace, Note: step.Note,
		Deadline: s.Now.Add(p.CallDeadline), Reason: step.Reason, Why: step.Why,
	}
	if n.Group >= 0 {
		c.Group, c.Pool = s.Groups[n.Group].ID, s.Groups[n.Group].Pool
	}
	return c
}

func verbID(v model.Verb) string { return strings.ToLower(string(v)) }

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// Close gives back what the decider holds of shared things.
func (d *Decider) Close() {
	if d.world != nil {
		d.world.Close()
		d.world = nil
	}
}
