package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/lru"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// The reasons of events, as operators of the Cluster Autoscaler know them.
const (
	eventTriggered     = "TriggeredScaleUp"
	eventNotTriggered  = "NotTriggerScaleUp"
	eventScaledUp      = "ScaledUpGroup"
	eventScaleUpFailed = "FailedToScaleUpGroup"
	eventScaleDown     = "ScaleDown"
	eventEmpty         = "ScaleDownEmpty"
	eventDownFailed    = "ScaleDownFailed"

	eventTimedOut           = "ScaleUpTimedOut"
	eventCreationFailed     = "ScaleUpFailed"
	eventRevertFailed       = "FailedToRevertScaleUp"
	eventUnhealthy          = "ClusterUnhealthy"
	eventUnregistered       = "DeleteUnregistered"
	eventUnregisteredFailed = "DeleteUnregisteredFailed"
)

const (
	// component is the source of events; scripts and dashboards filter by it.
	component = "cluster-autoscaler"
	// repeatAfter is when the same event on the same object may be sent again.
	repeatAfter = 5 * time.Minute
	// remembered is how many events are remembered for that comparison.
	remembered = 8192
	// maxMessage is what the API server takes of an event's message, in bytes.
	maxMessage = 1024
)

// NewRecorder gives a recorder that sends events in the background, and what
// ends it. Events that come faster than they can be sent are dropped.
func NewRecorder(client kubernetes.Interface) (record.EventRecorder, func()) {
	// Repetitions are suppressed here already, by object and reason.
	b := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{BurstSize: 1000, QPS: 10})
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}), b.Shutdown
}

type events struct {
	recorder    record.EventRecorder
	status      *corev1.ObjectReference
	repeats     bool
	sent        *lru.Cache // eventKey → when
	sentNotices map[provider.Notice]bool
	waiters     waiters
}

type eventKey struct {
	object corev1.ObjectReference
	reason string
	about  string // the group, where the object stands for many; what was answered, where that changes
}

func newEvents(recorder record.EventRecorder, s Settings) *events {
	return &events{
		recorder: recorder,
		status: &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.Namespace,
			Name: s.StatusConfigMap},
		repeats: s.DuplicatedEvents,
		sent:    lru.New(remembered),
	}
}

// send records an event unless the same was sent a short while ago. It reports whether it did.
func (e *events) send(now time.Time, object *corev1.ObjectReference, about, kind, reason, message string) bool {
	key := eventKey{*object, reason, about}
	if last, ok := e.sent.Get(key); ok && !e.repeats && now.Sub(last.(time.Time)) < repeatAfter {
		return false
	}
	e.sent.Add(key, now)
	e.recorder.Event(object, kind, reason, bounded(message))
	return true
}

// planned sends the events of a plan.
func (e *events) planned(now time.Time, c model.Cycle) {
	// 1. Groups that grow, and the pods that they grow for.
	calls := map[string]model.Call{}
	for _, call := range c.Plan.Calls {
		if call.Verb == model.Grow {
			calls[string(call.Group)] = call
		}
	}
	forClass, grownFor := map[model.ClassID][]string{}, map[model.ClassID][]string{}
	for _, g := range c.Plan.Grow {
		call, ok := calls[string(g.Group)]
		if !ok {
			continue
		}
		e.send(now, e.status, string(g.Group), corev1.EventTypeNormal, eventScaledUp,
			fmt.Sprintf("Scale-up: group %s goes from %d to %s (max: %d)", g.Group, g.From,
				spelling.Count(g.To, "node"), call.MaxTo))
		for _, b := range g.Pods {
			grownFor[b.Class] = append(grownFor[b.Class], string(g.Group))
			forClass[b.Class] = append(forClass[b.Class],
				fmt.Sprintf("{%s %d->%d (max: %d)}", g.Group, g.From, g.To, call.MaxTo))
		}
	}
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		groups := forClass[v.Class]
		if len(groups) == 0 || v.Planned == 0 {
			continue
		}
		message := "pod triggered scale-up: [" + strings.Join(groups, ", ") + "]"
		from := v.Existing + v.Upcoming
		// A scale-up of another group, after a failed one, is a new event for the same pod.
		e.toPods(now, c.Snapshot, span{v.Class, from, from + v.Planned}, strings.Join(grownFor[v.Class], ","),
			eventTriggered, message)
	}
	// 2. Nodes that go.
	for _, call := range c.Plan.Calls {
		if call.Verb != model.Remove || call.Node == "" {
			continue
		}
		switch downReason(c.Snapshot, call) {
		case downUnready:
			e.send(now, e.status, call.Node, corev1.EventTypeNormal, eventScaleDown,
				fmt.Sprintf("Scale-down: removing node %q of group %s, which is not ready", call.Node, call.Group))
		case downUnderutilized:
			e.send(now, e.status, call.Node, corev1.EventTypeNormal, eventScaleDown,
				fmt.Sprintf("Scale-down: removing node %q of group %s, whose pods have left", call.Node, call.Group))
		default:
			e.send(now, e.status, call.Node, corev1.EventTypeNormal, eventEmpty,
				fmt.Sprintf("Scale-down: removing empty node %q of group %s", call.Node, call.Group))
		}
	}
}

