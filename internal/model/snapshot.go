package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// ClassID and NodeID index a Snapshot's Classes and Nodes; they mean nothing
// outside of it.
type (
	ClassID int32
	NodeID  int32
)

// Snapshot is one moment, ready to decide on. It is frozen, and everything in
// it is sorted: classes by content, nodes by name (those that exist, then
// those on their way), groups by id.
type Snapshot struct {
	Now        time.Time
	Seed       uint64
	Generation uint64

	Contents Contents
	Classes  []Class
	Nodes    []*Node // snapshots share those that are the same in each
	Groups   []Group
	Pools    []provider.Pool
	Pending  []Pending
	// Gated are pods that have a controller and are kept from the scheduler by a gate: no
	// room is looked for. Drains that wait for such a pod go on waiting.
	Gated []*Pod
	// Aside are all pods without a node for which no room is looked for: those of a gate, of DaemonSets, those that end
	// or have ended, and those for which the scheduler makes room. NoNode are bound to a node that has no Node object.
	Aside      []*Pod
	NoNode     []BoundPod
	DaemonSets []DaemonSetClass
	Namespaces map[string]map[string]string
	Volumes    Volumes
	Budgets    []Budget
	Priorities *Priorities
	Prices     *Prices
	// Exits are the nodes that began to go a short while ago, where a budget counts them.
	Exits []budget.Exit

	// Interruptions are the ledger's, as the last plan had them; by time.
	Interruptions []Interruption

	// SettledUntil is when time alone changes what policies have settled for groups; zero: never.
	SettledUntil time.Time
	// AsOf is the age of the inventory; InventoryErr why there is no newer one.
	AsOf         time.Time
	InventoryErr string
	// Notices are what the provider, or the ledger, has a person know. Nothing is decided by them.
	Notices []provider.Notice
	// Counts are the nodes of our groups by state, Others the rest. Unhealthy,
	// Brakes, Arrivals and Doubts are the ledger's, and so are LastGrowth, LastRemoval,
	// LastFailure, FailureWhy and LastDemand.
	Counts, Others                       Counts
	Unhealthy                            *Verdict
	Brakes                               []Brake
	Arrivals                             []Arrival
	Doubts                               map[string]Doubt
	LastGrowth, LastRemoval, LastFailure time.Time
	FailureWhy                           string
	LastDemand                           time.Time
	// Resume is the ledger's, too: the node that the last search for unneeded
	// nodes got to before its steps were used up, empty if it got to the end.
	Resume string
	// Unseen is the ledger's: the classes, by digest, that the last cycle had no steps
	// for.
	Unseen []string
	// Displaced is the ledger's: the controllers of pods that we evicted a short while
	// ago.
	Displaced map[types.UID]Displaced
	// Strays are the ledger's: nodes whose instance the cloud has ceased to list, with its
	// group.
	Strays map[string]provider.GroupID
	// Unread is the ledger's: what was asked for of groups that have not been read yet.
	Unread []Unread
	// Moves are the ledger's: those under way, and those whose nodes are left alone; by when they began.
	Moves []Move

	// Judged is by what the pods of nodes were counted. The next snapshot takes counts over where it is the same.
	Judged Judged
	// Standings and Rules are what the ledger and the policy say of nodes. The next snapshot takes rows of ready nodes
	// over where both are the same.
	Standings map[string]NodeStanding
	Rules     Rules
	// Projection and Numbers find the class of a pod's content: ClassOf.
	Projection *Projection
	Numbers    map[ClassKey]ClassID
}

// Judged is by what pods count on their nodes: the priority from which they take room, and whether some pod without a
// node may not preempt others, so that those that take none are counted, too.
type Judged struct {
	ExpendableBelow int32
	Calm            bool
}

// ClassOf is the class of a pod of this snapshot; ok is false for one that is
// not of it, or that takes no room.
func (s *Snapshot) ClassOf(p *Pod) (id ClassID, ok bool) {
	id, ok = s.Numbers[ClassKey{p.Spec, s.Projection.Of[p.Labels], p.Flags&Terminating != 0}]
	return id, ok
}

// Class is a set of pods that the scheduler cannot tell apart: equal in spec,
// and in those labels that some scheduling selector reads.
type Class struct {
	Key         string
	Spec        *Spec
	Labels      map[string]string
	Terminating bool
}

// Digest names the class in few letters, the same in every process: what is
// remembered of a class is remembered by it.
func (c *Class) Digest() string { return digest(c.Key) }

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// Namespace is the namespace that all pods of the class are in.
func (c *Class) Namespace() string { return c.Spec.Pod.Namespace }

// Batch is a number of pods of one class.
type Batch struct {
	Class ClassID
	Count int
}

// NodeKind is where a node is between being asked for and being gone.
type NodeKind uint8

// The kinds of node.
const (
	// Ready: the node is registered and ready. Pods may go there.
	Ready NodeKind = iota
	// Booting: registered, and not ready yet for the first time. It is
	// simulated as its group's template under its own name (rule L6).
	Booting
	// Coming: asked of the cloud, and not registered. Its name is made up.
	Coming
	// Unready: it was ready, or should have been by now. Its pods are there; no
	// pod goes there.
	Unready
	// Leaving: its removal is under way. No pod goes there (rule L6). It is
	// still a topology domain for the pods on it.
	Leaving
)

// String names the kind.
func (k NodeKind) String() string {
	return [...]string{"Ready", "Booting", "Coming", "Unready", "Leaving"}[k]
}

