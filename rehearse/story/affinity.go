package story

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// The affinity story's cluster: per ratio of memory to CPU a group of 8-core
// nodes, each node with some pods of the group's own shape and room for more.
const (
	nodesPerRatio  = 26 // of four ratios: more than 100 nodes
	ownPodsPerNode = 5
	newPods        = 400
	newMemory      = 7 // GiB per core
	fittingRatio   = 8 // the smallest ratio that newMemory fits well

	sceneLimit   = 4 * time.Minute
	arrivalLimit = 4 * time.Minute
	newWorkload  = "new-1-7"
)

var ratios = []int{1, 2, 8, 16}

func ratioGroup(ratio int) string { return "ratio-1-" + strconv.Itoa(ratio) }

func affinityGroups() []stage.Group {
	var groups []stage.Group
	for _, ratio := range ratios {
		groups = append(groups, stage.Group{
			Name: ratioGroup(ratio), CPU: "8", Memory: strconv.Itoa(8*ratio) + "Gi",
			Max: 200, Desired: nodesPerRatio,
		})
	}
	return groups
}

// ownWorkloads fill every node alike: both runs begin with the same cluster.
func ownWorkloads() []stage.Workload {
	var workloads []stage.Workload
	for _, ratio := range ratios {
		workloads = append(workloads, stage.Workload{
			Name: "own-1-" + strconv.Itoa(ratio), Replicas: nodesPerRatio * ownPodsPerNode,
			CPU: "1", Memory: strconv.Itoa(ratio) + "Gi",
			Selector:   map[string]string{stage.GroupLabel: ratioGroup(ratio)},
			SpreadOver: corev1.LabelHostname,
		})
	}
	return workloads
}

func arriving(required bool) stage.Workload {
	w := stage.Workload{Name: newWorkload, Replicas: newPods, CPU: "1", Memory: strconv.Itoa(newMemory) + "Gi"}
	if required {
		w.Required = map[string]string{stage.GroupLabel: ratioGroup(fittingRatio)}
	}
	return w
}

// affinityRun is what one run of the affinity story counted.
type affinityRun struct {
	Required bool // with the required node affinity
	Before   map[string]Usage
	After    map[string]Usage
	Placed   map[string]int // pods of the arriving workload, by group
	Refused  int            // of them, those that the scheduler found no node for at first
	Waited   int            // of them, those that are on nodes bought for them
	AllRun   time.Duration
}

func (r affinityRun) name() string {
	if r.Required {
		return "affinity"
	}
	return "as it is"
}

// affinity is the affinity story: the same scene twice, and in it the workload arrives
// free, then with a required node affinity.
func affinity() []func(*scene) *act {
	runs := []*affinityRun{{}, {Required: true}}
	var acts []func(*scene) *act
	for i, r := range runs {
		acts = append(acts, func(s *scene) *act {
			a := r.act(s)
			a.result = func() string {
				if i < len(runs)-1 {
					return ""
				}
				return compareAffinity(*runs[0], *runs[1])
			}
			return a
		})
	}
	return acts
}

func (r *affinityRun) act(s *scene) *act {
	groups, own, arrives := affinityGroups(), ownWorkloads(), arriving(r.Required)
	all := append([]stage.Workload{arrives}, own...)
	how := "as it is: kube-scheduler may put it on any node with room"
	if r.Required {
		how = "with a required node affinity to the 1:" + strconv.Itoa(fittingRatio) + " nodes"
	}
	var before census
	return &act{
		say: fmt.Sprintf(`
Run "%s": %d 8-core nodes of 1:1, 1:2, 1:8 and 1:16 (cores : GiB) carry %d pods of
those shapes. Then %d pods of 1 core : %d GiB arrive, %s.`, r.name(), nodesPerRatio*len(ratios), wanted(own), newPods, newMemory, how),
		// Nodes stay: only growth is compared.
		open: func(ctx context.Context) error {
			return s.Autoscale(ctx, s.plimsoll, groups, "--scale-down-enabled=false")
		},
		columns: groupsOf(groups),
		steps: []step{{
			title: "setting the scene", limit: sceneLimit, workloads: own,
			begin: func(ctx context.Context) error {
				if err := s.Watch.Wait(ctx, fmt.Sprintf("%d nodes are ready in each group",
					nodesPerRatio), func(t stage.Tally) bool {
					for _, g := range groups {
						if t.Groups[g.Name].Ready != nodesPerRatio {
							return false
						}
					}
					return true
				}); err != nil {
					return err
				}
				return s.Create(ctx, own...)
			},
			what: "the pods that are there before run",
			done: allRun(own...),
			after: func(ctx context.Context, _ time.Duration) (err error) {
				before, err = take(ctx, s)
				return err
			},
		}, {
			// The workload is far larger than the room for it.
			title: "the workload arrives", limit: arrivalLimit, workloads: all,
			begin: s.create(arrives),
			what:  fmt.Sprintf("all %d arriving pods run", newPods),
			done:  allRun(all...),
			after: func(ctx context.Context, took time.Duration) error {
				after, err := take(ctx, s)
				r.AllRun, r.Refused = took, s.Watch.Tally().Workloads[newWorkload].Waited
				r.count(before, after)
				return err
			},
		}},
	}
}

