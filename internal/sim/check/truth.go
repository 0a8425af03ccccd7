package check

import (
	"slices"
	"strings"
	"time"
)

// truth is the world as the facts so far say.
type truth struct {
	groups    map[string]*group
	pools     map[string]*pool
	machines  map[string]*machine
	nodes     map[string]*node
	pods      map[string]*pod
	workloads map[string]*workload
	budgets   map[string]*budget
	writes    map[string]*write
	faults    map[string]int
	since     map[string]time.Time // when a fault last began or ended
	lapsed    map[string]bool      // processes whose lease has ended
	process   string               // that leads
	led       time.Time            // since when
	died      string
	deaths    []time.Time
	begun     time.Time // when the history began
	reads     []read
	sees      time.Time // the picture of the last cycle
	cycle     time.Time // when the last cycle began
	seer      string    // which process began it
	halted    bool      // the last cycle said so
	resumed   time.Time // when one last said so no more
	slowest   time.Duration
	// stirred is when something other than the autoscaler last changed the world; touched when people did.
	// disturbed is the same without the load, and without faults of our own writes.
	stirred, disturbed, touched, peace time.Time
	freed                              time.Time // when a pod that we did not evict last left a node
	raised                             bool      // people have raised a target
	strayed                            time.Time // when we last ended one that came for what the cloud took
	wiped                              time.Time // when its memory was overwritten
	blank                              time.Time // of what was before, a process knows nothing
	// grew, removed and failed are when the autoscaler last did so, by group and for all ("").
	grew, removed, failed map[string]time.Time
	// runs is when the delays after that, and after what may have been a failure, began at the latest.
	runs map[delay]time.Time
	// restarted is when a process last began that does not go on with the times of those before.
	restarted time.Time
	exits     []exit         // nodes that began to go
	left      time.Time      // when the last of them went
	refusals  map[string]int // how many removals of a group were refused since one was not
	endings   []ending
	threshold float64
	// fits, told and keeps are what was said for the moment at which the world is to be at rest; held is
	// what the autoscaler has under way then.
	fits        map[place]bool
	told        map[place]string
	keeps       map[string]string // by node; empty: it may go
	heldBack    bool              // a budget held some node then
	reserved    bool              // some node was kept for a move then
	mended      []mended
	calls, asks int
	asked       time.Time     // when a write was last begun
	rested      time.Duration // the longest time without any since peace
	waited      time.Time     // when pods without a node were last seen
	restful     time.Time     // when the world was last found at rest, zero if something has changed it since
	moves       Moves
	cost        cost
	fleet       Fleet
	unquiet     bool // a fault has begun, or people did something
	unbound     int  // how many pods have no node
	sets        sets
	moving      bool      // nodes may go for others, which are bought first
	open        int       // moves that are under way, as told
	due         time.Time // when a node was last seen that is to be replaced whatever that costs
}

// place is a class of pods and a group.
type place struct{ class, group string }

// pool has limits for the groups in it.
type pool struct {
	min, max, wasMin, wasMax int
	sized                    bool
}

type group struct {
	id, pool       string
	min, max       int
	wasMin, wasMax int // before people last changed them
	changed        time.Time
	cpu, memory    int64
	price          float64 // of a node, by the hour; 0: unknown
	target         int
	varies, whole  bool
	differed       bool      // some node was another than promised, since its machines were last changed
	strange        time.Time // when the machine of the last such node went
	version        int       // counts changes of what its machines are
	makes          int       // counts changes after which those that are there are not what it makes
	growths        []*growth
	// wrote is the end of the last write of ours, zero while one is under way.
	vacant   []vacancy
	lacked   int       // how many answers in a row lacked it
	told     time.Time // when the cloud last said that its machines do not come
	late     time.Time // when we last gave up what did not come in time
	moved    time.Time // when its target or its machines last changed
	keeps    bool      // the cloud did not take back a request
	failures failures
}

// vacancy is the place of a machine that went without our asking, for which the cloud makes another one.
type vacancy struct{ made, left time.Time }

// failures are growths of a group that failed, for its backoff.
type failures struct {
	last, until time.Time
	// said is when the cloud told of the last one, which may be before it was taken in: a machine that was made in
	// between shows that it makes them again.
	said time.Time
	// most is its end where each failure within a rest lets that begin again, and what came before known, longest how
	// long that rest is, and known when the last failure was then.
	most, known     time.Time
	length, longest time.Duration
	cause           string
	classes         map[string]bool // that they were for
}

