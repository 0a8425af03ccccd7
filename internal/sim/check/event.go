package check

import (
	"fmt"
	"strings"
	"time"
)

// What is the kind of a fact.
type What string

// The facts about the cloud. Call is the write that caused it, empty where it was not ours.
const (
	// PoolIs: Pool Min Max; Sized: each of its groups has a share of it.
	PoolIs What = "pool"
	// GroupIs: Group Pool Min Max CPU Memory Price, and its target N at first; Varies: the cloud picks the zone
	// of a machine; Whole: all of it goes or none; Differs: its machines are others than before; Drifted: those that are
	// there are not what it makes now.
	GroupIs  What = "group"
	GroupEnd What = "group-end"
	// TargetIs: a group has another target: Group N Call.
	TargetIs What = "target"
	// A machine has a name, runs, could not be made (Again: the cloud tries again), is being ended, is
	// gone: Machine Group Call.
	MachineMade   What = "machine"
	MachineRuns   What = "runs"
	MachineFailed What = "failed"
	MachineEnds   What = "ends"
	MachineGone   What = "gone"
	// StockOut: the cloud says that a group's machines do not come: Group.
	StockOut What = "stock-out"
)

// The facts about the cluster.
const (
	// NodeIs: a node is there: Node Machine CPU Memory, and Cores if its capacity is more than pods may use; Differs: not
	// as its group says; Drifted: its id is not that of its machine.
	NodeIs      What = "node"
	NodeReady   What = "ready"
	NodeUnready What = "unready"
	NodeEnd     What = "node-end"
	// The taint of a removal, and what else keeps pods away: Node; Call where it is ours.
	Tainted    What = "tainted"
	Untainted  What = "untainted"
	Cordoned   What = "cordoned"
	Uncordoned What = "uncordoned"
	// Protected: people have annotated a node so that it stays.
	Protected   What = "protected"
	Unprotected What = "unprotected"
	// TakenSoon: the cloud tells that it is about to take a machine: Machine Node; Own: by the instance, and else by its
	// node. Unsound: a Node says that something is wrong with it.
	TakenSoon What = "taken-soon"
	Unsound   What = "unsound"
	// PodIs: a pod is there and has no node: Pod Workload Class CPU Memory Priority Grace; Own: of its node, as a
	// DaemonSet's; Expendable; Coupled: its place depends on other pods; Picky: it selects nodes. For its
	// eviction matter its Controller and what its annotation says (Safe: yes, no or nothing); Local: it
	// has data on its node; System: it is of kube-system; Tolerant: it tolerates the taint of a removal.
	PodIs      What = "pod"
	PodRefused What = "refused" // by the scheduler
	PodBound   What = "bound"   // Pod Node
	PodStarted What = "started"
	PodEnds    What = "pod-ends" // Pod, by When at the latest; Call
	PodEnd     What = "pod-end"
	// WorkloadIs: a controller wants N pods: Workload N; Kept: it replaces those that end.
	WorkloadIs What = "workload"
	// BudgetIs: at least Min of the pods of some Workloads are to be ready.
	BudgetIs  What = "budget"
	BudgetEnd What = "budget-end"
)

// The facts about the autoscaler.
const (
	Leads What = "leads" // Process
	Dies  What = "dies"
	// Forgets: what it remembers for the next process was overwritten. One that lives on writes it again.
	Forgets What = "forgets"
	// LeaseEnds: a Process could not renew its lease in time. Writes: a request of it that writes is sent.
	LeaseEnds What = "lease-ends"
	Writes    What = "writes"
	// ReadEnds: a read of the cloud that began at When was answered. Missing are groups that the answer
	// lacked or could not tell of, and Lacks are machines that it lacked of the others, or had under another id.
	ReadEnds What = "read"
	// Sees: a cycle of a Process begins with a picture of the cloud of When.
	Sees What = "sees"
	// Decided: a cycle decided in N steps, and Memory bytes are kept; Halted: it says that the cluster is
	// unhealthy.
	Decided What = "decided"
	// Asks: a write is begun: Call Verb Group Machine Node Pod From To; Process; Saves: a taint, for a cheaper fleet.
	Asks What = "asks"
	// Buys: a growth that was asked for is, as the autoscaler says, for N pods of a Class; of a Workload alone, where
	// some selector tells its pods from others of that class.
	Buys What = "buys"
	// Answered: a write has ended with an Answer, at When if that is set.
	Answered What = "answered"
	// What it says at rest. Told: why pods of a Class wait, of a Group, or of none where they are not
	// looked at: Name. Keeps: why a Node stays, or, without a Name, that it may go. Held: what it has
	// under way: N calls, From requests, To moves.
	Told  What = "told"
	Keeps What = "keeps"
	Held  What = "held"
)

// The other facts.
const (
	FaultBegins What = "fault"      // Name
	FaultEnds   What = "fault-ends" // Name
	// Stir: something other than the autoscaler changed the world.
	Stir What = "stir"
	// People changed limits, targets, nodes or pods.
	People What = "people"
	// Mended: people did what the autoscaler said would help N pods of a Class: Name.
	Mended What = "mended"
	// Peace: from now on nothing fails, and people change things only to mend.
	Peace What = "peace"
	// Fits: a new node of a Group would take a pod of a Class, wherever the cloud puts it. Told at rest.
	Fits What = "fits"
	// Rest: the world is to be at rest now; what depends on rest has just been told.
	Rest What = "rest"
)

// Answer is how a write ended.
type Answer string

// The answers.
const (
	Done     Answer = "done"
	Refused  Answer = "refused"
	Busy     Answer = "busy" // for now, whatever the subject
	Unknown  Answer = "unknown"
	NotBegun Answer = "not-begun"
)

// The verbs of writes.
const (
	Grow    = "Grow"
	Cancel  = "Cancel"
	Remove  = "Remove"
	Taint   = "Taint"
	Untaint = "Untaint"
	Cordon  = "Cordon"
	Evict   = "Evict"
)

// Event is a fact, with what of these its kind has.
type Event struct {
	At   time.Time
	What What

	Group, Pool, Machine, Node, Pod, Workload, Class string
	Process, Call, Verb, Name, Controller, Safe      string
	N, From, To, Min, Max, Priority                  int
	CPU, Memory, Cores                               int64
	Price                                            float64
	When                                             time.Time
	Grace                                            time.Duration
	Answer                                           Answer
	Missing, Lacks, Workloads                        []string

	Own, Expendable, Coupled, Picky, Local, System, Tolerant    bool
	Kept, Differs, Drifted, Varies, Whole, Sized, Again, Halted bool
	Saves                                                       bool
}

// String is the event as histories write it.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(string(e.What))
	word := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s=%s", key, value)
		}
	}
	for _, w := range [...]struct{ key, value string }{
		{"group", e.Group}, {"pool", e.Pool}, {"machine", e.Machine}, {"node", e.Node}, {"pod", e.Pod},
		{"workload", e.Workload}, {"class", e.Class}, {"process", e.Process}, {"call", e.Call}, {"verb", e.Verb},
		{"name", e.Name}, {"answer", string(e.Answer)},
	} {
		word(w.key, w.value)
	}
	for _, w := range [...]struct {
		key   string
		value int
	}{{"n", e.N}, {"from", e.From}, {"to", e.To}, {"min", e.Min}, {"max", e.Max}} {
		if w.value != 0 {
			word(w.key, fmt.Sprint(w.value))
		}
	}
	return b.String()
}
