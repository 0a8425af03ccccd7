// Package rules answers, for one pod of a node that could be taken away: may it
// be moved?
//
// What flows in: a snapshot and the policy, made into a Cluster once, and then
// pods, one at a time. What flows out for each is an Answer: the pod moves, it ends
// with its node, it is ending already, or it keeps its node and a verdict says
// why. The rules stand in one ordered list, each in a file of its own; the first
// that has an answer decides. PodDisruptionBudgets come after the rules: what a
// budget still allows depends on the pods that moved before, so Take counts.
//
// The package is pure. The cluster changes between an answer and the eviction, so
// the Eviction API has the last word on budgets. Where something is not known, the
// node stays.
//
// Who may import it: removal, decide and scaledown. It imports model.
package rules

import (
	"math/bits"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// list is the order of the rules. First come those by which a pod ends with its node
// and the drain does not wait for it; then those that the pod's own annotation on
// eviction cannot overrule, that annotation, and those that it can overrule.
var list = []rule{
	mirror,
	finished,
	doNotDisrupt,
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
	// Stays: it ends with the node, and the drain does not wait for it.
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
	// Rule is the name of the rule that decided, empty if none had an answer: the
	// pod moves then.
	Rule string
	// Fleeting: the same pod may have another answer later, though it has not changed.
	Fleeting bool
	// Verdict is set where the pod blocks. Where it Ends, only Until is set: the node
	// waits no longer. At Until the answer changes.
	model.Verdict
}

// rule is one reason not to move a pod. Which pods a rule is about depends on what
// many pods share (flags, spec or facts), so it is found out once for all of them: a
// plain pod costs no look at any rule.
type rule struct {
	name  string
	flags model.Flags
	spec  func(*Cluster, *model.Spec) bool
	facts func(*Cluster, *model.Facts) bool
	// answer decides about such a pod. If it has no answer, the next rule is asked.
	answer func(*Cluster, *model.Pod) (Answer, bool)
	// readyOnly: the rule is not about pods on nodes that are not ready.
	readyOnly bool
	// fleeting: the answer depends on more than the pod and the policy: on time, on budgets or on other pods.
	fleeting bool
}

// Condition is what the rules have to know of a pod's node. No pod lands on a node that
// is not ready; where a node goes because it is not ready, no kubelet is there to end
// its pods.
type Condition uint8

// The conditions of a node.
const (
	Ready Condition = iota
	NotReady
	Dead
)

// ConditionOf is a node's condition. A node that goes because it is not ready is dead.
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

// Apply applies the rules to a pod on a node in the given condition. What budgets still
// allow is not among them: see Take.
func (c *Cluster) Apply(on Condition, p *model.Pod) Answer {
	about := c.aboutSpec(p.Spec) | c.aboutFacts(p.Facts)
	if p.Flags&flagged != 0 {
		about |= aboutFlags(p.Flags)
	}
	fleeting := false
	for about &^= seen; about != 0; about &= about - 1 {
		r := &list[bits.TrailingZeros32(uint32(about))]
		if r.readyOnly && on != Ready {
			continue
		}
		fleeting = fleeting || r.fleeting
		if a, ok := r.answer(c, p); ok {
			if a.Rule, a.Fleeting = r.name, fleeting; a.Kind == Ends && on == Dead {
				a.Kind, a.Verdict = Stays, model.Verdict{}
			}
			return a
		}
	}
	return Answer{Kind: Moves, Fleeting: fleeting}
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

// stays is the answer of the rules about pods that the drain does not wait for.
func stays(*Cluster, *model.Pod) (Answer, bool) { return Answer{Kind: Stays}, true }

// blocks is the answer for a pod that keeps its node. The detail begins with the
// pod's name.
func (c *Cluster) blocks(p *model.Pod, v model.Verdict) (Answer, bool) {
	v.Detail = c.name(p) + ": " + v.Detail
	return Answer{Kind: Blocks, Verdict: v}, true
}
