package report

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// gauges is the state that the last decided cycle saw. All of it is replaced at
// once, so that what is not there any more (a reason, a group) is not shown.
type gauges struct {
	descs []*prometheus.Desc // aligned with gaugeTable

	mu           sync.Mutex
	all          []prometheus.Metric
	accelerators map[provider.GroupID]string
}

func newGauges() *gauges {
	g := &gauges{}
	for _, row := range gaugeTable {
		name := prometheus.BuildFQName(row.namespace, "", row.name)
		g.descs = append(g.descs, prometheus.NewDesc(name, row.help, row.labels, nil))
	}
	return g
}

// Describe sends nothing: which gauges there are depends on the cycle.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// Collect sends the gauges of the last cycle.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	all := g.all
	g.mu.Unlock()
	for _, m := range all {
		to <- m
	}
}

// set replaces all gauges by what a cycle saw and decided.
func (g *gauges) set(c cycle) {
	c.costs, c.cores, c.memory = c.Snapshot.CostByGroup(), 0, 0
	for i := range c.Snapshot.Nodes {
		cores, memory := capacityOf(c.Snapshot, c.Snapshot.Nodes[i])
		c.cores, c.memory = c.cores+cores, c.memory+memory
	}
	var all []prometheus.Metric
	for i, row := range gaugeTable {
		for _, s := range row.samples(&c) {
			all = append(all, prometheus.MustNewConstMetric(g.descs[i], prometheus.GaugeValue, s.value, s.labels...))
		}
	}
	accelerators := acceleratorsOf(c.Snapshot)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all, g.accelerators = all, accelerators
}

func (g *gauges) accelerator(group provider.GroupID) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accelerators[group]
}

func acceleratorsOf(s *model.Snapshot) map[provider.GroupID]string {
	out := map[provider.GroupID]string{}
	for i := range s.Groups {
		if a := s.Groups[i].Accelerator; a != "" {
			out[s.Groups[i].ID] = a
		}
	}
	return out
}

// cycle is what gauges are read off.
type cycle struct {
	model.Cycle
	led      time.Time // since when the process leads
	perGroup bool      // gauges of each group are wanted
	costs    []model.Cost
	// cores, in thousandths, and memory are what the nodes that are registered have.
	cores, memory int64
}

// gauge is a metric that is read off a cycle, a row of gaugeTable.
type gauge struct {
	namespace, name, help string
	labels                []string
	samples               func(*cycle) []sample
}

// The namespaces of metrics: theirs mean what they mean in the Cluster Autoscaler, and
// what only Plimsoll has is its own.
const (
	theirs = "cluster_autoscaler"
	own    = "plimsoll"
)

// sample is one value of a gauge, with the values of its labels.
type sample struct {
	value  float64
	labels []string
}

