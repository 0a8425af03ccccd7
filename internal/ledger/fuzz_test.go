package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// FuzzFold folds arbitrary observations, ends of calls and plans, in any order:
// it never panics, and what it says of itself always adds up.
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
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data: data}
		l := empty()
		now := t0
		var open []model.Call
		for step := 0; d.more(); step++ {
			now = now.Add(time.Duration(d.below(2000)) * time.Second / 4)
			seen := d.observation(now)
			var ended []model.Outcome
			for len(open) > 0 && d.below(2) == 0 {
				i := d.below(len(open))
				ended = append(ended, d.outcome(open[i], now))
				open = slices.Delete(open, i, i+1)
			}
			l = l.Fold(seen, ended)
			check(t, l, seen)
			if d.below(8) == 0 {
				// A new leader goes on from what the last remembered.
				l, open = Restore(l.rules, throughJSON(t, l.Memory())), nil
				continue
			}
			calls := d.calls(l, now, step)
			open = append(open, calls...)
			p := model.Plan{Calls: calls}
			for _, n := range seen.Nodes {
				if d.below(3) == 0 {
					p.Unneeded = append(p.Unneeded, model.NodeVerdict{Node: n.Object.Name, Verdict: model.Verdict{Since: now}})
				}
			}
			l = l.Note(&model.Snapshot{Now: now}, p)
			if len(l.Open()) != len(open) {
				t.Fatalf("%d calls are open, want %d: no call without its intent on record", len(l.Open()), len(open))
			}
		}
	})
}

// check is what always holds after a Fold.
func check(t *testing.T, l Ledger, seen model.Observation) {
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
				if u.Registered.IsZero() {
					waiting++
				}
				if !u.Ready.IsZero() && u.Registered.IsZero() {
					t.Fatalf("%s: a unit is ready and has not registered: %+v", id, u)
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
	o := model.Observation{Now: now, Inventory: provider.Inventory{AsOf: now.Add(-time.Duration(d.below(100)) * time.Second)}}
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
		o.Inventory.Groups = append(o.Inventory.Groups, g)
	}
	for _, id := range []string{"g", "h", "x"} {
		for i := range 6 {
			if d.below(2) == 0 {
				continue
			}
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s%d", id, i), ResourceVersion: fmt.Sprint(d.below(50)),
				CreationTimestamp: metav1.NewTime(now.Add(-time.Duration(d.below(4000)) * time.Second))}}
			if d.below(6) > 0 {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady,
					Status:             []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}[d.below(4)],
					LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(d.below(4000)) * time.Second))}}
			}
			if d.below(8) == 0 {
				n.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: fmt.Sprint(d.below(3))}}
			}
			o.Nodes = append(o.Nodes, model.ObservedNode{Object: n})
		}
	}
	return o
}

func (d *dice) outcome(c model.Call, now time.Time) model.Outcome {
	o := model.Outcome{Call: c, Ended: now.Add(-time.Duration(d.below(20)) * time.Second), Target: -1}
	switch d.below(4) {
	case 0:
		kinds := []provider.Kind{provider.NoCapacity, provider.Throttled, provider.Unavailable, provider.Conflict, provider.Transient}
		o.Err = &provider.Error{Kind: kinds[d.below(len(kinds))], MayHaveHappened: d.below(2) == 0}
	case 1:
		o.Target = d.below(9)
	default:
		o.Target = c.To
		o.ResourceVersion = fmt.Sprint(d.below(50))
	}
	return o
}

func (d *dice) calls(l Ledger, now time.Time, step int) []model.Call {
	var out []model.Call
	for _, id := range []provider.GroupID{"g", "h"} {
		if l.busy(id) || d.below(2) == 0 {
			continue
		}
		expected := l.Standing().Groups[id].Expected
		c := model.Call{ID: fmt.Sprintf("%s/%d", id, step), Group: id, Pool: "p", From: expected}
		switch d.below(4) {
		case 0, 1:
			c.Verb, c.To = model.Grow, expected+1+d.below(3)
		case 2:
			c.Verb, c.To = model.Cancel, max(0, expected-1-d.below(2))
		default:
			c.Verb, c.Instance = model.Remove, provider.InstanceID(fmt.Sprintf("%s%d", id, d.below(6)))
			if d.below(2) == 0 {
				c.Node = string(c.Instance)
			}
		}
		out = append(out, c)
	}
	return out
}
