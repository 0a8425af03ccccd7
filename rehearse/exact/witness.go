package exact

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// Where Plimsoll says that no new node of a group would take a pod, the judge puts up such a node: a witness. A copy of
// the pod is then put before the scheduler. It must find no room there, and its words must be those of the verdict.
//
// Where a group would take it and has its maximum, the copy must run on such a node.
//
// A witness has a taint besides, which only the copies and the daemons tolerate. So no other pod comes there, and
// Plimsoll moves none.

const (
	witnessTaint  = "exact.plimsoll.dev/witness"
	witnessPrefix = "witness-"
	// keeper owns the copies, so that no controller takes them for its own.
	keeper = "exact-keeper"
)

// words are what the scheduler says of a node, by the reason that Plimsoll has for it.
var words = map[model.Reason]*regexp.Regexp{
	"InsufficientResources": regexp.MustCompile(`^(Insufficient |Too many pods)`),
	"NodeAffinity":          regexp.MustCompile(`node affinity/selector|plugin\(s\) \[NodeAffinity\]`),
	"TaintNotTolerated":     regexp.MustCompile(`untolerated taint`),
	"PortConflict":          regexp.MustCompile(`free ports`),
	"PodAffinity":           regexp.MustCompile(`pod (anti-)?affinity rules|pods anti-affinity rules`),
	"TopologySpread":        regexp.MustCompile(`topology spread constraints`),
	"SpreadCapacity":        regexp.MustCompile(`topology spread constraints`),
	"VolumeNotBindable": regexp.MustCompile(`PersistentVolume's node affinity|volume node affinity conflict|` +
		`available persistent volumes|persistentvolumeclaim .* not found`),
	"VolumeZone":  regexp.MustCompile(`available volume zone`),
	"VolumeInUse": regexp.MustCompile(`ReadWriteOncePod`),
}

// askTheScheduler holds what Plimsoll says of the pods that stay pending to what the scheduler says.
func (p *stand) askTheScheduler(ctx context.Context) error {
	now, err := p.look(ctx)
	if err != nil {
		return err
	}
	var judged []*verdict
	for _, w := range p.Workloads {
		if w.Stays == 0 && !w.Gated {
			continue
		}
		v, err := p.verdictOf(ctx, w, now)
		if err != nil {
			return err
		}
		if v != nil {
			judged = append(judged, v)
		}
	}
	if len(judged) == 0 {
		return nil
	}
	if err := p.raiseWitnesses(ctx); err != nil {
		return err
	}
	for _, v := range judged {
		if err := p.confront(ctx, v); err != nil {
			return fmt.Errorf("%s: %w", v.w, err)
		}
	}
	return p.dropWitnesses(ctx)
}

// verdict is what Plimsoll says of a pod that stays pending: which groups would not take it, by reason, and which would
// if they had no maximum.
type verdict struct {
	w       *Workload
	pod     *corev1.Pod
	refuses map[model.Reason][]string
	fits    []string
}

// verdictOf asks Plimsoll about one of a workload's pods. What holds a group that fits is true or not by itself. It
// returns nil for a pod behind a gate, of which the scheduler has nothing to say.
func (p *stand) verdictOf(ctx context.Context, w *Workload, now scene) (*verdict, error) {
	at := slices.IndexFunc(now.pods, func(pod corev1.Pod) bool {
		_, refused := refusal(&pod)
		return stage.WorkloadOf(&pod) == w.Name && refused
	})
	if at < 0 {
		return nil, fmt.Errorf("%s: none of its pods is refused", w)
	}
	v := &verdict{w: w, pod: &now.pods[at], refuses: map[model.Reason][]string{}}
	said, err := p.explain(ctx, v.pod.Name)
	if err != nil {
		return nil, err
	}
	if w.Gated {
		if said.State != explain.PodGated {
			return nil, fmt.Errorf("%s: it is behind a gate, and Plimsoll says: %s", w, said.State)
		}
		return nil, nil
	}
	if said.State != explain.PodPending || said.Pending == nil || said.Pending.Left != w.Stays {
		return nil, fmt.Errorf("%s: %d pods stay pending, and Plimsoll says: %s %+v", w, w.Stays, said.State, said.Pending)
	}
	told := map[model.Reason]bool{}
	for _, answer := range said.Pending.Groups {
		told[answer.Reason] = true
		// Of the last one a new node would take the pod if there were more pods in other zones.
		if !answer.Fits || answer.Reason == "SpreadCapacity" {
			v.refuses[answer.Reason] = append(v.refuses[answer.Reason], string(answer.Group))
			continue
		}
		v.fits = append(v.fits, string(answer.Group))
		if err := p.holds(answer, now); err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
	}
	if len(said.Pending.Groups) != len(p.Groups) {
		return nil, fmt.Errorf("%s: Plimsoll says of %d groups why they do not take it, of %d", w,
			len(said.Pending.Groups), len(p.Groups))
	}
	p.result.Pending = append(p.result.Pending, fmt.Sprintf("%s %d (%s)", w.Name, w.Stays, list(told)))
	return v, nil
}