// gaugeTable has every gauge. Labels are bounded: groups, reasons, states, and never
// names of pods or nodes.
var gaugeTable = []gauge{
	// 1. Nodes.
	{theirs, "cluster_safe_to_autoscale", "1 if the cluster is healthy enough to be acted on.", nil,
		one(func(c *cycle) int64 { return flag(c.Snapshot.Unhealthy == nil) })},
	{theirs, "nodes_count", "Nodes by state.", []string{"state"}, nodesByState},
	{own, "upcoming_nodes", "Nodes that are asked for and not ready, by state.", []string{"state"}, upcomingNodes},
	{theirs, "cluster_cpu_current_cores", "Cores of all nodes.", nil,
		one(func(c *cycle) int64 { return c.cores / 1000 })},
	{theirs, "cluster_memory_current_bytes", "Memory of all nodes in bytes.", nil,
		one(func(c *cycle) int64 { return c.memory })},
	// 2. Limits.
	{theirs, "max_nodes_count", "Most nodes in the cluster, 0: no limit.", nil,
		one(func(c *cycle) int64 { return int64(c.Policy.ScaleUp.MaxNodesTotal) })},
	{theirs, "cpu_limits_cores", "Least and most cores.", []string{"direction"},
		minMax(func(p *model.Policy) (least, most int64) { return p.ScaleDown.MinCoresTotal, p.ScaleUp.MaxCoresTotal })},
	{theirs, "memory_limits_bytes", "Least and most memory in bytes.", []string{"direction"},
		minMax(func(p *model.Policy) (least, most int64) { return p.ScaleDown.MinMemoryTotal, p.ScaleUp.MaxMemoryTotal })},
	// 3. Groups.
	{theirs, "node_groups_count", "Node groups by type.", []string{"node_group_type"},
		func(c *cycle) []sample { return []sample{{float64(len(c.Snapshot.Groups)), []string{"autoscaled"}}} }},
	{own, "inventory_as_of_seconds", "When the oldest read behind the newest picture of the cloud began, " +
		"in seconds since 1970; before the first one, when this process began to lead.", nil, inventoryAsOf},
	{own, "provider_notices", "What the provider has a person know about the node groups, by code.", []string{"code"},
		noticesByCode},
	{theirs, "node_group_min_count", "Least nodes of a group.", []string{"node_group"},
		eachGroup(func(c *cycle, g *model.Group) int64 { least, _ := c.Plan.Bounds(g); return int64(least) })},
	{theirs, "node_group_max_count", "Most nodes of a group.", []string{"node_group"},
		eachGroup(func(c *cycle, g *model.Group) int64 { _, most := c.Plan.Bounds(g); return int64(most) })},
	{theirs, "node_group_target_count", "Nodes asked of the cloud for a group.", []string{"node_group"},
		eachGroup(func(_ *cycle, g *model.Group) int64 { return int64(g.Target) })},
	{theirs, "node_group_healthiness", "1 if the group is healthy enough to grow.", []string{"node_group"},
		eachGroup(func(_ *cycle, g *model.Group) int64 { return flag(g.Unhealthy == nil) })},
	{theirs, "node_group_backoff_status",
		"1 while the group rests after a failed scale-up, with the failure as reason.",
		[]string{"node_group", "reason"}, groupBackoffs},
	// 4. Money. Nodes without a price are in none of the sums.
	{own, "cost_per_hour", "Price per hour of the nodes that exist, by group; nodes of no group have none.",
		[]string{"node_group"}, costByGroup},
	{own, "unpriced_nodes", "Nodes that exist and whose price is not known.", nil,
		cost(func(c model.Cost) float64 { return float64(c.Unknown) })},
	{own, "idle_cost_per_hour", "Part of the nodes' price that no pod requests.", nil,
		cost(func(c model.Cost) float64 { return c.Idle })},
	{own, "stranded_cost_per_hour", "Part of the idle cost that no pod can use, since CPU or memory is used up before.",
		nil, cost(func(c model.Cost) float64 { return c.Stranded })},
	{own, "savings_available_per_hour", "Price of nodes that could go but for the reason.",
		[]string{"reason_not_taken"}, savings},
	{own, "moves", "Moves that are known, by stage and reason; waiting ones would be worth it.",
		[]string{"stage", "reason"}, movesByStage},
	{own, "moves_save_per_hour", "What moves to cheaper nodes save that are under way or wait, by stage.",
		[]string{"stage"}, movesSave},
	// 5. Pods.
	{theirs, "unschedulable_pods_count", "Pods without a node that count, by type.", []string{"type"},
		unschedulablePods},
	{own, "pending_pods", "Pods without a node, by what the last plan does for them.", []string{"fate"}, pendingPods},
	// 6. The plan.
	{own, "plan_nodes", "Nodes that the last plan adds.", nil,
		one(func(c *cycle) int64 { return int64(c.Plan.Nodes) })},
	{own, "plan_lower_bound_nodes", "Nodes that any plan would have to add for the same pods.", nil,
		one(func(c *cycle) int64 { return int64(c.Plan.LowerBound) })},
	{theirs, "unneeded_nodes_count", "Nodes that nothing needs.", nil,
		one(func(c *cycle) int64 { return int64(len(c.Plan.Unneeded)) })},
	{theirs, "unremovable_nodes_count", "Nodes that stay, by reason.", []string{"reason"}, unremovableNodes},
	{theirs, "scale_down_in_cooldown", "1 while removals wait for a cooldown.", nil,
		one(func(c *cycle) int64 {
			waits := func(r status.ReasonCount) bool { return r.Reason == model.Cooldown }
			return flag(slices.ContainsFunc(status.ReasonsOf(&c.Plan), waits))
		})},
	{theirs, "pending_node_deletions", "Nodes on their way out.", nil,
		one(func(c *cycle) int64 {
			all := 0
			for _, n := range drainsOf(c.Snapshot) {
				all += n
			}
			return int64(all)
		})},
	{own, "drains", "Nodes on their way out, by how far they are.", []string{"stage"}, drainsByStage},
}

