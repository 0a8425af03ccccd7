package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// world fills all three ports: a cloud that takes its time, in virtual time.
type world struct {
	cluster    *testkit.Cluster
	generation uint64
	err        error
	started    []model.Call
	ended      []model.Outcome
	events     []event
	cycles     []model.Cycle
	turns      []time.Time
	delay      time.Duration
	changed    chan struct{}
	// asOf is the age of the cloud's picture, if it is not read at every turn.
	asOf time.Time
}

func newWorld() *world {
	c := testkit.New()
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
	return &world{cluster: c, generation: 1, changed: make(chan struct{}, 1)}
}

func (w *world) Observe(_ context.Context, now time.Time) (model.Observation, error) {
	w.turns = append(w.turns, now)
	w.settle(now)
	w.cluster.Now = now
	o := w.cluster.Observation()
	o.Generation = w.generation
	o.Nodes = slices.Clone(o.Nodes)
	for i := range o.Nodes {
		o.Nodes[i].Generation = w.generation
	}
	if !w.asOf.IsZero() {
		o.Inventory.AsOf = w.asOf
	}
	return o, w.err
}

func (w *world) Start(_ context.Context, calls []model.Call) {
	for _, c := range calls {
		w.started = append(w.started, c)
		if c.Verb == model.Grow {
			w.after(w.delay, func() {
				w.cluster.Groups[0].Target = c.To
				w.ended = append(w.ended, model.Outcome{Call: c, Ended: time.Now(), Target: c.To})
				w.generation++
			})
		}
	}
}

// event is something that happens to the world at its time.
type event struct {
	at     time.Time
	happen func()
}

// after lets something happen, and nudges. It happens as the next turn begins, so that only the
// loop's goroutine touches the world.
func (w *world) after(d time.Duration, happen func()) {
	w.events = append(w.events, event{time.Now().Add(d), happen})
	time.AfterFunc(d, w.nudge)
}

func (w *world) settle(now time.Time) {
	w.events = slices.DeleteFunc(w.events, func(e event) bool {
		due := !e.at.After(now)
		if due {
			e.happen()
		}
		return due
	})
}

func (w *world) nudge() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *world) Collect() []model.Outcome {
	ended := w.ended
	w.ended = nil
	return ended
}

func (w *world) Report(_ context.Context, c model.Cycle) error {
	w.cycles = append(w.cycles, c)
	return nil
}

func (w *world) loop() *Loop {
	return New(w, w, w, testkit.Policy(), time.Now, ledger.New(testkit.Policy().Rules))
}

var triggers = Triggers{Interval: 10 * time.Second, Idle: 250 * time.Millisecond, Longest: 2 * time.Second}

func (w *world) run(t *testing.T, l *Loop, d time.Duration) {
	t.Helper()
	tr := triggers
	tr.Nudges = []<-chan struct{}{w.changed}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	l.Run(ctx, tr, func(error) {})
	cancel()
	synctest.Wait()
}

// TestGrowthIsAskedForOnce: while a slow growth is under way, and until its
// nodes register, the pods that it is for buy nothing more.
func TestGrowthIsAskedForOnce(t *testing.T) {
	testkit.New().Observation() // the plugins are built outside of the bubble
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.delay = 25 * time.Second
		w.cluster.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 10)
		w.run(t, w.loop(), 2*time.Minute)
		if len(w.started) != 1 || w.started[0].From != 0 || w.started[0].To != 3 {
			t.Fatalf("calls: %+v", w.started)
		}
	})
}

// warm builds the scheduler's plugins, which start goroutines that outlive a
// test bubble: two sets of them, since a recheck decides beside the loop.
func warm(t *testing.T) {
	t.Helper()
	for range 2 {
		l := newWorld().loop()
		defer l.Close()
		if err := l.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingChangedNothingDecided: the same generation gives the last plan
// again, until the plan's own wake (rule L11).
func TestNothingChangedNothingDecided(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t, w.loop(), 65*time.Second)
		decided := 0
		for i, c := range w.cycles {
			if c.Decided {
				decided++
			}
			if !c.Snapshot.Now.Equal(w.turns[i]) {
				t.Errorf("turn %d looked at %s, and says %s", i, w.turns[i], c.Snapshot.Now)
			}
		}
		if len(w.cycles) < 6 || decided != 1 {
			t.Fatalf("%d cycles, %d of them decided", len(w.cycles), decided)
		}
	})
}

