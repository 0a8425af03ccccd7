package shadow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// scene is one cycle after another; each field is what the next one sees.
type scene struct {
	book    Book
	now     time.Time
	targets map[provider.GroupID]int
	unread  map[provider.GroupID]bool
	nodes   map[string]model.NodeKind // of group a, in the order of names
	waiting map[string]int            // class → pods
	lag     time.Duration             // of the picture of the cloud
}

func newScene() *scene {
	return &scene{now: time.Unix(1000, 0), targets: map[provider.GroupID]int{"a": 1, "b": 1},
		unread: map[provider.GroupID]bool{},
		nodes:  map[string]model.NodeKind{"n1": model.Ready, "n2": model.Ready}, waiting: map[string]int{"web": 10}}
}

// plan is what a cycle decides.
type plan struct {
	grow     string // "a+2 for web, b+1 for db"
	taint    string // names
	unneeded string // the same, and those that are tainted
	unsure   string // names of nodes that the cycle's steps did not suffice for
	other    []model.Call
	skipped  bool // no class is looked at
}

// cycle tells the news of the next cycle, a line each.
func (sc *scene) cycle(t *testing.T, p plan) string {
	t.Helper()
	sc.now = sc.now.Add(10 * time.Second)
	s := &model.Snapshot{Now: sc.now, AsOf: sc.now.Add(-sc.lag)}
	for _, id := range []provider.GroupID{"a", "b"} {
		g := model.Group{Group: provider.Group{ID: id, Target: sc.targets[id], Max: 100}}
		if sc.unread[id] {
			g.Target, g.Err = 0, &provider.Error{Kind: provider.Transient}
		}
		s.Groups = append(s.Groups, g)
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		if kind, there := sc.nodes[name]; there {
			s.Nodes = append(s.Nodes,
				&model.Node{Name: name, Kind: kind, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}})
		}
	}
	s.Nodes = append(s.Nodes, &model.Node{Name: "coming", Kind: model.Coming})
	var out model.Plan
	classes := map[string]model.ClassID{}
	for i, name := range []string{"db", "web"} {
		s.Classes = append(s.Classes, model.Class{Key: name})
		classes[name] = model.ClassID(i)
		if n := sc.waiting[name]; n > 0 {
			v := model.PendingVerdict{Class: model.ClassID(i), Pods: n, Left: n}
			if p.skipped {
				v.Left, v.Skipped = 0, &model.Verdict{Reason: model.NotRefused}
			}
			out.Pending = append(out.Pending, v)
		}
	}
	for g := range strings.SplitSeq(p.grow, ", ") {
		if g == "" {
			continue
		}
		var id, class string
		var n int
		if _, err := fmt.Sscanf(strings.ReplaceAll(g, "+", " "), "%s %d for %s", &id, &n, &class); err != nil {
			t.Fatalf("%q: %v", g, err)
		}
		group, from := provider.GroupID(id), sc.targets[provider.GroupID(id)]
		growth := model.Growth{Group: group, From: from, To: from + n}
		if class != "none" {
			growth.Pods = []model.Batch{{Class: classes[class], Count: 4}}
		}
		out.Grow = append(out.Grow, growth)
		out.Calls = append(out.Calls,
			model.Call{ID: fmt.Sprint("grow/", id, sc.now), Verb: model.Grow, Group: group, From: from, To: from + n})
	}
	for name := range strings.FieldsSeq(p.taint) {
		out.Calls = append(out.Calls,
			model.Call{Verb: model.Taint, Node: name, Group: "a", Known: []types.UID{"x", "y"}})
	}
	for name := range strings.FieldsSeq(p.unneeded + " " + p.taint) {
		out.Unneeded = append(out.Unneeded, model.NodeVerdict{Node: name})
	}
	for name := range strings.FieldsSeq(p.unsure) {
		out.Kept = append(out.Kept, model.NodeVerdict{Node: name, Verdict: model.Verdict{Reason: model.StepBudget}})
	}
	out.Calls = append(out.Calls, p.other...)
	return text(sc.book.Note(s, &out))
}

