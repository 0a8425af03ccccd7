package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Homes finds the group and the instance of a node, by index: by exact provider
// id, else by the node's name (rule P6).
type Homes struct {
	byID, byName map[string]Home
}

// Home is an instance: Group indexes the groups, Instance its instances.
type Home struct{ Group, Instance int }

// NewHomes takes in the instances of n groups.
func NewHomes(n int, group func(int) *provider.Group) Homes {
	h := Homes{byID: map[string]Home{}, byName: map[string]Home{}}
	h.Fill(n, group)
	return h
}

// Fill replaces what is in it, and keeps its memory.
func (h *Homes) Fill(n int, group func(int) *provider.Group) {
	clear(h.byID)
	clear(h.byName)
	for i := range n {
		g := group(i)
		for j := range g.Instances {
			in := &g.Instances[j]
			if in.ProviderID != "" {
				h.byID[in.ProviderID] = Home{i, j}
			}
			if in.NodeName != "" {
				h.byName[in.NodeName] = Home{i, j}
			}
		}
	}
}

// Of finds the home of a node.
func (h *Homes) Of(n *corev1.Node) (Home, bool) {
	at, ok := h.byID[n.Spec.ProviderID]
	if !ok || n.Spec.ProviderID == "" {
		at, ok = h.byName[n.Name]
	}
	return at, ok
}

// Machine is what a picture of the cloud shows of a node's machine; the zero value: it has
// none.
type Machine struct {
	ID provider.InstanceID
	// Deleting: the cloud deletes it. Unread: its group could not be read.
	Deleting, Unread bool
	// Made is when, by the cloud's date.
	Made time.Time
}

// MachineAt is the machine of a node that is at home there.
func (o *Observation) MachineAt(h Home) Machine {
	g := &o.Inventory.Groups[h.Group]
	in := &g.Instances[h.Instance]
	return Machine{ID: in.ID, Deleting: in.State == provider.Deleting, Unread: g.Err != nil, Made: in.Created}
}

// Patience is how long a cloud that has agreed to end a machine is believed, though it
// still lists the machine or the machine's node is ready; and one that has agreed to grow
// a group, though it shows the target from before.
const Patience = 2 * time.Minute

// CountedByTarget reports whether the target still counts a node that is on its way
// out: neither a read nor an answer says that the cloud has begun to delete its instance.
func CountedByTarget(d *Drain, in *provider.Instance) bool {
	return (in == nil || in.State != provider.Deleting) && (d == nil || d.Stage != Removed)
}

// EndsWithMachine reports whether a node that is being deleted goes on purpose: the end of its machine was asked for,
// or another client removes it. A removal of ours that has not got so far has only prepared the node: where that goes
// all the same, the machine has lost it.
func EndsWithMachine(n *corev1.Node, d *Drain, in *provider.Instance) bool {
	return d == nil || d.Stage == Removing || d.Stage == Removed || n.DeletionTimestamp != nil ||
		in.State == provider.Deleting
}

// InstanceNamed is the group's instance of that id, nil if it has none.
func (g *Group) InstanceNamed(id provider.InstanceID) *provider.Instance {
	for i := range g.Instances {
		if g.Instances[i].ID == id {
			return &g.Instances[i]
		}
	}
	return nil
}
