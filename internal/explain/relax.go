package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Change is one thing that a person changes, or that time does.
type Change struct {
	Of Subject `json:"of"`
	// Name is the group's, the pool's or the flag's.
	Name string `json:"name,omitempty"`
	// Field is what changes of it, in the words of its API.
	Field string `json:"field,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// Subject is what a Change is of.
type Subject string

// The subjects.
const (
	OfGroup Subject = "group"
	OfPool  Subject = "pool"
	OfFlag  Subject = "flag"
	// OfPods are the pods that wait. OfWorkload are all pods like them, those that run included:
	// pods that run keep others away by their own terms.
	OfPods     Subject = "pods"
	OfWorkload Subject = "workload"
	// OfPause is a pause that a person has made.
	OfPause Subject = "pause"
	// OfTime: waiting is enough, until To, or until what the text says has come about.
	OfTime Subject = "time"
)

// Fix is a change, or two, or all limits that are in the way, with which all pods of the class get a node. It was
// tried: the plan of the changed cluster serves them, and no fewer of the others.
type Fix struct {
	// Text is the fix in one line, and Short what must hold, for a column.
	Text    string   `json:"text"`
	Short   string   `json:"short"`
	Changes []Change `json:"changes"`
	// Nodes and CostPerHour are what the plan buys more; CostPerHour is nil where a price is not known.
	Nodes       int      `json:"nodes,omitempty"`
	CostPerHour *float64 `json:"costPerHour,omitempty"`
	// steps counts the constraints that it relaxes, and rank says how far the farthest of them is. cut is the sum of the
	// shares by which it makes requests smaller.
	steps, rank int
	cut         float64
}

// Effort is how many plans may be made for one answer, and how many steps they may take together. What is not
// found within them is not named.
type Effort struct {
	Plans int
	Steps int64
}

// asking bounds the search for a fix when a person asks for one.
var asking = Effort{80, 60_000_000}

// mostSearched is how many plans are made to find the least value of one limit.
const mostSearched = 10

// relaxer looks for fixes for the pods of one class.
type relaxer struct {
	snap    *model.Snapshot
	policy  model.Policy
	base    *model.Plan
	class   model.ClassID
	world   *schedsim.World // of the snapshot, as it is
	effort  Effort
	decider decide.Decider
	tries   int
	tried   map[string]*try
}

func newRelaxer(a *asked, class model.ClassID) *relaxer {
	return &relaxer{snap: a.snap, policy: a.policy, base: a.plan, class: class, world: a.world, effort: a.effort,
		tried: map[string]*try{}}
}

func (r *relaxer) close() { r.decider.Close() }

// step relaxes one constraint.
type step struct {
	// about names the constraint, whatever it is relaxed to.
	about string
	rank  int
	cut   float64
	// A step with a value is a limit: was is what it is, and value is what is tried. used is the least
	// value that a plan needs, as far as that is simple to say; nil: it is searched for.
	was, value int64
	used       func(*try) int64
	// cluster changes the snapshot and the policy, pods the content of the pods.
	cluster func(s *model.Snapshot, p *model.Policy, value int64)
	pods    func(spec *corev1.PodSpec, value int64)
	show    func(value int64) shown
}

// shown is a step in words.
type shown struct {
	text, short string
	changes     []Change
}

// wide reports whether the step is about all pods of the class, and not only those that wait.
func (s *step) wide() bool { return s.show(s.value).changes[0].Of == OfWorkload }

// The ranks of steps, the nearest first.
const (
	rankSoon   = iota // seconds
	rankLimit         // a limit is raised
	rankTime          // minutes and more
	rankSize          // smaller pods
	rankPods          // other pods
	rankSpread        // pods that share a fault
	rankData   = rankSpread + 2
)

// try is the plan of a changed cluster.
type try struct {
	plan    model.Plan
	verdict *model.PendingVerdict
	// serves: all pods of the class get a node, and no fewer of the others. alone: fewer of the others do.
	serves, alone bool
}

// group is the verdict of a group in it, nil if there is none.
func (t *try) group(id provider.GroupID) *model.Verdict {
	if t.verdict == nil {
		return nil
	}
	for i := range t.verdict.Groups {
		if t.verdict.Groups[i].Group == id {
			return &t.verdict.Groups[i].Verdict
		}
	}
	return nil
}

// limit is the verdict of a group on some class that it refuses for a limit, nil if there is none.
func (t *try) limit(id provider.GroupID) *model.Verdict {
	for i := range t.plan.Pending {
		v := &t.plan.Pending[i]
		for j := range v.Groups {
			if g := &v.Groups[j]; v.Left > 0 && g.Group == id && !g.Reason.RefusesPod() {
				return &g.Verdict
			}
		}
	}
	return nil
}

// exhausted reports whether no more plans may be made.
func (r *relaxer) exhausted() bool {
	return r.tries >= r.effort.Plans || r.decider.Steps() >= r.effort.Steps
}

// try makes the plan of the cluster with some steps taken.
func (r *relaxer) try(steps ...step) *try {
	var about []string
	for i := range steps {
		about = append(about, steps[i].about+": "+steps[i].show(steps[i].value).text)
	}
	slices.Sort(about)
	key := strings.Join(about, "\x00")
	if t, ok := r.tried[key]; ok {
		return t
	}
	r.tries++
	s, p, class := r.changed(steps)
	t := &try{plan: r.decider.Serve(s, p)}
	for i := range t.plan.Pending {
		if v := &t.plan.Pending[i]; v.Class == class {
			t.verdict = v
			served := v.Skipped == nil && v.Left == 0 && v.Delayed == 0 && v.Disagrees == nil
			t.alone = served && leftBeside(&t.plan, class) > leftBeside(r.base, r.class)
			t.serves = served && !t.alone
		}
	}
	r.tried[key] = t
	return t
}

// leftBeside counts the pods of other classes that get no room: a fix must not take it from them.
func leftBeside(p *model.Plan, class model.ClassID) (n int) {
	for i := range p.Pending {
		if v := &p.Pending[i]; v.Class != class {
			n += v.Without()
		}
	}
	return n
}

// changed is a copy of the snapshot and the policy with some steps taken, and the class of the pods in it.
func (r *relaxer) changed(steps []step) (*model.Snapshot, model.Policy, model.ClassID) {
	s, p := *r.snap, r.policy
	s.Groups, s.Pools = slices.Clone(s.Groups), slices.Clone(s.Pools)
	var pod *corev1.Pod
	wide := false
	for i := range steps {
		st := &steps[i]
		if st.cluster != nil {
			st.cluster(&s, &p, st.value)
		}
		if st.pods == nil {
			continue
		}
		if pod == nil {
			pod = s.Classes[r.class].Spec.Pod.DeepCopy()
		}
		st.pods(&pod.Spec, st.value)
		wide = wide || st.wide()
	}
	if pod == nil {
		return &s, p, r.class
	}
	return &s, p, recast(&s, r.class, pod, wide)
}

// fix is the nearest fix by which a group, as it stands to the class, or room elsewhere, takes the pods;
// nil if none was found.
func (r *relaxer) fix(group int, v model.Verdict) *Fix {
	id := r.snap.Groups[group].ID
	var found []*Fix
	var pairs [][]step
	for _, a := range r.steps(group, v) {
		if r.exhausted() {
			break
		}
		t := r.try(a)
		if t.serves {
			found = append(found, r.narrow(t, a))
			continue
		}
		next := t.group(id)
		if t.alone {
			next = t.limit(id) // others had the room
		}
		if next != nil {
			for _, b := range r.steps(group, *next) {
				if b.about != a.about {
					pairs = append(pairs, []step{a, b})
				}
			}
		}
	}
	if len(found) > 0 {
		return nearest(found)
	}
	for _, pair := range pairs {
		if r.exhausted() {
			break
		}
		if t := r.try(pair...); t.serves {
			found = append(found, r.narrow(t, pair...))
		}
	}
	if len(found) > 0 {
		return nearest(found)
	}
	return r.limits(group, v)
}

// limits raises each limit that a group is at, one after the other, where two are not enough; nil if something else is
// in the way in the end.
func (r *relaxer) limits(group int, v model.Verdict) *Fix {
	var steps []step
	for next := &v; next != nil && raises[next.Reason] && !r.exhausted(); {
		st := r.limit(group, next.Reason)
		if slices.ContainsFunc(steps, func(s step) bool { return s.about == st.about }) {
			return nil
		}
		steps = append(steps, st)
		t := r.try(steps...)
		if t.serves {
			return r.narrow(t, steps...)
		}
		next = t.group(r.snap.Groups[group].ID)
		if t.alone {
			next = t.limit(r.snap.Groups[group].ID)
		}
	}
	return nil
}

// counting is the nearest fix by which pods get room that are too unimportant to count: alone, or with what the
// groups say then.
func (r *relaxer) counting() *Fix {
	first := r.important()
	t := r.try(first)
	if t.serves {
		return r.narrow(t, first)
	}
	if t.verdict == nil {
		return nil
	}
	var found []*Fix
	for i := range t.verdict.Groups {
		g := &t.verdict.Groups[i]
		for _, second := range r.steps(groupAt(r.snap, g.Group), g.Verdict) {
			if r.exhausted() {
				break
			}
			if both := r.try(first, second); both.serves {
				found = append(found, r.narrow(both, first, second))
			}
		}
	}
	return nearest(found)
}

// nearest is the fix that asks for the least; nil if there is none.
func nearest(fixes []*Fix) *Fix {
	var best *Fix
	for _, f := range fixes {
		if f != nil && (best == nil || closer(f, best) < 0) {
			best = f
		}
	}
	return best
}

// closer orders fixes: fewer changes, then what is easier to change, then what costs less, or fewer nodes where that is
// not known.
func closer(a, b *Fix) int {
	cost := 0
	if a.CostPerHour != nil && b.CostPerHour != nil {
		cost = cmp.Compare(*a.CostPerHour, *b.CostPerHour)
	}
	return cmp.Or(easier(a, b), cost, cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Text, b.Text))
}

// easier orders fixes by what has to be changed, whatever it costs then: of smaller requests those come first that lose
// the least.
func easier(a, b *Fix) int {
	return cmp.Or(cmp.Compare(a.steps, b.steps), cmp.Compare(a.rank, b.rank), cmp.Compare(a.cut, b.cut))
}

// narrow finds the least values of the limits among steps that work, and puts them into words.
func (r *relaxer) narrow(t *try, steps ...step) *Fix {
	steps = slices.Clone(steps)
	for i := range steps {
		st := &steps[i]
		if st.value == 0 {
			continue
		}
		low, high, best := st.was, st.value, t
		tries := r.tries
		at := func(value int64) bool {
			st.value = value
			other := r.try(steps...)
			if other.serves {
				best = other
			}
			return other.serves
		}
		for next := low + (high-low)/2; high-low > 1 && r.tries-tries < mostSearched && !r.exhausted(); {
			if st.used != nil && best == t {
				// Most plans need what the one without the limit uses.
				if used := st.used(t); used > low && used < high {
					next = used
				}
			}
			if at(next) {
				high = next
			} else {
				low = next
			}
			next = low + (high-low)/2
		}
		st.value, t = high, best
	}
	f := &Fix{Nodes: t.plan.Nodes - r.base.Nodes, CostPerHour: r.moreCost(t), steps: len(steps)}
	var texts, shorts []string
	for i := range steps {
		in := steps[i].show(steps[i].value)
		texts, shorts = append(texts, in.text), append(shorts, in.short)
		f.Changes = append(f.Changes, in.changes...)
		f.rank = max(f.rank, steps[i].rank)
		f.cut += steps[i].cut
	}
	f.Text, f.Short = strings.Join(texts, ", and "), strings.Join(shorts, ", and ")
	what := "nodes"
	if f.Nodes == 1 || f.Nodes == -1 {
		what = "node"
	}
	switch {
	case f.Nodes == 0:
		f.Text += onWhat(t.verdict)
	case f.CostPerHour == nil:
		f.Text += fmt.Sprintf(" (%+d %s)", f.Nodes, what)
	default:
		f.Text += fmt.Sprintf(" (%+d %s, %+.2f per hour)", f.Nodes, what, *f.CostPerHour)
	}
	return f
}

// onWhat says of pods that need no further node where they have room; nothing if nodes are bought for some anyway.
func onWhat(v *model.PendingVerdict) string {
	switch {
	case v.Planned > 0 || v.Pods == 0:
		return ""
	case v.Upcoming == 0 && v.Pods == 1:
		return " (on a node that is there)"
	case v.Upcoming == 0:
		return " (on nodes that are there)"
	}
	return " (with nodes on their way)"
}

// moreCost is what a plan buys more than the one that was made, per hour; nil where a price is not known.
func (r *relaxer) moreCost(t *try) *float64 {
	sum, priced := 0.0, false
	for n, plan := range []*model.Plan{r.base, &t.plan} {
		fleet := r.snap.Fleet()
		for i := range plan.Grow {
			g := &plan.Grow[i]
			at := groupAt(r.snap, g.Group)
			more, ok := fleet.Add(at, r.snap.Groups[at].Shape, g.To-g.From)
			if !ok {
				return nil
			}
			priced = true
			if n == 0 {
				more = -more
			}
			sum += more
		}
	}
	if !priced {
		return nil
	}
	sum = math.Round(sum*1e6)/1e6 + 0 // what is left of equal sums is nothing, and not less
	return &sum
}

// groupAt is the index of a group, which must be there.
func groupAt(s *model.Snapshot, id provider.GroupID) int {
	i, _ := slices.BinarySearchFunc(s.Groups, id, func(g model.Group, id provider.GroupID) int {
		return cmp.Compare(g.ID, id)
	})
	return i
}
