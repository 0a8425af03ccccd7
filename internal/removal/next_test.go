package removal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func policy() model.ScaleDownPolicy {
	return model.ScaleDownPolicy{
		Enabled: true, DeleteDelay: 5 * time.Second,
		Drain: model.DrainPolicy{Cordon: true, EvictDaemons: true, MaxGrace: 10 * time.Minute, EvictionTime: 2 * time.Minute,
			DelayTimeout: 2 * time.Minute, ReplacementTime: 2 * time.Minute},
	}
}

// node is a node with a drain, and with the taint of it.
func node(d model.Drain, edit ...func(*model.Node)) *model.Node {
	n := &model.Node{Name: "n", Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	n.Object.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}}
	n.Standing.Drain = &d
	for _, e := range edit {
		e(n)
	}
	return n
}

func annotated(key string) func(*model.Node) {
	return func(n *model.Node) { n.Object.Annotations = map[string]string{key: "true"} }
}

// pod is one that is to be moved.
func pod(name string, edit ...func(*removal.Pod)) removal.Pod {
	q := removal.Pod{
		Pod:   &model.Pod{Name: name, UID: types.UID(name)},
		Name:  "default/" + name,
		Facts: &model.Facts{Grace: 30 * time.Second},
	}
	for _, e := range edit {
		e(&q)
	}
	return q
}

func seeks(q *removal.Pod)                     { q.Seeks = true }
func follows(q *removal.Pod)                   { q.Seeks, q.Follows = true, true }
func alone(q *removal.Pod)                     { q.Alone = true }
func priority(n int32) func(*removal.Pod)      { return func(q *removal.Pod) { q.Priority = n } }
func grace(d time.Duration) func(*removal.Pod) { return func(q *removal.Pod) { q.Facts.Grace = d } }
func daemon(q *removal.Pod)                    { q.Flags |= model.FromDaemonSet; q.Answer.Kind = rules.Stays }
func blocked(q *removal.Pod) {
	q.Answer = rules.Answer{
		Kind: rules.Blocks, Verdict: model.Verdict{Reason: model.NotSafeToEvict, Detail: "pod default/x"},
	}
}
func ending(until time.Time) func(q *removal.Pod) {
	return func(q *removal.Pod) {
		q.Flags |= model.Terminating
		q.Ends = until.Add(-rules.OverdueAfter).Unix()
		if q.Answer.Kind == rules.Moves {
			q.Answer = rules.Answer{Kind: rules.Ends, Verdict: model.Verdict{Until: until}}
		}
	}
}