// one is a gauge without labels.
func one(value func(*cycle) int64) func(*cycle) []sample {
	return func(c *cycle) []sample { return []sample{{value: float64(value(c))}} }
}

// counts has a sample for each label, sorted.
func counts[L ~string, N int | int64 | float64](by map[L]N) []sample {
	var out []sample
	for _, label := range slices.Sorted(maps.Keys(by)) {
		out = append(out, sample{float64(by[label]), []string{string(label)}})
	}
	return out
}

func minMax(of func(*model.Policy) (least, most int64)) func(*cycle) []sample {
	return func(c *cycle) []sample {
		least, most := of(&c.Policy)
		return counts(map[string]int64{"minimum": least, "maximum": most})
	}
}

// eachGroup is a gauge of each group, where they are wanted.
func eachGroup(value func(*cycle, *model.Group) int64) func(*cycle) []sample {
	return func(c *cycle) []sample {
		var out []sample
		for i := range c.Snapshot.Groups {
			if g := &c.Snapshot.Groups[i]; c.perGroup {
				out = append(out, sample{float64(value(c, g)), []string{string(g.ID)}})
			}
		}
		return out
	}
}

func nodesByState(c *cycle) []sample {
	n := status.CountsOf(c.Snapshot.Counts.Plus(c.Snapshot.Others))
	return counts(map[string]int{
		"ready": n.Registered.Ready, "unready": n.Registered.Unready.Total, "notStarted": n.Registered.NotStarted,
		"suspended": n.Registered.Suspended, "unregistered": n.Unregistered, "longUnregistered": n.LongUnregistered,
	})
}

func upcomingNodes(c *cycle) []sample {
	by := map[string]int{"coming": 0, "booting": 0}
	for i := range c.Snapshot.Nodes {
		switch n := c.Snapshot.Nodes[i]; {
		case n.Object == nil:
			by["coming"]++
		case n.Kind == model.Booting:
			by["booting"]++
		}
	}
	return counts(by)
}

// capacityOf is the CPU in thousandths and the memory of a node that is registered. The shape of one that boots is
// its template's.
func capacityOf(s *model.Snapshot, n *model.Node) (cores, memory int64) {
	switch {
	case n.Object == nil:
		return 0, 0
	case n.Kind == model.Booting:
		has := n.Object.Status.Capacity
		return has.Cpu().MilliValue(), has.Memory().Value()
	}
	has := &s.Contents.Shapes[n.Shape].Capacity
	return has.MilliCPU, has.Memory
}

// costByGroup has the groups one by one where gauges of each group are wanted, else their sum
// without a name.
func costByGroup(c *cycle) []sample {
	var out []sample
	rest := 0.0
	for i := range c.costs {
		if i < len(c.Snapshot.Groups) && c.perGroup {
			out = append(out, sample{c.costs[i].PerHour, []string{string(c.Snapshot.Groups[i].ID)}})
			continue
		}
		rest += c.costs[i].PerHour
	}
	return append(out, sample{rest, []string{""}})
}

// cost is a gauge of all nodes together.
func cost(of func(model.Cost) float64) func(*cycle) []sample {
	return func(c *cycle) []sample {
		var all model.Cost
		for _, one := range c.costs {
			all.Add(one)
		}
		return []sample{{value: of(all)}}
	}
}

// savings counts the nodes that are unneeded and stay for now, and those that stay because a
// user wants them. Nodes in use, and those whose pods have no other room, are no savings.
func savings(c *cycle) []sample {
	by, fleet := map[model.Reason]float64{}, c.Snapshot.Fleet()
	count := func(verdicts []model.NodeVerdict, saves func(model.Reason) bool) {
		at := 0 // verdicts are in the order of the nodes
		for i := range c.Snapshot.Nodes {
			n := c.Snapshot.Nodes[i]
			if at == len(verdicts) || verdicts[at].Node != n.Name {
				continue
			}
			if why := verdicts[at].Reason; saves(why) {
				if price, known := fleet.Saves(n); known {
					by[why] += price
				}
			}
			at++
		}
	}
	count(c.Plan.Unneeded, func(why model.Reason) bool { return why != model.Unneeded })
	count(c.Plan.Kept, func(why model.Reason) bool { return why != model.Unneeded && why.KeepsNode() })
	return counts(by)
}

