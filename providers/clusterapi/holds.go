package clusterapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Reasons of holds, beside the kinds of error.
const (
	holdPaused  = "Paused"
	holdRollout = "Rollout"
	holdMarked  = "MarkedBySomebodyElse"
	holdSeveral = "SeveralClusters"
	// Of MachinePools without Machines.
	holdMoving   = "NotAtRest"
	holdEmptying = "Emptying"
	// holdPreflight is the reason that Cluster API itself gives while a control
	// plane is on its way to another version: no new Machines until it is there.
	holdPreflight = "PreflightCheckFailed"
)

// revisionAnnotation numbers the MachineSets of a MachineDeployment.
const revisionAnnotation = "machinedeployment.clusters.x-k8s.io/revision"

// circumstances are what must be known of a group beside its own object.
type circumstances struct {
	sets    []*scalable
	members []*machine
	// clusterPaused: the whole Cluster is.
	clusterPaused bool
	// machineless: a MachinePool that has no Machines.
	machineless bool
	// emptiable: it may be emptied as a whole, and moving says why not now, nil if it may.
	emptiable bool
	moving    *provider.Hold
	// clusters are those that the groups belong to, if more than one.
	clusters []string
	// short says why no Machine is to be removed while others are missing, empty if
	// none is.
	short string
}

// holdsOf are the operations that the group is not to be asked for.
func holdsOf(g *scalable, c circumstances, k keys) []provider.Hold {
	var out []provider.Hold
	add := func(reason, message string, ops ...provider.Op) {
		for _, op := range ops {
			out = append(out, provider.Hold{Op: op, Reason: reason, Message: message})
		}
	}
	every := []provider.Op{provider.OpGrow, provider.OpRemove, provider.OpCancel}
	if why := unscalable(g, k); why != nil {
		add(why.reason, why.message, every...)
	} else if c.clusterPaused {
		add(holdPaused, fmt.Sprintf("the Cluster %s/%s is paused", g.namespace, g.cluster), every...)
	}
	if old := rollingOut(c.sets); old != "" {
		add(holdRollout, fmt.Sprintf("it is being rolled out: the MachineSet %s of an older revision has Machines still, "+
			"and whose Machine would go is not ours to say", old), provider.OpRemove, provider.OpCancel)
	}
	if h := stuckHold(g, c); h != nil {
		out = append(out, *h)
	}
	if c.machineless {
		if add(string(provider.Unsupported), cloudChooses, provider.OpCancel); !c.emptiable {
			add(string(provider.Unsupported), cloudChooses, provider.OpRemove)
		}
		if emptying(g) {
			add(holdEmptying, whyEmptying(g), provider.OpGrow)
		}
	}
	if c.moving != nil {
		out = append(out, *c.moving)
	}
	if other := strangers(standingOf(c.members, c.sets, deref(g.replicas))); len(other) > 0 {
		add(holdMarked, fmt.Sprintf("another client annotated the Machine %s with %s, so that Cluster API might delete "+
			"it in place of another", other[0].name, k.deleteMe()), provider.OpRemove)
	}
	if len(c.clusters) > 1 {
		add(holdSeveral, fmt.Sprintf("--node-group-auto-discovery means groups of several clusters (%s): those of another "+
			"than the workload cluster would look as if they had no nodes; name one by clusterName=",
			strings.Join(c.clusters, ", ")), provider.OpRemove)
	}
	return out
}

// stuckHold says that Cluster API cannot make the Machines that were asked for:
// what is missing is not to be waited for, unless it is only a matter of time.
func stuckHold(g *scalable, c circumstances) *provider.Hold {
	if deref(g.replicas) <= len(standingOf(c.members, c.sets, deref(g.replicas)).live) {
		return nil
	}
	of := g
	if g.kind == machineDeployment && len(c.sets) > 0 {
		of = newestOf(c.sets)
	}
	if of.stuck == nil {
		return nil
	}
	h := provider.Hold{Op: provider.OpGrow, Reason: string(provider.BadConfig), Since: of.stuck.since,
		Message: fmt.Sprintf("the MachineSet %s cannot make Machines (%s): %s", of.name, of.stuck.reason, of.stuck.message)}
	if of.stuck.reason == holdPreflight {
		h.Reason = holdPreflight
	}
	return &h
}

// obstacle is why nothing can be done with a group.
type obstacle struct {
	reason, message string
	kind            provider.Kind
}

// unscalable says what in the group's own object forbids any write.
func unscalable(g *scalable, k keys) *obstacle {
	if value, ok := g.annotations[k.managedBy()]; ok && g.kind == machinePool {
		return &obstacle{string(provider.Unsupported), fmt.Sprintf(
			"the annotation %s=%q says that another controller sizes it: its replicas are only a report", k.managedBy(), value,
		), provider.Unsupported}
	}
	if g.deleting {
		return &obstacle{provider.BeingDeleted, fmt.Sprintf("the %s is being deleted", g.kind), provider.Conflict}
	}
	if _, ok := g.annotations[k.paused()]; ok {
		return &obstacle{holdPaused, fmt.Sprintf("the annotation %s on the %s keeps Cluster API from acting on it",
			k.paused(), g.kind), provider.Conflict}
	}
	return nil
}

// rollingOut names a MachineSet that is not the newest and has, or is to have,
// Machines; empty if there is none.
func rollingOut(sets []*scalable) string {
	if len(sets) < 2 {
		return ""
	}
	newest := newestOf(sets)
	var old []string
	for _, s := range sets {
		if s != newest && (deref(s.replicas) > 0 || s.statusReplicas > 0) {
			old = append(old, s.name)
		}
	}
	if len(old) == 0 {
		return ""
	}
	return slices.Min(old)
}

// newestOf is the MachineSet of the highest revision.
func newestOf(sets []*scalable) *scalable {
	revision := func(s *scalable) int { n, _ := strconv.Atoi(s.annotations[revisionAnnotation]); return n }
	return slices.MaxFunc(sets, func(a, b *scalable) int {
		return cmp.Or(cmp.Compare(revision(a), revision(b)), a.created.Compare(b.created), cmp.Compare(b.name, a.name))
	})
}

// strangers are the Machines that another client has marked, unless the target has been lowered for
// them. During a rollout there is another hold.
func strangers(s standing) []*machine {
	if s.paid || s.rolling {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.marked), func(m *machine) bool { return m.markedByUs() })
}