func text(n News) string {
	var lines []string
	for _, g := range n.Grown {
		lines = append(lines, fmt.Sprintf("others: %s +%d %s %s", g.Group, g.Nodes, g.Agreement, g.After))
	}
	for _, g := range n.Gone {
		lines = append(lines, fmt.Sprintf("others: %s of %s goes, %s", g.Node, g.Group, g.Agreement))
	}
	for _, o := range n.Over {
		lines = append(lines, fmt.Sprintf("over: %s, %d of %d", o.Group, o.Bought, o.Nodes))
	}
	for _, w := range n.Began {
		switch w.Verb {
		case model.Grow:
			lines = append(lines, fmt.Sprintf("would Grow %s %d->%d, %d new, %d pods", w.Group, w.From,
				w.To, w.Nodes, w.Pods))
		case model.Taint:
			lines = append(lines, fmt.Sprintf("would Taint %s, then move %d", w.Node, w.Moves))
		default:
			lines = append(lines, fmt.Sprintf("would %s %s%s", w.Verb, w.Node, w.Instance))
		}
	}
	return strings.Join(lines, "; ")
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestOneNeedIsToldOnce(t *testing.T) {
	sc := newScene()
	grow := plan{grow: "a+2 for web"}
	want(t, sc.cycle(t, grow), "would Grow a 1->3, 2 new, 4 pods")
	want(t, sc.cycle(t, grow), "")
	// Less, and as much again: no news. A cycle that does not look ends nothing.
	want(t, sc.cycle(t, plan{grow: "a+1 for web"}), "")
	want(t, sc.cycle(t, grow), "")
	want(t, sc.cycle(t, plan{skipped: true}), "")
	want(t, sc.cycle(t, plan{}), "")
	want(t, sc.cycle(t, grow), "")
	// More is.
	want(t, sc.cycle(t, plan{grow: "a+5 for web"}), "would Grow a 1->6, 3 new, 4 pods")
	// No pod waits any more; what comes next is another need.
	sc.waiting["web"] = 0
	want(t, sc.cycle(t, plan{}), "")
	want(t, sc.cycle(t, plan{}), "over: a, 0 of 5")
	sc.waiting["web"] = 10
	want(t, sc.cycle(t, grow), "would Grow a 1->3, 2 new, 4 pods")
}

func TestAnotherPlanForTheSameNeedIsNews(t *testing.T) {
	sc := newScene()
	sc.waiting["db"] = 1
	sc.cycle(t, plan{grow: "a+2 for web"})
	want(t, sc.cycle(t, plan{grow: "b+1 for web"}), "would Grow b 1->2, 1 new, 4 pods")
	want(t, sc.cycle(t, plan{grow: "a+2 for web, b+1 for db"}), "")
	// b's is for db as well by now.
	sc.waiting["web"] = 0
	want(t, sc.cycle(t, plan{grow: "b+1 for db"}), "")
	want(t, sc.cycle(t, plan{grow: "b+1 for db"}), "over: a, 0 of 2")
	// A pool below its minimum is filled for no pod.
	sc.waiting["db"] = 0
	want(t, sc.cycle(t, plan{}), "")
	want(t, sc.cycle(t, plan{}), "over: b, 0 of 1")
	want(t, sc.cycle(t, plan{grow: "b+1 for none"}), "would Grow b 1->2, 1 new, 0 pods")
	want(t, sc.cycle(t, plan{grow: "b+1 for none"}), "")
	want(t, sc.cycle(t, plan{}), "")
	want(t, sc.cycle(t, plan{}), "over: b, 0 of 1")
}

func TestGrowthsOfOthers(t *testing.T) {
	sc := newScene()
	sc.cycle(t, plan{grow: "a+3 for web"})
	// A part of it, where it would have been done here; the rest is no news.
	sc.targets["a"] = 3
	want(t, sc.cycle(t, plan{grow: "a+1 for web"}), "others: a +2 wanted 10s")
	// Another group, for the same need.
	sc.targets["b"] = 2
	want(t, sc.cycle(t, plan{grow: "a+1 for web"}), "others: b +1 elsewhere 0s")
	// A group that cannot be read has not changed.
	sc.unread["a"] = true
	want(t, sc.cycle(t, plan{}), "")
	sc.unread["a"] = false
	// The rest, and more than was wanted.
	sc.targets["a"] = 6
	want(t, sc.cycle(t, plan{}), "others: a +1 wanted 40s; others: a +2 unwanted 0s; over: a, 3 of 3")
	// Nothing was wanted.
	sc.targets["b"] = 3
	want(t, sc.cycle(t, plan{}), "others: b +1 unwanted 0s")
	sc.targets["b"] = 1
	want(t, sc.cycle(t, plan{}), "")
}

// The nodes that another client bought take the pods before the cloud has been read: it is still that scale-up.
func TestGrowthThatIsSeenLate(t *testing.T) {
	sc := newScene()
	sc.cycle(t, plan{grow: "a+2 for web"})
	sc.waiting["web"], sc.lag = 0, 30*time.Second
	for range 3 {
		want(t, sc.cycle(t, plan{}), "") // no picture is newer than the end of the need
	}
	sc.lag, sc.targets["a"] = 0, 3
	want(t, sc.cycle(t, plan{}), "others: a +2 wanted 40s; over: a, 2 of 2")
	// A need that comes back meanwhile is the same.
	sc.waiting["web"] = 1
	want(t, sc.cycle(t, plan{grow: "a+2 for web"}), "would Grow a 3->5, 2 new, 4 pods")
	sc.waiting["web"] = 0
	want(t, sc.cycle(t, plan{}), "")
	sc.waiting["web"] = 1
	want(t, sc.cycle(t, plan{grow: "a+2 for web"}), "")
}

func TestRemovals(t *testing.T) {
	sc := newScene()
	sc.waiting["web"] = 0
	sc.nodes["n3"] = model.Leaving // from the beginning: the reason is unknown
	want(t, sc.cycle(t, plan{unneeded: "n1"}), "")
	delete(sc.nodes, "n3")
	want(t, sc.cycle(t, plan{taint: "n1"}), "would Taint n1, then move 2")
	want(t, sc.cycle(t, plan{taint: "n1"}), "")
	// It is unneeded still: something else keeps it for a while.
	want(t, sc.cycle(t, plan{unneeded: "n1 n2"}), "")
	want(t, sc.cycle(t, plan{unsure: "n1", unneeded: "n2"}), "")
	want(t, sc.cycle(t, plan{taint: "n1", unneeded: "n2"}), "")
	// Needed in between.
	want(t, sc.cycle(t, plan{unneeded: "n2"}), "")
	want(t, sc.cycle(t, plan{taint: "n1", unneeded: "n2"}), "would Taint n1, then move 2")
	// Another client removes both, one without a taint.
	sc.nodes["n1"] = model.Leaving
	want(t, sc.cycle(t, plan{unneeded: "n2"}), "others: n1 of a goes, wanted")
	want(t, sc.cycle(t, plan{unneeded: "n2"}), "")
	delete(sc.nodes, "n1")
	want(t, sc.cycle(t, plan{unneeded: "n2"}), "")
	delete(sc.nodes, "n2")
	want(t, sc.cycle(t, plan{}), "others: n2 of a goes, unneeded")
	// One that is needed, and is rolled back.
	sc.nodes["n1"] = model.Ready
	want(t, sc.cycle(t, plan{}), "")
	sc.nodes["n1"] = model.Leaving
	want(t, sc.cycle(t, plan{}), "others: n1 of a goes, unwanted")
	sc.nodes["n1"] = model.Ready
	want(t, sc.cycle(t, plan{}), "")
	sc.nodes["n1"] = model.Leaving
	want(t, sc.cycle(t, plan{}), "others: n1 of a goes, unwanted")
}

// Each removal under way is another client's, and calls that continue it are not reported.
func TestOtherCalls(t *testing.T) {
	sc := newScene()
	late, mark := model.Call{Verb: model.Remove, Group: "a", Instance: "i"},
		model.Call{Verb: model.Mark, Node: "n1", Group: "a"}
	of := []model.Call{{Verb: model.Untaint, Node: "n2"}, {Verb: model.Cordon, Node: "n2"},
		{Verb: model.Evict, Node: "n2"}, {Verb: model.Remove, Node: "n2", Instance: "i2"}}
	want(t, sc.cycle(t, plan{other: append(of, late, mark)}), "would Remove i; would Mark n1")
	want(t, sc.cycle(t, plan{other: []model.Call{late, mark}}), "")
	want(t, sc.cycle(t, plan{other: []model.Call{mark}}), "")
	want(t, sc.cycle(t, plan{other: []model.Call{late, mark}}), "would Remove i")
}
