package removal

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestEveryRemovalEnds: whatever happens to a node for a while, in whatever order, never
// leaves the table. And as soon as calls are answered and no other client interferes any
// more, the node is gone or rolled back within an hour.
func TestEveryRemovalEnds(t *testing.T) {
	began := 0
	for seed := range uint64(3000) {
		l := &life{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), now: t0, machine: "m0"}
		l.node = freshNode()
		l.land()
		for range 40 {
			l.round(false)
		}
		for rounds := 0; l.drain != nil; rounds++ {
			if rounds > 360 {
				t.Fatalf("seed %d: it does not end: %+v\n%v", seed, l.drain, l.told)
			}
			l.round(true)
		}
		began += l.began
	}
	if began < 3000 {
		t.Errorf("only %d removals began", began)
	}
}

// life is one node, its machine and its pods, and a removal of it.
type life struct {
	t    *testing.T
	seed uint64
	rnd  *rand.Rand
	now  time.Time
	// node is nil while there is none; machine is empty while there is none.
	node             *corev1.Node
	machine          provider.InstanceID
	deleting, unread bool
	pods             []model.Pod
	drain            *model.Drain
	open             []model.Call
	first            bool // a new leader has not looked yet
	named, began     int
	told             []string
}

func (l *life) dice(n int) bool { return l.rnd.IntN(n) == 0 }

func freshNode() *corev1.Node {
	n := &corev1.Node{}
	n.Name = "n"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func (l *life) land() {
	l.named++
	uid := fmt.Sprintf("p%03d", l.named)
	l.pods = append(l.pods, model.Pod{Name: uid, UID: types.UID(uid), Owner: "set"})
}

// happens hands an event to the removal, and holds what it does against the table.
func (l *life) happens(e Event) {
	l.t.Helper()
	given := l.drain
	var copied model.Drain
	if given != nil {
		copied = *given
		copied.Evictions = slices.Clone(given.Evictions)
	}
	a := advance{drain: l.drain, given: l.drain}
	was := a.stage()
	e.on(&a)
	l.drain = a.drain
	if a.stage() != was {
		l.told = append(l.told, fmt.Sprintf("%s %T: %q", l.now.Format(time.TimeOnly), e, a.stage()))
	}
	switch d := l.drain; {
	case a.news.Odd != "":
		l.t.Fatalf("seed %d: %T in stage %q cannot happen: %+v\n%v", l.seed, e, was, e, l.told)
	case given != nil && !reflect.DeepEqual(*given, copied):
		l.t.Fatalf("seed %d: the drain that was given is changed: %+v, was %+v", l.seed, given, copied)
	case d == nil:
	case d.Node != "n" || !slices.Contains(stages[1:], d.Stage):
		l.t.Fatalf("seed %d: %+v", l.seed, d)
	case d.Before != nil && d.Before.Before != nil:
		l.t.Fatalf("seed %d: it remembers more than one step back: %+v", l.seed, d)
	case !slices.IsSortedFunc(d.Evictions, func(a, b model.Eviction) int { return cmp.Compare(a.Pod, b.Pod) }):
		l.t.Fatalf("seed %d: evictions are not sorted: %+v", l.seed, d.Evictions)
	}
}

// round lets some seconds pass, and what happens in them.
func (l *life) round(fair bool) {
	l.now = l.now.Add(time.Duration(1+l.rnd.IntN(20)) * time.Second)
	if fair {
		l.unread = false
		if l.node != nil && slices.ContainsFunc(l.node.Spec.Taints, func(t corev1.Taint) bool { return t.Value == strange }) {
			l.node = l.node.DeepCopy()
			l.node.Spec.Taints = nil // who put it there takes it away
		}
	} else {
		l.mischief()
	}
	for _, c := range slices.Clone(l.open) {
		if fair || l.dice(2) {
			l.answer(c, fair)
		}
	}
	if l.deleting && (fair || l.dice(4)) {
		l.machine, l.deleting = "", false
	}
	if l.machine == "" && (fair || l.dice(4)) {
		l.node = nil
	}
	if l.node == nil {
		if len(l.open) == 0 {
			l.happens(Gone{})
		}
		return
	}
	l.look(fair)
	l.next(fair)
}

// strange is the value of a taint that another client writes.
const strange = "soon"

// mischief is what others do, and what goes wrong.
func (l *life) mischief() {
	if l.dice(30) {
		// Another leader goes on with what this one remembered.
		l.open, l.first = nil, true
		if l.drain != nil {
			d, ok := remembered(*l.drain)
			l.drain = &d
			if !ok {
				l.drain = nil
			}
		}
	}
	if l.node == nil {
		if l.dice(5) && len(l.open) == 0 {
			l.node, l.pods, l.deleting = freshNode(), nil, false
			l.named++
			l.machine = provider.InstanceID(fmt.Sprint("m", l.named))
			l.land()
		}
		return
	}
	l.node = l.node.DeepCopy()
	l.unread = l.dice(10)
	switch l.rnd.IntN(60) {
	case 0:
		l.node.Spec.Taints = nil
	case 1:
		l.node.Spec.Unschedulable = false
	case 2:
		l.node.Annotations = nil
	case 3:
		l.node.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: strange}}
	case 4, 5:
		l.land()
	case 6:
		l.deleting = l.machine != ""
	case 7:
		l.machine, l.deleting = "", false
	case 8: // a new machine takes the name
		l.named++
		l.node, l.pods, l.deleting = freshNode(), nil, false
		l.machine = provider.InstanceID(fmt.Sprint("m", l.named))
	case 9:
		l.node = nil
	case 10:
		l.node.Status.Conditions[0].Status = corev1.ConditionFalse
	case 11:
		l.node.Status.Conditions[0].Status = corev1.ConditionTrue
	}
}

