package clusterfile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// groupLabels are the labels by which nodes say what group they are of, the surest first.
var groupLabels = []string{
	"eks.amazonaws.com/nodegroup",
	"cloud.google.com/gke-nodepool",
	"kubernetes.azure.com/agentpool",
	"agentpool",
	"karpenter.sh/nodepool",
	"alpha.eksctl.io/nodegroup-name",
	"kops.k8s.io/instancegroup",
	"worker.gardener.cloud/pool",
	"cluster.x-k8s.io/deployment-name",
	"cluster.x-k8s.io/pool-name",
	"doks.digitalocean.com/node-pool",
	"lke.linode.com/pool-id",
	"k8s.scaleway.com/pool-name",
	"hcloud/node-group",
	"node-pool",
	"nodepool",
}

// zoneLabels say where a node is.
var zoneLabels = []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone}

// stateTaints tell of what happens to one node. Those of nodes that start are left out when a template is
// observed.
var stateTaints = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable, corev1.TaintNodeMemoryPressure,
	corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable,
	corev1.TaintNodeOutOfService, model.TaintToBeDeleted, model.TaintCandidate,
}

// groupMark is a label by which nodes say what group they are of, with its value. Two clouds may have a group of one
// name.
type groupMark struct{ label, value string }

// GuessGroups makes node groups of the nodes' labels: with the nodes that are there, a minimum of 0, no
// maximum, and the newest ready node as a template. A group over several zones is one from which the
// cloud picks the zone. It gives the labels that named groups; without any, there are no groups.
func (c *Cluster) GuessGroups() (labels []string) {
	byMark := map[groupMark][]*corev1.Node{}
	csi := map[string]*storagev1.CSINode{}
	static := map[string][]*corev1.Pod{}
	for _, obj := range c.Objects {
		switch o := obj.(type) {
		case *corev1.Node:
			if i := slices.IndexFunc(groupLabels, func(key string) bool { return o.Labels[key] != "" }); i >= 0 {
				m := groupMark{groupLabels[i], o.Labels[groupLabels[i]]}
				byMark[m] = append(byMark[m], o)
			}
		case *storagev1.CSINode:
			csi[o.Name] = o
		case *corev1.Pod:
			if _, ok := o.Annotations[corev1.MirrorPodAnnotationKey]; ok {
				static[o.Spec.NodeName] = append(static[o.Spec.NodeName], o)
			}
		}
	}
	inventory := provider.Inventory{AsOf: c.Time}
	marks := slices.SortedFunc(maps.Keys(byMark), func(a, b groupMark) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.label, b.label))
	})
	for i, m := range marks {
		nodes := byMark[m]
		id := provider.GroupID(m.value)
		if i > 0 && marks[i-1].value == m.value || i+1 < len(marks) && marks[i+1].value == m.value {
			id = provider.GroupID(m.value + "@" + m.label) // no value has an @
		}
		g := provider.Group{ID: id, Max: math.MaxInt32, Target: len(nodes), OwnLabels: []string{m.label}}
		for _, n := range nodes {
			g.Instances = append(g.Instances, provider.Instance{
				ID: provider.InstanceID(n.Name), ProviderID: n.Spec.ProviderID, NodeName: n.Name, State: provider.Running,
				Created: n.CreationTimestamp.Time, Zone: zoneOf(n),
			})
		}
		like := slices.MinFunc(nodes, newestReady)
		g.Template = templateOf(like, nodes)
		if found := csi[like.Name]; found != nil {
			g.Template.CSINode = &storagev1.CSINode{Spec: found.Spec}
		}
		for _, p := range static[like.Name] {
			p := p.DeepCopy()
			p.Spec.NodeName, p.UID, p.Name = "", "", strings.TrimSuffix(p.Name, "-"+like.Name)
			g.Template.Pods = append(g.Template.Pods, p)
		}
		inventory.Groups = append(inventory.Groups, g)
		labels = append(labels, m.label)
	}
	slices.SortFunc(inventory.Groups, func(a, b provider.Group) int { return cmp.Compare(a.ID, b.ID) })
	if len(inventory.Groups) == 0 {
		return nil
	}
	c.Inventory, c.InventoryErr = &inventory, ""
	slices.Sort(labels)
	c.GuessedFrom = slices.Compact(labels)
	return c.GuessedFrom
}

// newestReady puts the best template first: a ready node, then one that is not being removed, then the newest.
func newestReady(a, b *corev1.Node) int {
	poor := func(n *corev1.Node) int {
		switch {
		case !model.NodeReady(n):
			return 2
		case n.Spec.Unschedulable || model.HasTaint(n, model.TaintToBeDeleted):
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(poor(a), poor(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name))
}

// templateOf is a node like another, but for what is that one's own. In a group over several zones the
// cloud picks one of those that its nodes are in.
func templateOf(like *corev1.Node, all []*corev1.Node) *provider.Template {
	node := like.DeepCopy()
	node.ObjectMeta = metav1.ObjectMeta{Labels: maps.Clone(like.Labels)}
	delete(node.Labels, corev1.LabelHostname)
	node.Spec = corev1.NodeSpec{Taints: slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(stateTaints, t.Key)
	})}
	node.Status.Conditions = nil
	out := &provider.Template{Version: "guessed", Node: node}
	places := map[string]provider.Place{}
	for _, n := range all {
		p := provider.Place{Zone: zoneOf(n), Labels: map[string]string{}}
		for _, key := range zoneLabels {
			if n.Labels[key] != "" {
				p.Labels[key] = n.Labels[key]
			}
		}
		places[p.Zone] = p
	}
	if delete(places, ""); len(places) > 1 {
		for _, key := range zoneLabels {
			delete(node.Labels, key)
		}
		for _, zone := range slices.Sorted(maps.Keys(places)) {
			out.Places = append(out.Places, places[zone])
		}
	}
	return out
}

func zoneOf(n *corev1.Node) string {
	return cmp.Or(n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelFailureDomainBetaZone])
}
