package report

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

const (
	// remindAfter is when a pod that still waits gets its event again: the API server forgets events after an hour.
	remindAfter = 30 * time.Minute
	// podsPerClass is how many pods of one class get the same event in one cycle, and how many of those that get no
	// room are told the same within repeatAfter. podsInAll is how many of these are told anything within it.
	podsPerClass = 25
	podsInAll    = 250
)

// waiters is what pods have been told that get no room.
type waiters struct {
	told    map[types.UID]told
	answers map[string]*window // by class and answer
	all     window
	// again is when there is something to send although nothing was decided; zero: never.
	again time.Time
}

// told is what one pod was told last, and when.
type told struct {
	said string
	at   time.Time
}

// window counts events within repeatAfter.
type window struct {
	since time.Time
	sent  int
}

// room is how many more events the window takes.
func (w *window) room(now time.Time, most int) int {
	if now.Sub(w.since) >= repeatAfter {
		*w = window{since: now}
	}
	return max(0, most-w.sent)
}

// note is one answer to pods of a class. said is what must change before it is news.
type note struct {
	class     *model.Class
	key, said string
	why, fix  string
	pods      []*model.Pod
}

// letter is a note to one pod.
type letter struct {
	*note
	pod *model.Pod
}

// tellPods sends pods that get no room the reasons: to each pod once for each answer and fix, and again after
// remindAfter. Where the bounds do not allow all, namespaces take turns, and what is news comes first.
func (e *events) tellPods(now time.Time, c model.Cycle) {
	w := &e.waiters
	if !c.Decided && (w.again.IsZero() || now.Before(w.again)) {
		return
	}
	before := *w
	*w = waiters{told: map[types.UID]told{}, answers: map[string]*window{}, all: before.all}
	// 1. What is due, by namespace.
	due := map[string][]letter{}
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		for _, n := range notesOf(c.Snapshot, v) {
			for _, p := range n.pods {
				if last, ok := before.told[p.UID]; ok {
					w.told[p.UID] = last
				}
			}
			if w.answers[n.key] = before.answers[n.key]; w.answers[n.key] == nil {
				w.answers[n.key] = &window{}
			}
			if !unsettled(v) {
				namespace := n.class.Namespace()
				due[namespace] = append(due[namespace], w.due(now, &n)...)
			}
		}
	}
	// 2. As many as there is room for.
	list := inTurns(due)
	if room := w.all.room(now, podsInAll); len(list) > room {
		w.wake(w.all.since.Add(repeatAfter))
		list = list[:room]
	}
	for _, l := range list {
		w.all.sent++
		w.answers[l.key].sent++
		w.told[l.pod.UID] = told{l.said, now}
		namespace := l.class.Namespace()
		e.send(now, &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: l.pod.Name,
			UID: l.pod.UID}, l.said, corev1.EventTypeNormal, eventNotTriggered, l.fitting())
	}
	// 3. When to remind the first of them.
	for _, t := range w.told {
		w.wake(t.at.Add(remindAfter))
	}
}

func (w *waiters) wake(at time.Time) {
	if w.again.IsZero() || at.Before(w.again) {
		w.again = at
	}
}

// due are the letters of one note: those that are news to their pods first, the youngest pods at the head.
func (w *waiters) due(now time.Time, n *note) (out []letter) {
	var again []letter
	for _, p := range n.pods {
		switch last, ok := w.told[p.UID]; {
		case !ok || last.said != n.said:
			out = append(out, letter{n, p})
		case now.Sub(last.at) >= remindAfter:
			again = append(again, letter{n, p})
		}
	}
	slices.SortStableFunc(out, func(a, b letter) int { return int(b.pod.Created - a.pod.Created) })
	out = append(out, again...)
	if room := w.answers[n.key].room(now, podsPerClass); len(out) > room {
		w.wake(w.answers[n.key].since.Add(repeatAfter))
		out = out[:room]
	}
	return out
}

// inTurns puts letters in an order in which namespaces take turns.
func inTurns(due map[string][]letter) (out []letter) {
	names := slices.Sorted(maps.Keys(due))
	for n, more := 0, true; more; n++ {
		more = false
		for _, name := range names {
			if n < len(due[name]) {
				out, more = append(out, due[name][n]), true
			}
		}
	}
	return out
}

// notesOf are the answers to the pods of a class that get no room, and to those that the scheduler leaves waiting.
func notesOf(s *model.Snapshot, v *model.PendingVerdict) (out []note) {
	if !v.Stays(s.Now) {
		return nil
	}
	add := func(from, to int, said, why, fix string) {
		i := slices.IndexFunc(s.Pending, func(q model.Pending) bool { return q.Class == v.Class })
		if i < 0 {
			return
		}
		pods := s.Pending[i].Pods
		class := &s.Classes[v.Class]
		out = append(out, note{class, class.Key + "\x00" + said, said + "\x00" + fixWords(v), why, fix,
			pods[min(from, len(pods)):min(to, len(pods))]})
	}
	if v.Disagrees != nil && v.Skipped == nil {
		add(0, v.Existing, string(v.Disagrees.Reason), reasonAndDetail(v.Disagrees), v.Disagrees.Fix)
	}
	if left := v.Without(); left > 0 {
		add(v.Pods-left, v.Pods, answers(v), reasonText(v), fixText(s.Now, v))
	}
	return out
}

// fixText is the nearest fix, with the group that it is for, and with what is known of it.
func fixText(now time.Time, v *model.PendingVerdict) string {
	group, nearest := v.Nearest()
	if nearest.Fix == "" {
		return ""
	}
	return v.Trial(now).Mark(nearest.Fix, group)
}

// fixWords is the nearest fix without what is known of it: an answer is no other one once a trial has failed.
func fixWords(v *model.PendingVerdict) string {
	group, nearest := v.Nearest()
	if nearest.Fix == "" {
		return ""
	}
	return nearest.Fix + " (" + string(group) + ")"
}

// fitting is the message as far as the API server takes it. The nearest fix is kept, and the text says where the
// rest is.
func (l *letter) fitting() string {
	why, fix := "pod didn't trigger scale-up: "+l.why, ""
	if l.fix != "" {
		fix = "; nearest fix: " + l.fix
	}
	if len(why)+len(fix) <= maxMessage {
		return why + fix
	}
	rest := more + " (plimsoll explain pod " + l.class.Namespace() + "/" + l.pod.Name + " has the rest)"
	fix = cutText(fix, maxMessage/2)
	if room := maxMessage - len(rest) - len(fix); len(why) > room {
		why = cutText(why, room) + rest
	}
	return why + fix
}
