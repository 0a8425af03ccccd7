package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// many is more nodes than the pods that wait can need.
func (r *relaxer) many() int64 {
	n := int64(1)
	for i := range r.snap.Pending {
		n += int64(len(r.snap.Pending[i].Pods))
	}
	return n
}

// grown is how many nodes a plan adds to a group.
func grown(p *model.Plan, id provider.GroupID) int64 {
	for i := range p.Grow {
		if p.Grow[i].Group == id {
			return int64(p.Grow[i].To - p.Grow[i].From)
		}
	}
	return 0
}

// limit raises the limit that a group is at.
func (r *relaxer) limit(group int, reason model.Reason) step {
	g := &r.snap.Groups[group]
	up := &r.policy.ScaleUp
	switch reason {
	case model.GroupAtMax:
		return step{about: "max of group " + string(g.ID), rank: rankLimit, was: int64(g.Max),
			value:   max(int64(g.Max), int64(g.Expected)) + r.many(),
			used:    func(t *try) int64 { return int64(g.Expected) + grown(&t.plan, g.ID) },
			cluster: func(s *model.Snapshot, _ *model.Policy, value int64) { s.Groups[group].Max = int(value) },
			show: func(value int64) shown {
				out := raised(OfGroup, string(g.ID), "max", string(g.ID)+".max", int64(g.Max), value)
				if p := g.Settled.MaxFrom; p != "" {
					out.text += ", in policy " + p + " and in the cloud if it has less"
					out.short += " (policy " + p + ")"
				}
				return out
			}}
	case model.PoolAtMax:
		at := slices.IndexFunc(r.snap.Pools, func(p provider.Pool) bool { return p.ID == g.Pool })
		was := int64(r.snap.Pools[at].Max)
		return step{about: "max of pool " + string(g.Pool), rank: rankLimit, was: was, value: was + r.many(),
			used: func(t *try) (n int64) {
				for i := range r.snap.Groups {
					if other := &r.snap.Groups[i]; other.Pool == g.Pool {
						n += int64(other.Expected) + grown(&t.plan, other.ID)
					}
				}
				return n
			},
			cluster: func(s *model.Snapshot, _ *model.Policy, value int64) { s.Pools[at].Max = int(value) },
			show: func(value int64) shown {
				return raised(OfPool, string(g.Pool), "max", "pool "+string(g.Pool)+".max", was, value)
			}}
	case model.MaxNodesTotal:
		return r.total("--max-nodes-total", int64(up.MaxNodesTotal), r.many(),
			func(p *model.Policy, value int64) { p.ScaleUp.MaxNodesTotal = int(value) },
			func(t *try) int64 { return int64(up.MaxNodesTotal + t.plan.Nodes - r.base.Nodes) })
	case model.CoresTotal:
		most := r.largest(func(c model.Resources) int64 { return c.MilliCPU })/1000 + 1
		return r.total("--cores-total", up.MaxCoresTotal, r.many()*most,
			func(p *model.Policy, value int64) { p.ScaleUp.MaxCoresTotal = value }, nil)
	case model.MemoryTotal:
		most := r.largest(func(c model.Resources) int64 { return c.Memory })/gib + 1
		return r.total("--memory-total", up.MaxMemoryTotal/gib, r.many()*most,
			func(p *model.Policy, value int64) { p.ScaleUp.MaxMemoryTotal = value * gib }, nil)
	}
	return step{about: "--scale-up-from-zero", rank: rankLimit,
		cluster: func(_ *model.Snapshot, p *model.Policy, _ int64) { p.ScaleUp.ScaleFromZero = true },
		show: func(int64) shown {
			return shown{"set --scale-up-from-zero", "--scale-up-from-zero",
				[]Change{{Of: OfFlag, Name: "--scale-up-from-zero", From: "false", To: "true"}}}
		}}
}

// sizing lets each group of a pool have what the others leave of it.
func (r *relaxer) sizing(group int) []step {
	id := r.snap.Groups[group].Pool
	at := slices.IndexFunc(r.snap.Pools, func(p provider.Pool) bool { return p.ID == id })
	was, lax := r.snap.Pools[at].Sizing, string(pool.LaxGreedy)
	if was == lax {
		return nil
	}
	text := fmt.Sprintf("sizing %s of pool %s", lax, id)
	return []step{{about: "sizing of pool " + string(id), rank: rankLimit,
		cluster: func(s *model.Snapshot, _ *model.Policy, _ int64) { s.Pools[at].Sizing = lax },
		show: func(int64) shown {
			return shown{text, text, []Change{{Of: OfPool, Name: string(id), Field: "sizing", From: was, To: lax}}}
		}}}
}