// text writes steps for comparison: verb, pod and grace, reason.
func text(steps []removal.Step) string {
	var out []string
	for _, s := range steps {
		t := string(s.Verb)
		if s.Verb == model.Evict {
			t += " " + strings.TrimPrefix(s.Pod, "default/") + " " + s.Grace.String()
		}
		if s.Verb == model.Remove && len(s.Known) > 0 {
			t += fmt.Sprint(" with ", s.Known[0])
		}
		if s.Verb == model.Untaint {
			t += " " + string(s.Reason)
		}
		if s.LookOnly {
			t += " look"
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

// TestNext: each stage's next calls, and when time alone brings others.
func TestNext(t *testing.T) {
	empty := model.Drain{Group: "g", Stage: model.Tainted, Since: ago(time.Minute)}
	occupied := model.Drain{
		Group: "g", Stage: model.Tainted, Since: ago(time.Minute), Occupied: true, Pods: []types.UID{"a", "b"},
	}
	evicting := model.Drain{Group: "g", Stage: model.Evicting, Since: ago(time.Minute), Occupied: true}
	with := func(d model.Drain, e ...model.Eviction) model.Drain {
		d.Evictions = e
		return d
	}
	at := func(d model.Drain, since time.Duration) model.Drain {
		d.Since = ago(since)
		return d
	}
	asked := func(pod string, first, last time.Duration) model.Eviction {
		return model.Eviction{
			Pod: "default/" + pod, UID: types.UID(pod), First: ago(first), Last: ago(last), Why: "refused by budget x",
		}
	}
	granted := func(pod string, last time.Duration) model.Eviction {
		e := asked(pod, last, last)
		e.Granted, e.Owner = true, "owner"
		return e
	}
	busy := asked("a", time.Second, time.Second)
	busy.Busy = true
	two := removal.View{Pods: []removal.Pod{pod("a"), pod("b")}}
	one := removal.View{Pods: []removal.Pod{pod("a")}}
	ends := pod("a", ending(now.Add(time.Minute)))

	// The cloud was busy when it was asked to remove it.
	resting := empty
	resting.Tries, resting.NotBefore = 4, now.Add(time.Minute)
	givingBack := resting
	givingBack.Stage = model.RollingBack

	for _, c := range []struct {
		name   string
		n      *model.Node
		v      removal.View
		policy func(*model.ScaleDownPolicy)
		want   string
		wake   time.Time
	}{
		{name: "the taint is being written", n: node(model.Drain{Stage: model.Tainting})},
		{name: "tainted and empty", n: node(empty), want: "Remove"},
		{name: "the cloud was busy", n: node(resting), wake: now.Add(time.Minute)},
		{name: "the cloud was busy, and a pod waits for it", n: node(resting), v: removal.View{Wanted: true}, want: "Untaint ReservedForPendingPods"},
		{name: "rolled back, and that has just failed", n: node(givingBack), v: removal.View{Wanted: true}, wake: now.Add(time.Minute)},
		{name: "tainted just now", n: node(at(empty, time.Second)), wake: now.Add(4 * time.Second)},
		{name: "a pod landed on an empty node", n: node(empty), v: one, want: "Untaint PodLanded"},
		{name: "one that ends, too", n: node(empty), v: removal.View{Pods: []removal.Pod{ends}}, want: "Untaint PodLanded"},
		{name: "one that hangs", n: node(empty), v: removal.View{Pods: []removal.Pod{pod("a", func(q *removal.Pod) { q.Answer.Kind = rules.Stays }, ending(ago(time.Second)))}}, want: "Remove with a"},
		{name: "another leader's, with pods", n: node(model.Drain{Stage: model.Tainted}), v: one, want: "Untaint LeaderChanged"},
		{name: "another leader's, empty", n: node(model.Drain{Stage: model.Tainted}), want: "Remove"},
		{name: "the taint has not been seen yet (rule L4)", n: node(empty, func(n *model.Node) { n.Standing.AwaitVersion = "9" })},
		{name: "a call is under way (rule L1)", n: node(empty, func(n *model.Node) { n.Standing.Busy = &model.Call{} })},
		{name: "our group has it no more", n: node(empty, func(n *model.Node) { n.Group = -1 }), want: "Untaint NotAutoscaled"},
		{name: "another autoscaler's", n: node(model.Drain{Stage: model.Tainted}, func(n *model.Node) { n.Group = -1 })},
		{name: "the cloud holds the instance", n: node(empty, func(n *model.Node) { n.InstanceHold = "protected" }), want: "Untaint InstanceHeld"},
		{name: "annotated since", n: node(evicting, annotated(model.AnnotationScaleDownDisabled)), v: one, want: "Untaint ScaleDownDisabledAnnotation"},
		{name: "wanted by pending pods", n: node(empty), v: removal.View{Wanted: true}, want: "Untaint ReservedForPendingPods"},
		{name: "wanted by pending pods, and replaced: it rests", n: node(empty),
			v: removal.View{Wanted: true, Replaced: true}, want: "Untaint ReplacementWaits"},
		{name: "removals are switched off", n: node(evicting), v: one, policy: func(p *model.ScaleDownPolicy) { p.Enabled = false }, want: "Untaint ScaleDownOff"},
		{name: "rolling back", n: node(model.Drain{Stage: model.RollingBack, Code: model.NoPlaceToMovePods, Why: "x"}), want: "Untaint NoPlaceToMovePods"},
		{name: "rolling back failed", n: node(model.Drain{Stage: model.RollingBack, NotBefore: now.Add(time.Second)}), wake: now.Add(time.Second)},
		{name: "removed", n: node(model.Drain{Stage: model.Removed})},
		{name: "an annotation delays the end", n: node(empty, annotated(model.PrefixDelayDeletion+"backup")), wake: now.Add(time.Minute)},
		{name: "an annotation delays the end for too long", n: node(at(empty, 3*time.Minute), annotated(model.PrefixDelayDeletion+"backup")), want: "Remove"},

		{name: "tainted, its pods are those that were known", n: node(occupied), v: two, want: "Cordon"},
		{name: "it is not to be cordoned", n: node(occupied), v: two, policy: func(p *model.ScaleDownPolicy) { p.Drain.Cordon = false }, want: "Cordon look"},
		{name: "tainted just now, with pods", n: node(at(occupied, time.Second)), v: two, wake: now.Add(4 * time.Second)},
		{name: "a pod landed beside those that were known", n: node(occupied), v: removal.View{Pods: []removal.Pod{pod("a"), pod("c")}}, want: "Untaint PodLanded"},
		{name: "a pod of a DaemonSet landed", n: node(occupied), v: removal.View{Pods: []removal.Pod{pod("a"), pod("c", daemon)}}, want: "Cordon"},
		{name: "a rule keeps a pod by now", n: node(occupied), v: removal.View{Pods: []removal.Pod{pod("a", blocked)}}, want: "Untaint NotSafeToEvictAnnotation"},
		{name: "no room elsewhere any more", n: node(occupied), v: removal.View{Pods: two.Pods, Homeless: &model.Verdict{Reason: model.NoPlaceToMovePods, Detail: "x"}}, want: "Untaint NoPlaceToMovePods"},
		{name: "being cordoned", n: node(model.Drain{Stage: model.Cordoning, Occupied: true}), v: two},

		{name: "all are evicted at once", n: node(evicting), v: two, want: "Evict a 30s, Evict b 30s"},
		{name: "lower priorities first", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", priority(9)), pod("b")}}, want: "Evict b 30s, Evict a 30s"},
		{name: "grace is bounded", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", grace(time.Hour))}}, want: "Evict a 10m0s"},
		{name: "an eviction is under way", n: node(with(evicting, busy)), v: one},
		{name: "refused just now", n: node(with(evicting, asked("a", time.Minute, 4*time.Second))), v: one, wake: now.Add(6 * time.Second)},
		{name: "refused a while ago", n: node(with(evicting, asked("a", time.Minute, 11*time.Second))), v: one, want: "Evict a 30s"},
		{name: "refused for too long", n: node(with(evicting, asked("a", 2*time.Minute, time.Second))), v: two, want: "Untaint EvictionRefused"},
		{name: "granted, and not seen yet", n: node(with(evicting, granted("a", time.Second))), v: one, wake: now.Add(59 * time.Second)},
		{name: "granted, and nothing came of it", n: node(with(evicting, granted("a", time.Minute))), v: one, want: "Evict a 30s"},
		{name: "a pod ends", n: node(with(evicting, granted("a", time.Second))), v: removal.View{Pods: []removal.Pod{pod("a", ending(now.Add(time.Minute)))}}, wake: now.Add(time.Minute)},
		{name: "all have left", n: node(with(evicting, granted("a", time.Second))), want: "Remove"},
		{name: "all have left, an annotation delays the end", n: node(with(evicting, granted("a", time.Second)), annotated(model.PrefixDelayDeletion+"x")), wake: now.Add(119 * time.Second)},

		{name: "no more than there are slots", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", priority(9)), pod("b"), pod("c")}, Slots: 2}, want: "Evict b 30s, Evict c 30s", wake: now.Add(time.Second)},
		{name: "it is unknown whether there is room", n: node(evicting), v: removal.View{Pods: two.Pods, Unsure: true}, wake: now.Add(time.Second)},
		{name: "nor before the cordon", n: node(occupied), v: removal.View{Pods: two.Pods, Unsure: true}, wake: now.Add(10 * time.Second)},
		{name: "the group cannot be read", n: node(evicting), v: removal.View{Pods: two.Pods, Barred: &model.Verdict{Reason: model.GroupUnreadable}}, wake: now.Add(time.Second)},
		{name: "the group must not be touched", n: node(evicting), v: removal.View{Pods: two.Pods, Barred: &model.Verdict{Reason: model.GroupHeld, Detail: "Rollout"}, Back: true}, want: "Untaint GroupHeld"},
		{name: "a pod that tolerates everything landed", n: node(func() model.Drain { d := evicting; d.Pods = []types.UID{"a"}; return d }()), v: two, want: "Untaint PodLanded"},
		{name: "another client deletes a pod, with much time", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", ending(now.Add(time.Hour)))}}, want: "Untaint PodEnding"},
		{name: "what is to come for one that left is not there", n: node(with(evicting, granted("a", time.Second))), v: removal.View{Missing: true}, wake: now.Add(time.Second)},
		{name: "what another Plimsoll wrote", n: node(model.Drain{Stage: model.Tainted, Began: ago(time.Hour)}, annotated(model.AnnotationRemoval), func(n *model.Node) { n.Group = -1 }), wake: now.Add(time.Hour)},
		{name: "what a Plimsoll wrote long ago on a node that no group has", n: node(model.Drain{Stage: model.Tainted, Began: ago(2 * time.Hour)}, annotated(model.AnnotationRemoval), func(n *model.Node) { n.Group = -1 }), want: "Untaint NotAutoscaled"},
		{name: "a replacement waits", n: node(with(evicting, granted("a", time.Second))), v: removal.View{Replacement: "default/c", ReplacementSince: ago(time.Minute)}, wake: now.Add(time.Minute)},
		{name: "a replacement waits, others are evicted", n: node(with(evicting, granted("a", time.Second))), v: removal.View{
			Replacement: "default/c", ReplacementSince: ago(time.Minute), Pods: []removal.Pod{pod("b")},
		}, want: "Evict b 30s", wake: now.Add(time.Minute)},
		{name: "a replacement has waited too long", n: node(with(evicting, granted("a", time.Second))), v: removal.View{Replacement: "default/c", ReplacementSince: ago(2 * time.Minute), Pods: []removal.Pod{pod("b")}}, want: "Untaint ReplacementWaits"},

		{name: "replacements of another drain's pods are not made", n: node(evicting), v: removal.View{Unmade: ago(time.Minute), Pods: []removal.Pod{pod("b")}}, wake: now.Add(time.Second)},
		{name: "and not for long", n: node(evicting), v: removal.View{Unmade: ago(2 * time.Minute), Pods: []removal.Pod{pod("b")}}, want: "Untaint ReplacementWaits"},
		{name: "each that goes is progress", n: node(with(evicting, granted("a", time.Minute), asked("b", 3*time.Minute, 20*time.Second))), v: removal.View{Pods: []removal.Pod{pod("b")}}, want: "Evict b 30s"},
		{
			name: "and it was before a leader changed",
			n: node(with(func() model.Drain { d := evicting; d.Moved = ago(time.Minute); return d }(),
				asked("b", 3*time.Minute, 20*time.Second))),
			v:    removal.View{Pods: []removal.Pod{pod("b")}},
			want: "Evict b 30s",
		},
		{name: "no progress", n: node(with(evicting, granted("a", 2*time.Minute), asked("b", 3*time.Minute, 20*time.Second))), v: removal.View{Pods: []removal.Pod{pod("b")}}, want: "Untaint EvictionRefused"},
		{name: "others tainted a node that no group has, and gave it back", n: node(model.Drain{Stage: model.Tainted, Began: ago(time.Minute)}, func(n *model.Node) { n.Group, n.Object.Spec.Taints = -1, nil }), want: "Untaint NotAutoscaled"},
		{name: "another client removed the taint", n: node(evicting, func(n *model.Node) { n.Object.Spec.Taints = nil }), v: removal.View{Pods: []removal.Pod{pod("a")}}, want: "Untaint TakenBack"},
		{name: "before anything was evicted, too", n: node(occupied, func(n *model.Node) { n.Object.Spec.Taints = nil }), v: removal.View{Pods: []removal.Pod{pod("a")}}, want: "Untaint TakenBack"},
		{name: "another client removed our cordon", n: node(evicting, func(n *model.Node) {
			n.Object.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalCordoned}
		}), v: removal.View{Pods: []removal.Pod{pod("a")}}, want: "Untaint TakenBack"},

		{name: "what it follows ends, and no clock runs for it", n: node(with(evicting, granted("b", time.Second))), v: removal.View{Pods: []removal.Pod{pod("a", follows), pod("b", ending(now.Add(time.Minute)))}}, wake: now.Add(time.Minute)},
		{
			name: "what it follows has left, and has no node yet",
			n:    node(with(evicting, granted("b", time.Second))),
			v: removal.View{
				Replacement: "default/c", ReplacementSince: ago(time.Second), Pods: []removal.Pod{pod("a", seeks)},
			},
			wake: now.Add(119 * time.Second),
		},
		{name: "what it follows has left, and has not come", n: node(with(evicting, granted("b", time.Second))), v: removal.View{Missing: true, Pods: []removal.Pod{pod("a", seeks)}}, wake: now.Add(time.Second)},
		{name: "one that ends waits for none", n: node(with(evicting, busy)), v: removal.View{Pods: []removal.Pod{pod("a"), pod("b", follows, ending(now.Add(time.Minute)))}}, wake: now.Add(time.Minute)},
		{name: "each follows another", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", follows), pod("b", follows)}}, want: "Evict a 30s, Evict b 30s"},

		{name: "the lowest level leaves first", n: node(evicting), v: removal.View{Pods: []removal.Pod{
			pod("a", priority(5000)), pod("b", priority(10)), pod("c", priority(99)), pod("d", priority(-4)),
		}}, policy: levels, want: "Evict d 30s, Evict b 30s, Evict c 30s"},
		{name: "the next level waits for the one below", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", priority(5000)), pod("b", ending(now.Add(time.Minute)))}}, policy: levels, wake: now.Add(time.Minute)},
		{name: "a level bounds the grace", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a", priority(5000))}}, policy: levels, want: "Evict a 20s"},

		{
			name: "in a hurry none waits for another, nor for what comes for it",
			n:    node(with(evicting, granted("x", time.Second))),
			v: removal.View{
				Hurries: true, Missing: true, Replacement: "default/c", ReplacementSince: ago(time.Hour),
				Unmade: ago(time.Hour), Unsure: true,
				Pods: []removal.Pod{pod("a", follows, priority(5000)), pod("b", alone), pod("d", seeks)},
			},
			policy: levels, want: "Evict b 30s, Evict d 30s, Evict a 20s",
		},
		{name: "in a hurry it does not stay", n: node(evicting), v: removal.View{Hurries: true, Wanted: true, Pods: one.Pods,
			Homeless: &model.Verdict{Reason: model.NoPlaceToMovePods}}, want: "Evict a 30s"},
		{name: "in a hurry a refused one is asked for again and again", n: node(with(evicting, asked("a", time.Hour, time.Minute))), v: removal.View{Hurries: true, Pods: one.Pods}, want: "Evict a 30s"},
		{name: "in a hurry a rule still keeps a pod", n: node(evicting), v: removal.View{Hurries: true, Pods: []removal.Pod{pod("a", blocked)}}, want: "Untaint NotSafeToEvictAnnotation"},
		{name: "in a hurry it goes when its pods have left", n: node(with(evicting, granted("a", time.Second))), v: removal.View{Hurries: true, Replacement: "default/c", ReplacementSince: ago(time.Second)}, want: "Remove"},

		{name: "pods of DaemonSets leave last", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("a"), pod("ds", daemon)}}, want: "Evict a 30s"},
		{name: "and then they leave", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("ds", daemon)}}, want: "Evict ds 30s"},
		{name: "unless they are left alone", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("ds", daemon)}}, policy: func(p *model.ScaleDownPolicy) { p.Drain.EvictDaemons = false }, want: "Remove"},
		{name: "or say so themselves", n: node(evicting), v: removal.View{Pods: []removal.Pod{pod("ds", daemon, func(q *removal.Pod) { q.Facts.Daemon = model.No })}}, want: "Remove"},
		{name: "one that was refused keeps nothing", n: node(with(evicting, asked("ds", time.Second, time.Second))), v: removal.View{Pods: []removal.Pod{pod("ds", daemon)}}, want: "Remove"},
		{name: "one that ends is waited for", n: node(with(evicting, granted("ds", time.Second))), v: removal.View{Pods: []removal.Pod{pod("ds", daemon, ending(now.Add(20*time.Second)))}}, wake: now.Add(20 * time.Second)},
		{name: "one that came back stays", n: node(with(evicting, model.Eviction{
			Pod: "default/ds", UID: "before", Owner: "agent", Granted: true, Last: ago(time.Second),
		})),
			v: removal.View{Pods: []removal.Pod{pod("ds", daemon, func(q *removal.Pod) { q.Owner = "agent" })}}, want: "Remove"},
		{name: "and not for ever", n: node(with(evicting, granted("ds", time.Second))), v: removal.View{Pods: []removal.Pod{pod("ds", daemon, ending(ago(time.Second)))}}, want: "Remove with ds"},
		{name: "an empty node's stay with it", n: node(empty), v: removal.View{Pods: []removal.Pod{pod("ds", daemon)}}, want: "Remove"},
		{name: "unless one asks to be evicted", n: node(empty), v: removal.View{Pods: []removal.Pod{pod("ds", daemon, func(q *removal.Pod) { q.Facts.Daemon = model.Yes })}}, want: "Cordon"},
		{name: "or all are", n: node(empty), v: removal.View{Pods: []removal.Pod{pod("ds", daemon)}}, policy: func(p *model.ScaleDownPolicy) { p.Drain.EvictDaemonsEmpty = true }, want: "Cordon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := policy()
			if c.policy != nil {
				c.policy(&p)
			}
			if c.v.Slots == 0 {
				c.v.Slots = 10
			}
			steps, wake := removal.Next(c.n, c.v, now, p)
			if got := text(steps); got != c.want || !wake.Equal(c.wake) {
				t.Errorf("%q and wake %v, want %q and wake %v", got, wake, c.want, c.wake)
			}
			for _, s := range steps {
				if s.Reason == "" || s.Why == "" {
					t.Errorf("%s: no reason, or nothing for a person: %+v", s.Verb, s)
				}
			}
		})
	}
}

func levels(p *model.ScaleDownPolicy) {
	p.Drain.Levels = []model.DrainLevel{{Priority: 0, Grace: time.Minute}, {Priority: 1000, Grace: 20 * time.Second}}
}
