package clusterfile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Fixed sets of words, as the API server checks them.
var (
	effects = []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	tolerationOperators = []corev1.TolerationOperator{
		"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}
	nodeOperators = []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
		corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt}
	labelOperators = []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}
	unsatisfiable = []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}
	// phases are not checked by the API server.
	phases = []corev1.PodPhase{
		"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown}
)

// refused finds what the API server refuses in an object. Templates of groups are the cloud's, and may be otherwise.
func refused(obj runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Node:
		for i := range o.Spec.Taints {
			if err := oneOf(fmt.Sprintf("spec.taints[%d].effect", i), o.Spec.Taints[i].Effect, effects); err != nil {
				return err
			}
		}
	case *corev1.Pod:
		return refusedPod("spec", &o.Spec)
	case *appsv1.DaemonSet:
		return refusedPod("spec.template.spec", &o.Spec.Template.Spec)
	}
	return nil
}

func oneOf[T ~string](at string, value T, known []T) error {
	if slices.Contains(known, value) {
		return nil
	}
	var words []string
	for _, w := range known {
		if w != "" {
			words = append(words, string(w))
		}
	}
	return fmt.Errorf("%s: %q is none of %s", at, value, spelling.All(words))
}

func refusedPod(at string, spec *corev1.PodSpec) error {
	if err := cmp.Or(hostPorts(at+".containers", spec.Containers),
		hostPorts(at+".initContainers", spec.InitContainers)); err != nil {
		return err
	}
	for i := range spec.Tolerations {
		t, at := &spec.Tolerations[i], fmt.Sprintf("%s.tolerations[%d]", at, i)
		if err := oneOf(at+".operator", t.Operator, tolerationOperators); err != nil {
			return err
		}
		if err := oneOf(at+".effect", t.Effect, append([]corev1.TaintEffect{""}, effects...)); err != nil {
			return err
		}
	}
	for i := range spec.TopologySpreadConstraints {
		if err := refusedSpread(fmt.Sprintf("%s.topologySpreadConstraints[%d]", at, i),
			&spec.TopologySpreadConstraints[i]); err != nil {
			return err
		}
	}
	if spec.Affinity == nil {
		return nil
	}
	return refusedAffinity(at+".affinity", spec.Affinity)
}

func hostPorts(at string, containers []corev1.Container) error {
	for i := range containers {
		for j, p := range containers[i].Ports {
			if p.HostPort < 0 || p.HostPort > 65535 {
				return fmt.Errorf("%s[%d].ports[%d].hostPort: %d is no port", at, i, j, p.HostPort)
			}
		}
	}
	return nil
}

func refusedSpread(at string, c *corev1.TopologySpreadConstraint) error {
	switch {
	case c.MaxSkew < 1:
		return fmt.Errorf("%s.maxSkew: %d is below 1", at, c.MaxSkew)
	case c.TopologyKey == "":
		return fmt.Errorf("%s.topologyKey: missing", at)
	}
	if err := oneOf(at+".whenUnsatisfiable", c.WhenUnsatisfiable, unsatisfiable); err != nil {
		return err
	}
	return refusedSelector(at+".labelSelector", c.LabelSelector)
}

func refusedSelector(at string, s *metav1.LabelSelector) error {
	if s == nil {
		return nil
	}
	for i := range s.MatchExpressions {
		where := fmt.Sprintf("%s.matchExpressions[%d].operator", at, i)
		if err := oneOf(where, s.MatchExpressions[i].Operator, labelOperators); err != nil {
			return err
		}
	}
	return nil
}

func refusedAffinity(at string, a *corev1.Affinity) error {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution",
		"preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				where := fmt.Sprintf("%s.nodeAffinity.%s.nodeSelectorTerms[%d]", at, required, i)
				if err := refusedTerm(where, &r.NodeSelectorTerms[i]); err != nil {
					return err
				}
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			p := &n.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference
			if err := refusedTerm(fmt.Sprintf("%s.nodeAffinity.%s[%d].preference", at, preferred, i), p); err != nil {
				return err
			}
		}
	}
	type term struct {
		at string
		*corev1.PodAffinityTerm
	}
	var terms []term
	add := func(kind string, must []corev1.PodAffinityTerm, may []corev1.WeightedPodAffinityTerm) {
		for i := range must {
			terms = append(terms, term{fmt.Sprintf("%s.%s.%s[%d]", at, kind, required, i), &must[i]})
		}
		for i := range may {
			where := fmt.Sprintf("%s.%s.%s[%d].podAffinityTerm", at, kind, preferred, i)
			terms = append(terms, term{where, &may[i].PodAffinityTerm})
		}
	}
	if p := a.PodAffinity; p != nil {
		add("podAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add("podAntiAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range terms {
		if t.TopologyKey == "" {
			return fmt.Errorf("%s.topologyKey: missing", t.at)
		}
		if err := refusedSelector(t.at+".labelSelector", t.LabelSelector); err != nil {
			return err
		}
	}
	return nil
}

func refusedTerm(at string, t *corev1.NodeSelectorTerm) error {
	return cmp.Or(refusedRequirements(at+".matchExpressions", t.MatchExpressions),
		refusedRequirements(at+".matchFields", t.MatchFields))
}

func refusedRequirements(at string, list []corev1.NodeSelectorRequirement) error {
	for i := range list {
		if err := oneOf(fmt.Sprintf("%s[%d].operator", at, i), list[i].Operator, nodeOperators); err != nil {
			return err
		}
	}
	return nil
}

// lastTime is after all times that a cluster has.
var lastTime = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// farHeartbeat is a note of a node's heartbeat that no cluster has; empty if it has none.
func farHeartbeat(obj runtime.Object) string {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return ""
	}
	for i := range n.Status.Conditions {
		if at := n.Status.Conditions[i].LastHeartbeatTime; !at.Time.Before(lastTime) {
			return fmt.Sprintf("node %s: status.conditions[%d].lastHeartbeatTime: %s is left out: no cluster has such a time",
				n.Name, i, at.UTC().Format(time.RFC3339))
		}
	}
	return ""
}

// odd has a line for what the API server accepts, and is most likely not meant.
func (c *Cluster) odd() []string {
	notes := slices.Clone(c.Odd)
	machines := map[string]string{}
	for _, obj := range c.Objects {
		switch o := obj.(type) {
		case *corev1.Node:
			id := o.Spec.ProviderID
			if other := machines[id]; id != "" && other != "" {
				notes = append(notes, fmt.Sprintf("the nodes %s and %s have one spec.providerID, %s: they count as one machine",
					other, o.Name, id))
			}
			machines[id] = o.Name
		case *corev1.Pod:
			if err := oneOf("status.phase", o.Status.Phase, phases); err != nil {
				notes = append(notes, fmt.Sprintf("pod %s/%s: %v: it counts as one that has not ended", o.Namespace, o.Name, err))
			}
		}
	}
	return notes
}
