package explain_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// fixCase is a cluster in which a group says one reason to the pods of the app web. The fix that is named is done to
// the cluster, as a person does it or as time does: it has other lines then, and other flags.
type fixCase struct {
	reason        model.Reason
	before        string
	fix           string
	old, new      string // in before
	flags, change func(*model.Policy)
	// build is in place of before, and settle what the ledger would say. done: the fix was done.
	build  func(done bool) *testkit.Cluster
	settle func(s *model.Snapshot, done bool)
}

// rests has a group rest from failures; time ends that.
func rests(cause model.RestCause) func(*model.Snapshot, bool) {
	return func(s *model.Snapshot, done bool) {
		const length = 5 * time.Minute
		s.Groups[0].Rests.Put(model.Rest{Cause: cause, Since: s.Now, Until: s.Now.Add(length), Length: length})
		if done {
			s.Now, s.AsOf = s.Now.Add(5*time.Minute), s.Now.Add(5*time.Minute)
		}
	}
}

// withVolumes is a pod with claims, on a group in zone a whose nodes hold one volume each.
func withVolumes(change func(c *testkit.Cluster, p *corev1.Pod, done bool)) func(bool) *testkit.Cluster {
	return func(done bool) *testkit.Cluster {
		c := testkit.New()
		g := c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}))
		g.Template.CSINode = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: "example.com/disk", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(1))}}}}}
		p := testkit.Pod("default", "web", "3", "1Gi", nil)
		change(c, p, done)
		c.Pending(p, 1)
		return c
	}
}

const (
	one      = "group g max=10 cpu=4 memory=16Gi\n"
	oneWaits = one + "pods web count=1 cpu=3"
)