// growth is one raise of a target, by us or by others.
type growth struct {
	call    string // empty: another client's
	process string
	at      time.Time
	claims  map[string]int // pods by class, as the autoscaler says
	of      []string       // the workloads that it was said to be for, where it was for them alone
	units   []*unit
	version int // of the group
}

// unit is one machine that was asked for.
type unit struct {
	growth  *growth
	machine string
	over    bool // it failed, was taken back, is gone, or has its node ready
	ready   time.Time
	givenUp time.Time // when we ended its machine, which had no node
	node    string
}

type machine struct {
	id, group      string
	made, ran      time.Time
	broke, shown   time.Time // when it last was found that it could not be made, and when a read may first have shown that
	failed, ending bool
	again, counted bool      // the cloud tries again to make it; its failure was told
	instead        time.Time // when the first was made of those in whose place the cloud put it
	by             string    // the call that ended it
	dropped        bool      // another client lowered the target, so that the cloud makes none in its place
	unit           *unit
	node           string // the object that stands for it now
	had            bool   // it had a node once whose id leads to it
	differs        bool   // its last node is, or was, another than was promised
	lost           time.Time
	// hidden is since when no answer had it under its id, when its node was lost; zero if the last one had.
	hidden     time.Time
	version    int  // of what its group made when it was made
	taken      bool // the cloud tells of it that it is about to take it
	unseen     bool // no process that knew its node has seen that loss and left a memory of it
	passed     bool // its last node came and went before any process must have known of it
	registered time.Time
	ended      time.Time // when its end began
}

type node struct {
	name, machine      string
	cpu, memory        int64
	cores              int64 // of its capacity, thousandths
	made               time.Time
	used, wasLow       time.Time // since when its pods use more than the threshold, and since when they used less before
	ready, ever        bool
	changed            time.Time // its readiness
	left               time.Time // since when its machine is gone or ends, once it is gone
	turned             time.Time // when it last turned ready, but for what came and went while no process led
	differs, drifted   bool      // it is not as its group says; its id does not lead to its machine
	protected          bool      // by people's annotation
	taken, unsound     bool      // it says that the cloud is about to take its machine, that something is wrong with it
	told               bool      // the cloud has told that it is about to take its machine, or the one before
	wasDue             bool      // it was to be replaced when the flags were changed: a move that has begun goes on
	occupied           bool      // it had pods when its removal began
	tainted, cordoned  string    // by which call of ours
	saves              bool      // it is tainted for a cheaper fleet
	taintedAt, touched time.Time
	withheld           bool // another client's cordon
	pods               map[string]*pod
	low                time.Time      // since when pods use less than the threshold
	met                bool           // it had a pod of a class that it was bought for, or any if that is not known
	empty              time.Time      // since when it has none but its own, zero if it has some
	refused            time.Time      // since when evictions are refused
	drained            bool           // pods of others than its own were evicted from it by us
	drainer            string         // the process that evicted the last of them
	daemons            map[string]int // how often its own pods were evicted since the last rollback, by class
	tries              int            // how often its removal was rolled back, while nothing else happened since tried
	tried              time.Time
}

type pod struct {
	uid, workload, class            string
	controller, safe                string
	own, expendable, coupled, picky bool
	local, system, tolerant, late   bool
	grace                           time.Duration
	cpu, memory                     int64
	priority                        int
	made, bound, ends               time.Time
	node                            string
	refused, started, ending        bool
	byUs                            bool
	stuck                           bool        // no other node had room for it as its own was tainted
	evictions                       []time.Time // ours, of it and of those that it stands for
	saved                           time.Time   // the last of these for a cheaper fleet
	from                            *moved
}

// moved is a pod that we evicted, for which another one comes.
type moved struct {
	pod, node string
	by        string // the process that evicted it
	group     string
	at        time.Time
	evictions []time.Time
	saved     time.Time
	// withheld: people keep other pods from its node, which cannot take it back.
	withheld bool
	hurried  bool // the cloud was about to take its machine
}

type workload struct {
	want int
	kept bool
	owed []*moved  // evicted, and not replaced yet
	lost time.Time // when one of its pods last stopped serving without us, or another number was wanted
}

type budget struct {
	min       int
	workloads []string
	said      time.Time
}

// write is a call of ours.
type write struct {
	Event
	began, ended time.Time
	answer       Answer
	picture      time.Time // that it was decided on
	cycle        time.Time // that decided it
	took         bool      // its effect was seen
}

type read struct {
	began, ended time.Time
	missing      []string
	lacks        []string
}

// ending is a machine's that was ended although its node was not empty or drained.
type ending struct {
	machine, group string
	at             time.Time
}

