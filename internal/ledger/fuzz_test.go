package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// FuzzFold folds arbitrary observations, ends of calls and plans, in any order:
// it never panics, what it says of itself always adds up, and what it has said
// once it never takes back.
func FuzzFold(f *testing.F) {
	f.Add([]byte("a growth, and then some machines"))
	f.Add([]byte{0, 0, 0, 0, 255, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
	for seed := range 20 {
		var b []byte
		for i := range 400 {
			b = append(b, byte((i*7919+seed*104729)>>3))
		}
		f.Add(b)
	}
	for seed := range uint64(8) {
		long := make([]byte, 12000) // some thirty turns
		_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(long)
		f.Add(long)
	}
	f.Fuzz(turns)
}

// turns plays a ledger's life by the dice.
func turns(t *testing.T, data []byte) {
	d := &dice{data: data}
	l := empty()
	now := t0
	var open []model.Call
	for step := 0; d.more(); step++ {
		now = now.Add(time.Duration(d.below(2000)) * time.Second / 4)
		seen := d.observation(now)
		ended := d.strangeOutcomes(now)
		for len(open) > 0 && d.below(2) == 0 {
			i := d.below(len(open))
			ended = append(ended, d.outcome(open[i], now))
			open = slices.Delete(open, i, i+1)
		}
		given := l.Standing()
		said := told(t, given)
		l.Fold(seen, ended)
		if told(t, given) != said {
			t.Fatalf("Fold has changed a standing that was given out:\n%s\n%s", said, told(t, given))
		}
		check(t, l, seen)
		if d.below(8) == 0 {
			// A new leader goes on from what the last remembered.
			l, open = Restore(l.rules, throughJSON(t, l.Memory())), nil
			continue
		}
		given = l.Standing()
		said = told(t, given)
		calls := d.calls(given, seen, step)
		open = append(open, calls...)
		snap, p := d.plan(given, seen, calls)
		l.Note(snap, p)
		if told(t, given) != said {
			t.Fatalf("Note has changed a standing that was given out:\n%s\n%s", said, told(t, given))
		}
		checkCalls(t, l, calls)
		if len(l.Open()) != len(open) {
			t.Fatalf("%d calls are open, want %d: no call without its intent on record", len(l.Open()), len(open))
		}
	}
}

// check is what always holds after a Fold.
func check(t *testing.T, l *Ledger, seen model.Observation) {
	t.Helper()
	s := l.Standing()
	total := 0
	for id, g := range s.Groups {
		total += g.Counts.Total
		c := g.Counts
		if c.Total != c.Ready+c.Young+c.NeverStarted+c.Suspended+c.BeingDeleted+c.Unready {
			t.Fatalf("%s: the states of its nodes do not add up: %+v", id, c)
		}
		if g.Expected < 0 || g.Missing < 0 || g.Overdue < 0 || g.Overdue > g.Missing {
			t.Fatalf("%s: %+v", id, g)
		}
		inInventory := slices.ContainsFunc(seen.Inventory.Groups, func(pg provider.Group) bool { return pg.ID == id })
		waiting := 0
		for _, a := range g.Asks {
			if len(a.Units) == 0 {
				t.Fatalf("%s: an ask for nothing: %+v", id, a)
			}
			for _, u := range a.Units {
				if u.Node == "" {
					waiting++
				}
				if u.State == model.UnitReady && u.Node == "" {
					t.Fatalf("%s: a unit is ready and has no node: %+v", id, u)
				}
			}
		}
		if inInventory && waiting != g.Missing {
			t.Fatalf("%s: %d units are missing, and asks wait for %d", id, g.Missing, waiting)
		}
		if inInventory && (g.Missing == 0) != g.MissingSince.IsZero() {
			t.Fatalf("%s: %d missing since %v", id, g.Missing, g.MissingSince)
		}
	}
	if s.Counts.Total+s.Others.Total > len(seen.Nodes) {
		t.Fatalf("%d and %d nodes are counted of %d", s.Counts.Total, s.Others.Total, len(seen.Nodes))
	}
	checkCalls(t, l, nil)
	m := throughJSON(t, l.Memory())
	if again := throughJSON(t, Restore(l.rules, m).Memory()); !cmp.Equal(m, again) {
		t.Fatalf("what was remembered is remembered otherwise:\n%s", cmp.Diff(m, again))
	}
}

// checkCalls is what always holds of the calls under way and of the drains that
// they advance; begun are those that were just noted.
func checkCalls(t *testing.T, l *Ledger, begun []model.Call) {
	t.Helper()
	s := l.Standing()
	type pod struct {
		node, name string
		uid        types.UID
	}
	writes, evictions := map[string]model.Call{}, map[pod]bool{}
	for _, c := range l.Open() {
		switch {
		case c.Verb == model.Evict:
			evictions[pod{c.Node, c.Pod, c.PodUID}] = true
		case c.Node != "":
			if other, taken := writes[c.Node]; taken {
				t.Fatalf("two writes to %s are under way: %s and %s", c.Node, other.ID, c.ID)
			}
			writes[c.Node] = c
			if b := s.Nodes[c.Node].Busy; b == nil || b.ID != c.ID {
				t.Fatalf("%s is not busy with %s: %+v", c.Node, c.ID, b)
			}
		}
	}
	unneeded := 0
	for name, n := range s.Nodes {
		if n == (model.NodeStanding{}) {
			t.Fatalf("%s: there is nothing to say of it", name)
		}
		if _, taken := writes[name]; !taken && n.Busy != nil {
			t.Fatalf("%s is busy with %s, which is not under way", name, n.Busy.ID)
		}
		if !n.UnneededSince.IsZero() {
			unneeded++
		}
		if n.Drain == nil {
			continue
		}
		if n.Drain.Node != name || n.Drain.Stage == "" {
			t.Fatalf("%s: %+v", name, n.Drain)
		}
		if _, taken := writes[name]; !taken && n.Drain.Before != nil {
			t.Fatalf("%s: what was before a call is kept after its end: %+v", name, n.Drain)
		}
		for i, e := range n.Drain.Evictions {
			if i > 0 && n.Drain.Evictions[i-1].Pod >= e.Pod {
				t.Fatalf("%s: evictions are not sorted: %+v", name, n.Drain.Evictions)
			}
			if e.Busy != evictions[pod{name, e.Pod, e.UID}] {
				t.Fatalf("%s: is the call on a pod under way? %+v", name, e)
			}
		}
	}
	if unneeded != l.nodes.unneeded {
		t.Fatalf("%d nodes are unneeded, and %d are counted", unneeded, l.nodes.unneeded)
	}
	for _, c := range begun {
		if c.Verb != model.Evict {
			continue
		}
		d := s.Nodes[c.Node].Drain
		if d == nil || d.Stage != model.Evicting ||
			!slices.ContainsFunc(d.Evictions, func(e model.Eviction) bool { return e.UID == c.PodUID && e.Busy }) {
			t.Fatalf("an eviction on %s, whose drain is %+v", c.Node, d)
		}
	}
}

// told is all that a standing says, down to what it only refers to.
func told(t *testing.T, s model.Standing) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		if d := s.Nodes[name].Drain; d != nil {
			text = fmt.Appendf(text, "\n%s %+v", name, d.Evictions) // no part of the JSON
		}
	}
	return string(text)
}

