// Package drain advances a node's removal, one call at a time.
//
// What flows in: a drain, which is a value that the ledger keeps, and the node
// as the snapshot shows it. What flows out: the next call, or none yet, and
// when to ask again. Nothing here waits: what lasts minutes is many calls.
//
// Who may import it: decide and scaledown.
package drain

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Step is what a drain does next.
type Step struct {
	// Verb is the next call's, empty if nothing is to be done now.
	Verb   model.Verb
	Reason model.Reason
	Why    string
	// Unready: the node goes because it is not ready.
	Unready bool
	// Wake is when time alone brings the next step, zero if it does not.
	Wake time.Time
}

// Next tells a drain's next step. A node that something landed on after its
// taint is given back, and so is one that is wanted: that pending pods fit on,
// for which another would have to be bought.
func Next(n *model.Node, wanted bool, now time.Time, p model.ScaleDownPolicy) Step {
	d := n.Standing.Drain
	if n.Standing.Busy != nil || n.Standing.AwaitVersion != "" {
		return Step{}
	}
	if now.Before(d.NotBefore) {
		return Step{Wake: d.NotBefore}
	}
	switch d.Stage {
	case model.Tainted:
		if n.Group < 0 {
			if d.Group == "" {
				return Step{} // nobody's of ours: whoever tainted it knows why
			}
			return Step{Verb: model.Untaint, Reason: model.NotAutoscaled, Why: "no node group has it any more"}
		}
		if !p.Enabled {
			return Step{Verb: model.Untaint, Reason: model.ScaleDownOff, Why: "scale-down is off"}
		}
		if d.Unready && model.NodeReady(n.Object) {
			return Step{Verb: model.Untaint, Reason: model.ReadyAgain, Why: "it has become ready again"}
		}
		if n.InstanceHold != "" {
			return Step{Verb: model.Untaint, Reason: model.InstanceHeld, Why: n.InstanceHold}
		}
		if wanted {
			return Step{Verb: model.Untaint, Reason: model.Reserved, Why: "pending pods fit there"}
		}
		if n.Occupants > 0 {
			return Step{Verb: model.Untaint, Reason: model.PodLanded, Why: fmt.Sprintf("pod %s is on it", n.FirstOccupant)}
		}
		if at := d.Since.Add(p.DeleteDelay); now.Before(at) {
			return Step{Wake: at}
		}
		if d.Unready {
			return Step{Verb: model.Remove, Reason: model.Unneeded, Why: "not ready, and empty", Unready: true}
		}
		return Step{Verb: model.Remove, Reason: model.Unneeded, Why: "empty"}
	case model.RollingBack:
		return Step{Verb: model.Untaint, Reason: model.PodLanded, Why: d.Why}
	}
	return Step{}
}