// answer ends a call.
func (l *life) answer(c model.Call, fair bool) {
	o := model.Outcome{Call: c, Ended: l.now, Target: -1}
	if !fair && l.dice(3) {
		o.Err = []*provider.Error{
			{Kind: provider.Unavailable, MayHaveHappened: true}, {Kind: provider.Transient, Code: model.CodeNotBegun},
			{Kind: provider.Throttled}, {Kind: provider.Throttled, Code: model.CodeNotBegun}, {Kind: provider.Conflict},
			{Kind: provider.Denied}, {Kind: provider.Denied, Code: model.CodeRightMissing},
		}[l.rnd.IntN(7)]
		if o.Err.Kind == provider.Conflict && l.dice(2) {
			o.Landed = []string{"default/late"}
		}
	}
	if o.Err == nil || o.Answer() == model.AnswerUnknown && l.dice(2) {
		l.done(&c)
	}
	l.open = slices.DeleteFunc(l.open, func(x model.Call) bool { return x.ID == c.ID })
	again := slices.ContainsFunc(l.open, func(x model.Call) bool { return x.PodUID != "" && x.PodUID == c.PodUID })
	l.happens(Ended{Outcome: &o, Again: again})
}

// done is what a call does to the world.
func (l *life) done(c *model.Call) {
	switch {
	case c.Verb == model.Remove:
		l.deleting = l.deleting || l.machine == c.Instance && l.machine != ""
		return
	case l.node == nil:
		return
	}
	l.node = l.node.DeepCopy()
	switch c.Verb {
	case model.Taint:
		l.node.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: fmt.Sprint(l.now.Unix())}}
		l.node.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalTainted}
	case model.Cordon:
		l.node.Spec.Unschedulable = true
		l.node.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalCordoned}
	case model.Untaint:
		l.node.Spec.Taints, l.node.Spec.Unschedulable, l.node.Annotations = nil, false, nil
	case model.Evict:
		l.pods = slices.DeleteFunc(slices.Clone(l.pods), func(p model.Pod) bool { return p.UID == c.PodUID })
	}
}

// look shows the node to its removal.
func (l *life) look(fair bool) {
	o := &model.Observation{Now: l.now, Nodes: []model.ObservedNode{{Object: l.node, Pods: l.pods}}}
	o.Inventory.AsOf = l.now
	if !fair {
		o.Inventory.AsOf = l.now.Add(-time.Duration(l.rnd.IntN(60)) * time.Second)
	}
	e := Seen{In: o, First: l.first, Open: len(l.open) > 0}
	if l.machine != "" {
		e.Machine = model.Machine{ID: l.machine, Deleting: l.deleting, Unread: l.unread}
	}
	l.first = false
	l.happens(e)
}

// next makes the calls that come next.
func (l *life) next(fair bool) {
	n := &model.Node{
		Name: "n", Object: l.node, Instance: l.machine, Bound: l.pods, Standing: model.NodeStanding{Drain: l.drain},
	}
	if l.machine == "" {
		n.Group = -1
	}
	for i := range l.open {
		if l.open[i].Verb != model.Evict {
			n.Standing.Busy = &l.open[i]
		}
	}
	if l.drain == nil {
		if !fair && n.Standing.Busy == nil && n.Group >= 0 && l.dice(3) {
			l.began++
			c := model.Call{Verb: model.Taint}
			for i := range l.pods {
				c.Known = append(c.Known, l.pods[i].UID)
			}
			l.begins(n, c)
		}
		return
	}
	v := View{Slots: 3}
	for i := range l.pods {
		v.Pods = append(v.Pods, Pod{Pod: &l.pods[i], Name: "default/" + l.pods[i].Name, Facts: &model.Facts{}})
	}
	if !fair {
		v.Wanted, v.Unsure, v.Missing = l.dice(40), l.dice(10), l.dice(10)
		if l.dice(40) {
			v.Homeless = &model.Verdict{Reason: model.NoPlaceToMovePods}
		}
	}
	steps, _ := Next(n, v, l.now, model.ScaleDownPolicy{
		Enabled: true, DeleteDelay: 5 * time.Second,
		Drain: model.DrainPolicy{
			Cordon: true, EvictionTime: 2 * time.Minute, DelayTimeout: 2 * time.Minute, ReplacementTime: 2 * time.Minute,
		},
	})
	for _, s := range steps {
		l.begins(n, model.Call{Verb: s.Verb, Reason: s.Reason, Why: s.Why, Pod: s.Pod, PodUID: s.PodUID})
	}
}

func (l *life) begins(n *model.Node, c model.Call) {
	c.ID, c.Node, c.Group, c.Instance = fmt.Sprint(c.Verb, l.now, c.Pod), "n", "g", l.machine
	l.open = append(l.open, c)
	l.happens(Begun{Call: &c, In: &model.Snapshot{Now: l.now, Nodes: []*model.Node{n}}})
}