// answers are the reasons why pods of a class are left, each once, sorted.
func answers(v *model.PendingVerdict) string {
	var out []string
	if v.Skipped != nil {
		out = append(out, string(v.Skipped.Reason))
	}
	for i := range v.Groups {
		out = append(out, string(v.Groups[i].Reason))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// span are some pods of a class, those from one position to another. Pods of a class are
// interchangeable, so that a count of them is a span.
type span struct {
	class    model.ClassID
	from, to int
}

// toPods sends an event about each of some pods.
func (e *events) toPods(now time.Time, s *model.Snapshot, to span, about, reason, message string) {
	for i := range s.Pending {
		q := &s.Pending[i]
		if q.Class != to.class {
			continue
		}
		sent := 0
		for _, p := range q.Pods[min(to.from, len(q.Pods)):min(to.to, len(q.Pods))] {
			if sent == podsPerClass {
				return
			}
			pod := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: s.Classes[to.class].Namespace(),
				Name: p.Name, UID: p.UID}
			if e.send(now, pod, about, corev1.EventTypeNormal, reason, message) {
				sent++
			}
		}
		return
	}
}

// ended sends the event of a call that ended. A call that never began gets none: it is decided
// again.
func (e *events) ended(now time.Time, s *model.Snapshot, out model.Outcome) {
	call := out.Call
	switch {
	case !begun(out):
	case call.Verb == model.Grow && out.Err != nil:
		e.send(now, e.status, string(call.Group), corev1.EventTypeWarning, eventScaleUpFailed,
			fmt.Sprintf("Scale-up of group %s from %d to %s failed: %v", call.Group, call.From,
				spelling.Count(call.To, "node"), out.Err))
	case call.Verb == model.Cancel && out.Err != nil:
		e.send(now, e.status, string(call.Group), corev1.EventTypeWarning, eventRevertFailed,
			fmt.Sprintf("Group %s could not be resized from %d to %s: %v", call.Group, call.From,
				spelling.Count(call.To, "node"), out.Err))
	case call.Verb == model.Grow || call.Verb == model.Cancel:
	case call.Node == "" && out.Err == nil:
		e.send(now, e.status, string(call.Instance), corev1.EventTypeNormal, eventUnregistered,
			fmt.Sprintf("Instance %s of group %s, which has no node, was removed: %s", call.Instance, call.Group, call.Why))
	case call.Node == "":
		e.send(now, e.status, string(call.Instance), corev1.EventTypeWarning, eventUnregisteredFailed,
			fmt.Sprintf("Instance %s of group %s, which has no node, could not be removed: %v", call.Instance,
				call.Group, out.Err))
	default:
		e.onNode(now, s, out)
	}
}

// nodeReference names a node, with its UID as long as it is there.
func nodeReference(s *model.Snapshot, name string) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name}
	if n := nodeOf(s, name); n != nil && n.Object != nil {
		ref.UID = n.Object.UID
	}
	return ref
}

// bounded cuts a message at what the API server takes.
func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return cutText(message, maxMessage-len(more)) + more
}

// more stands for what was cut off.
const more = " ..."

// cutText cuts a text at a length in bytes, between two characters.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
