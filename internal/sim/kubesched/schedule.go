package kubesched

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Result is what becomes of a pod.
type Result struct {
	// Node is where the pod is bound; empty if it is refused.
	Node string
	// Nominated is where a pod that was refused will have room once Victims have ended; empty if
	// nothing is gained by ending others.
	Nominated string
	Victims   []types.UID
}

// Nominate keeps room for pods on the nodes that they are nominated to, and for no others.
func (s *Scheduler) Nominate(pods []*corev1.Pod) error {
	clear(s.nominated)
	for _, p := range pods {
		if err := s.Nominated(p); err != nil {
			return err
		}
	}
	return nil
}

// Nominated keeps room for one pod more.
func (s *Scheduler) Nominated(pod *corev1.Pod) error {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return fmt.Errorf("nominate pod %s: %w", pod.Name, err)
	}
	to := &fwk.NominatingInfo{NominatedNodeName: pod.Status.NominatedNodeName}
	s.nominated.AddNominatedPod(klog.Background(), info, to)
	return nil
}

// DeleteNominated keeps no more room for a pod.
func (s *Scheduler) DeleteNominated(pod *corev1.Pod) { s.nominated.DeleteNominatedPodIfExists(pod) }

// Schedule finds a node for one pod. The caller puts the pod there, or ends the victims, before it
// asks about the next one.
func (s *Scheduler) Schedule(pod *corev1.Pod) (Result, error) {
	if err := s.cache.UpdateSnapshot(klog.Background(), s.seen); err != nil {
		return Result{}, fmt.Errorf("look at the cluster for pod %s: %w", pod.Name, err)
	}
	state := framework.NewCycleState()
	fit, no, err := s.feasible(state, pod)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("filter nodes for pod %s: %w", pod.Name, err)
	case len(fit) == 0:
		return s.preempt(state, pod, no)
	case len(fit) == 1:
		return Result{Node: fit[0].Node().Name}, nil
	}
	if status := s.profile.RunPreScorePlugins(s.ctx, state, pod, fit); !status.IsSuccess() {
		return Result{}, fmt.Errorf("prepare scores for pod %s: %w", pod.Name, status.AsError())
	}
	scores, status := s.profile.RunScorePlugins(s.ctx, state, pod, fit)
	if !status.IsSuccess() {
		return Result{}, fmt.Errorf("score nodes for pod %s: %w", pod.Name, status.AsError())
	}
	return Result{Node: s.best(scores)}, nil
}

// best is the node with the highest score; of several, chance picks one.
func (s *Scheduler) best(scores []fwk.NodePluginScores) string {
	var equal []string
	for i, top := 0, int64(0); i < len(scores); i++ {
		score := scores[i].TotalScore
		if s.Mind.Contrary {
			score = -score
		}
		if i == 0 || score > top {
			equal, top = equal[:0], score
		}
		if score == top {
			equal = append(equal, scores[i].Name)
		}
	}
	if len(equal) == 1 {
		return equal[0]
	}
	return equal[s.dice.IntN(len(equal))]
}

// feasible are nodes that the pod fits, as many as the scheduler looks for, and why it does not fit
// the others that were looked at.
func (s *Scheduler) feasible(state fwk.CycleState, pod *corev1.Pod) ([]fwk.NodeInfo, *framework.NodeToStatus, error) {
	no := framework.NewDefaultNodeToStatus()
	all, err := s.seen.NodeInfos().List()
	if err != nil || len(all) == 0 {
		return nil, no, err
	}
	only, status, _ := s.profile.RunPreFilterPlugins(s.ctx, state, pod)
	switch {
	case status.IsRejected():
		no.SetAbsentNodesStatus(status)
		return nil, no, nil
	case !status.IsSuccess():
		return nil, no, status.AsError()
	}
	if pod.Status.NominatedNodeName != "" {
		if node, err := s.seen.NodeInfos().Get(pod.Status.NominatedNodeName); err == nil {
			if status := s.filter(state, pod, node); status.IsSuccess() {
				return []fwk.NodeInfo{node}, no, nil
			}
		}
	}
	nodes := all
	if !only.AllNodes() {
		nodes = slices.DeleteFunc(slices.Clone(all), func(n fwk.NodeInfo) bool { return !only.NodeNames.Has(n.Node().Name) })
	}
	var fit []fwk.NodeInfo
	wanted, looked := enough(len(nodes)), 0
	for ; looked < len(nodes) && len(fit) < wanted; looked++ {
		node := nodes[(s.next+looked)%len(nodes)]
		switch status := s.filter(state, pod, node); {
		case status.IsSuccess():
			fit = append(fit, node)
		case status.IsRejected():
			no.Set(node.Node().Name, status)
		default:
			return nil, no, status.AsError()
		}
	}
	s.next = (s.next + looked) % len(all)
	return fit, no, nil
}

