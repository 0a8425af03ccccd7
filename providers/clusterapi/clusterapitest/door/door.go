// Package door is the conformance suite's back door to the management cluster
// that fits in a test: what other people, time and bad luck do to it, in the
// words of provider/providertest.
//
// It is imported by the tests of a provider for Cluster API. A group's id is
// kind/namespace/name, an instance's namespace/name of its Machine.
package door

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Door is a providertest.Door to a world.
type Door struct{ World *clusterapitest.World }

var _ providertest.Door = Door{}

// parts are a group's kind, namespace and name.
func parts(group provider.GroupID) (kind, namespace, name string) {
	p := strings.SplitN(string(group)+"//", "/", 3)
	return p[0], p[1], strings.TrimRight(p[2], "/")
}

// SetTarget sets replicas, past their limits.
func (d Door) SetTarget(group provider.GroupID, n int) error {
	kind, namespace, name := parts(group)
	return d.World.Edit(kind, namespace, name, func(o kubetest.Object) {
		kubetest.Set(o, int64(n), "spec", "replicas")
	})
}

// Settle ends all that is under way.
func (d Door) Settle() { d.World.Settle() }

// Starve keeps the group from getting Machines.
func (d Door) Starve(group provider.GroupID) error {
	kind, namespace, name := parts(group)
	if d.World.Get(kind, namespace, name) == nil {
		return fmt.Errorf("starve %q: there is no such group", group)
	}
	d.World.Starve(kind, namespace, name)
	return nil
}

// Fail makes a Machine one that the infrastructure has not made.
func (d Door) Fail(id provider.InstanceID) error {
	namespace, name, _ := strings.Cut(string(id), "/")
	return d.World.Fail(namespace, name, func(m kubetest.Object) {
		kubetest.Set(m, "", "spec", "providerID")
		kubetest.Set(m, "", "status", "nodeRef", "name")
		kubetest.Set(m, "Failed", "status", "phase")
	})
}

// Recover makes such a Machine run after all.
func (d Door) Recover(id provider.InstanceID) error {
	namespace, name, _ := strings.Cut(string(id), "/")
	return d.World.Edit("Machine", namespace, name, func(m kubetest.Object) {
		kubetest.Set(m, "test:///again/"+name, "spec", "providerID")
		kubetest.Set(m, name, "status", "nodeRef", "name")
		kubetest.Set(m, "Running", "status", "phase")
	})
}

// Break disturbs the requests of which an operation is made: the lists of an
// inventory, the write of a scale-up or a removal. A cancellation is disturbed at
// its read already, since with nothing to cancel it writes nothing.
func (d Door) Break(op provider.Op, group provider.GroupID, how providertest.Breakage) <-chan struct{} {
	met := make(chan struct{}, 1)
	kind, namespace, name := parts(group)
	plural := strings.ToLower(kind) + "s"
	fault := kubetest.Fault{
		Namespace: namespace, Name: name, After: how == providertest.Lost,
		Mishap: map[providertest.Breakage]kubetest.Mishap{
			providertest.Refused: kubetest.Forbid, providertest.Hanging: kubetest.Hang, providertest.Lost: kubetest.Hang,
			providertest.Empty: kubetest.EmptyList, providertest.Garbled: kubetest.Garbled,
		}[how],
		Met: func() {
			select {
			case met <- struct{}{}:
			default: // one is enough
			}
		},
	}
	switch op {
	case provider.OpInventory:
		fault.Verb, fault.Namespace, fault.Name = "list", "", ""
	case provider.OpCancel:
		fault.Verb, fault.Resource = "get", plural
	default:
		// A MachineSet may be written as a whole, too.
		fault.Verb, fault.Resource = "update", plural
		d.World.Arm(fault)
		fault.Resource = plural + "/scale"
	}
	d.World.Arm(fault)
	return met
}

// Mend ends every fault.
func (d Door) Mend() { d.World.Disarm() }

// Instances are the Machines of a group that are not on their way out.
func (d Door) Instances(group provider.GroupID) []provider.InstanceID {
	kind, namespace, name := parts(group)
	var ids []provider.InstanceID
	for _, m := range d.World.Machines(kind, namespace, name) {
		meta, _ := m["metadata"].(kubetest.Object)
		if meta["deletionTimestamp"] == nil {
			ids = append(ids, provider.InstanceID(fmt.Sprintf("%s/%s", meta["namespace"], meta["name"])))
		}
	}
	slices.Sort(ids)
	return ids
}
