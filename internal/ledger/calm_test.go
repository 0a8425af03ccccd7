package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestACalmFoldIsAFold: a ledger that passes over observations in which nothing is new, and over nodes that are as they
// were, says at every moment what one says that looks at all of them. The lives are quiet: something happens in one
// turn of five.
func TestACalmFoldIsAFold(t *testing.T) {
	passedOver := 0
	for seed := range uint64(300) {
		passedOver += quietLife(t, rand.New(rand.NewPCG(seed, 12)))
	}
	if passedOver < 1000 {
		t.Errorf("only %d folds were passed over: the lives are not quiet", passedOver)
	}
}

func quietLife(t *testing.T, dice *rand.Rand) (passedOver int) {
	seen := model.Observation{Now: t0, Generation: 1, Inventory: provider.Inventory{AsOf: t0}}
	allWell(&seen)
	quick, plain := empty(), empty()
	if dice.IntN(3) == 0 { // a removal failed before the first look
		failed := model.NodeStanding{Failed: model.Failure{At: t0, Rest: time.Duration(dice.IntN(600)) * time.Second}}
		quick.nodes.put("h3", failed)
		plain.nodes.put("h3", failed)
	}
	for step := range 40 {
		seen.Now = seen.Now.Add(time.Duration(dice.IntN(900)) * time.Second)
		if dice.IntN(2) == 0 {
			seen.Inventory.AsOf = seen.Now.Add(-time.Second)
		}
		var ended []model.Outcome
		if step > 0 && dice.IntN(5) == 0 {
			ended = happen(dice, &seen, quick.Open())
		}
		if len(ended) == 0 && quick.calm == seen.Generation {
			passedOver++
		}
		fresh := seen
		fresh.Generation, fresh.Nodes = 0, copies(seen.Nodes)
		quick.Fold(seen, ended)
		plain.Fold(fresh, ended)
		if diff := cmp.Diff(told(t, plain.Standing()), told(t, quick.Standing())); diff != "" {
			t.Fatalf("step %d: what stands differs:\n%s", step, diff)
		}
		if diff := cmp.Diff(plain.Changes(), quick.Changes()); diff != "" {
			t.Fatalf("step %d: the changes differ:\n%s", step, diff)
		}
		if diff := cmp.Diff(plain.Memory(), quick.Memory()); diff != "" {
			t.Fatalf("step %d: the memories differ:\n%s", step, diff)
		}
		if quick.AwaitsCloud() != plain.AwaitsCloud() || quick.News() != plain.News() {
			t.Fatalf("step %d: the one waits for the cloud or has news, the other has not", step)
		}
		if dice.IntN(12) == 0 {
			c := model.Call{ID: fmt.Sprint(step), Verb: model.Grow, Group: "g", From: 4, To: 5}
			switch dice.IntN(4) {
			case 0:
				c.Verb, c.Node = model.Mark, "h1"
			case 1:
				c.Verb, c.Node, c.Instance = model.Taint, "h2", "h2"
			case 2:
				c.Verb, c.Instance = model.Remove, "g3"
			}
			snap, p := &model.Snapshot{Now: seen.Now}, plan(c)
			if dice.IntN(2) == 0 {
				p.Unneeded = []model.NodeVerdict{{Node: "g1", Verdict: model.Verdict{Since: seen.Now}}}
			}
			quick.Note(snap, p)
			plain.Note(snap, p)
		}
	}
	return passedOver
}

// copies are nodes with objects of their own: a ledger that sees such looks at all of them.
func copies(nodes []model.ObservedNode) []model.ObservedNode {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Object = out[i].Object.DeepCopy()
	}
	return out
}

// allWell is two groups of four ready nodes each.
func allWell(seen *model.Observation) {
	seen.Nodes, seen.Inventory.Groups = nil, nil
	for _, id := range []string{"g", "h"} {
		g := provider.Group{ID: provider.GroupID(id), Max: 20, Target: 4}
		for i := range 4 {
			name := fmt.Sprint(id, i)
			g.Instances = append(g.Instances, provider.Instance{ID: provider.InstanceID(name), NodeName: name,
				State: provider.Running, Created: t0.Add(-time.Hour)})
			seen.Nodes = append(seen.Nodes, model.ObservedNode{Object: quietNode(name, t0.Add(-time.Hour), true)})
		}
		seen.Inventory.Groups = append(seen.Inventory.Groups, g)
	}
}

// happen lets one thing happen to the nodes or in the cloud, or a call end.
func happen(dice *rand.Rand, seen *model.Observation, open []model.Call) []model.Outcome {
	if len(open) > 0 && dice.IntN(3) == 0 {
		o := model.Outcome{Call: open[0], Ended: seen.Now, Target: open[0].To, ResourceVersion: fmt.Sprint(6 + dice.IntN(3))}
		if dice.IntN(3) == 0 {
			o.Err = &provider.Error{Kind: provider.Transient, MayHaveHappened: dice.IntN(2) == 0}
		}
		return []model.Outcome{o}
	}
	seen.Generation++
	seen.Inventory.Groups = slices.Clone(seen.Inventory.Groups)
	seen.Nodes = slices.Clone(seen.Nodes)
	g := &seen.Inventory.Groups[dice.IntN(2)]
	at := dice.IntN(len(seen.Nodes))
	n := &seen.Nodes[at]
	switch dice.IntN(16) {
	case 0:
		n.Object = quietNode(n.Object.Name, n.Object.CreationTimestamp.Time, !model.NodeReady(n.Object))
	case 1:
		n.Object = quietNode(n.Object.Name, seen.Now, false) // another node by that name, which boots
	case 2:
		g.Target = 3 + dice.IntN(3)
	case 3:
		if len(seen.Nodes) > 5 {
			seen.Nodes = slices.Delete(seen.Nodes, at, at+1)
		}
	case 4:
		g.Instances = slices.Clone(g.Instances)
		g.Instances[0].State = []provider.State{provider.Running, provider.Deleting}[dice.IntN(2)]
	case 5:
		g.Holds = nil
		if dice.IntN(2) == 0 {
			g.Holds = []provider.Hold{{Op: provider.OpGrow, Reason: "Away", Stalled: true, Until: seen.Now.Add(time.Minute)}}
		}
	case 6:
		n.Object = n.Object.DeepCopy()
		if n.Object.Spec.Taints = nil; dice.IntN(2) == 0 {
			n.Object.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted}}
		}
	case 7:
		stranger := quietNode(fmt.Sprint("stranger", seen.Generation), seen.Now, dice.IntN(3) == 0)
		seen.Nodes = append(seen.Nodes, model.ObservedNode{Object: stranger})
	default:
		allWell(seen)
	}
	return nil
}

func quietNode(name string, created time.Time, isReady bool) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.ResourceVersion, n.CreationTimestamp = name, "7", metav1.NewTime(created)
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastTransitionTime: n.CreationTimestamp}
	n.Status.Conditions = []corev1.NodeCondition{c}
	return n
}
