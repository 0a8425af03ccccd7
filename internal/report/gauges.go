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
	mu           sync.Mutex
	all          []prometheus.Metric
	accelerators map[provider.GroupID]string
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

func (g *gauges) set(all []prometheus.Metric, accelerators map[provider.GroupID]string) {
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

var (
	descSafe        = describe("cluster_safe_to_autoscale", "1 if the cluster is healthy enough to be acted on.")
	descNodes       = describe("nodes_count", "Nodes by state.", "state")
	descGroups      = describe("node_groups_count", "Node groups by type.", "node_group_type")
	descPods        = describe("unschedulable_pods_count", "Pods without a node that count, by type.", "type")
	descMaxNodes    = describe("max_nodes_count", "Most nodes in the cluster, 0: no limit.")
	descCores       = describe("cluster_cpu_current_cores", "Cores of all nodes.")
	descCoreLimit   = describe("cpu_limits_cores", "Least and most cores.", "direction")
	descMemory      = describe("cluster_memory_current_bytes", "Memory of all nodes in bytes.")
	descMemoryLimit = describe("memory_limits_bytes", "Least and most memory in bytes.", "direction")
	descUnneeded    = describe("unneeded_nodes_count", "Nodes that nothing needs.")
	descUnremovable = describe("unremovable_nodes_count", "Nodes that stay, by reason.", "reason")
	descPendingDown = describe("pending_node_deletions", "Nodes on their way out.")
	descCooldown    = describe("scale_down_in_cooldown", "1 while removals wait for a cooldown.")
	descGroupMin    = describe("node_group_min_count", "Least nodes of a group.", "node_group")
	descGroupMax    = describe("node_group_max_count", "Most nodes of a group.", "node_group")
	descGroupTarget = describe("node_group_target_count", "Nodes asked of the cloud for a group.", "node_group")
	descGroupHealth = describe("node_group_healthiness", "1 if the group is healthy enough to grow.", "node_group")
	descGroupRest   = describe("node_group_backoff_status", "1 while the group rests after a growth that failed, with the failure as reason.", "node_group", "reason")

	descPlanNodes = prometheus.NewDesc("plimsoll_plan_nodes", "Nodes that the last plan adds.", nil, nil)
	descPlanBound = prometheus.NewDesc("plimsoll_plan_lower_bound_nodes", "Nodes that any plan would have to add for the same pods.", nil, nil)
	descPending   = prometheus.NewDesc("plimsoll_pending_pods", "Pods without a node, by what the last plan does for them.", []string{"fate"}, nil)
	descUpcoming  = prometheus.NewDesc("plimsoll_upcoming_nodes", "Nodes that are asked for and not ready, by state.", []string{"state"}, nil)
	descDrains    = prometheus.NewDesc("plimsoll_drains", "Nodes on their way out, by how far they are.", []string{"stage"}, nil)
	descNotices   = prometheus.NewDesc("plimsoll_provider_notices", "What the provider has a person know about the node groups, by code.", []string{"code"}, nil)
	descStale     = prometheus.NewDesc("plimsoll_inventory_as_of_seconds", "When the oldest read behind the newest picture of the cloud began, in seconds since 1970; before the first one, when this process began to lead.", nil, nil)
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cluster_autoscaler_"+name, help, labels, nil)
}

// gaugesOf renders what a cycle saw and decided. led is since when the process leads.
func gaugesOf(c model.Cycle, led time.Time, policy model.Policy, perGroup bool) []prometheus.Metric {
	var out []prometheus.Metric
	add := func(d *prometheus.Desc, value int64, labels ...string) {
		out = append(out, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...))
	}
	s, p := c.Snapshot, &c.Plan
	// 1. Nodes.
	add(descSafe, flag(s.Unhealthy == nil))
	n := status.CountsOf(s.Counts.Plus(s.Others))
	for _, state := range []struct {
		name  string
		nodes int
	}{
		{"ready", n.Registered.Ready}, {"unready", n.Registered.Unready.Total}, {"notStarted", n.Registered.NotStarted},
		{"suspended", n.Registered.Suspended}, {"unregistered", n.Unregistered}, {"longUnregistered", n.LongUnregistered},
	} {
		add(descNodes, int64(state.nodes), state.name)
	}
	size := sizeOf(s)
	add(descUpcoming, size.coming, "coming")
	add(descUpcoming, size.booting, "booting")
	add(descCores, size.milliCPU/1000)
	add(descMemory, size.memory)
	// 2. Limits.
	add(descMaxNodes, int64(policy.ScaleUp.MaxNodesTotal))
	add(descCoreLimit, policy.ScaleDown.MinCoresTotal, "minimum")
	add(descCoreLimit, policy.ScaleUp.MaxCoresTotal, "maximum")
	add(descMemoryLimit, policy.ScaleDown.MinMemoryTotal, "minimum")
	add(descMemoryLimit, policy.ScaleUp.MaxMemoryTotal, "maximum")
	// 3. Groups.
	add(descGroups, int64(len(s.Groups)), "autoscaled")
	// A picture that never was is as old as the lead: what alerts on old ones sees it.
	asOf := s.AsOf
	if asOf.IsZero() {
		asOf = led
	}
	if !asOf.IsZero() {
		add(descStale, asOf.Unix())
	}
	byCode := map[string]int64{}
	for _, n := range s.Notices {
		byCode[n.Code]++
	}
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		add(descNotices, byCode[code], code)
	}
	if perGroup {
		for i := range s.Groups {
			g := &s.Groups[i]
			least, most := c.Plan.Bounds(g)
			add(descGroupMin, int64(least), string(g.ID))
			add(descGroupMax, int64(most), string(g.ID))
			add(descGroupTarget, int64(g.Target), string(g.ID))
			add(descGroupHealth, flag(g.Unhealthy == nil), string(g.ID))
			if status.Resting(g, s.Now) {
				add(descGroupRest, 1, string(g.ID), cmp.Or(g.Backoff.Code, string(g.Backoff.Kind)))
			} else {
				// A share of all groups can be taken only if the others are there.
				add(descGroupRest, 0, string(g.ID), "")
			}
		}
	}
	// 4. Pods.
	refused := map[model.ClassID]bool{}
	for i := range s.Pending {
		refused[s.Pending[i].Class] = s.Pending[i].Refused
	}
	var unschedulable, unprocessed int
	fates := map[string]int{"existing": 0, "upcoming": 0, "planned": 0, "left": 0, "refused": 0, "skipped": 0}
	for i := range p.Pending {
		v := &p.Pending[i]
		switch {
		case v.Skipped != nil && v.Skipped.Reason != model.NotRefused:
			// Not ours to care for.
		case refused[v.Class]:
			unschedulable += v.Pods
		default:
			unprocessed += v.Pods
		}
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
	add(descPods, int64(unschedulable), "unschedulable")
	add(descPods, int64(unprocessed), "scheduler_unprocessed")
	for _, fate := range slices.Sorted(maps.Keys(fates)) {
		add(descPending, int64(fates[fate]), fate)
	}
	// 5. The plan.
	add(descPlanNodes, int64(p.Nodes))
	add(descPlanBound, int64(p.LowerBound))
	add(descUnneeded, int64(len(p.Unneeded)))
	cooldown := false
	for _, r := range status.ReasonsOf(p) {
		add(descUnremovable, int64(r.Nodes), string(r.Reason))
		cooldown = cooldown || r.Reason == model.Cooldown
	}
	add(descCooldown, flag(cooldown))
	drains, byStage := 0, map[model.Stage]int{}
	for i := range s.Nodes {
		if d := s.Nodes[i].Standing.Drain; d != nil {
			drains++
			byStage[d.Stage]++
		}
	}
	add(descPendingDown, int64(drains))
	for _, stage := range []model.Stage{model.Tainting, model.Tainted, model.Cordoning, model.Evicting, model.Removing, model.Removed, model.RollingBack} {
		add(descDrains, int64(byStage[stage]), string(stage))
	}
	return out
}

func flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// size is what the cluster consists of, and what is on its way.
type size struct{ coming, booting, milliCPU, memory int64 }

func sizeOf(s *model.Snapshot) size {
	var out size
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Object == nil {
			out.coming++
			continue
		}
		if n.Kind == model.Booting {
			out.booting++
		}
		have := model.ResourcesOf(n.Object.Status.Capacity)
		out.milliCPU += have.MilliCPU
		out.memory += have.Memory
	}
	return out
}
