package repair

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about nodes that no instance has, and that could be a group's all the same
// (rule P6).

// strangers are the registered nodes that no instance has, ready or not: a fleet
// whose ids have drifted may be cut off as well.
func strangers(s *model.Snapshot) []*corev1.Node {
	var out []*corev1.Node
	for i := range s.Nodes {
		if n := s.Nodes[i]; n.Group < 0 && n.Object != nil && n.State != model.StateBeingDeleted {
			out = append(out, n.Object)
		}
	}
	return out
}

// doubted is how long nodes without an instance hold a cancellation, if nothing but their
// looks says that they are the group's. No cloud lacks machines in its answers for so long,
// and a provider cancels nothing of which it knows that it runs.
const doubted = 6 * time.Hour

// strangersOf are the nodes without an instance that could be the units of a group that
// are to be cancelled, and until when they hold that at the latest, zero if there is no such
// time: those whose instance the newest answer lacks; those that were the group's, for as
// long as they live; and for a while those that are as young as a scale-up, or of any age
// where the time of the request is not known.
func (f *finder) strangersOf(g *model.Group) (out []*corev1.Node, until time.Time) {
	type late struct {
		asked time.Time // no node from before can be one of its units
		until time.Time
	}
	var asks []late
	for i := range g.Asks {
		a := &g.Asks[i]
		l := late{asked: a.At}
		if a.First {
			l.asked = time.Time{}
		}
		for j := range a.Units {
			if u := &a.Units[j]; u.Instance == "" && !u.Open() {
				l.until = latest(l.until, u.Entered.Add(doubted))
			}
		}
		if l.until.After(f.snap.Now) {
			asks = append(asks, l)
		}
	}
	// Where the answer lacks machines that run, it may lack the one that did not come, too.
	unlisted := map[provider.InstanceID]bool{}
	for i := range g.Instances {
		if in := &g.Instances[i]; in.Unlisted {
			unlisted[in.ID] = true
		}
	}
	for i := range f.snap.Nodes {
		n := f.snap.Nodes[i]
		if n.Object != nil && n.Group >= 0 && unlisted[n.Instance] && f.snap.Groups[n.Group].ID == g.ID &&
			n.State != model.StateBeingDeleted {
			out = append(out, n.Object)
		}
	}
	for _, n := range f.strangers {
		was := f.snap.Strays[n.Name] == g.ID
		could := was
		for _, l := range asks {
			if !was && asOld(l.asked, anyClock, n) && CouldBe(g, n) {
				could, until = true, latest(until, l.until)
			}
		}
		if could {
			out = append(out, n)
		}
	}
	return out, until
}

// How far the clocks of the cloud and the cluster are apart at most, if they are set; and any
// two. What holds a machine for as long as a node lives goes by the former: a node that is
// an hour older would hold it for ever.
const (
	skew     = time.Minute
	anyClock = time.Hour
)

// asOld reports whether a node came after its machine was made, or asked for.
func asOld(made time.Time, off time.Duration, n *corev1.Node) bool {
	return !n.CreationTimestamp.Add(off).Before(made)
}

// others are labels of nodes that no group ever makes: of another provisioner's, and of
// control planes. A group whose own nodes have one is another matter.
var others = []string{
	"karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "node-role.kubernetes.io/control-plane",
	"eks.amazonaws.com/compute-type",
}

// alike are labels whose values all nodes of a group agree in, unless they vary.
var alike = []string{
	corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable,
	"eks.amazonaws.com/nodegroup", "worker.gardener.cloud/pool",
}

// CouldBe reports whether a node might be a machine of the group, under an id that the provider does not know. We err
// to yes: a node of another type, system, architecture or group is not, nor is one that another provisioner made. In
// what zone it is does not matter: a machine may come up in another one than its group says.
func CouldBe(g *model.Group, n *corev1.Node) bool {
	if g.Template == nil || g.Template.Node == nil {
		return true
	}
	for _, key := range others {
		_, is := n.Labels[key]
		if _, said := g.Template.Node.Labels[key]; is && !said {
			return false
		}
	}
	for _, key := range alike {
		if !agrees(g, n, key) {
			return false
		}
	}
	return true
}

// agrees reports whether a node has the value of a label that the group's nodes have, as far as both say one.
func agrees(g *model.Group, n *corev1.Node, key string) bool {
	if g.Template == nil || g.Template.Node == nil {
		return true
	}
	if _, varies := g.Template.Varies[key]; varies {
		return true
	}
	a, said := g.Template.Node.Labels[key]
	b, has := n.Labels[key]
	return !said || !has || a == b
}