func list(reasons map[model.Reason]bool) string {
	var out []string
	for r := range reasons {
		out = append(out, string(r))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// holds says whether what Plimsoll names holds a group that would take the pod: in a round that is its maximum alone.
func (p *stand) holds(answer explain.GroupAnswer, now scene) error {
	at := slices.IndexFunc(p.Groups, func(g stage.Group) bool { return g.Name == string(answer.Group) })
	nodes := 0
	for i := range now.nodes {
		if stage.GroupOf(&now.nodes[i]) == string(answer.Group) {
			nodes++
		}
	}
	if answer.Reason != "GroupAtMax" || at < 0 || nodes != p.Groups[at].Max {
		return fmt.Errorf("it fits %s, which has %d nodes, and Plimsoll says: %s %s",
			answer.Group, nodes, answer.Reason, answer.Detail)
	}
	return nil
}

// raiseWitnesses puts up a node like those of each group, and waits until it is ready and all daemons run.
func (p *stand) raiseWitnesses(ctx context.Context) error {
	for _, g := range p.Groups {
		node, err := g.Template()
		if err != nil {
			return err
		}
		node.Name = witnessPrefix + g.Name
		node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
		node.Labels = maps.Clone(node.Labels)
		node.Labels[corev1.LabelHostname] = node.Name
		node.Spec.Taints = append(slices.Clone(node.Spec.Taints),
			corev1.Taint{Key: witnessTaint, Effect: corev1.TaintEffectNoSchedule})
		if err := p.create(ctx, &node); err != nil {
			return err
		}
	}
	return p.calm(ctx)
}

func (p *stand) dropWitnesses(ctx context.Context) error {
	for _, g := range p.Groups {
		node := &corev1.Node{ObjectMeta: named(witnessPrefix + g.Name)}
		if err := p.client.Delete(ctx, node); err != nil {
			return fmt.Errorf("delete the node %s: %w", node.Name, err)
		}
	}
	return p.calm(ctx)
}

// confront puts copies of a pod before the scheduler, and holds the verdict to what it says. Where some groups fit, the
// first copy takes the room on one of their nodes.
func (p *stand) confront(ctx context.Context, v *verdict) error {
	ctx, cancel := context.WithTimeoutCause(ctx, calmLimit, errors.New("the scheduler says nothing of a copy"))
	defer cancel()
	var copies []client.Object
	if len(v.fits) > 0 {
		twin, _, err := p.tryCopy(ctx, v, "first-")
		if err != nil {
			return err
		}
		if !slices.Contains(v.fits, strings.TrimPrefix(twin.Spec.NodeName, witnessPrefix)) {
			return fmt.Errorf("Plimsoll says that nodes of %v would take it, and the scheduler has put a copy on %q",
				v.fits, twin.Spec.NodeName)
		}
		copies = append(copies, twin)
	}
	twin, said, err := p.tryCopy(ctx, v, "copy-")
	if err != nil {
		return err
	}
	if twin.Spec.NodeName != "" {
		return fmt.Errorf("Plimsoll says that no group's nodes take it (%v), and the scheduler has put a copy on %s",
			v.refuses, twin.Spec.NodeName)
	}
	for _, twin := range append(copies, twin) {
		if err := p.client.Delete(ctx, twin, client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("delete %s: %w", twin.GetName(), err)
		}
	}
	return v.compare(said)
}

// tryCopy makes a copy and waits until the scheduler has found a node for it, or has said why not.
func (p *stand) tryCopy(ctx context.Context, v *verdict, prefix string) (twin *corev1.Pod, said string, err error) {
	if twin, err = p.copyOf(ctx, v.pod, prefix); err != nil {
		return nil, "", err
	}
	err = p.poll(ctx, func() (bool, error) {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(twin), twin); err != nil {
			return false, fmt.Errorf("look at %s: %w", twin.Name, err)
		}
		var told bool
		said, told = refusal(twin)
		return told || twin.Spec.NodeName != "", nil
	})
	return twin, said, err
}

// copyOf makes a pod like another, which tolerates the taint of the witnesses.
func (p *stand) copyOf(ctx context.Context, pod *corev1.Pod, prefix string) (*corev1.Pod, error) {
	owner := &corev1.ConfigMap{ObjectMeta: inNamespace(keeper)}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(owner), owner); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("look at the ConfigMap %s: %w", keeper, err)
	} else if err != nil {
		if err := p.create(ctx, owner); err != nil {
			return nil, err
		}
	}
	twin := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: prefix + pod.Name, Namespace: namespace, Labels: pod.Labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
			}},
		},
		Spec: *pod.Spec.DeepCopy(),
	}
	twin.Spec.Tolerations = append(twin.Spec.Tolerations,
		corev1.Toleration{Key: witnessTaint, Operator: corev1.TolerationOpExists})
	return twin, p.create(ctx, twin)
}

// countOf is a part of what the scheduler says: so many nodes, and what of them.
var countOf = regexp.MustCompile(`^(\d+) (.+)`)

// compare holds a verdict to the scheduler's words. A witness is one of the nodes that these count, so for each reason
// they count as many nodes at least as there are groups with it. Where they are about the pod itself, the scheduler has
// looked at no node, and they are one of the reasons.
func (v *verdict) compare(said string) error {
	_, parts, _ := strings.Cut(said, "nodes are available: ")
	parts, _, _ = strings.Cut(parts, ". ")
	parts = strings.TrimSuffix(parts, ".")
	counts := map[model.Reason]int{}
	for _, part := range strings.Split(parts, ", ") {
		n, what := 0, part
		if m := countOf.FindStringSubmatch(part); m != nil {
			n, _ = strconv.Atoi(m[1])
			what = m[2]
		}
		for reason, like := range words {
			if !like.MatchString(what) {
				continue
			}
			if n == 0 && len(v.refuses[reason]) > 0 {
				return nil
			}
			counts[reason] += n
		}
	}
	for reason, groups := range v.refuses {
		if words[reason] == nil {
			return fmt.Errorf("Plimsoll says %s of %v, for which the scheduler has no words: %s", reason, groups, said)
		}
		if counts[reason] < len(groups) {
			return fmt.Errorf("Plimsoll says %s of %v, and the scheduler does not of as many nodes: %s", reason, groups, said)
		}
	}
	return nil
}
