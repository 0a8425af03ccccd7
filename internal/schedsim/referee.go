package schedsim

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Replay puts what was placed and moved in a world since it was loaded before the plugins once more, in the slowest and
// plainest way: all nodes, one pod at a time, PreFilter state fresh for each, none of the shortcuts of this package.
// It goes by the order in which it was done. A pod that waited and is refused is tried again after the others, since
// pods that wait are bound in any order that works; one that was moved is not, since it must fit where it was found to.
//
// A pod that waited sees the nodes that were there, and if some were planned by then, all that growth has planned; one
// that is bound at once sees those that have registered. One that was moved sees those that there were when it was.
//
// The world must not change before the end, and none may be loaded after it.
type Replay struct {
	w      *World
	log    []replayed
	growth int                           // how many nodes there were when growth had ended
	pods   map[int]map[model.ClassID]int // of the nodes in the log, by class
	infos  []*framework.NodeInfo         // by node of the world, nil if gone
	built  int
	stage  []stageNode
	shown  int  // how many of the nodes are on the stage
	now    bool // those that have not registered are not
	claims map[string]int
	hopes  map[model.ClassID]bool
	at     int
	rest   []replayed // refused so far
	placed bool       // something was since rest began
	no     *Refused
	// quotas are nil where all pods are asked about.
	quotas map[model.ClassID]*quota
	done   Replayed
}

type replayed struct {
	placement
	move  bool
	doubt bool // refused before: it is asked about, whatever its quota
}

// Replayed is what came of a replay.
type Replayed struct {
	Pods, Asked, Steps int // Asked: about how many of the pods
	Refused            *Refused
}

// Refused is a pod that the plugins do not allow where it was placed.
type Refused struct {
	Class   model.ClassID
	Node    string
	Verdict model.Verdict
}

// quota is how many of a class's pods are asked about, spread evenly over them.
type quota struct{ asks, of, owed int }

func (q *quota) due() bool {
	if q.owed += q.asks; q.owed < q.of {
		return false
	}
	q.owed -= q.of
	return true
}

// Replay begins one of about so many steps; zero: as many as it takes. Where they do not suffice for all pods, each
// class has its share of the questions, the class of a number first, and what is not asked about counts as allowed.
// Before it is said that the plugins refuse something, all is asked about, whatever it takes: a pod that was not asked
// about may be what was in the way.
func (w *World) Replay(steps, first int) *Replay {
	r := &Replay{w: w, growth: len(w.snap.Nodes), pods: map[int]map[model.ClassID]int{},
		claims: map[string]int{}, hopes: map[model.ClassID]bool{},
		infos: make([]*framework.NodeInfo, len(w.nodes)), shown: -1}
	for _, p := range w.journal {
		r.growth = max(r.growth, p.nodes)
		r.log = append(r.log, replayed{placement: p})
	}
	for _, p := range w.moves {
		r.log = append(r.log, replayed{placement: p, move: true})
	}
	slices.SortFunc(r.log, func(a, b replayed) int { return a.serial - b.serial })
	pods := map[model.ClassID]int{}
	for _, p := range r.log {
		r.count(p.node, p.class, -p.count)
		if p.count > 0 {
			pods[p.class] += p.count
			r.done.Pods += p.count
		}
	}
	if most := max(1, steps/(len(w.nodes)+2)); steps > 0 && most < r.done.Pods {
		r.share(pods, most, first)
	}
	return r
}

// share parts the questions: equally, then what some do not need.
func (r *Replay) share(pods map[model.ClassID]int, most, first int) {
	r.quotas = map[model.ClassID]*quota{}
	classes := slices.Sorted(maps.Keys(pods))
	for _, each := range []int{max(1, most/len(classes)), most} {
		for i := range classes {
			c := classes[(i+first)%len(classes)]
			if r.quotas[c] == nil {
				r.quotas[c] = &quota{of: pods[c]}
			}
			q := r.quotas[c]
			more := min(each, most, q.of-q.asks)
			q.asks += more
			most -= more
		}
	}
}

// count counts pods that come to a node, or leave it.
func (r *Replay) count(i int, c model.ClassID, n int) {
	if r.pods[i] == nil {
		r.pods[i] = map[model.ClassID]int{}
		for _, b := range r.w.nodes[i].batches {
			r.pods[i][b.Class] = b.Count
		}
	}
	r.pods[i][c] += n
}

// nodesPerStep is how many nodes are made ready at a time.
const nodesPerStep = 256

// Step goes on for the time of one question at most, and reports whether there is more to do.
func (r *Replay) Step() bool {
	before, was := r.w.filters.stage.claims, r.w.work.Steps
	r.w.filters.stage.claims = r.claims
	defer func() { r.w.filters.stage.claims, r.done.Steps = before, r.done.Steps+r.w.work.Steps-was }()
	switch {
	case r.done.Refused != nil:
		return false
	case r.built < len(r.infos):
		for end := min(len(r.infos), r.built+nodesPerStep); r.built < end; r.built++ {
			r.build(r.built)
		}
		r.w.Looked(nodesPerStep)
		return true
	case r.at < len(r.log):
		for r.at < len(r.log) && !r.next() {
		}
		return true
	case len(r.rest) > 0 && r.placed:
		r.log, r.rest, r.at, r.placed = r.rest, nil, 0, false
		return true
	case len(r.rest) > 0:
		return r.refused()
	}
	return false
}

// refused ends the replay with a no, if all pods were asked about; else it begins again and asks about all.
func (r *Replay) refused() bool {
	if r.quotas == nil {
		r.done.Refused = r.no
		return false
	}
	again := r.w.Replay(0, 0)
	again.done.Asked, again.done.Steps = r.done.Asked, r.done.Steps
	*r = *again
	return true
}

