package testkit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func (s *Scenario) shape(name string, a args) *corev1.Node {
	labels := map[string]string{}
	if z := a.get("zone", ""); z != "" {
		labels[corev1.LabelTopologyZone] = z
	}
	if l := a.get("labels", ""); l != "" {
		for _, kv := range strings.Split(l, ",") {
			k, v := pair(kv)
			labels[k] = v
		}
	}
	var taints []corev1.Taint
	if t := a.get("taint", ""); t != "" {
		taints = append(taints, taint(t))
	}
	n := Node(name, a.get("cpu", "8"), a.get("memory", "32Gi"), labels, taints...)
	n.Status.Capacity[corev1.ResourcePods] = resource.MustParse(a.get("pods", "110"))
	if g := a.get("gpu", ""); g != "" {
		n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse(g)
	}
	return n
}

// taint reads key=value:effect.
func taint(s string) corev1.Taint {
	kv, effect, _ := strings.Cut(s, ":")
	k, v, _ := strings.Cut(kv, "=")
	return corev1.Taint{Key: k, Value: v, Effect: corev1.TaintEffect(effect)}
}

func (s *Scenario) group(a args) {
	g := s.Group(a.name, a.number("min", 0), a.number("max", 10), s.shape("", a))
	g.Pool = provider.PoolID(a.get("pool", ""))
	g.Target = a.number("target", 0)
	g.AllOrNothing = a.has("whole")
	g.CloudChooses = a.has("chooses")
	if text := a.get("threshold", ""); text != "" {
		v := must(strconv.ParseFloat(text, 64))
		g.Options.ScaleDownUtilizationThreshold = &v
	}
	if a.has("unneeded-time") {
		d := a.duration("unneeded-time")
		g.Options.ScaleDownUnneededTime = &d
	}
	if p := a.get("price", ""); p != "" {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil {
			panic(err)
		}
		g.PricePerHour, g.Currency = &v, a.get("currency", "")
	}
	for _, zone := range a.alternatives("zones") {
		g.Template.Places = append(g.Template.Places, provider.Place{
			Zone: zone, Labels: map[string]string{corev1.LabelTopologyZone: zone},
		})
		g.Template.Balanced = !a.has("scattered")
	}
	if types := a.alternatives("types"); len(types) > 0 {
		g.Template.Varies = map[string][]string{corev1.LabelInstanceTypeStable: types}
	}
	if o := a.get("own", ""); o != "" {
		g.OwnLabels = []string{o}
	}
	if a.has("held") {
		g.Holds = []provider.Hold{{Op: provider.OpGrow, Reason: "Rollout", Message: a.get("held", "")}}
	}
	if a.has("unread") {
		*g = provider.Group{ID: g.ID, Pool: g.Pool}
	}
	if a.has("unread") || a.has("unreadable") {
		g.Err = &provider.Error{Op: provider.OpInventory, Group: g.ID, Kind: provider.Unavailable}
	}
}

func (s *Scenario) find(id string) *provider.Group {
	for i := range s.Groups {
		if string(s.Groups[i].ID) == id {
			return &s.Groups[i]
		}
	}
	panic(fmt.Errorf("there is no group %q yet", id))
}

func (s *Scenario) instance(a args) {
	g := s.find(a.get("group", ""))
	in := provider.Instance{ID: provider.InstanceID(a.name), NodeName: a.name, ProviderID: "test:" + a.name,
		State: provider.Creating, Created: s.Now.Add(-a.duration("age"))}
	if kind := a.get("failed", ""); kind != "" {
		in.Err = &provider.Error{Op: provider.OpGrow, Group: g.ID, Kind: provider.Kind(kind)}
	}
	in.Hold, in.Zone = a.get("held", ""), a.get("zone", "")
	g.Instances = append(g.Instances, in)
	g.Target++
	if a.has("age") {
		// An earlier look has seen it come: else its time would begin now.
		s.Memory.Asks = append(s.Memory.Asks, model.Ask{ID: "seen/" + a.name, Group: g.ID, Found: true, At: in.Created,
			Units: []model.Unit{{State: model.UnitMade, Instance: in.ID, Exists: in.Created}}})
	}
}