func newTruth() truth {
	return truth{groups: map[string]*group{}, pools: map[string]*pool{}, machines: map[string]*machine{},
		nodes: map[string]*node{}, pods: map[string]*pod{}, workloads: map[string]*workload{},
		budgets: map[string]*budget{}, writes: map[string]*write{}, faults: map[string]int{},
		since: map[string]time.Time{}, lapsed: map[string]bool{},
		refusals: map[string]int{}, fits: map[place]bool{}, told: map[place]string{}, keeps: map[string]string{},
		grew: map[string]time.Time{}, removed: map[string]time.Time{}, failed: map[string]time.Time{},
		runs: map[delay]time.Time{}}
}

// apply makes a fact true.
func (t *truth) apply(e *Event) {
	switch e.What {
	case PoolIs, GroupIs, GroupEnd, TargetIs, MachineMade, MachineRuns, MachineFailed, MachineEnds, MachineGone, StockOut:
		t.applyCloud(e)
	case NodeIs, NodeReady, NodeUnready, NodeEnd, Tainted, Untainted, Cordoned, Uncordoned, Protected, Unprotected:
		t.applyNode(e)
	case TakenSoon, Unsound:
		t.applyDue(e)
	case PodIs, PodRefused, PodBound, PodStarted, PodEnds, PodEnd, WorkloadIs, BudgetIs, BudgetEnd:
		t.applyPod(e)
	default:
		t.applyProcess(e)
	}
}

func (t *truth) applyProcess(e *Event) {
	switch e.What {
	case Leads:
		t.resumes(e.At)
		t.process, t.led = e.Process, e.At
		for _, m := range t.machines {
			// Without a picture that is newer than the loss a machine may have gone with its node.
			m.unseen = m.unseen || !m.lost.IsZero() && (m.lost.After(t.cycle.Add(-learn)) || m.lost.Before(t.blank) ||
				!t.sees.After(m.lost))
		}
	case Forgets:
		t.wiped = e.At
	case LeaseEnds:
		t.lapsed[e.Process] = true
	case Dies:
		t.died, t.process = e.Process, ""
		t.deaths = append(t.deaths, e.At)
		if e.At.Sub(t.wiped) < learn {
			t.blank = t.wiped
		}
		for _, w := range t.writes {
			if w.ended.IsZero() {
				w.ended, w.answer = e.At, Unknown
			}
		}
	case ReadEnds:
		t.reads = append(t.reads, read{began: e.When, ended: e.At, missing: e.Missing, lacks: e.Lacks})
		if len(t.reads) > 300 {
			t.reads = slices.Delete(t.reads, 0, 100)
		}
	case Sees:
		t.sees, t.cycle, t.halted = e.When, e.At, t.halted && t.seer == e.Process
		t.seer = e.Process
	case Decided:
		if t.halted && !e.Halted {
			t.resumed = e.At
		}
		t.halted = e.Halted
	case Asks:
		t.writes[e.Call] = &write{Event: *e, began: e.At, picture: t.sees, cycle: t.cycle}
		if n := t.nodes[e.Node]; n != nil {
			n.touched = e.At
		}
		if !t.asked.IsZero() {
			t.rested = max(t.rested, e.At.Sub(t.asked))
		}
		t.asked = e.At
	case Buys:
		t.bought(e)
	case Answered:
		t.answered(e)
	case FaultBegins, FaultEnds:
		t.faults[e.Name]++
		if e.What == FaultEnds {
			t.faults[e.Name] -= 2
		}
		t.stirred, t.since[e.Name], t.unquiet = e.At, e.At, true
		if !strings.HasPrefix(e.Name, "calls=") { // what fails then is counted by itself
			t.disturbed = e.At
		}
	case Stir:
		t.stirred, t.disturbed = e.At, e.At
	case People:
		t.touched, t.stirred, t.disturbed = e.At, e.At, e.At
		t.unquiet = t.unquiet || e.At.After(t.begun)
	case Peace:
		t.peace, t.rested = e.At, 0
	default:
		t.applyRest(e)
	}
}

// bought notes what a growth is for.
func (t *truth) bought(e *Event) {
	w := t.writes[e.Call]
	if w == nil {
		return
	}
	if w.Missing == nil {
		w.Missing = []string{}
	}
	g := t.groups[e.Group]
	if g == nil {
		return
	}
	i := slices.IndexFunc(g.growths, func(o *growth) bool { return o.call == e.Call })
	if i < 0 {
		g.growths = append(g.growths, &growth{call: e.Call, process: w.Process, at: w.began, claims: map[string]int{},
			version: g.version})
		i = len(g.growths) - 1
		for range w.To - w.From {
			g.growths[i].units = append(g.growths[i].units, &unit{growth: g.growths[i]})
		}
	}
	g.growths[i].claims[e.Class] += e.N
	if e.Workload != "" {
		g.growths[i].of = append(g.growths[i].of, e.Workload)
	}
}