// important lets the pods count. The cutoff is a flag as well, which decides on all pods below it.
func (r *relaxer) important() step {
	was, least := r.snap.Classes[r.class].Spec.Priority, r.policy.Rules.ExpendableBelow
	text := fmt.Sprintf("priority ≥ %d", least)
	return onPods(rankPods, Change{Of: OfPods, Field: "priority", From: fmt.Sprint(was), To: fmt.Sprint(least)}, text,
		func(spec *corev1.PodSpec) { spec.Priority = &least })
}

// total raises a limit of the whole cluster, which a flag sets.
func (r *relaxer) total(flag string, was, more int64, set func(*model.Policy, int64), used func(*try) int64) step {
	return step{about: flag, rank: rankLimit, was: was, value: was + more, used: used,
		cluster: func(_ *model.Snapshot, p *model.Policy, value int64) { set(p, value) },
		show:    func(value int64) shown { return raised(OfFlag, flag, "", flag, was, value) }}
}

// largest is the most of an amount that any group's new node has.
func (r *relaxer) largest(of func(model.Resources) int64) (most int64) {
	for i := range r.snap.Groups {
		if r.snap.Groups[i].HasTemplate {
			most = max(most, of(r.snap.Contents.Shapes[r.snap.Groups[i].Shape].Capacity))
		}
	}
	return most
}

// raised is a limit that is raised, in words.
func raised(of Subject, name, field, called string, was, value int64) shown {
	short := fmt.Sprintf("%s ≥ %d", called, value)
	if of == OfGroup {
		short = fmt.Sprintf("max ≥ %d", value)
	}
	return shown{fmt.Sprintf("raise %s %d → %d", called, was, value), short,
		[]Change{{Of: of, Name: name, Field: field, From: strconv.FormatInt(was, 10), To: strconv.FormatInt(value, 10)}}}
}

// resume ends the pause that a group shares with others.
func (r *relaxer) resume(group int) step {
	pause := r.snap.Groups[group].Settled.Pause
	text := pause.Ends()
	return step{about: "pause of " + pause.From, rank: rankLimit,
		cluster: func(s *model.Snapshot, _ *model.Policy, _ int64) {
			for i := range s.Groups {
				if g := &s.Groups[i]; g.Settled.Pause == pause {
					g.Settled.Pause = nil
				}
			}
		},
		show: func(int64) shown {
			return shown{text, text, []Change{{Of: OfPause, Name: pause.From, To: "ended"}}}
		}}
}

// smaller lets the pods ask for no more than an empty node of the group has for them.
func (r *relaxer) smaller(group int) []step {
	t, ok := r.world.GroupTemplate(group)
	if !ok {
		return nil
	}
	return r.within(r.world.Allocatable(t))
}

// within lets the pods ask for no more than an amount, less their overhead, which stays. It is empty where nothing
// would be left of a request.
func (r *relaxer) within(has model.Resources) []step {
	spec := r.snap.Classes[r.class].Spec
	overhead := model.ResourcesOf(spec.Pod.Spec.Overhead)
	want := spec.Requests.Plus(overhead, -1)
	has = has.Plus(overhead, -1)
	var less []lessRequest
	var beside []string
	cut := 0.0
	for _, x := range []struct {
		name             corev1.ResourceName
		want, have, over int64
		show             func(int64) string
	}{
		{corev1.ResourceCPU, want.MilliCPU, has.MilliCPU, overhead.MilliCPU, model.Cores},
		{corev1.ResourceMemory, want.Memory, rounded(has.Memory), overhead.Memory, model.Bytes},
		{corev1.ResourceEphemeralStorage, want.Ephemeral, rounded(has.Ephemeral), overhead.Ephemeral, model.Bytes},
	} {
		if x.want <= x.have {
			continue
		}
		less = append(less, lessRequest{x.name, max(0, x.have), x.show(x.want), x.show(max(0, x.have))})
		cut += float64(x.want-x.have) / float64(x.want)
		if x.over > 0 {
			beside = append(beside, fmt.Sprintf("%s %s", x.name, x.show(x.over)))
		}
	}
	for _, x := range want.Extended {
		if x.Value > has.Value(x.Name) {
			return nil // what runs on eight accelerators does not run on one
		}
	}
	if len(less) == 0 || slices.ContainsFunc(less, func(l lessRequest) bool { return l.value == 0 }) {
		return nil
	}
	return []step{{about: "requests", rank: rankSize, cut: cut,
		pods: func(spec *corev1.PodSpec, _ int64) {
			for _, l := range less {
				spec.Containers[0].Resources.Requests[l.name] = resource.MustParse(l.to)
			}
		},
		show: func(int64) shown {
			var texts []string
			var changes []Change
			for _, l := range less {
				texts = append(texts, fmt.Sprintf("%s ≤ %s", l.name, l.to))
				changes = append(changes, Change{Of: OfPods, Field: "requests." + string(l.name), From: l.from, To: l.to})
			}
			text := "request " + strings.Join(texts, ", ")
			if len(beside) > 0 {
				text += " beside the overhead of " + strings.Join(beside, ", ")
			}
			return shown{text, text, changes}
		}}}
}