func throughJSON(t *testing.T, m model.Memory) model.Memory {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back model.Memory
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return back
}

// dice makes choices from bytes.
type dice struct {
	data []byte
	at   int
}

func (d *dice) more() bool { return d.at < len(d.data) }

func (d *dice) below(n int) int {
	if n <= 1 {
		return 0
	}
	v := 0
	for range 2 {
		v <<= 8
		if d.more() {
			v |= int(d.data[d.at])
			d.at++
		}
	}
	return v % n
}

func (d *dice) observation(now time.Time) model.Observation {
	o := model.Observation{Now: now}
	o.Inventory.AsOf = now.Add(-time.Duration(d.below(100)) * time.Second)
	if d.below(10) == 0 {
		o.Inventory.AsOf = time.Time{}
	}
	for _, id := range []provider.GroupID{"g", "h"} {
		if d.below(12) == 0 {
			continue
		}
		g := provider.Group{ID: id, Pool: "p", Max: 20, Target: d.below(8)}
		if d.below(10) == 0 {
			g.Err = &provider.Error{Kind: provider.Unavailable}
		}
		if d.below(2) == 0 {
			g.TargetSince = now.Add(-time.Duration(d.below(5000)) * time.Second)
		}
		for i := range 6 {
			if d.below(3) == 0 {
				continue
			}
			in := provider.Instance{ID: provider.InstanceID(fmt.Sprintf("%s%d", id, i)), NodeName: fmt.Sprintf("%s%d", id, i),
				State: []provider.State{provider.Creating, provider.Running, provider.Deleting}[d.below(3)]}
			if d.below(3) > 0 {
				in.Created = now.Add(-time.Duration(d.below(3000)) * time.Second)
			}
			if d.below(8) == 0 {
				in.Err = &provider.Error{Kind: provider.NoCapacity}
			}
			g.Instances = append(g.Instances, in)
		}
		if d.below(10) == 0 {
			g.Holds = []provider.Hold{{Op: provider.OpGrow, Reason: "Away", Stalled: true}}
		}
		o.Inventory.Groups = append(o.Inventory.Groups, g)
	}
	rare := 2 + 14*d.below(2)
	for _, id := range []string{"g", "h", "x"} {
		for i := range 6 {
			if d.below(rare) == 0 {
				continue
			}
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s%d", id, i), ResourceVersion: fmt.Sprint(d.below(50)),
				CreationTimestamp: metav1.NewTime(now.Add(-time.Duration(d.below(4000)) * time.Second)),
			}}
			if d.below(6) > 0 {
				statuses := []corev1.ConditionStatus{"True", "True", "False", "Unknown"}
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: statuses[d.below(4)],
					LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(d.below(4000)) * time.Second))}}
			}
			if d.below(8) == 0 {
				n.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: fmt.Sprint(d.below(3))}}
			}
			if d.below(4) == 0 {
				n.Spec.Unschedulable = true
			}
			seen := model.ObservedNode{Object: n}
			for pods := d.below(16); pods > 0; pods /= 2 {
				if pods%2 == 1 {
					seen.Pods = append(seen.Pods, model.Pod{Name: fmt.Sprint("p", pods),
						UID: types.UID(fmt.Sprint("u", pods+16*d.below(2))), Owner: "set"})
				}
			}
			o.Nodes = append(o.Nodes, seen)
		}
	}
	return o
}

