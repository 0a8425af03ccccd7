package removal

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var rewrite = flag.Bool("rewrite", false, "write the table in testdata/table.txt and docs/architecture.md")

// TestTableIsComplete: for each stage and each kind of event there is an answer, one that
// people can read in testdata/table.txt and in docs/architecture.md.
func TestTableIsComplete(t *testing.T) {
	if !slices.Equal(stages[1:], model.Stages) {
		t.Errorf("the columns are %v, and the model has the stages %v: each needs its place in `stages` (table.go), and a "+
			"cell in every row", stages[1:], model.Stages)
	}
	known := map[cell]bool{ends: true, stays: true, before: true, never: true}
	for _, s := range stages[1:] {
		known[cell(s)] = true
	}
	for h, r := range table {
		if r.when == "" {
			t.Errorf("kind %d has no row in the table", h)
		}
		for i, to := range r.to {
			if !known[to] {
				t.Errorf("%q in stage %q: no answer (%q)", r.when, stages[i], to)
			}
		}
	}
	golden, document := filepath.Join("testdata", "table.txt"), filepath.Join("..", "..", "docs", "architecture.md")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		doc = bytes.Replace(doc, want, []byte(printed()), 1)
		want = []byte(printed())
		if err := errors.Join(os.WriteFile(golden, want, 0o644), os.WriteFile(document, doc, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), printed()); diff != "" {
		t.Errorf("%s is another table; -rewrite writes it (-file +code):\n%s", golden, diff)
	}
	if !strings.Contains(string(doc), "```\n"+printed()+"```\n") {
		t.Errorf("%s has another table: copy %s there", document, golden)
	}
}

// TestTableIsTheLife: Advance does what the table says, in each stage and for each
// kind of event. What cannot happen changes nothing.
func TestTableIsTheLife(t *testing.T) {
	for _, s := range stages {
		for h := range kinds {
			t.Run(string(s)+"/"+table[h].when, func(t *testing.T) {
				d := drainIn(s)
				next, news := Advance(d, eventOf(h, d))
				got := none
				if next != nil {
					got = next.Stage
				}
				to := after(s, h)
				if news.Odd != "" && to != never {
					t.Errorf("it can happen, and is odd: %s", news.Odd)
				}
				switch to {
				case ends:
					if next != nil {
						t.Errorf("it is not over: %+v", next)
					}
				case never:
					if next != d {
						t.Errorf("it cannot happen, and changes %+v to %+v", d, next)
					}
				case stays:
					if got != s {
						t.Errorf("in stage %q, want it to stay", got)
					}
				case before:
					if got != d.Before.Stage {
						t.Errorf("in stage %q, want %q, as before", got, d.Before.Stage)
					}
				default:
					if got != model.Stage(to) {
						t.Errorf("in stage %q, want %q", got, to)
					}
				}
			})
		}
	}
}

// drainIn is a drain in a stage, with what was before it.
func drainIn(s model.Stage) *model.Drain {
	if s == none {
		return nil
	}
	d := &model.Drain{
		Node: "n", Group: "g", Instance: "m", Stage: s, Since: t0, Occupied: true,
		Evictions: []model.Eviction{{Pod: "default/p", UID: "p", First: t0, Last: t0, Busy: true}},
	}
	switch s {
	case model.Cordoning:
		d.Before = drainIn(model.Tainted)
	case model.Removing, model.RollingBack:
		d.Before = drainIn(model.Evicting)
	}
	return d
}

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// begin is a call on the node that begins.
func begin(v model.Verb) Event {
	c := &model.Call{Verb: v, Node: "n", Group: "g", Instance: "m", Pod: "default/p", PodUID: "p"}
	return Begun{Call: c, In: &model.Snapshot{Now: t0.Add(time.Minute)}}
}

// end is such a call that has ended.
func end(v model.Verb, err *provider.Error) Event {
	c := model.Call{Verb: v, Node: "n", Group: "g", Instance: "m", Pod: "default/p", PodUID: "p"}
	return Ended{Outcome: &model.Outcome{Call: c, Ended: t0.Add(time.Minute), Err: err}}
}

// look is an observation of the node, a while later. A node that is on its way out is
// tainted and cordoned, and the pod is there. Nothing is known of the machine.
func look(d *model.Drain, edit func(n *model.ObservedNode, e *Seen)) Event {
	o := &model.Observation{Now: t0.Add(time.Hour), Nodes: []model.ObservedNode{{Object: &corev1.Node{}}}}
	o.Inventory.AsOf = o.Now
	n := &o.Nodes[0]
	n.Object.Name, n.Pods = "n", []model.Pod{{Name: "p", UID: "p"}}
	if d != nil {
		n.Object.Spec.Unschedulable = true
		n.Object.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: "1"}}
	}
	e := Seen{In: o, Machine: model.Machine{ID: "m", Unread: true}}
	edit(n, &e)
	return e
}

