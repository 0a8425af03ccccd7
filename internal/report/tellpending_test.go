package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// waits is a cycle that leaves a number of pods of one class in each namespace.
func waits(v model.Verdict, namespaces ...int) model.Cycle {
	s := &model.Snapshot{Now: time.Now(), AsOf: time.Now()}
	c := model.Cycle{Decided: true, Snapshot: s}
	for n, pods := range namespaces {
		name := fmt.Sprintf("team-%d", n)
		s.Classes = append(s.Classes, model.Class{Key: name,
			Spec: &model.Spec{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name}}}})
		q := model.Pending{Class: model.ClassID(n)}
		for i := range pods {
			q.Pods = append(q.Pods, &model.Pod{Name: fmt.Sprintf("p-%03d", i), UID: types.UID(fmt.Sprint(name, i)),
				Created: int64(i)})
		}
		s.Pending = append(s.Pending, q)
		c.Plan.Pending = append(c.Plan.Pending, model.PendingVerdict{Class: q.Class, Pods: pods, Left: pods,
			Groups: []model.GroupVerdict{{Group: "a", Verdict: v}}})
	}
	return c
}

// TestPodsThatWaitAreReminded: a pod is told again after half an hour, and at once when the fix changes; so is a
// pod that is new in an old class.
func TestPodsThatWaitAreReminded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		full := model.Verdict{Reason: model.GroupAtMax, Fix: "max ≥ 4"}
		tell := func(name string, want int, c model.Cycle) {
			t.Helper()
			d.report(t, c)
			if got := d.pad.take(); len(got) != want {
				t.Errorf("%s: %d events, want %d: %s", name, len(got), want, strings.Join(got, "\n"))
			}
		}
		idle := func(c model.Cycle) model.Cycle {
			c.Decided = false
			return c
		}
		tell("at first", 2, waits(full, 2))
		time.Sleep(10 * time.Minute)
		tell("nothing is new", 0, waits(full, 2))
		tell("a new pod", 1, waits(full, 3))
		time.Sleep(19 * time.Minute)
		tell("not yet", 0, idle(waits(full, 3)))
		time.Sleep(time.Minute)
		tell("half an hour later, though nothing was decided", 2, idle(waits(full, 3)))
		time.Sleep(10 * time.Minute)
		tell("the third pod's half hour", 1, waits(full, 3))
		full.Fix = "max ≥ 5"
		tell("another fix", 3, waits(full, 3))
		tell("once", 0, waits(full, 3))
	})
}

// TestNamespacesTakeTurns: where more pods wait than may be told, no namespace takes the room of the others, and
// the rest is told later.
func TestNamespacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		sizes := slices.Repeat([]int{30}, 40)
		sizes[39] = 1
		full := model.Verdict{Reason: model.GroupAtMax}
		told := map[string]int{}
		round := func() (n int) {
			d.report(t, waits(full, sizes...))
			for _, line := range d.pad.take() {
				namespace, _, _ := strings.Cut(strings.TrimPrefix(line, "Pod "), "/")
				told[namespace]++
				n++
			}
			return n
		}
		if n := round(); n != podsInAll {
			t.Errorf("%d events, want %d", n, podsInAll)
		}
		if least, most := told["team-38"], told["team-0"]; told["team-39"] != 1 || most-least > 1 {
			t.Errorf("events: %d to the last namespace, %d to the first: %v", least, most, told)
		}
		if n := round(); n != 0 {
			t.Errorf("%d more events at once", n)
		}
		time.Sleep(repeatAfter)
		if n := round(); n != podsInAll {
			t.Errorf("%d events later, want %d", n, podsInAll)
		}
	})
}