var fixCases = []fixCase{
	{reason: model.GroupAtMax, before: "group g max=1 cpu=4 memory=16Gi\npods web count=3 cpu=3",
		fix: "raise g.max 1 → 3 (+2 nodes)", old: "max=1", new: "max=3"},
	{reason: model.PoolAtMax, before: one[:len(one)-1] + " pool=p\npool p max=1\npods web count=3 cpu=3",
		fix: "raise pool p.max 1 → 3 (+2 nodes)", old: "p max=1", new: "p max=3"},
	{reason: model.PoolShare, before: "group f max=4 cpu=4 memory=16Gi pool=p zone=b\n" + one[:len(one)-1] +
		" pool=p zone=a\npool p max=4 sizing=Backward-Compatible\n" +
		"pods web count=4 cpu=3 select=topology.kubernetes.io/zone:a",
		fix: "raise pool p.max 4 → 8 (+2 nodes)", old: "p max=4", new: "p max=8"},
	{reason: model.MaxNodesTotal, before: one + "pods web count=3 cpu=3", fix: "raise --max-nodes-total 1 → 3 (+2 nodes)",
		flags:  func(p *model.Policy) { p.ScaleUp.MaxNodesTotal = 1 },
		change: func(p *model.Policy) { p.ScaleUp.MaxNodesTotal = 3 }},
	{reason: model.CoresTotal, before: one + "pods web count=3 cpu=3", fix: "raise --cores-total 4 → 12 (+2 nodes)",
		flags:  func(p *model.Policy) { p.ScaleUp.MaxCoresTotal = 4 },
		change: func(p *model.Policy) { p.ScaleUp.MaxCoresTotal = 12 }},
	{reason: model.MemoryTotal, before: one + "pods web count=3 cpu=3", fix: "raise --memory-total 16 → 48 (+2 nodes)",
		flags:  func(p *model.Policy) { p.ScaleUp.MaxMemoryTotal = 16 << 30 },
		change: func(p *model.Policy) { p.ScaleUp.MaxMemoryTotal = 48 << 30 }},
	{reason: model.ScaleFromZeroOff, before: one + "pods web count=1 cpu=3", fix: "set --scale-up-from-zero (+1 node)",
		flags:  func(p *model.Policy) { p.ScaleUp.ScaleFromZero = false },
		change: func(p *model.Policy) { p.ScaleUp.ScaleFromZero = true }},
	{reason: model.MaxNodesPerScaleUp, before: one + "pods web count=2 cpu=3", fix: "wait for the next cycle (+1 node)",
		old: "pods", new: "node n1 group=g\npods", flags: func(p *model.Policy) { p.ScaleUp.MaxNodesPerScaleUp = 1 }},
	{reason: model.InsufficientResources, before: one + "pods web count=2 cpu=6", fix: "request cpu ≤ 4 (+2 nodes)",
		old: "cpu=6", new: "cpu=4"},
	{reason: model.TaintNotTolerated, before: one[:len(one)-1] + " taint=dedicated=x:NoSchedule\npods web count=1 cpu=3",
		fix: "toleration of dedicated=x:NoSchedule (+1 node)", old: "cpu=3", new: "cpu=3 tolerate=dedicated"},
	{reason: model.NodeAffinity, before: one + "pods web count=1 cpu=3 select=disk:ssd",
		fix: "nodeSelector without disk=ssd (+1 node)", old: " select=disk:ssd", new: ""},
	{reason: model.PodAffinity, before: one[:len(one)-1] + " zone=a\npods web count=2 cpu=3 apart=zone",
		fix: "pod anti-affinity over topology.kubernetes.io/zone preferred, not required (+1 node)",
		old: " apart=zone", new: ""},
	{reason: model.TopologySpread, before: one + "pods web count=2 cpu=3 spread=zone",
		fix: "spread over topology.kubernetes.io/zone ScheduleAnyway (+2 nodes)", old: " spread=zone", new: ""},
	{reason: model.SpreadCapacity, before: one[:len(one)-1] + " zone=a\nnode o cpu=1 memory=1Gi zone=b\n" +
		"pods web count=3 cpu=3 spread=zone", fix: "maxSkew ≥ 3 over topology.kubernetes.io/zone (+2 nodes)",
		old: "spread=zone", new: "spread=zone:3"},
	{reason: model.GroupBackoff, before: oneWaits, fix: "wait until 00:05:00Z (+1 node)", settle: rests(model.RestFailed)},
	{reason: model.GroupPaused, before: oneWaits, fix: "wait until 00:05:00Z (+1 node)", settle: rests(model.RestPaused)},
	{reason: model.GroupBusy, before: oneWaits, fix: "wait until 00:01:00Z (+1 node)",
		settle: func(s *model.Snapshot, done bool) {
			if !done {
				s.Groups[0].Busy = &model.Call{Verb: model.Grow, Group: "g", Deadline: s.Now.Add(time.Minute)}
			}
		}},
	{reason: model.GroupHeld, before: oneWaits, fix: "wait until 00:05:00Z (+1 node)",
		settle: func(s *model.Snapshot, done bool) {
			s.Groups[0].Holds = []provider.Hold{{Op: provider.OpGrow, Reason: "Rollout", Until: s.Now.Add(5 * time.Minute)}}
			if done {
				s.Now, s.AsOf = s.Now.Add(5*time.Minute), s.Now.Add(5*time.Minute)
			}
		}},
	{reason: model.HeldByOperator, before: oneWaits, fix: "plimsoll resume (+1 node)",
		settle: func(s *model.Snapshot, done bool) {
			if !done {
				s.Groups[0].Settled.Pause = &policy.Pause{From: policy.FromCommand}
			}
		}},
	{reason: model.NodeNeverStarted, before: oneWaits, fix: "wait until they become ready, or go (+1 node)",
		settle: func(s *model.Snapshot, done bool) {
			if !done {
				s.Groups[0].Unhealthy = &model.Verdict{Reason: model.NodeNeverStarted, Fix: "they become ready, or go"}
			}
		}},
	{reason: model.PortConflict, fix: "no host port 80 (+1 node)", build: func(done bool) *testkit.Cluster {
		c := testkit.New()
		g := c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
		port := func(p *corev1.Pod) *corev1.Pod {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
			return p
		}
		g.Template.Pods = []*corev1.Pod{port(testkit.Pod("kube-system", "proxy", "100m", "1Mi", nil))}
		p := testkit.Pod("default", "web", "3", "1Gi", nil)
		if !done {
			port(p)
		}
		c.Pending(p, 1)
		return c
	}},
	{reason: model.VolumeZone, fix: "no volume there (claim there) (+1 node)",
		build: withVolumes(func(c *testkit.Cluster, p *corev1.Pod, done bool) {
			if done {
				return
			}
			c.Claim(p, "there", true)
			c.Volumes.Persistent[0].Labels = map[string]string{corev1.LabelTopologyZone: "b"}
		})},
	{reason: model.VolumeLimit, fix: "no volume one (claim one) (+1 node)",
		build: withVolumes(func(c *testkit.Cluster, p *corev1.Pod, done bool) {
			if !done {
				c.Claim(p, "one", true)
			}
			c.Claim(p, "two", true)
		})},
	{reason: model.VolumeNotBindable, fix: "no volume lost (claim lost) (+1 node)",
		build: withVolumes(func(c *testkit.Cluster, p *corev1.Pod, done bool) {
			if !done {
				c.Claim(p, "lost", true)
				c.Volumes.Claims = nil
			}
		})},
	{reason: model.VolumeInUse, fix: "no volume data (claim data) (+1 node)",
		build: withVolumes(func(c *testkit.Cluster, p *corev1.Pod, done bool) {
			user := testkit.Pod("default", "db", "1", "1Gi", nil)
			c.Claim(user, "data", true)
			c.Volumes.Claims[0].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			c.AddNode(testkit.Node("n1", "1", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}), "g")
			c.Bound(user, 1, "n1")
			if !done {
				p.Spec.Volumes = user.Spec.Volumes
			}
		})},
	{reason: model.LandedElsewhere,
		before: oneWaits + "\nbraked g for=web node=gone reason=LandedElsewhere age=5m over=-10m",
		fix:    "wait until 00:10:00Z (+1 node)", old: "over=-10m", new: "over=1s"},
	{reason: model.OutOfReach, before: oneWaits + "\nbraked g for=web node=gone reason=OutOfReach age=5m over=-10m",
		fix: "wait until 00:10:00Z (+1 node)", old: "over=-10m", new: "over=1s"},
	{reason: model.SchedulerDisagrees, before: oneWaits + "\nbraked g for=web node=gone reason=SchedulerDisagrees age=5m",
		fix: "wait until 00:55:00Z (+1 node)", old: "age=5m", new: "age=1h"},
	{reason: model.GroupUnhealthy, before: one + notReady(6) + "pods web count=1 cpu=3",
		fix: "wait until at most 3 of them, or 45%, are missing or not ready (+1 node)", old: " notready=1h", new: ""},
	{reason: model.TemplateMismatch, before: one + "node n1 group=g cpu=2\npods web count=1 cpu=3\n" +
		"braked g for=web node=n1 reason=TemplateMismatch age=5m",
		fix: "new nodes of g that are as its template says", old: "cpu=2", new: ""},
}