// TestNewerReadIsDecidedOnIfAwaited: the cloud read again is no reason to decide,
// unless something waits for just that, or it is not read any more.
func TestNewerReadIsDecidedOnIfAwaited(t *testing.T) {
	for _, tt := range []struct {
		name    string
		make    func(*world)
		decided int
	}{
		{"no pod waits", func(*world) {}, 1},
		{"a node that no instance matches is younger than the picture", func(w *world) {
			w.asOf = time.Now()
			n := testkit.Node("n", "4", "16Gi", nil)
			n.CreationTimestamp = metav1.Now()
			w.cluster.AddNode(n, "")
			w.after(15*time.Second, func() { w.asOf = time.Time{} })
		}, 2},
		{"a group misses a node", func(w *world) { w.cluster.Groups[0].Target = 1 }, 31},
		{"the picture grows too old", func(w *world) { w.asOf = time.Now() }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			warm(t)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				tt.make(w)
				w.run(t, w.loop(), 305*time.Second)
				decided := 0
				for _, c := range w.cycles {
					if c.Decided {
						decided++
					}
				}
				if decided != tt.decided {
					t.Errorf("%d of %d cycles decided, want %d", decided, len(w.cycles), tt.decided)
				}
				last := w.cycles[len(w.cycles)-1]
				if w.asOf.IsZero() && time.Since(last.Snapshot.AsOf) > triggers.Interval {
					t.Errorf("the last cycle tells of a picture that is %s old", time.Since(last.Snapshot.AsOf))
				}
			})
		})
	}
}

// TestTheLedgersNewsAreDecidedOn: a version that was waited for may come with a node that
// is the same in all else. That is no new generation, and the node may be written again.
func TestTheLedgersNewsAreDecidedOn(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		n := testkit.Node("n", "4", "16Gi", nil)
		n.ResourceVersion = "5"
		w.cluster.AddNode(n, "g")
		w.cluster.Groups[0].Target = 1
		w.after(5*time.Second, func() {
			// The candidate's mark is there already, in a version that has not been observed yet.
			w.ended = append(w.ended, model.Outcome{
				Call: w.started[0], Ended: time.Now(), ResourceVersion: "6", Target: -1, Unchanged: true,
			})
		})
		w.after(35*time.Second, func() { n.ResourceVersion = "6" })
		l := w.loop()
		l.policy.ScaleDown.Enabled, l.policy.ScaleDown.SoftTaints = true, 1
		w.run(t, l, 65*time.Second)
		if len(w.started) != 2 || w.started[0].Verb != model.Mark || w.started[1].Verb != model.Mark {
			t.Errorf("calls: %+v", w.started)
		}
	})
}

// TestNudgesCoalesce: a burst of nudges is one turn, a quarter of a second after
// the last; a stream without a pause is served every two seconds (rule L12).
func TestNudgesCoalesce(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		begin := time.Now()
		go func() {
			for range 5 {
				time.Sleep(100 * time.Millisecond)
				w.nudge()
			}
			time.Sleep(time.Second)
			for range 30 {
				time.Sleep(130 * time.Millisecond)
				w.nudge()
			}
		}()
		w.run(t, w.loop(), 8*time.Second)
		var at []string
		for _, turn := range w.turns {
			at = append(at, fmt.Sprint(turn.Sub(begin)))
		}
		want := "[0s 750ms 3.63s 5.65s]"
		if got := fmt.Sprint(at); got != want {
			t.Fatalf("turns at %s, want %s", got, want)
		}
	})
}

// TestFailedTurnsAreTold: an error in observing is told, and the next turn comes
// all the same.
func TestFailedTurnsAreTold(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.err = errors.New("no answer")
		var told []string
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		w.loop().Run(ctx, triggers, func(err error) { told = append(told, err.Error()) })
		if len(told) != 3 || told[0] != "observe: no answer" {
			t.Fatalf("told: %q", told)
		}
	})
}

// TestStaleInventoryStopsGrowth: and the verdict says so (rule L10).
func TestStaleInventoryStopsGrowth(t *testing.T) {
	warm(t)
	w := newWorld()
	w.cluster.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 10)
	o := w.cluster.Observation()
	o.Inventory.AsOf = o.Now.Add(-time.Hour)
	l := New(fixed{o}, w, w, testkit.Policy(), func() time.Time { return o.Now }, ledger.New(testkit.Policy().Rules))
	if err := l.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := w.cycles[0].Plan.Pending[0].Groups[0]
	if len(w.started) != 0 || v.Reason != model.StaleInventory || v.Group != provider.GroupID("g") {
		t.Fatalf("calls %+v, verdict %+v", w.started, v)
	}
}

