package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// aside looks for a pod among those that no room is looked for, and says why that is so.
func (a *asked) aside(out *Pod, is func(*model.Pod) bool) bool {
	if at := slices.IndexFunc(a.snap.Aside, is); at >= 0 {
		pod := a.snap.Aside[at]
		a.describe(out, pod)
		out.State, out.Why = whyAside(pod)
		return true
	}
	for i := range a.snap.NoNode {
		if b := &a.snap.NoNode[i]; is(&b.Pod) {
			a.describe(out, &b.Pod)
			out.State = stateOf(&b.Pod)
			out.Why = fmt.Sprintf("It is bound to node %s, and there is no Node object of that name: the node has not "+
				"registered yet, or was deleted. No room is looked for: a bound pod stays with its node.", b.Node)
			return true
		}
	}
	return false
}

// whyAside says why no room is looked for.
func whyAside(p *model.Pod) (PodState, string) {
	switch {
	case p.Flags&model.Finished != 0:
		return PodFinished, "It has ended without a node: no room is looked for."
	case p.Flags&model.Terminating != 0:
		return PodEnding, "It is being deleted and has no node: no room is looked for."
	case p.Flags&model.Gated != 0:
		gates := "its scheduling gates are"
		if p.Said != "" {
			names := strings.Split(p.Said, ", ")
			gates = fmt.Sprintf("its scheduling %s removed: %s", gateWord(len(names)), p.Said)
		} else {
			gates += " removed"
		}
		return PodGated, "The scheduler does not look at it until " + gates + ". No room is looked for until then."
	case p.Flags&model.FromDaemonSet != 0:
		why := "Its DaemonSet made it for one node, and it waits for room there. No node is bought for it: " +
			"of each new node the room for DaemonSets is set aside."
		if p.Said != "" {
			why += fmt.Sprintf(" The scheduler says: %q", p.Said)
		}
		return PodPending, why
	}
	return PodPending, fmt.Sprintf("The scheduler makes room for it on node %s, where it takes the place of pods of "+
		"lower priority. No other room is looked for.", p.Nominated)
}

func gateWord(n int) string {
	if n == 1 {
		return "gate is"
	}
	return "gates are"
}
