package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// summed merges the changes of a cycle that are the same for the same group: a stock-out fails many
// instances at once.
func summed(changes []model.Change) []model.Change {
	type key struct {
		kind  model.ChangeKind
		group provider.GroupID
		cause provider.Kind
	}
	at := make(map[key]int, len(changes))
	var out []model.Change
	for _, ch := range changes {
		k := key{ch.Kind, ch.Group, ch.Cause}
		i, again := at[k]
		if !again {
			at[k] = len(out)
			out = append(out, ch)
			continue
		}
		out[i].Count += ch.Count
		out[i].Message = ch.Message
	}
	return out
}

// byTheCloud reports whether units were given up because the cloud said so, before their time was
// over.
func byTheCloud(ch model.Change) bool { return ch.Cause != provider.Transient }

// logChange logs what happened in the registry.
func (r *Reporter) logChange(ch model.Change) {
	group := string(ch.Group)
	switch ch.Kind {
	case model.AskGivenUp:
		what := "requested nodes did not arrive in time, and are given up"
		if byTheCloud(ch) {
			what = "the cloud cannot make the requested nodes, and they are given up"
		}
		r.log.Warn(what, "group", group, "nodes", ch.Count, "kind", string(ch.Cause), "why", ch.Message,
			"hint", hint(ch.Cause))
	case model.CreationFailed:
		r.log.Warn("the cloud could not make instances, and they are given up", "group", group, "instances", ch.Count,
			"first", string(ch.Instance),
			"kind", string(ch.Cause), "err", ch.Message, "hint", hint(ch.Cause))
	case model.BackoffBegan:
		r.log.Warn("a group backs off after a failed scale-up; other groups are tried", "group", group, "kind",
			string(ch.Cause), "rests", ch.Message)
	case model.BackoffEnded:
		r.log.Info("a group's backoff is reset", "group", group, "why", ch.Message)
	case model.GroupForgotten:
		r.log.Info("a group no longer exists", "group", group)
	case model.RemovalOdd:
		r.log.Warn("something happened to a removal that cannot happen, and changed nothing: please report it",
			"group", group, "what", ch.Message)
	default:
		r.log.Debug("the registry changed", "kind", string(ch.Kind), "group", group, "count", ch.Count,
			"message", ch.Message)
	}
}

// standing is the health of the cluster and its groups as last logged.
type standing struct {
	cluster bool // unhealthy
	groups  map[provider.GroupID]model.Reason
}

// logHealth logs a cluster and groups that have become unhealthy, or healthy again.
func (r *Reporter) logHealth(s *model.Snapshot) {
	if unhealthy := s.Unhealthy != nil; unhealthy != r.standing.cluster {
		r.standing.cluster = unhealthy
		if unhealthy {
			r.log.Warn("the cluster is unhealthy: nothing is bought or removed until it is not", "why",
				reasonAndDetail(s.Unhealthy), "healthy_when", s.Unhealthy.Fix)
		} else {
			r.log.Info("the cluster is healthy again")
		}
	}
	there := make(map[provider.GroupID]bool, len(s.Groups))
	for i := range s.Groups {
		g := &s.Groups[i]
		there[g.ID] = true
		was := r.standing.groups[g.ID]
		switch {
		case g.Unhealthy == nil && was != "":
			delete(r.standing.groups, g.ID)
			r.log.Info("a group is healthy again", "group", string(g.ID))
		case g.Unhealthy != nil && g.Unhealthy.Reason != was:
			r.standing.groups[g.ID] = g.Unhealthy.Reason
			r.log.Warn("a group is unhealthy, and is not scaled up until it is healthy", "group", string(g.ID),
				"why", reasonAndDetail(g.Unhealthy), "healthy_when", g.Unhealthy.Fix)
		}
	}
	for id := range r.standing.groups {
		if !there[id] {
			delete(r.standing.groups, id)
		}
	}
}

// changed sends the events of what happened in the registry.
func (e *events) changed(now time.Time, ch model.Change) {
	switch ch.Kind {
	case model.AskGivenUp:
		how := "timed out"
		if byTheCloud(ch) {
			how = "failed for " + spelling.Count(ch.Count, "node")
		}
		e.send(now, e.status, string(ch.Group), corev1.EventTypeWarning, eventTimedOut,
			fmt.Sprintf("Scale-up of group %s %s: %s", ch.Group, how, ch.Message))
	case model.CreationFailed:
		// A stock-out and a quota in the same group are two events.
		e.send(now, e.status, fmt.Sprintf("%s/%s", ch.Group, ch.Cause), corev1.EventTypeWarning, eventCreationFailed,
			fmt.Sprintf("Scale-up of group %s failed for %s: %s", ch.Group, spelling.Count(ch.Count, "instance"), ch.Message))
	}
}

// unhealthy sends the event of an unhealthy cluster, repeated while it lasts.
func (e *events) unhealthy(now time.Time, s *model.Snapshot) {
	if v := s.Unhealthy; v != nil {
		e.send(now, e.status, "", corev1.EventTypeWarning, eventUnhealthy,
			"Cluster is unhealthy: "+v.Detail+"; nothing is bought or removed")
	}
}

// changed counts what happened in the registry.
func (m *metrics) changed(ch model.Change) {
	var reason string
	switch ch.Kind {
	case model.AskGivenUp:
		reason = reasonTimeout
		if byTheCloud(ch) {
			reason = errorTypeOf(ch.Cause)
		}
	case model.CreationFailed:
		reason = errorTypeOf(ch.Cause)
	default:
		return
	}
	m.failedGrowth(reason, ch.Group, ch.Count)
}

// failedGrowth counts one scale-up that failed, and the nodes that it will not bring.
func (m *metrics) failedGrowth(reason string, group provider.GroupID, nodes int) {
	m.failedUps.WithLabelValues(reason, "", m.gauges.accelerator(group), "").Inc()
	m.failedNodes.WithLabelValues(reason).Add(float64(nodes))
}