// build makes a node as it was before anything was placed.
func (r *Replay) build(i int) {
	if r.w.nodes[i].gone {
		return
	}
	batches := r.batches(i)
	for _, b := range batches {
		r.use(b.Class, b.Count)
	}
	r.infos[i] = r.w.nodeInfo(r.w.object(i), batches)
}

// batches are the pods of a node at this point.
func (r *Replay) batches(i int) []model.Batch {
	pods, ok := r.pods[i]
	if !ok {
		return r.w.nodes[i].batches
	}
	batches := make([]model.Batch, 0, len(pods))
	for _, c := range slices.Sorted(maps.Keys(pods)) {
		batches = append(batches, model.Batch{Class: c, Count: pods[c]})
	}
	return batches
}

func (r *Replay) use(c model.ClassID, n int) {
	for _, claim := range r.w.snap.Classes[c].Spec.Claims {
		r.claims[r.w.snap.Classes[c].Namespace()+"/"+claim] += n
	}
}

// next goes on with one pod, or with those that leave a node, and reports whether a question was asked.
func (r *Replay) next() (asked bool) {
	p := &r.log[r.at]
	if p.count < 0 {
		r.leave(p)
		r.at++
		return false
	}
	asked = (r.quotas == nil || p.doubt || r.quotas[p.class].due()) && !r.hoped(p.class)
	if asked {
		r.done.Asked++
		if no := r.ask(p); no != nil {
			r.no = &Refused{p.class, r.where(p.node), model.Verdict{Reason: no.reason, Detail: no.words()}}
			p.doubt = true
			r.rest = append(r.rest, *p)
			if r.at++; p.move {
				r.at, r.placed = len(r.log), false
			}
			return true
		}
	}
	r.infos[p.node].AddPodInfo(r.w.classes[p.class].info())
	r.count(p.node, p.class, 1)
	r.use(p.class, 1)
	r.placed = true
	if p.count--; p.count == 0 {
		r.at++
	}
	return asked
}

// hoped reports whether it matters to a class where nodes come up of which that is not known yet: that its pods have
// room then is certain, and on which of the nodes each has it is not.
func (r *Replay) hoped(c model.ClassID) bool {
	known, ok := r.hopes[c]
	if !ok {
		known = slices.ContainsFunc(r.w.loose, func(i int) bool { return r.w.Choosy(c, r.w.groupOf(i)) })
		r.hopes[c] = known
	}
	return known
}

func (r *Replay) ask(p *replayed) *rejection {
	shown := r.growth
	switch {
	case p.move:
		shown = p.nodes
	case p.early:
		shown = len(r.w.snap.Nodes)
	}
	if shown != r.shown || p.now != r.now {
		r.stage, r.shown, r.now = r.stage[:0], shown, p.now
		for i, info := range r.infos[:shown] {
			if info != nil && !(p.now && i < len(r.w.snap.Nodes) && r.w.snap.Nodes[i].Kind == model.Coming) {
				r.stage = append(r.stage, info)
			}
		}
	}
	return r.w.ask(r.w.filters.full, p.class, r.infos[p.node], r.stage)
}

// where names a node; one that was planned has no name yet.
func (r *Replay) where(i int) string {
	if n := &r.w.nodes[i]; n.name == "" {
		return fmt.Sprintf("a new node of group %s", r.w.snap.Groups[n.group].ID)
	}
	return r.w.nodes[i].name
}

// leave takes pods off their node.
func (r *Replay) leave(p *replayed) {
	r.count(p.node, p.class, p.count)
	r.use(p.class, p.count)
	r.infos[p.node] = r.w.nodeInfo(r.w.object(p.node), r.batches(p.node))
	r.shown = -1
}

// Result is what came of it so far.
func (r *Replay) Result() Replayed { return r.done }

// Referee replays all that was placed and moved in a world since it was loaded, and tells what the plugins refuse.
func Referee(w *World) error {
	r := w.Replay(0, 0)
	for r.Step() {
	}
	if no := r.done.Refused; no != nil {
		return fmt.Errorf("class %d (%s) on %s: %s: %s", no.Class, w.snap.Classes[no.Class].Key,
			no.Node, no.Verdict.Reason, no.Verdict.Detail)
	}
	return nil
}

// CanTake tells, in the referee's plain way, whether one more pod of the class
// would fit any of the nodes in the given sets, or a new node of the template
// if one is given.
func CanTake(w *World, c model.ClassID, on NodeSet, t *Template) bool {
	stage := w.all()
	if t != nil {
		info := framework.NewNodeInfo()
		info.SetNode(named(w.shapes[t.Shape].content.Node, "one-more"))
		for _, b := range t.Pods {
			for range b.Count {
				info.AddPodInfo(w.classes[b.Class].info())
			}
		}
		return w.ask(w.filters.full, c, info, append(stage, info)) == nil
	}
	for i := range w.nodes {
		if w.nodes[i].may != nil && w.Choosy(c, w.groupOf(i)) {
			continue // its variant is unknown, and may not suit the class
		}
		if !w.nodes[i].gone && w.nodes[i].kind&on != 0 && w.ask(w.filters.full, c, w.info(i), stage) == nil {
			return true
		}
	}
	return false
}

// all are all nodes, as the plugins see them.
func (w *World) all() []stageNode {
	stage := make([]stageNode, 0, len(w.nodes))
	for i := range w.nodes {
		if !w.nodes[i].gone {
			stage = append(stage, w.info(i))
		}
	}
	return stage
}