// rounded is an amount of bytes in whole MiB, unless it is less than one.
func rounded(bytes int64) int64 {
	if bytes > mib {
		bytes -= bytes % mib
	}
	return bytes
}

// lessRequest is a smaller request.
type lessRequest struct {
	name     corev1.ResourceName
	value    int64 // in the unit of model.Resources
	from, to string
}

// templateOf is the node that a group's template promises, without one an empty node.
func templateOf(s *model.Snapshot, group int) *corev1.Node {
	if g := &s.Groups[group]; g.HasTemplate {
		return s.Contents.Shapes[g.Shape].Node
	}
	return &corev1.Node{}
}

// onPods is a step that changes the pods in one way.
func onPods(rank int, c Change, text string, change func(*corev1.PodSpec)) step {
	return step{about: c.Field + c.From, rank: rank,
		pods: func(spec *corev1.PodSpec, _ int64) { change(spec) },
		show: func(int64) shown { return shown{text, text, []Change{c}} }}
}

// tolerating lets the pods tolerate the taints of such a node.
func (r *relaxer) tolerating(node *corev1.Node) []step {
	pod := &r.snap.Classes[r.class].Spec.Pod.Spec
	var add []corev1.Toleration
	var names []string
	for _, t := range node.Spec.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule ||
			v1helper.TolerationsTolerateTaint(klog.Background(), pod.Tolerations, &t, true) {
			continue
		}
		one := corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect}
		add, names = append(add, one), append(names, t.ToString())
	}
	if len(add) == 0 {
		return nil
	}
	to := strings.Join(names, ", ")
	return []step{onPods(rankPods, Change{Of: OfPods, Field: "tolerations", To: to}, "toleration of "+to,
		func(spec *corev1.PodSpec) { spec.Tolerations = append(spec.Tolerations, add...) })}
}

// unselective takes away those parts of the node selector that such a node does not have, or the
// required node affinity. A user cannot choose what the software runs on.
func (r *relaxer) unselective(node *corev1.Node) (out []step) {
	pod, labels := &r.snap.Classes[r.class].Spec.Pod.Spec, node.Labels
	var keys, texts []string
	for _, k := range slices.Sorted(maps.Keys(pod.NodeSelector)) {
		if labels[k] == pod.NodeSelector[k] {
			continue
		}
		if k == corev1.LabelArchStable || k == corev1.LabelOSStable {
			return nil
		}
		keys, texts = append(keys, k), append(texts, k+"="+pod.NodeSelector[k])
	}
	if len(keys) > 0 {
		from := strings.Join(texts, ", ")
		out = append(out, onPods(rankPods, Change{Of: OfPods, Field: "nodeSelector", From: from},
			"nodeSelector without "+from, func(spec *corev1.PodSpec) {
				for _, k := range keys {
					delete(spec.NodeSelector, k)
				}
			}))
	}
	if a := pod.Affinity; a != nil && a.NodeAffinity != nil &&
		!readsHardware(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution) {
		out = append(out, onPods(rankPods, Change{Of: OfPods, Field: "nodeAffinity", From: "required", To: "preferred"},
			"node affinity preferred, not required", func(spec *corev1.PodSpec) {
				spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			}))
	}
	return out
}

// readsHardware reports whether there is nothing in a node affinity that a person may choose: it says nothing,
// or is about what software runs on.
func readsHardware(s *corev1.NodeSelector) bool {
	if s == nil {
		return true
	}
	for _, term := range s.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Key == corev1.LabelArchStable || e.Key == corev1.LabelOSStable {
				return true
			}
		}
	}
	return false
}