func (t *truth) answered(e *Event) {
	w := t.writes[e.Call]
	if w == nil {
		return
	}
	w.ended, w.answer = e.At, e.Answer
	if !e.When.IsZero() {
		w.ended = e.When
	}
	if e.Answer == Done || e.Answer == Refused {
		t.slowest = max(t.slowest, e.At.Sub(w.began))
	}
	g := t.groups[w.Group]
	if n := t.nodes[w.Node]; n != nil {
		n.touched = e.At
		switch {
		case w.Verb == Evict && e.Answer == Done:
			n.refused = time.Time{}
		case w.Verb == Evict && n.refused.IsZero():
			n.refused = e.At
		}
	}
	if w.Verb == Grow && g != nil && (e.Answer == Refused || e.Answer == Busy || e.Answer == NotBegun) && !w.took {
		g.growths = slices.DeleteFunc(g.growths, func(o *growth) bool { return o.call == e.Call })
	}
	if w.Verb == Cancel && g != nil && e.Answer != Done {
		g.keeps = true
	}
	if w.Verb == Remove && w.Node != "" && e.Answer == Done {
		t.removed[w.Group], t.removed[""] = w.ended, w.ended
		t.refusals[w.Group] = 0
		t.runsFrom(deleteTime, w.Group, w.ended)
	}
	if (w.Verb == Taint || w.Verb == Cordon || w.Verb == Remove) && w.Node != "" && e.Answer != Done {
		t.runsFrom(failureTime, w.Group, e.At)
	}
	if w.Verb == Remove && e.Answer == Refused {
		t.refusals[w.Group]++
		if w.Node != "" {
			t.failed[w.Group], t.failed[""] = e.At, e.At
		}
	}
}

// calm reports whether no fault lasts, and nothing but the autoscaler has changed the world since
// shortly before an instant.
func (t *truth) calm(since time.Time) bool {
	for _, n := range t.faults {
		if n > 0 {
			return false
		}
	}
	return t.stirred.Before(since.Add(-learn))
}

// on reports whether a fault of one of the kinds lasts.
func (t *truth) on(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return t.faults[name] > 0 })
}

// onTime reports whether the clock of who leads is the world's for sure: a process takes the time as it begins, and
// no jump has begun or ended since.
func (t *truth) onTime() bool {
	return !t.on("clock=jumps") && t.since["clock=jumps"].Before(t.led)
}

// machineOf is the machine of a node, nil if it has none of ours, or if its id is another machine's by now.
func (t *truth) machineOf(n *node) *machine {
	if n == nil {
		return nil
	}
	if m := t.machines[n.machine]; m != nil && m.node == n.name {
		return m
	}
	return nil
}

// nodeOf is the node of a machine, nil if none is there.
func (t *truth) nodeOf(m *machine) *node {
	if m == nil {
		return nil
	}
	return t.nodes[m.node]
}

// size sums what exists and is requested.
func (t *truth) size() (nodes int, cpu, memory int64) {
	for _, g := range t.groups {
		nodes, cpu, memory = nodes+g.target, cpu+int64(g.target)*g.cpu, memory+int64(g.target)*g.memory
	}
	for _, n := range t.nodes {
		if n.machine == "" {
			nodes, cpu, memory = nodes+1, cpu+n.cores, memory+n.memory
		}
	}
	return nodes, cpu, memory
}

// looks is the size as it looks: a node with a drifted id counts twice, as one that no group has and as one
// in flight.
func (t *truth) looks() (nodes int, cpu, memory int64) {
	nodes, cpu, memory = t.size()
	for _, n := range t.nodes {
		if n.drifted {
			nodes, cpu, memory = nodes+1, cpu+n.cores, memory+n.memory
		}
	}
	return nodes, cpu, memory
}

// poolSize sums the targets of a pool.
func (t *truth) poolSize(id string) (sum int) {
	for _, g := range t.groups {
		if g.pool == id {
			sum += g.target
		}
	}
	return sum
}

// counts are the pods on a node that a drain waits for: not its own, not expendable, not at their end.
func (n *node) counts() (out []*pod) {
	for _, uid := range sorted(n.pods) {
		if p := n.pods[uid]; !p.own && !p.expendable && !p.ending {
			out = append(out, p)
		}
	}
	return out
}