func movesByStage(c *cycle) []sample {
	type key struct {
		stage  string
		reason model.Reason
	}
	by := map[key]int{}
	for _, m := range c.MoveStates() {
		by[key{m.Stage, m.Reason}]++
	}
	var out []sample
	for k, n := range by {
		out = append(out, sample{float64(n), []string{k.stage, string(k.reason)}})
	}
	slices.SortFunc(out, func(a, b sample) int { return slices.Compare(a.labels, b.labels) })
	return out
}

func movesSave(c *cycle) []sample {
	by := map[string]float64{}
	for _, m := range c.MoveStates() {
		if m.Reason == model.CheaperElsewhere && !m.Over() {
			by[m.Stage] += m.Saves()
		}
	}
	return counts(by)
}

// inventoryAsOf: a picture that never was is as old as the lead, so that what alerts
// on old ones sees it.
func inventoryAsOf(c *cycle) []sample {
	asOf := c.Snapshot.AsOf
	if asOf.IsZero() {
		asOf = c.led
	}
	if asOf.IsZero() {
		return nil
	}
	return []sample{{value: float64(asOf.Unix())}}
}

func noticesByCode(c *cycle) []sample {
	by := map[string]int{}
	for _, n := range c.Snapshot.Notices {
		by[n.Code]++
	}
	return counts(by)
}

// groupBackoffs has a sample without a reason for a group that does not rest: a share
// of all groups can be taken only if the others are there.
func groupBackoffs(c *cycle) []sample {
	var out []sample
	for i := range c.Snapshot.Groups {
		g := &c.Snapshot.Groups[i]
		switch r := g.Rests.Of(model.RestFailed); {
		case !c.perGroup:
		case r.Stands(c.Snapshot.Now):
			out = append(out, sample{1, []string{string(g.ID), cmp.Or(r.Code, string(r.Kind))}})
		default:
			out = append(out, sample{0, []string{string(g.ID), ""}})
		}
	}
	return out
}

// unschedulablePods leaves out the pods that are not ours to care for.
func unschedulablePods(c *cycle) []sample {
	refused := map[model.ClassID]bool{}
	for i := range c.Snapshot.Pending {
		refused[c.Snapshot.Pending[i].Class] = c.Snapshot.Pending[i].Refused
	}
	by := map[string]int{"unschedulable": 0, "scheduler_unprocessed": 0}
	for i := range c.Plan.Pending {
		switch v := &c.Plan.Pending[i]; {
		case v.Skipped != nil && v.Skipped.Reason != model.NotRefused:
		case refused[v.Class]:
			by["unschedulable"] += v.Pods
		default:
			by["scheduler_unprocessed"] += v.Pods
		}
	}
	return counts(by)
}

func pendingPods(c *cycle) []sample {
	fates := map[string]int{"existing": 0, "upcoming": 0, "planned": 0, "left": 0, "refused": 0, "skipped": 0}
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		if v.Skipped != nil {
			fates["skipped"] += v.Pods
			continue
		}
		if v.Disagrees != nil {
			fates["refused"] += v.Existing
		} else {
			fates["existing"] += v.Existing
		}
		fates["upcoming"] += v.Upcoming
		fates["planned"] += v.Planned
		fates["left"] += v.Left
	}
	return counts(fates)
}

func unremovableNodes(c *cycle) []sample {
	var out []sample
	for _, r := range status.ReasonsOf(&c.Plan) {
		out = append(out, sample{float64(r.Nodes), []string{string(r.Reason)}})
	}
	return out
}

// drainsOf counts the nodes on their way out by how far they are.
func drainsOf(s *model.Snapshot) map[model.Stage]int {
	by := map[model.Stage]int{}
	for i := range s.Nodes {
		if d := s.Nodes[i].Standing.Drain; d != nil {
			by[d.Stage]++
		}
	}
	return by
}

func drainsByStage(c *cycle) []sample {
	by := drainsOf(c.Snapshot)
	for _, stage := range model.Stages {
		by[stage] += 0 // none is a count, too
	}
	return counts(by)
}

func flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