// strangeOutcomes are ends of calls that the ledger does not know.
func (d *dice) strangeOutcomes(now time.Time) []model.Outcome {
	if d.below(6) > 0 {
		return nil
	}
	verbs := []model.Verb{model.Grow, model.Cancel, model.Remove, model.Taint, model.Untaint, model.Cordon, model.Evict,
		model.Mark, "Melt"}
	c := model.Call{ID: "another leader's", Verb: verbs[d.below(len(verbs))], Group: "g",
		Node: fmt.Sprintf("g%d", d.below(6)), Pod: "default/p1", PodUID: "u1"}
	return []model.Outcome{d.outcome(c, now)}
}

func (d *dice) outcome(c model.Call, now time.Time) model.Outcome {
	o := model.Outcome{Call: c, Ended: now.Add(-time.Duration(d.below(20)) * time.Second), Target: -1}
	switch d.below(4) {
	case 0:
		kinds := []provider.Kind{provider.NoCapacity, provider.Throttled, provider.Unavailable, provider.Conflict,
			provider.Transient}
		o.Err = &provider.Error{Kind: kinds[d.below(len(kinds))]}
		switch d.below(6) {
		case 0, 1, 2:
			o.Err.MayHaveHappened = true
		case 3:
			o.Err.Code = model.CodeNotBegun
		case 4:
			o.Landed = []string{"default/late"}
		}
	case 1:
		o.Target = d.below(9)
		o.Unchanged = d.below(2) == 0
	default:
		o.Target = c.To
		o.ResourceVersion = fmt.Sprint(d.below(50))
	}
	return o
}

