package report

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Why a node was removed, as the Cluster Autoscaler says it.
const (
	downEmpty         = "empty"
	downUnderutilized = "underutilized"
	downUnready       = "unready"
)

// downReason is the word for a removal that is about to begin: the pods of an underutilized node
// were evicted.
func downReason(s *model.Snapshot, call model.Call) string {
	if call.Unready {
		return downUnready
	}
	if n := nodeOf(s, call.Node); n != nil && n.Standing.Drain != nil && n.Standing.Drain.Occupied {
		return downUnderutilized
	}
	return downEmpty
}

// removals remembers what to report when a removal ends, and what was reported already.
type removals struct {
	reasons map[string]string    // Remove's id → why the node goes; at its end the node may be gone
	given   map[string]time.Time // node → when the drain began that is rolled back
}

func newRemovals() removals {
	return removals{reasons: map[string]string{}, given: map[string]time.Time{}}
}

// planned takes note of a plan. It returns how many pods will not be evicted because the plan rolls
// back their nodes' removal.
func (r removals) planned(c model.Cycle) (spared int) {
	back := map[string]bool{}
	for _, call := range c.Plan.Calls {
		switch {
		case call.Verb == model.Remove && call.Node != "":
			r.reasons[call.ID] = downReason(c.Snapshot, call)
		case call.Verb == model.Untaint:
			back[call.Node] = true
		}
	}
	if len(back) == 0 && len(r.given) == 0 {
		return 0
	}
	open := map[string]bool{}
	for i := range c.Snapshot.Nodes {
		n := c.Snapshot.Nodes[i]
		d := n.Standing.Drain
		if d == nil {
			continue
		}
		open[n.Name] = true
		// A rollback that failed is tried again, for the same drain.
		if began, ok := r.given[n.Name]; !back[n.Name] || (ok && began.Equal(d.Began)) {
			continue
		}
		r.given[n.Name] = d.Began
		for j := range d.Evictions {
			if e := &d.Evictions[j]; !e.Granted && e.Why != "" {
				spared++
			}
		}
	}
	for name := range r.given {
		if !open[name] {
			delete(r.given, name)
		}
	}
	return spared
}

// ended returns why a node went whose removal has ended, and forgets it.
func (r removals) ended(s *model.Snapshot, call model.Call) string {
	if reason, ok := r.reasons[call.ID]; ok {
		delete(r.reasons, call.ID)
		return reason
	}
	return downReason(s, call)
}

// refused reports whether a disruption budget refused an eviction, which is then tried again. A pod
// that changed during the request looks the same.
func refused(out model.Outcome) bool {
	return out.Call.Verb == model.Evict && out.Err != nil && out.Err.Kind == provider.Conflict &&
		!out.Err.MayHaveHappened
}

// begun reports whether a call was begun at all.
func begun(out model.Outcome) bool { return out.Err == nil || out.Err.Code != model.CodeNotBegun }

// onNode sends the events of a call on a node, or on a pod of it, that ended.
func (e *events) onNode(now time.Time, s *model.Snapshot, out model.Outcome) {
	call := out.Call
	send := func(about, kind, reason, message string) {
		e.send(now, nodeReference(s, call.Node), about, kind, reason, message)
	}
	switch {
	case call.Verb == model.Mark || call.Verb == model.Unmark || call.Verb == model.Annotate:
		// That changes nothing for the node.
	case call.Verb == model.Evict:
		e.evicted(now, out)
	case len(out.Landed) > 0:
		send(string(model.PodLanded), corev1.EventTypeWarning, eventDownFailed,
			"the node stays: pods landed on it: "+list(out.Landed))
	case out.Err != nil:
		send(string(call.Verb), corev1.EventTypeWarning, eventDownFailed,
			fmt.Sprintf("%s failed: %v", call.Verb, out.Err))
	case call.Verb == model.Remove:
		send(string(call.Verb), corev1.EventTypeNormal, eventScaleDown,
			"node removed by the cluster autoscaler: "+call.Why)
	case out.Unchanged:
	case call.Verb == model.Taint:
		send(string(call.Verb), corev1.EventTypeNormal, eventScaleDown,
			"marked the node as toBeDeleted/unschedulable: "+call.Why)
	case call.Verb == model.Untaint:
		kind := corev1.EventTypeWarning
		if !call.Reason.FailedRemoval() {
			kind = corev1.EventTypeNormal
		}
		send(string(call.Reason), kind, eventDownFailed, "its scale-down was rolled back: "+backText(call))
	}
}

func backText(call model.Call) string {
	return reasonAndDetail(&model.Verdict{Reason: call.Reason, Detail: call.Why})
}

// evicted sends a pod the event that it is evicted, or could not be. A budget's refusal is no event
// of the pod: if it leads to a rollback, the node gets one.
func (e *events) evicted(now time.Time, out model.Outcome) {
	namespace, name, _ := strings.Cut(out.Call.Pod, "/")
	pod := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name,
		UID: out.Call.PodUID}
	switch {
	case out.Err == nil && !out.Unchanged:
		e.send(now, pod, "", corev1.EventTypeNormal, eventScaleDown,
			"deleting pod for node scale down: node "+out.Call.Node)
	case out.Err != nil && !refused(out):
		e.send(now, pod, "", corev1.EventTypeWarning, eventDownFailed,
			fmt.Sprintf("pod could not be evicted from node %s: %v", out.Call.Node, out.Err))
	}
}

// asked are the pods that open drains have begun to evict.
func asked(s *model.Snapshot) map[types.UID]bool {
	out := map[types.UID]bool{}
	for i := range s.Nodes {
		if d := s.Nodes[i].Standing.Drain; d != nil {
			for j := range d.Evictions {
				out[d.Evictions[j].UID] = true
			}
		}
	}
	return out
}

// nodeOf finds a node by its name, nil if there is none.
func nodeOf(s *model.Snapshot, name string) *model.Node {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return s.Nodes[i]
		}
	}
	return nil
}
