// Package rules answers, for one pod of a node that could be taken away: may it
// be moved?
//
// What flows in: a snapshot and the policy, made into a Cluster once, and then
// pods, one at a time. What flows out for each is an Answer: it moves, it ends
// with its node, it is ending already, or it keeps its node and a verdict says
// why. The rules stand in one ordered list, each in a file of its own; the first
// that has an answer decides. PodDisruptionBudgets come after them, since what a
// budget still allows depends on the pods that moved before: Take counts.
//
// Pure, and sure of nothing: between the answer and the eviction the world goes
// on, so the Eviction API has the last word on budgets. Where something is not
// known, the node stays.
//
// Who may import it: decide, scaledown and drain. It imports model.
package rules

import (
	"math/bits"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// list is the order of the rules. Those that let a pod end with its node, for
// nobody waits for it, come first; then those that a pod's own word on eviction
// cannot overrule, that word, and those that it can.
var list = []rule{
	mirror,
	finished,
	daemonSet,
	expendable,
	terminating,
	minReplicas,
	safeToEvict,
	onCompletion,
	replicated,
	system,
	notSafeToEvict,
	localStorage,
	tolerant,
}

// Kind is what becomes of a pod when its node goes.
type Kind uint8

// The kinds of answer.
const (
	// Moves: it is evicted, and must find room elsewhere.
	Moves Kind = iota
	// Stays: it ends with the node, and nobody waits for it.
	Stays
	// Ends: it is being deleted already. It needs no room and no eviction, and the
	// node waits for its end.
	Ends
	// Blocks: it keeps its node.
	Blocks
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"Moves", "Stays", "Ends", "Blocks"}[k]
}

// Answer is what the rules say of a pod.
type Answer struct {
	Kind Kind
	// Rule is the name of the rule that decided, empty if none had an answer and
	// the pod moves for that.
	Rule string
	// Verdict is set where the pod blocks. Until is set, too, where it Ends: when
	// the node stops to wait for it. At Until the answer is another one.
	model.Verdict
}

// rule is one reason to treat a pod otherwise than to move it. What it is about
// is said by what many pods share, flags, spec or facts, so that it is found out
// once for all of them: a plain pod costs no look at any rule.
type rule struct {
	name  string
	flags model.Flags
	spec  func(*Cluster, *model.Spec) bool
	facts func(*Cluster, *model.Facts) bool
	// answer decides about a pod that the rule is about. If it has no answer, the
	// next rule is asked.
	answer func(*Cluster, *model.Pod) (Answer, bool)
	// readyOnly: the rule is not about pods on nodes that are not ready.
	readyOnly bool
}

// Judge applies every rule to a pod, but not the amounts of budgets.
func (c *Cluster) Judge(p *model.Pod) Answer { return c.JudgeOn(Ready, p) }

// Condition is what of its node matters to a pod. Nothing lands on a node that is not
// ready; on one that goes for that, nobody is there to end a pod.
type Condition uint8

// The conditions of a node.
const (
	Ready Condition = iota
	NotReady
	Dead
)

// ConditionOf is a node's condition: of one that is on its way out, it is dead if it goes
// because it is not ready.
func ConditionOf(n *model.Node) Condition {
	d := n.Standing.Drain
	switch {
	case model.NodeReady(n.Object):
		return Ready
	case d != nil && d.Unready, d == nil && n.Kind == model.Unready:
		return Dead
	}
	return NotReady
}

// JudgeOn is Judge where the condition of the pod's node matters.
func (c *Cluster) JudgeOn(on Condition, p *model.Pod) Answer {
	about := c.aboutSpec(p.Spec) | c.aboutFacts(p.Facts)
	if p.Flags&flagged != 0 {
		about |= aboutFlags(p.Flags)
	}
	for about &^= seen; about != 0; about &= about - 1 {
		r := &list[bits.TrailingZeros32(uint32(about))]
		if r.readyOnly && on != Ready {
			continue
		}
		if a, ok := r.answer(c, p); ok {
			if a.Rule = r.name; a.Kind == Ends && on == Dead {
				a.Kind, a.Verdict = Stays, model.Verdict{}
			}
			return a
		}
	}
	return Answer{Kind: Moves}
}

// places is a set of rules, as bits by their place in the list: the lowest bit
// is asked first.
type places uint32

// seen marks a set that has been made, since it may be empty.
const seen places = 1 << 31

// flagged are the flags that some rule is about.
var flagged = func() (all model.Flags) {
	for i := range list {
		all |= list[i].flags
	}
	return all
}()

func aboutFlags(f model.Flags) (about places) {
	for i := range list {
		if f&list[i].flags != 0 {
			about |= 1 << i
		}
	}
	return about
}

// stays is the answer of the rules about pods that nobody waits for.
func stays(*Cluster, *model.Pod) (Answer, bool) { return Answer{Kind: Stays}, true }

// blocks gives the answer of a pod that keeps its node. The detail begins with
// the pod's name.
func (c *Cluster) blocks(p *model.Pod, v model.Verdict) (Answer, bool) {
	v.Detail = c.name(p) + ": " + v.Detail
	return Answer{Kind: Blocks, Verdict: v}, true
}
