package report

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/shadow"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// The reasons of an observer's events. An acting autoscaler has others: who counts its events must
// not count what was not done.
const (
	eventWouldScaleUp   = "WouldScaleUp"
	eventWouldTrigger   = "WouldTriggerScaleUp"
	eventWouldScaleDown = "WouldScaleDown"
)

// observing reports the plans of a loop that carries none of them out. It belongs to the loop's
// goroutine, as the reporter does.
type observing struct {
	log     *slog.Logger
	events  *events
	metrics *shadowMetrics
	book    shadow.Book
}

func newObserving(recorder record.EventRecorder, s Settings, registry prometheus.Registerer,
	log *slog.Logger) *observing {
	return &observing{log: log, events: newEvents(recorder, s), metrics: newShadowMetrics(registry)}
}

// news reports what a cycle would have begun. It returns the cycle as it really was: with no call
// begun, under way or ended, and none remembered.
func (o *observing) news(now time.Time, c model.Cycle) model.Cycle {
	// A scale-up that is no longer needed is reported after the next read of the cloud.
	if c.Decided || o.book.AwaitsCloud() {
		news := o.book.Note(c.Snapshot, &c.Plan)
		o.logNews(news)
		o.sendNews(now, c, news)
		o.metrics.noted(c, news)
	}
	intents := map[string]bool{}
	for _, call := range c.Open {
		intents[call.ID] = true
	}
	c.Memory.Asks = slices.DeleteFunc(slices.Clone(c.Memory.Asks), func(a model.Ask) bool { return intents[a.ID] })
	c.Ended, c.Open, c.Plan.Calls, c.Plan.Grow = nil, nil, nil, nil
	return c
}

// logNews logs each piece of news.
func (o *observing) logNews(n shadow.News) {
	for _, g := range n.Grown {
		line := []any{"group", string(g.Group), "nodes", g.Nodes, "here", string(g.Agreement)}
		if g.Agreement == shadow.Wanted {
			line = append(line, "after", g.After)
		}
		o.log.Info("others bought nodes", line...)
	}
	for _, g := range n.Gone {
		o.log.Info("others removed a node, or it is gone", "node", g.Node, "group", string(g.Group), "here",
			string(g.Agreement))
	}
	for _, g := range n.Over {
		o.log.Info("no more nodes are needed", "group", string(g.Group), "would_have_bought", g.Nodes, "others_bought",
			g.Bought, "after", g.For)
	}
	for _, w := range n.Began {
		line := []any{"verb", string(w.Verb), "group", string(w.Group)}
		switch w.Verb {
		case model.Grow:
			line = append(line, "from", w.From, "to", w.To, "max", w.MaxTo, "new_nodes", w.Nodes, "for_pods", w.Pods)
		case model.Cancel:
			line = append(line, "from", w.From, "to", w.To)
		case model.Remove:
			line = append(line, "instance", string(w.Instance))
		case model.Taint:
			line = append(line, "node", w.Node, "then", followsText(w))
		default:
			line = append(line, "node", w.Node)
		}
		line = append(line, "reason", string(w.Reason), "why", w.Why)
		if w.Verb == model.Mark || w.Verb == model.Unmark || w.Verb == model.Annotate {
			o.log.Debug("would begin", line...) // a debug line: no decision depends on it
		} else {
			o.log.Info("would begin", line...)
		}
	}
}

// followsText is what would follow a node's taint.
func followsText(w shadow.Would) string {
	if w.Moves == 0 {
		return "remove its instance"
	}
	return fmt.Sprintf("cordon it, evict %s, remove its instance", spelling.Count(w.Moves, "pod"))
}

// sendNews sends an event for each group that would grow, for some of the pods that
// it would grow for, and for each node that would go.
func (o *observing) sendNews(now time.Time, c model.Cycle, n shadow.News) {
	grows := map[provider.GroupID]string{}
	for _, w := range n.Began {
		switch w.Verb {
		case model.Grow:
			grows[w.Group] = fmt.Sprintf("{%s %d->%d (max: %d)}", w.Group, w.From, w.To, w.MaxTo)
			o.events.send(now, o.events.status, string(w.Group), corev1.EventTypeNormal, eventWouldScaleUp,
				fmt.Sprintf("Observe mode: group %s would go from %d to %s (max: %d)", w.Group,
					w.From, spelling.Count(w.To, "node"), w.MaxTo))
		case model.Taint:
			o.events.send(now, nodeReference(c.Snapshot, w.Node), "", corev1.EventTypeNormal, eventWouldScaleDown,
				fmt.Sprintf("Observe mode: the node would be tainted (%s), and then: %s", w.Why, followsText(w)))
		}
	}
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		var groups []string
		for _, g := range c.Plan.Grow {
			if text, news := grows[g.Group]; news &&
				slices.ContainsFunc(g.Pods, func(b model.Batch) bool { return b.Class == v.Class }) {
				groups = append(groups, text)
			}
		}
		if len(groups) > 0 && v.Planned > 0 {
			from := v.Existing + v.Upcoming
			o.events.toPods(now, c.Snapshot, span{v.Class, from, from + v.Planned}, "", eventWouldTrigger,
				"Observe mode: pod would trigger scale-up: ["+strings.Join(groups, ", ")+"]")
		}
	}
}

// silent drops the events of a process that must send none.
type silent struct{}

// Silent gives a recorder that sends nothing.
func Silent() record.EventRecorder { return silent{} }

func (silent) Event(runtime.Object, string, string, string)          {}
func (silent) Eventf(runtime.Object, string, string, string, ...any) {}
func (silent) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
}