// portless takes the host ports away.
func (r *relaxer) portless() []step {
	var ports []string
	for _, p := range r.snap.Classes[r.class].Spec.Pod.Spec.Containers[0].Ports {
		ports = append(ports, fmt.Sprint(p.HostPort))
	}
	if len(ports) == 0 {
		return nil
	}
	from := strings.Join(ports, ", ")
	return []step{onPods(rankPods, Change{Of: OfPods, Field: "hostPort", From: from}, "no host port "+from,
		func(spec *corev1.PodSpec) { spec.Containers[0].Ports = nil })}
}

// without takes one volume with a claim away after the other. Nothing nearer is known to work: a volume stays where it
// is, and what a claim lacks is told by the verdict. It names the claim that is in the way.
func (r *relaxer) without() (out []step) {
	pod := r.snap.Classes[r.class].Spec.Pod
	for _, v := range pod.Spec.Volumes {
		claim := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			claim = "claim " + v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			claim = "a claim of its own"
		default:
			continue
		}
		out = append(out, onPods(rankData, Change{Of: OfPods, Field: "volumes", From: v.Name},
			"no volume "+v.Name+" ("+claim+")", func(spec *corev1.PodSpec) {
				spec.Volumes = slices.DeleteFunc(spec.Volumes, func(x corev1.Volume) bool { return x.Name == v.Name })
			}))
	}
	return out
}

// terms are the required terms of pod affinity, or of anti-affinity; nil if there are none.
func terms(a *corev1.Affinity, anti bool) *[]corev1.PodAffinityTerm {
	switch {
	case a == nil:
	case anti && a.PodAntiAffinity != nil:
		return &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	case !anti && a.PodAffinity != nil:
		return &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return new([]corev1.PodAffinityTerm)
}

// unaffine turns one required term of pod affinity or anti-affinity after the other into a preference, for all
// pods of the class.
func (r *relaxer) unaffine() (out []step) {
	for _, x := range []struct {
		field, name string
		anti        bool
	}{{"podAffinity", "pod affinity", false}, {"podAntiAffinity", "pod anti-affinity", true}} {
		for i, term := range *terms(r.snap.Classes[r.class].Spec.Pod.Spec.Affinity, x.anti) {
			c := Change{Of: OfWorkload, Field: x.field + "/" + strconv.Itoa(i), From: "required over " + term.TopologyKey,
				To: "preferred"}
			out = append(out, onPods(rankSpread, c,
				fmt.Sprintf("%s over %s preferred, not required", x.name, term.TopologyKey),
				func(spec *corev1.PodSpec) {
					// Another step may have taken one before it: the term is found by its content.
					list := terms(spec.Affinity, x.anti)
					*list = slices.DeleteFunc(*list, func(t corev1.PodAffinityTerm) bool { return t.String() == term.String() })
				}))
		}
	}
	return out
}

// unspread raises the maxSkew of one spread constraint after the other, or turns it into a preference.
func (r *relaxer) unspread() (out []step) {
	for i, c := range r.snap.Classes[r.class].Spec.Pod.Spec.TopologySpreadConstraints {
		field := "topologySpreadConstraints/" + strconv.Itoa(i)
		was := int64(c.MaxSkew)
		out = append(out, step{about: field, rank: rankSpread, was: was, value: was + r.many(),
			pods: func(spec *corev1.PodSpec, value int64) {
				if at := spreadAt(spec, &c); at >= 0 {
					spec.TopologySpreadConstraints[at].MaxSkew = int32(min(value, 1<<30))
				}
			},
			show: func(value int64) shown {
				text := fmt.Sprintf("maxSkew ≥ %d over %s", value, c.TopologyKey)
				return shown{text, text, []Change{{Of: OfWorkload, Field: field + "/maxSkew",
					From: strconv.FormatInt(was, 10), To: strconv.FormatInt(value, 10)}}}
			},
		})
		soft := Change{Of: OfWorkload, Field: field + "/whenUnsatisfiable", From: "DoNotSchedule", To: "ScheduleAnyway"}
		out = append(out, onPods(rankSpread+1, soft, fmt.Sprintf("spread over %s ScheduleAnyway", c.TopologyKey),
			func(spec *corev1.PodSpec) {
				if at := spreadAt(spec, &c); at >= 0 {
					spec.TopologySpreadConstraints = slices.Delete(spec.TopologySpreadConstraints, at, at+1)
				}
			}))
	}
	return out
}

// spreadAt finds a spread constraint by its content, since another step may have taken one before it; -1 if it
// is gone or changed.
func spreadAt(spec *corev1.PodSpec, c *corev1.TopologySpreadConstraint) int {
	return slices.IndexFunc(spec.TopologySpreadConstraints, func(x corev1.TopologySpreadConstraint) bool {
		return x.String() == c.String()
	})
}