// TestFirstInventoryIsOnesOwn: a process that has just come to lead does not act
// on what it read of the cloud before.
func TestFirstInventoryIsOnesOwn(t *testing.T) {
	warm(t)
	w := newWorld()
	w.cluster.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 10)
	o := w.cluster.Observation()
	p := testkit.Policy()
	p.InventoryNotBefore = o.Now.Add(time.Second)
	for _, later := range []bool{false, true} {
		if later {
			o.Now, o.Inventory.AsOf = o.Now.Add(2*time.Second), o.Now.Add(2*time.Second)
		}
		if err := New(fixed{o}, w, w, p, func() time.Time { return o.Now }, ledger.New(p.Rules)).
			RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if (len(w.started) > 0) != later {
			t.Fatalf("later %v: calls %+v", later, w.started)
		}
	}
}

type fixed struct{ o model.Observation }

func (f fixed) Observe(context.Context, time.Time) (model.Observation, error) { return f.o, nil }

// TestUnhealthyClusterIsLeftAlone: nothing is bought, and the next look is ten
// seconds later, whatever asks for one before.
func TestUnhealthyClusterIsLeftAlone(t *testing.T) {
	warm(t)
	w := newWorld()
	for i := range 5 {
		n := testkit.Node(fmt.Sprintf("n%d", i), "4", "16Gi", nil)
		n.CreationTimestamp = metav1.NewTime(w.cluster.Now.Add(-time.Hour))
		n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse,
			metav1.NewTime(w.cluster.Now.Add(-time.Minute))
		w.cluster.AddNode(n, "g")
	}
	w.cluster.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 10)
	now := w.cluster.Now
	l := New(w, w, w, testkit.Policy(), func() time.Time { return now }, ledger.New(testkit.Policy().Rules))
	if err := l.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := w.cycles[0]
	if len(w.started) > 0 || c.Snapshot.Unhealthy == nil || c.Plan.Pending[0].Skipped.Reason != model.ClusterUnhealthy {
		t.Fatalf("calls %+v, plan %+v", w.started, c.Plan)
	}
	if due, nudgeable := l.Next(triggers); due != 10*time.Second || nudgeable {
		t.Fatalf("the next look is due in %s; nudges may bring it forward: %v", due, nudgeable)
	}
}

// TestPoliciesCountByTheClock: a scheduled minimum is bought when its window opens, which no event
// announces; a pause lets nothing begin until it ends; and a policy that is adopted counts from the
// next turn on.
func TestPoliciesCountByTheClock(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		w, began := newWorld(), time.Now().UTC()
		three, opens := 3, began.Add(20*time.Minute).Truncate(time.Minute)
		at, err := window.Parse(window.Spec{
			Schedule: fmt.Sprintf("%d %d * * *", opens.Minute(), opens.Hour()), Duration: "1h",
		})
		if err != nil {
			t.Fatal(err)
		}
		p := testkit.Policy()
		p.Groups.Policies = []policy.Policy{{Name: "rush", Schedule: []policy.Scheduled{{Window: at,
			Size: policy.Size{Min: &three}}}}}
		l := New(w, w, w, p, time.Now, ledger.New(p.Rules))
		w.run(t, l, opens.Sub(began)-time.Minute)
		if len(w.started) > 0 {
			t.Fatalf("before the window opens: %+v", w.started)
		}
		w.run(t, l, 2*time.Minute)
		if len(w.started) != 1 || w.started[0].To != 3 || w.started[0].Reason != model.GroupBelowMin ||
			!strings.Contains(w.started[0].Why, "policy rush, until "+opens.Add(time.Hour).Format(time.RFC3339)) {
			t.Fatalf("after it opened: %+v", w.started)
		}
		four := 4
		p.Groups = policy.Set{
			Policies: []policy.Policy{{Name: "more", Size: policy.Size{Min: &four}}},
			Pause:    &policy.Pause{Until: time.Now().Add(10 * time.Minute)},
		}
		l.Adopt(p)
		w.run(t, l, 9*time.Minute)
		if len(w.started) != 1 {
			t.Fatalf("a paused group grows: %+v", w.started)
		}
		w.run(t, l, 2*time.Minute)
		if len(w.started) != 2 || w.started[1].To != 4 {
			t.Fatalf("after another policy: %+v", w.started)
		}
	})
}