// notReady are so many nodes of the group, among others.
func notReady(n int) string {
	text := "group h max=20 cpu=1 memory=1Gi\n"
	for i := range 2 * n {
		text += fmt.Sprintf("node o%d group=h\n", i)
	}
	for i := range n {
		text += "node n" + string(rune('1'+i)) + " group=g notready=1h age=2h\n"
	}
	return text
}

// TestEachReasonHasItsFix: for each reason that something can be done about, a fix is named, and after it has been done
// the plan serves the pods.
func TestEachReasonHasItsFix(t *testing.T) {
	cycle := func(x fixCase, done bool) (model.Cycle, model.Policy) {
		s := testkit.NewScenario()
		text := x.before
		if done {
			text = strings.ReplaceAll(text, x.old, x.new)
		}
		if x.build != nil {
			s.Cluster = x.build(done)
		} else if err := s.Add(text); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if x.flags != nil {
			x.flags(&s.Policy)
		}
		if done && x.change != nil {
			x.change(&s.Policy)
		}
		snap := s.Snapshot(s.Policy)
		if x.settle != nil {
			x.settle(snap, done)
		}
		return model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}, s.Policy
	}
	covered := map[model.Reason]bool{}
	for _, x := range fixCases {
		covered[x.reason] = true
		before, p := cycle(x, false)
		answer, err := explain.PodOf(before, p, "default/web-000001")
		if err != nil || answer.Pending == nil {
			t.Fatalf("%s: %v", x.reason, err)
		}
		at := slices.IndexFunc(answer.Pending.Groups, func(g explain.GroupAnswer) bool { return g.Group == "g" })
		if at < 0 {
			t.Errorf("%s: the group says nothing: %s", x.reason, before.Plan.Text(before.Snapshot))
			continue
		}
		g := &answer.Pending.Groups[at]
		if g.Reason != x.reason || g.WorksIf == nil || !strings.HasPrefix(g.WorksIf.Text, x.fix) {
			t.Errorf("%s: %+v with the fix %+v, want %q\n%s", x.reason, g.Verdict, g.WorksIf, x.fix,
				before.Plan.Text(before.Snapshot))
			continue
		}
		if x.old != "" && !strings.Contains(x.before, x.old) {
			t.Fatalf("%s: no %q to be changed", x.reason, x.old)
		}
		after, _ := cycle(x, true)
		for _, v := range after.Plan.Pending {
			if v.Without() > 0 || v.Disagrees != nil {
				t.Errorf("%s: %q leaves pods waiting:\n%s", x.reason, g.WorksIf.Text, after.Plan.Text(after.Snapshot))
			}
		}
	}
	var lacking []model.Reason
	for _, r := range explain.Fixable() {
		if !covered[r] {
			lacking = append(lacking, r)
		}
	}
	if slices.Sort(lacking); len(lacking) > 0 {
		t.Errorf("no case for %v; there are %v", lacking, slices.Sorted(maps.Keys(covered)))
	}
}
