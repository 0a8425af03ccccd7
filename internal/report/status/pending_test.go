package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// waiting is a cycle that leaves pods of a number of classes, more of each than of the one before.
func waiting(at time.Time, classes int, v model.Verdict) model.Cycle {
	s := &model.Snapshot{Now: at}
	c := model.Cycle{Snapshot: s}
	for i := range classes {
		s.Classes = append(s.Classes, model.Class{Key: fmt.Sprint(i),
			Spec: &model.Spec{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}}})
		q := model.Pending{Class: model.ClassID(i)}
		for n := range i + 2 {
			q.Pods = append(q.Pods, &model.Pod{Name: fmt.Sprintf("app%03d-x%04d", i, n)})
		}
		s.Pending = append(s.Pending, q)
		c.Plan.Pending = append(c.Plan.Pending, model.PendingVerdict{Class: q.Class, Pods: i + 2, Left: i + 1, Since: start,
			Groups: []model.GroupVerdict{{Group: "small", Verdict: model.Verdict{Reason: model.NodeAffinity}},
				{Group: "large", Verdict: v}}})
	}
	return c
}

// TestPendingClasses: each class has its nearest answer with since, next try and fix; since stays while the reason
// does.
func TestPendingClasses(t *testing.T) {
	rest := model.Verdict{Reason: model.GroupBackoff, Detail: "for 5m", Until: start.Add(time.Hour), Fix: "time"}
	before := Of(start, waiting(start, 2, rest), Document{})
	later := start.Add(10 * time.Minute)
	got := Of(later, waiting(later, 2, rest), before).Pending
	if got.Classes != 2 || got.Pods != 3 || len(got.List) != 2 {
		t.Fatalf("%+v", got)
	}
	p := got.List[0]
	if p.Trial != model.NoTrial {
		t.Errorf("time brings it, and it is %q", p.Trial)
	}
	if p.Pods != "ns/app001-x" || p.Count != 2 || p.Of != 3 || p.Group != "large" || p.Reason != model.GroupBackoff ||
		p.Fix != "time" || !p.Since.Time.Equal(start) || !p.Oldest.Time.Equal(start) || !p.NextTry.Time.Equal(rest.Until) {
		t.Errorf("%+v", p)
	}
	full := model.Verdict{Reason: model.GroupAtMax, Detail: "5/5 nodes", Fix: "max ≥ 6"}
	if p = Of(later, waiting(later, 2, full), before).Pending.List[0]; !p.Since.Time.Equal(later) || p.NextTry != nil {
		t.Errorf("another reason: %+v", p)
	}
	for want, tried := range map[model.Trial]*model.TriedFix{
		model.NotTried: nil, model.NoneDoes: {}, model.Works: {Group: "small", Text: "x"}} {
		c := waiting(later, 1, full)
		c.Plan.Pending[0].Tried = tried
		fix := map[model.Trial]string{model.NotTried: full.Fix, model.NoneDoes: full.Fix, model.Works: "x"}[want]
		if p = Of(later, c, before).Pending.List[0]; p.Trial != want || p.Fix != fix {
			t.Errorf("tried %+v: %+v", tried, p)
		}
	}
	none := waiting(later, 1, full)
	none.Plan.Pending[0].Groups = nil
	if p = Of(later, none, before).Pending.List[0]; p.Reason != model.NoGroups || p.Fix == "" {
		t.Errorf("without groups: %+v", p)
	}
}

// TestManyPendingClasses: the document has the classes with the most pods, and stays small.
func TestManyPendingClasses(t *testing.T) {
	long := strings.Repeat("ü", 10_000)
	c := waiting(start, 300, model.Verdict{Reason: model.GroupAtMax, Detail: long, Fix: long})
	d := Of(start, c, Document{})
	if d.Pending.Classes != 300 || d.Pending.Pods != 300*301/2 || len(d.Pending.List) != mostPending ||
		d.Pending.List[0].Count != 300 {
		t.Errorf("%d classes, %d pods, %d of them listed", d.Pending.Classes, d.Pending.Pods, len(d.Pending.List))
	}
	if n := len(text(t, d)); n > maxText/5 {
		t.Errorf("%d bytes", n)
	}
}

// TestAgesOfPendingPodsAreNoNews: a detail with an age alone is no cause to write the document.
func TestAgesOfPendingPodsAreNoNews(t *testing.T) {
	stale := model.Verdict{Reason: model.StaleInventory, Detail: "read 10s ago"}
	a := Of(start, waiting(start, 1, stale), Document{})
	stale.Detail = "read 11s ago"
	b := Of(start, waiting(start, 1, stale), a)
	if x, y := text(t, a.WithoutTimes()), text(t, b.WithoutTimes()); x != y {
		t.Errorf("%s\n%s", x, y)
	}
	if !strings.Contains(text(t, b), "11s") {
		t.Error("the document lacks the detail")
	}
}