func (s *Scenario) node(a args) {
	group := a.get("group", "")
	var n *corev1.Node
	if group == "" {
		n = s.shape(a.name, a)
	} else {
		for i := range s.Groups {
			if string(s.Groups[i].ID) == group {
				n = s.Groups[i].Template.Node.DeepCopy()
			}
		}
		if n == nil {
			panic(fmt.Errorf("there is no group %q yet", group))
		}
		n.Name, n.Labels[corev1.LabelHostname] = a.name, a.name
		if zone := a.get("zone", ""); zone != "" {
			n.Labels[corev1.LabelTopologyZone] = zone
		}
		if t := a.get("type", ""); t != "" {
			n.Labels[corev1.LabelInstanceTypeStable] = t
		}
		if cpu := a.get("cpu", ""); cpu != "" {
			n.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(cpu)
			n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if z := a.get("zone", ""); z != "" {
			n.Labels[corev1.LabelTopologyZone] = z
		}
		if t := a.get("adds", ""); t != "" {
			n.Spec.Taints = append(n.Spec.Taints, taint(t))
		}
	}
	n.CreationTimestamp = metav1.NewTime(s.Now.Add(-time.Hour))
	if a.has("age") {
		n.CreationTimestamp = metav1.NewTime(s.ago(a, "age"))
	}
	if a.has("notready") {
		n.Status.Conditions[0].Status = corev1.ConditionFalse
		n.Status.Conditions[0].LastTransitionTime = n.CreationTimestamp
		if a.get("notready", "") != "" {
			n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(s.ago(a, "notready"))
		}
	}
	if is := a.get("is", ""); is != "" {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(is), Status: corev1.ConditionTrue, Reason: "Seen",
			LastTransitionTime: n.CreationTimestamp,
		})
	}
	n.Spec.Unschedulable = a.has("cordoned")
	if k := a.get("annotation", ""); k != "" {
		key, v := pair(k)
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, v)
	}
	for _, kv := range a.list("annotate") {
		key, v, _ := strings.Cut(kv, "=")
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, v)
	}
	if a.has("disabled") {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, model.AnnotationScaleDownDisabled, "true")
	}
	s.leaving(n, group, a)
	if a.has("unneeded") {
		s.stands(n, func(st *model.NodeStanding) { st.UnneededSince = s.ago(a, "unneeded") })
	}
	s.AddNode(n, group)
	if group != "" {
		all := s.find(group).Instances
		s.machine(&all[len(all)-1], a)
		if a.has("machine") {
			s.back[provider.GroupID(group)] = append(s.back[provider.GroupID(group)], n.CreationTimestamp.Time)
		}
	}
}

// machine is what is said of the machine of a node.
func (s *Scenario) machine(in *provider.Instance, a args) {
	in.Drifted = a.get("drift", "")
	if a.has("interrupted") {
		in.Interrupted = &provider.Interruption{Kind: a.get("interrupted", ""), Since: s.ago(a, "told")}
		if a.has("taken") {
			in.Interrupted.Until = s.Now.Add(a.duration("taken"))
		}
	}
	if a.has("machine") {
		in.Created = s.ago(a, "machine")
	}
	if a.has("removing") || a.has("ended") {
		in.State = provider.Deleting
	}
}

// leaving reads the words about a node that was empty when its removal began.
func (s *Scenario) leaving(n *corev1.Node, group string, a args) {
	drain := func(d model.Drain) {
		s.stands(n, func(st *model.NodeStanding) { st.Drain = &d })
	}
	if a.has("deleting") || a.has("tainted") {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
	}
	if a.has("tainted") {
		drain(model.Drain{
			Node: n.Name, Group: provider.GroupID(a.get("ours", group)), Stage: model.Tainted, Since: s.ago(a, "tainted"),
		})
	}
	if a.has("removed") {
		drain(model.Drain{Node: n.Name, Stage: model.Removed, Since: s.Now})
	}
	if a.has("removing") {
		drain(model.Drain{
			Node:     n.Name,
			Group:    provider.GroupID(group),
			Instance: provider.InstanceID(n.Name),
			Stage:    model.Removing,
			Since:    s.Now,
		})
	}
}

// known is a node of the scenario so far.
func (s *Scenario) known(name string) *corev1.Node {
	for _, n := range s.nodes {
		if n.Name == name {
			return n
		}
	}
	panic(fmt.Errorf("there is no node %q yet", name))
}

// stands changes what the ledger knows of a node.
func (s *Scenario) stands(n *corev1.Node, change func(*model.NodeStanding)) {
	st := s.Standing.Nodes[n.Name]
	change(&st)
	s.Standing.Nodes[n.Name] = st
}

// ago is an instant, given by how long ago it was; now by default.
func (s *Scenario) ago(a args, key string) time.Time { return s.Now.Add(-a.duration(key)) }