// census is every node and pod at one time.
type census struct {
	nodes []corev1.Node
	pods  []corev1.Pod
}

func take(ctx context.Context, s *scene) (census, error) {
	nodes, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return census{}, fmt.Errorf("count what is used: %w", err)
	}
	pods, err := s.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return census{}, fmt.Errorf("count what is used: %w", err)
	}
	return census{nodes: nodes.Items, pods: pods.Items}, nil
}

// count fills in what follows from the cluster before and after.
func (r *affinityRun) count(before, after census) {
	memoryPerCore := map[string]int64{}
	for _, ratio := range ratios {
		memoryPerCore[ratioGroup(ratio)] = int64(ratio) * gib
	}
	r.Before = account(before.nodes, before.pods, memoryPerCore)
	r.After = account(after.nodes, after.pods, memoryPerCore)

	old, group := map[string]bool{}, map[string]string{}
	for i := range before.nodes {
		old[before.nodes[i].Name] = true
	}
	for i := range after.nodes {
		group[after.nodes[i].Name] = stage.GroupOf(&after.nodes[i])
	}
	r.Placed, r.Waited = map[string]int{}, 0
	for i := range after.pods {
		pod := &after.pods[i]
		if stage.WorkloadOf(pod) != newWorkload || pod.Spec.NodeName == "" {
			continue
		}
		r.Placed[group[pod.Spec.NodeName]]++
		if !old[pod.Spec.NodeName] {
			r.Waited++
		}
	}
}

// compareAffinity renders both runs side by side, and what they say.
func compareAffinity(free, bound affinityRun) string {
	rows := [][]string{{"node group", "run", "nodes before", "bought", "1:7 pods",
		"CPU requested", "wasted", "GiB requested", "wasted", "stranded", "own pods fit"}}
	add := func(name string, r affinityRun, before, after Usage, placed int) {
		if r.Required {
			name = ""
		}
		rows = append(rows, []string{name, r.name(),
			strconv.Itoa(before.Nodes), strconv.Itoa(after.Nodes - before.Nodes), strconv.Itoa(placed),
			cores(after.RequestedCPU), cores(after.WastedCPU()),
			gibs(after.RequestedMem), gibs(after.WastedMem()), gibs(after.StrandedMem), strconv.FormatInt(after.Room, 10)})
	}
	runs := []affinityRun{free, bound}
	var before, after [2]Usage
	var placed [2]int
	for _, ratio := range ratios {
		name := ratioGroup(ratio)
		for i, r := range runs {
			add(name, r, r.Before[name], r.After[name], r.Placed[name])
			before[i], after[i], placed[i] = before[i].plus(r.Before[name]), after[i].plus(r.After[name]),
				placed[i]+r.Placed[name]
		}
	}
	for i, r := range runs {
		add("all", r, before[i], after[i], placed[i])
	}
	text := table(rows) + `

  wasted: allocatable minus the requests of bound pods. stranded: the part of it
  that pods of the group's own shape (1 core : 1, 2, 8 or 16 GiB) cannot use either.

`
	for i, r := range runs {
		text += fmt.Sprintf(
			"  %s  %d nodes bought; %d of %d pods waited for them (kube-scheduler refused %d at first); all ran after %.1f s\n",
			pad(r.name()+":", 10), after[i].Nodes-before[i].Nodes, r.Waited, placed[i], r.Refused, r.AllRun.Seconds(),
		)
	}
	large := ratioGroup(ratios[len(ratios)-1])
	return text + fmt.Sprintf(`
  As it is, %d of the 1:%d pods went to 1:16 nodes, which strands %s GiB there; with
  the affinity %d did, which strands %s GiB. Nodes bought with the affinity: %+d. Pods
  of 1:16 that find room without a new node: %+d.`,
		free.Placed[large], newMemory, gibs(free.After[large].StrandedMem-free.Before[large].StrandedMem),
		bound.Placed[large], gibs(bound.After[large].StrandedMem-bound.Before[large].StrandedMem),
		(after[1].Nodes-before[1].Nodes)-(after[0].Nodes-before[0].Nodes),
		bound.After[large].Room-free.After[large].Room)
}

func cores(milli int64) string {
	return strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64)
}

func gibs(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/gib, 'f', 0, 64)
}