// calls are what a plan may ask for of what stands: one call on each group and
// node, and on each pod of a node that is emptied.
func (d *dice) calls(s model.Standing, seen model.Observation, step int) []model.Call {
	var out []model.Call
	writes := map[string]bool{}
	for _, id := range []provider.GroupID{"g", "h"} {
		if st, known := s.Groups[id]; (known && st.Busy != nil) || d.below(2) == 0 {
			continue
		}
		expected := s.Groups[id].Expected
		c := model.Call{ID: fmt.Sprintf("%s/%d", id, step), Group: id, Pool: provider.PoolID(id), From: expected}
		switch d.below(4) {
		case 0, 1:
			c.Verb, c.To = model.Grow, expected+1+d.below(3)
		case 2:
			c.Verb, c.To = model.Cancel, max(0, expected-1-d.below(2))
		default:
			c.Verb, c.Instance = model.Remove, provider.InstanceID(fmt.Sprintf("%s%d", id, d.below(6)))
			if n := string(c.Instance); d.below(2) == 0 && s.Nodes[n].Busy == nil {
				c.Node, writes[n] = n, true
			}
		}
		out = append(out, c)
	}
	for i := range seen.Nodes {
		o := &seen.Nodes[i]
		name := o.Object.Name
		n := s.Nodes[name]
		if writes[name] || n.Busy != nil {
			continue
		}
		c := model.Call{
			ID: fmt.Sprintf("%s/%d", name, step), Group: provider.GroupID(name[:1]), Node: name,
			Instance: provider.InstanceID(name),
			Reason:   []model.Reason{model.PodLanded, model.Reserved, ""}[d.below(3)], Why: "why",
		}
		var verbs []model.Verb
		switch {
		case n.Drain == nil:
			verbs = []model.Verb{model.Mark, model.Unmark, model.Annotate, model.Taint, model.Taint, model.Taint, model.Untaint}
			for i := range o.Pods {
				c.Known = append(c.Known, o.Pods[i].UID)
			}
		case n.Drain.Stage == model.Tainted:
			verbs = []model.Verb{model.Cordon, model.Cordon, model.Cordon, model.Untaint, model.Annotate}
		case n.Drain.Stage == model.Evicting:
			verbs = []model.Verb{model.Evict, model.Evict, model.Evict, model.Untaint, model.Annotate}
		default:
			verbs = []model.Verb{model.Untaint}
		}
		if c.Verb = verbs[d.below(len(verbs))]; d.below(3) == 0 {
			continue
		}
		if c.Verb != model.Evict {
			out = append(out, c)
			continue
		}
		for i := range o.Pods {
			c.ID, c.Pod, c.PodUID = fmt.Sprintf("%s/%s/%d", name, o.Pods[i].UID, step), "default/"+o.Pods[i].Name, o.Pods[i].UID
			if !slices.ContainsFunc(n.Drain.Evictions, func(e model.Eviction) bool { return e.UID == c.PodUID && e.Busy }) {
				out = append(out, c)
			}
		}
	}
	return out
}

// plan has a verdict on most nodes.
func (d *dice) plan(s model.Standing, seen model.Observation, calls []model.Call) (*model.Snapshot, model.Plan) {
	snap := &model.Snapshot{Now: seen.Now}
	p := model.Plan{Calls: calls, Resume: []string{"", "g3"}[d.below(2)]}
	if d.below(10) == 0 {
		snap.Unhealthy = &model.Verdict{Reason: model.ClusterUnhealthy}
	}
	reasons := []model.Reason{model.NotUnderutilized, model.NotEnoughPdb, model.StepBudget}
	for i := range seen.Nodes {
		o := &seen.Nodes[i]
		n := &model.Node{Name: o.Object.Name, Object: o.Object, Bound: o.Pods, Standing: s.Nodes[o.Object.Name],
			Group: -1 + d.below(4)}
		snap.Nodes = append(snap.Nodes, n)
		v := model.NodeVerdict{Node: n.Name}
		switch d.below(4) {
		case 0:
			v.Reason, v.Since = model.Cooldown, n.Standing.UnneededSince
			if v.Since.IsZero() {
				v.Since = seen.Now
			}
			p.Unneeded = append(p.Unneeded, v)
		case 1:
		default:
			v.Reason = reasons[d.below(len(reasons))]
			p.Kept = append(p.Kept, v)
		}
	}
	return snap, p
}
