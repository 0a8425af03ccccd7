package loop

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestRecheck: once an hour, a turn that decides nothing holds what is kept against a decision from nothing. What is
// wrong is told and dropped, and the next turn decides.
func TestRecheck(t *testing.T) {
	warm(t)
	for _, r := range []struct {
		spoil   func(*model.Snapshot) // what is kept; nil: nothing
		differs string                // then in the plan
	}{
		{nil, ""},
		{func(s *model.Snapshot) { clear(s.Projection.Of) }, "Pending"}, // all labels are taken for the first ones
		{func(s *model.Snapshot) { s.Nodes[0].MilliCPU += 2000 }, "Kept"},
	} {
		spoiled := r.spoil != nil
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			for _, app := range []string{"a", "b"} {
				p := testkit.Pod("default", app, "100", "1Gi", map[string]string{"app": app})
				testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, map[string]string{"app": "a"})
				w.cluster.Pending(p, 3)
			}
			w.cluster.AddNode(testkit.Node("n", "4", "16Gi", nil), "g")
			w.cluster.Bound(testkit.Pod("default", "web", "1", "1Gi", nil), 1, "n")
			l := w.loop()
			defer l.Close()
			w.run(t, l, time.Minute)
			if spoiled {
				r.spoil(l.snap)
			}
			w.run(t, l, 3*time.Hour)
			var found []string
			checked, after := 0, false
			for i, c := range w.cycles {
				if c.Recheck == nil {
					continue
				}
				if c.Decided {
					t.Error("a turn that decided checked besides")
				}
				checked++
				if len(c.Recheck.Differs) > 0 {
					found, after = c.Recheck.Differs, w.cycles[i+1].Decided
				}
			}
			if checked < 2 || checked > 3 {
				t.Errorf("checked %d times in three hours", checked)
			}
			if (len(found) > 0) != spoiled || after != spoiled || spoiled && !slices.Contains(found, r.differs) {
				t.Errorf("spoiled %v: %q differ, decided again %v", spoiled, found, after)
			}
		})
	}
}

// TestReplay: a plan that buys is put before the scheduler's filters once more, after its calls have begun. Where they
// refuse what it has found, that is told once, and they alone say from then on where pods of that class may go.
func TestReplay(t *testing.T) {
	warm(t)
	for _, spoiled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.cluster.Groups[0].Template.Node.Labels["pool"] = "here"
			p := testkit.Pod("default", "web", "1", "1Gi", nil)
			p.Spec.NodeSelector = map[string]string{"pool": "here"}
			w.cluster.Pending(p, 3)
			l := w.loop()
			defer l.Close()
			turn := func() model.Cycle {
				w.generation++
				if err := l.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				return w.cycles[len(w.cycles)-1]
			}
			first := turn()
			if len(w.started) != 1 || first.Replay != nil {
				t.Fatalf("calls %+v, and of a replay there is %+v", w.started, first.Replay)
			}
			if spoiled { // as if the decision had read what the filters do not
				l.snap.Classes[0].Spec.Pod.Spec.NodeSelector["pool"] = "elsewhere"
			}
			l.Rest()
			l.snap.Classes[0].Spec.Pod.Spec.NodeSelector["pool"] = "here"
			second := turn()
			if r := second.Replay; r == nil || !r.Ended || r.Pods != 3 || r.Steps == 0 || (r.Refused != nil) != spoiled {
				t.Fatalf("spoiled %v: %+v", spoiled, second.Replay)
			}
			if no := second.Replay.Refused; spoiled &&
				(no.Pod != "default/web-000001" || no.Reason != model.NodeAffinity || no.Node != "a new node of group g") {
				t.Errorf("refused: %+v", no)
			}
			third := turn()
			if third.Replay != nil {
				t.Error("it is told twice")
			}
			for _, c := range []model.Cycle{second, third} {
				told := slices.ContainsFunc(c.Plan.Notices, func(n provider.Notice) bool { return n.Code == "PlanNotAllowed" })
				if told != spoiled || (c.Plan.Work.NodesScanned > first.Plan.Work.NodesScanned) != spoiled {
					t.Errorf("spoiled %v: a notice %v, %+v instead of %+v", spoiled, told, c.Plan.Work, first.Plan.Work)
				}
			}
			adopted := testkit.Policy()
			l.Adopt(adopted)
			if turn(); (len(l.policy.Disallowed) > 0) != spoiled {
				t.Error("a new policy forgets what the filters have said")
			}
		})
	}
}

// TestReplayRests: after a replay that took all of its steps, plans are left alone for a while.
func TestReplayRests(t *testing.T) {
	w, now, begun, plans := newWorld(), testkit.Start, 0, 0
	w.cluster.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 30)
	p := testkit.Policy()
	p.Share(1)
	l := New(w, w, w, p, func() time.Time { return now }, ledger.New(p.Rules))
	defer l.Close()
	for range 13 {
		if err := l.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l.replay != nil {
			begun++
		}
		l.Rest()
		w.cluster.Groups[0].Target = 0
		for _, c := range w.started { // each is refused, so that another plan buys again
			w.ended = append(w.ended, model.Outcome{Call: c, Began: now, Ended: now,
				Err: &provider.Error{Kind: provider.Conflict}})
			plans++
		}
		w.started, w.events = nil, nil
		w.generation++
		now = now.Add(10 * time.Second)
	}
	if begun < 2 || begun > 4 || plans <= begun {
		t.Errorf("%d replays of %d plans in two minutes", begun, plans)
	}
}

// TestReplayIsNoDelay: a replay stops when a turn is due, and ends with the next decision, which is told.
func TestReplayIsNoDelay(t *testing.T) {
	w := newWorld()
	w.cluster.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 30)
	l := w.loop()
	defer l.Close()
	for range 2 {
		if err := l.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.generation++
		due, nudged := make(chan time.Time, 1), make(chan struct{}, 1)
		due <- time.Now()
		if l.idle(t.Context(), due, nil) {
			t.Error("nothing nudged")
		}
		nudged <- struct{}{}
		if !l.idle(t.Context(), nil, nudged) {
			t.Error("a nudge is not noticed")
		}
	}
	if r := w.cycles[1].Replay; r == nil || r.Ended || r.Asked != 0 {
		t.Errorf("the first plan's: %+v", r)
	}
}