func (s *Scheduler) filter(state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if s.Mind.Avoids != nil && s.Mind.Avoids(node.Node().Name) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "a plugin of its own says no")
	}
	return s.profile.RunFilterPluginsWithNominatedPods(s.ctx, state, pod, node)
}

// enough is how many nodes that fit the scheduler looks for among so many.
func enough(nodes int) int {
	const least, leastPercent = 100, 5
	return min(nodes, max(least, nodes*max(leastPercent, 50-nodes/125)/100))
}

// preempt finds the node where the fewest and least important pods must end so that the pod fits.
func (s *Scheduler) preempt(state fwk.CycleState, pod *corev1.Pod, no *framework.NodeToStatus) (Result, error) {
	if ok, _ := s.preemption.PodEligibleToPreemptOthers(s.ctx, pod, no.Get(pod.Status.NominatedNodeName)); !ok {
		return Result{}, nil
	}
	all, err := s.seen.NodeInfos().List()
	nodes := slices.DeleteFunc(slices.Clone(all), func(n fwk.NodeInfo) bool {
		return no.Get(n.Node().Name).Code() != fwk.Unschedulable
	})
	if err != nil || len(nodes) == 0 {
		return Result{}, err
	}
	_, most := s.preemption.GetOffsetAndNumCandidates(int32(len(nodes)))
	from := int32(s.dice.IntN(len(nodes)))
	found, _, err := s.preemption.Evaluator.DryRunPreemption(s.ctx, state, pod, nodes, s.Budgets, from, most)
	if len(found) == 0 {
		if err != nil {
			err = errors.Join(fmt.Errorf("make room for pod %s", pod.Name), err)
		}
		return Result{}, err
	}
	best, bestCost := 0, costOf(found[0].Victims())
	for i := 1; i < len(found); i++ {
		if cost := costOf(found[i].Victims()); slices.Compare(cost, bestCost) < 0 {
			best, bestCost = i, cost
		}
	}
	r := Result{Nominated: found[best].Name()}
	for _, v := range found[best].Victims().Pods {
		r.Victims = append(r.Victims, v.UID)
	}
	return r, nil
}

// costOf is what ending pods costs, by which the scheduler compares nodes: how many budgets forbid it,
// the highest priority, then the sum of priorities, how many there are, and how long the first has run.
func costOf(v *extenderv1.Victims) []int64 {
	victims := v.Pods
	priority := func(p *corev1.Pod) int64 { return int64(*p.Spec.Priority) }
	sum, first := int64(0), victims[0]
	for _, p := range victims {
		sum += priority(p) + 1<<31
		if c := cmp.Compare(priority(p), priority(first)); c > 0 ||
			c == 0 && p.Status.StartTime.Before(first.Status.StartTime) {
			first = p
		}
	}
	return []int64{v.NumPDBViolations, priority(victims[0]), sum, int64(len(victims)), -first.Status.StartTime.Unix()}
}

// Takes reports whether a pod would fit a node that is not there, with its own pods on it.
func (s *Scheduler) Takes(node *corev1.Node, own []*corev1.Pod, pod *corev1.Pod) (bool, error) {
	if err := s.cache.UpdateSnapshot(klog.Background(), s.seen); err != nil {
		return false, fmt.Errorf("look at the cluster for pod %s: %w", pod.Name, err)
	}
	state, info := framework.NewCycleState(), framework.NewNodeInfo(own...)
	info.SetNode(node)
	_, status, _ := s.profile.RunPreFilterPlugins(s.ctx, state, pod)
	if status.IsSuccess() {
		status = s.profile.RunFilterPlugins(s.ctx, state, pod, info)
	}
	if !status.IsSuccess() && !status.IsRejected() {
		return false, fmt.Errorf("filter a new node for pod %s: %w", pod.Name, status.AsError())
	}
	return status.IsSuccess(), nil
}