// eventOf is an event of a kind.
func eventOf(h kind, d *model.Drain) Event {
	refused, busy := &provider.Error{Kind: provider.Denied}, &provider.Error{Kind: provider.Throttled}
	unknown, notBegun := &provider.Error{MayHaveHappened: true}, &provider.Error{Code: model.CodeNotBegun}
	machine := func(m model.Machine) Event { return look(d, func(_ *model.ObservedNode, e *Seen) { e.Machine = m }) }
	return map[kind]func() Event{
		taintBegun:     func() Event { return begin(model.Taint) },
		taintDone:      func() Event { return end(model.Taint, nil) },
		taintRefused:   func() Event { return end(model.Taint, refused) },
		taintNotBegun:  func() Event { return end(model.Taint, notBegun) },
		cordonBegun:    func() Event { return begin(model.Cordon) },
		cordonDone:     func() Event { return end(model.Cordon, nil) },
		cordonUnknown:  func() Event { return end(model.Cordon, unknown) },
		cordonRefused:  func() Event { return end(model.Cordon, refused) },
		cordonNotBegun: func() Event { return end(model.Cordon, notBegun) },
		evictionBegun:  func() Event { return begin(model.Evict) },
		evictionEnded:  func() Event { return end(model.Evict, nil) },
		podLeft: func() Event {
			return look(d, func(n *model.ObservedNode, _ *Seen) { n.Pods = nil })
		},
		removeBegun:     func() Event { return begin(model.Remove) },
		removeDone:      func() Event { return end(model.Remove, nil) },
		removeUnknown:   func() Event { return end(model.Remove, unknown) },
		removeBusy:      func() Event { return end(model.Remove, busy) },
		removeRefused:   func() Event { return end(model.Remove, refused) },
		removeNotBegun:  func() Event { return end(model.Remove, notBegun) },
		machineDeleting: func() Event { return machine(model.Machine{ID: "m", Deleting: true}) },
		machineGone:     func() Event { return machine(model.Machine{}) },
		machineOther: func() Event {
			return look(d, func(n *model.ObservedNode, e *Seen) {
				e.Machine, n.Object.Spec.Taints = model.Machine{ID: "other"}, nil
			})
		},
		machineRunsYet: func() Event {
			return look(d, func(_ *model.ObservedNode, e *Seen) {
				e.Machine, e.In.Inventory.AsOf = model.Machine{ID: "m"}, t0.Add(time.Minute)
			})
		},
		machineTakesOver: func() Event {
			if d != nil {
				d.Ending, d.Other = t0.Add(-time.Hour), t0
			}
			return look(d, func(n *model.ObservedNode, e *Seen) {
				e.Machine = model.Machine{ID: "m", Made: t0}
				n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			})
		},
		machineRuns:     func() Event { return machine(model.Machine{ID: "m"}) },
		nodeGone:        func() Event { return Gone{} },
		untaintBegun:    func() Event { return begin(model.Untaint) },
		untaintDone:     func() Event { return end(model.Untaint, nil) },
		untaintFailed:   func() Event { return end(model.Untaint, refused) },
		untaintNotBegun: func() Event { return end(model.Untaint, notBegun) },
		foundTaint: func() Event {
			return look(d, func(n *model.ObservedNode, _ *Seen) {
				n.Object.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted}}
			})
		},
		foundNote: func() Event {
			return look(d, func(n *model.ObservedNode, _ *Seen) {
				n.Object.Spec.Taints, n.Object.Annotations = nil, map[string]string{model.AnnotationRemoval: model.RemovalTainted}
			})
		},
		recalledFreed: func() Event {
			return look(d, func(n *model.ObservedNode, e *Seen) { e.First, n.Object.Spec.Taints = true, nil })
		},
		recalledOpen: func() Event {
			return look(d, func(n *model.ObservedNode, e *Seen) { e.First, n.Object.Spec.Unschedulable = true, false })
		},
		remembering: func() Event { return noted{} },
	}[h]()
}

// TestAMachineOfAnIdUsedAgain: a machine that has the id of the one which was removed, and was made later, is not
// removed for its taint. It gets the node if it is ready, and if neither comes, it is one that was to go.
func TestAMachineOfAnIdUsedAgain(t *testing.T) {
	d := &model.Drain{Node: "n", Group: "g", Instance: "m", Stage: model.Removed, Since: t0}
	made := t0.Add(-time.Hour)
	see := func(after time.Duration, m model.Machine, ready corev1.ConditionStatus) model.Stage {
		t.Helper()
		e := look(d, func(n *model.ObservedNode, e *Seen) {
			e.In.Now, e.Machine = t0.Add(after), m
			e.In.Inventory.AsOf = e.In.Now
			n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		})
		next, news := Advance(d, e)
		if news.Odd != "" {
			t.Fatal(news.Odd)
		}
		d = next
		return d.Stage
	}
	other := model.Machine{ID: "m", Made: t0.Add(3 * time.Minute)}
	for _, c := range []struct {
		after time.Duration
		m     model.Machine
		ready corev1.ConditionStatus
		want  model.Stage
	}{
		{time.Minute, model.Machine{ID: "m", Made: made, Deleting: true}, corev1.ConditionTrue, model.Removed},
		{4 * time.Minute, other, corev1.ConditionTrue, model.Removed}, // the old kubelet's last words
		{5 * time.Minute, other, corev1.ConditionUnknown, model.Removed},
		{7 * time.Minute, other, corev1.ConditionUnknown, model.Removed},
	} {
		if got := see(c.after, c.m, c.ready); got != c.want {
			t.Fatalf("after %s it is %s, want %s", c.after, got, c.want)
		}
	}
	before := d
	if got := see(8*time.Minute, other, corev1.ConditionTrue); got != model.RollingBack || d.Code != model.OtherMachine {
		t.Errorf("with its node ready it is %s for %q, want %s for %s", got, d.Code, model.RollingBack, model.OtherMachine)
	}
	d = before
	if got := see(5*time.Hour, other, corev1.ConditionUnknown); got != model.Tainted {
		t.Errorf("without a node for hours it is %s, want %s", got, model.Tainted)
	}
	d = before
	if got := see(8*time.Minute, model.Machine{ID: "m", Made: made}, corev1.ConditionTrue); got != model.Tainted {
		t.Errorf("the same machine, that runs, is %s, want %s", got, model.Tainted)
	}
}