// Node is a node that exists or is on its way.
type Node struct {
	Name string
	// Object is the node as observed, nil for one that is coming.
	Object *corev1.Node
	// Marked and Note are what we have written on it beside a removal: the taint of candidates, and what keeps it.
	// Annotated: an annotation may keep it.
	Marked, Annotated bool
	Note              string
	Shape             ShapeID
	// May are the shapes of which a node on its way will have one, where the cloud chooses
	// (its zone, say); Shape has then only what all of them have. Empty for other nodes.
	May  []ShapeID
	Kind NodeKind
	// State is the registry's class of it, empty for one that is coming.
	State NodeState
	// Group indexes Snapshot.Groups, -1 for a node that no group has.
	Group    int
	Instance provider.InstanceID
	// InstanceAt indexes the group's instances.
	InstanceAt int
	// Generation is the observation's of the node.
	Generation uint64
	// InstanceHold is the provider's reason not to remove the instance.
	InstanceHold string
	// Drifted is in what the instance is not what its group makes now, empty if it is.
	Drifted string
	// Interrupted says that the cloud is about to take the instance, nil if it does not say so.
	Interrupted *provider.Interruption
	// BootsUntil is when a node that has never been ready, or is not yet all
	// that its template says, is no longer waited for, or time alone makes it
	// another sooner; zero for others.
	BootsUntil time.Time
	// Batches are the pods on it, by class; sorted by class. Finished pods are
	// left out, pods nominated to it are in.
	Batches []Batch
	// MilliCPU and Memory are what those request.
	MilliCPU, Memory int64
	// Expendable are pods of too low a priority to count: the scheduler makes room at
	// their cost. They are there only while a pod waits that may not preempt any.
	Expendable []Batch
	// Residents are those of DaemonSets and static ones, on nodes that an ask has
	// brought a short while ago; empty on others.
	Residents []Batch
	// Nominated counts the pods that the scheduler makes room for there.
	Nominated int
	// Bound are the pods bound to it as observed.
	Bound []Pod
	// Occupants counts the pods that keep the node: all but those of
	// DaemonSets, static pods, those that have ended and expendable ones.
	// FirstOccupant names one of them.
	Occupants     int
	FirstOccupant string
	// Standing is what the ledger knows of it.
	Standing NodeStanding
	// Unknown: it is younger than the inventory and no instance matches it
	// (rule L5), so that it is neither managed nor unmanaged.
	Unknown bool
}

// Group is a node group and how it stands.
type Group struct {
	provider.Group
	// Shape and Static are the template's content; HasTemplate is false where
	// the provider cannot tell it.
	HasTemplate bool
	Shape       ShapeID
	Static      []Batch
	// Variants are the forms among which the cloud chooses for a new node, empty where
	// all are alike. Shape has what they have in common.
	Variants []Variant
	// GroupStanding is the ledger's. Without a ledger, Expected is the observed
	// target.
	GroupStanding
	// Settled is what policies have settled for it, beside its bounds and options.
	Settled policy.Resolved
	// PoolUnread is a group of the same pool, perhaps this one, that has not been read
	// since this process began, so that the pool's size is unknown. Empty if there is none.
	PoolUnread provider.GroupID
	// Nodes counts by kind: registered nodes of the group, and those coming.
	ReadyNodes, BootingNodes, UnreadyNodes, LeavingNodes, ComingNodes int
}

// EnforcesMin reports whether the group grows to its minimum without any pod that needs the nodes: all groups
// do by the policy, or this minimum comes from a policy of its own.
func (g *Group) EnforcesMin(p ScaleUpPolicy) bool { return p.EnforceMin || g.Settled.MinFrom != "" }

// Paused is the verdict on a group that a person has paused, nil if it is not paused.
func (g *Group) Paused() *Verdict {
	p := g.Settled.Pause
	if p == nil {
		return nil
	}
	v := &Verdict{Reason: HeldByOperator, Since: p.Since, Until: p.Until, Detail: "paused by " + p.From, Fix: p.Ends()}
	if p.Reason != "" {
		v.Detail += ": " + p.Reason
	}
	return v
}

// GoesWhole reports whether all nodes of the group are removed together, or none.
func (g *Group) GoesWhole() bool { return g.AllOrNothing || g.CloudChooses }

// Pending is a class with pods that have no node.
type Pending struct {
	Class ClassID
	// Pods are sorted by namespace and name; they are the observation's own.
	Pods []*Pod
	// Refused: the scheduler has said no to at least one of them, so that all
	// of them are waiting for room (rule L12).
	Refused bool
	// Oldest is when the first of them came to be.
	Oldest time.Time
	// Awaits: where they fit depends on other pods, and the scheduler makes room for some of the namespace, which
	// count as if they were there. Until they are, it may rightly leave these waiting.
	Awaits bool
}

// DaemonSetClass is a DaemonSet and the class of its pods.
type DaemonSetClass struct {
	DaemonSet
	Class ClassID
}

// AwaitsCloud reports whether a newer read of the cloud may say more of some node
// even if it shows nothing new (rule L5).
func (s *Snapshot) AwaitsCloud() bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool { return n.Unknown })
}

// Registered counts the nodes that exist; they come first.
func (s *Snapshot) Registered() int {
	n := len(s.Nodes)
	for n > 0 && s.Nodes[n-1].Object == nil {
		n--
	}
	return n
}

// ReadyNodes counts the nodes that are ready.
func (s *Snapshot) ReadyNodes() int {
	n := 0
	for i := range s.Nodes {
		if s.Nodes[i].Kind == Ready {
			n++
		}
	}
	return n
}

// Variant is one of the forms that a new node of a group may have, where the cloud
// chooses: the template with the labels of a place, and with a value of each other
// label that varies and that a pending pod asks for.
type Variant struct {
	Shape ShapeID
	// Zone is the place's, empty if the group has no places.
	Zone   string
	Labels map[string]string
}
