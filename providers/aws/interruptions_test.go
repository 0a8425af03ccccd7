package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest/door"
)

const testQueue = "plimsoll"

var byQueue = func() Config {
	cfg := byTag
	cfg.InterruptionQueue = testQueue
	return cfg
}()

// queued is an account with a queue and a group of two instances.
func queued() awstest.Spec {
	return awstest.Spec{LaunchTemplates: m5, Queues: []string{testQueue},
		Groups: []awstest.Group{named("g", func(g *awstest.Group) {
			g.Desired, g.Instances = 2, []awstest.Instance{{ID: "i-1", Zone: "us-east-1a", Type: "m5.large"},
				{ID: "i-2", Zone: "us-east-1a", Type: "m5.large"}}
		})}}
}

// hear sends messages, and lets the provider read what is in the queue once.
func (w *world) hear(t *testing.T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := w.Send(testQueue, body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.interruptions.receive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// marked are the instances that are shown as about to be taken, with why.
func (w *world) marked(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, in := range w.group(t, "g").Instances {
		if in.Interrupted != nil {
			out[string(in.ID)] = in.Interrupted.Kind
		}
	}
	return out
}

func (w *world) left(t *testing.T) int {
	t.Helper()
	w.interruptions.sweep(t.Context())
	return len(w.Messages(testQueue))
}

// TestASpotWarning marks the machine at the next read, and stays in the queue until the machine has gone: the process
// that leads next needs it.
func TestASpotWarning(t *testing.T) {
	w := newWorld(t, queued(), byQueue)
	told := w.clock.now()
	w.hear(t, spotWarning("i-1", told), spotWarning("i-1", told)) // and once more: it is delivered at least once
	first := w.group(t, "g").Instances[0].Interrupted
	want := provider.Interruption{Kind: "spot interruption", Since: told, Until: told.Add(2 * time.Minute)}
	if first == nil || *first != want {
		t.Fatalf("%+v, want %+v", first, want)
	}
	if again := w.group(t, "g").Instances[0].Interrupted; again != first {
		t.Error("nothing has changed, and it is told by another value")
	}
	if n := w.log.count("AWS is about to take an instance"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
	if n := w.left(t); n != 2 {
		t.Errorf("the machine runs, and %d messages are left of two", n)
	}
	w.clock.pass(40 * time.Second) // they are given again, with other handles
	w.hear(t)
	if err := w.Kill("i-1"); err != nil {
		t.Fatal(err)
	}
	for range absentReads - 1 {
		w.clock.pass(15 * time.Second)
		w.read(t)
	}
	if n := w.left(t); n != 2 {
		t.Errorf("after %d reads without the machine %d messages are left of two", absentReads-1, n)
	}
	w.clock.pass(15 * time.Second)
	w.read(t)
	if n := w.left(t); n != 0 {
		t.Errorf("the machine has gone, and %d messages are left", n)
	}
}

// TestMessagesOfOthers: of instances that are not ours they are deleted, but late, for AWS lists new ones late; what
// takes no machine at once; what is no event of EventBridge never, for it may be another's work.
func TestMessagesOfOthers(t *testing.T) {
	w := newWorld(t, queued(), byQueue)
	w.hear(t, spotWarning("i-9", w.clock.now()))
	w.clock.pass(time.Second)
	for range absentReads {
		if w.read(t); w.left(t) != 1 {
			t.Fatal("it is deleted within a minute")
		}
	}
	w.clock.pass(absentFor)
	if w.read(t); w.left(t) != 0 {
		t.Error("it is not deleted")
	}
	w.hear(t, stateChange("i-1", "pending", w.clock.now()), spotWarning("vol-1", w.clock.now()), "another's work")
	w.clock.pass(40 * time.Second)
	w.hear(t)
	if n := w.left(t); n != 1 || w.Messages(testQueue)[0] != "another's work" {
		t.Errorf("left are %v", w.Messages(testQueue))
	}
	for part, want := range map[string]int{"is no event": 1, "cannot be understood": 1, "about to take": 0} {
		if n := w.log.count(part); n != want {
			t.Errorf("%q is logged %d times", part, n)
		}
	}
	w.clock.pass(hiddenFor + time.Second)
	if useful, err := w.interruptions.receive(t.Context()); err != nil || useful {
		t.Errorf("a queue of others is read as fast as one's own: %v, %v", useful, err)
	}
	w.clock.pass(25 * time.Hour)
	w.read(t)
	if n := len(w.interruptions.letters); n != 0 {
		t.Errorf("%d messages are remembered after a day", n)
	}
}

// TestAQueueOfOthers does not fill the log, nor take the room of what is for us.
func TestAQueueOfOthers(t *testing.T) {
	w := newWorld(t, queued(), byQueue)
	for range 11 {
		w.hear(t, slices.Repeat([]string{"another's work"}, 10)...)
	}
	if n := w.log.count("is no event of EventBridge"); n != mostForeign || len(w.interruptions.letters) != mostForeign {
		t.Errorf("%d are logged, %d remembered", n, len(w.interruptions.letters))
	}
	if w.hear(t, spotWarning("i-1", w.clock.now())); len(w.marked(t)) != 1 {
		t.Error("a warning among them is not heard")
	}
	w.clock.pass(25 * time.Hour)
	if w.read(t); w.interruptions.foreign != 0 || w.left(t) != 110 {
		t.Errorf("%d are remembered after a day, and %d messages are left", w.interruptions.foreign, w.left(t))
	}
}

// TestWhatIsRememberedIsBounded: what cannot be deleted does not take the room of a warning; and where all that is
// remembered is of machines that are there, it is told that there is more.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	w := newWorld(t, queued(), byQueue)
	w.interruptions.most = 5
	w.Arm(awstest.Fault{Action: "DeleteMessageBatch", Mishap: awstest.Denied})
	for range 8 {
		w.hear(t, stateChange("i-1", "pending", w.clock.now()))
	}
	for i := range 5 {
		if n := noticesOf(w.read(t), noticeNoInterruptions); slices.ContainsFunc(n, func(n provider.Notice) bool {
			return strings.Contains(n.Message, "more than")
		}) {
			t.Errorf("with %d warnings: %v", i, n)
		}
		if w.hear(t, spotWarning("i-1", w.clock.now())); len(w.marked(t)) != 1 || len(w.interruptions.letters) != 5 {
			t.Errorf("warning %d is not heard; %d messages are remembered", i, len(w.interruptions.letters))
		}
	}
	w.hear(t, spotWarning("i-2", w.clock.now()))
	n := noticesOf(w.read(t), noticeNoInterruptions)
	if text := fmt.Sprint(n); !strings.Contains(text, "there are more than 5 messages; those beyond stay in the queue") {
		t.Errorf("told is %v", n)
	}
}

// TestRebalanceRecommendations count only if that is asked for.
func TestRebalanceRecommendations(t *testing.T) {
	w := newWorld(t, queued(), byQueue)
	w.hear(t, rebalance("i-1", w.clock.now()))
	if got := w.marked(t); len(got) != 0 || w.left(t) != 0 {
		t.Errorf("%v, and %d messages are left", got, w.left(t))
	}
	cfg := byQueue
	cfg.RebalanceRecommendations = true
	w = newWorld(t, queued(), cfg)
	w.hear(t, rebalance("i-1", w.clock.now()), stateChange("i-2", "stopping", w.clock.now()))
	got := w.marked(t)
	if got["i-1"] != "rebalance recommendation" || got["i-2"] != "instance stopping" || w.left(t) != 2 {
		t.Errorf("%v, and %d messages are left", got, w.left(t))
	}
	// What comes soonest is what counts.
	w.hear(t, spotWarning("i-1", w.clock.now()))
	if got = w.marked(t); got["i-1"] != "spot interruption" {
		t.Error(got)
	}
	w.clock.pass(2*time.Minute + lateFor) // and did not come about
	if got = w.marked(t); got["i-1"] != "rebalance recommendation" || w.left(t) != 1 {
		t.Errorf("%v, and %d messages are left", got, w.left(t))
	}
}

// TestAPlannedChangeThatIsOver: the end counts, in whatever order the two are read, and for a new event it does not.
func TestAPlannedChangeThatIsOver(t *testing.T) {
	const when = "Sat, 05 Dec 2026 15:00:00 GMT"
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		w := newWorld(t, queued(), byQueue)
		at := w.clock.now()
		w.clock.pass(time.Minute)
		messages := []string{planned("i-1", "upcoming", when, at), planned("i-1", "closed", when, at.Add(time.Second))}
		w.hear(t, messages[order[0]])
		if got := w.marked(t); (len(got) == 1) != (order[0] == 0) {
			t.Errorf("order %v: %v", order, got)
		}
		w.hear(t, messages[order[1]])
		if got := w.marked(t); len(got) != 0 {
			t.Errorf("order %v: it is over, and %v", order, got)
		}
		if n := w.left(t); n != 1 {
			t.Errorf("order %v: %d messages are left; the end is to stay for a day", order, n)
		}
		w.hear(t, planned("i-1", "upcoming", when, at.Add(2*time.Second)))
		if got := w.marked(t); len(got) != 1 {
			t.Errorf("order %v: it is planned again, and %v", order, got)
		}
		w.clock.pass(closedFor)
		if w.marked(t); w.left(t) != 1 {
			t.Errorf("order %v: left are %v", order, w.Messages(testQueue))
		}
	}
}

// TestAPlannedChangeOfSomeMachines: what is resolved is left alone, in whatever order it is read, and the others are
// not.
func TestAPlannedChangeOfSomeMachines(t *testing.T) {
	const when = "Sat, 05 Dec 2026 15:00:00 GMT"
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		w := newWorld(t, queued(), byQueue)
		at := w.clock.now()
		w.clock.pass(time.Minute)
		messages := []string{plannedOf("open", when, at, "i-1/PENDING", "i-2/PENDING"),
			plannedOf("open", when, at.Add(time.Second), "i-1/RESOLVED", "i-2/PENDING")}
		w.hear(t, messages[order[0]])
		w.read(t)
		w.hear(t, messages[order[1]])
		if got := w.marked(t); len(got) != 1 || got["i-2"] == "" {
			t.Errorf("order %v: %v", order, got)
		}
		w.hear(t, plannedOf("open", when, at.Add(2*time.Second), "i-2/RESOLVED"))
		if got := w.marked(t); len(got) != 0 {
			t.Errorf("order %v: all is resolved, and %v", order, got)
		}
		w.clock.pass(closedFor)
		if w.marked(t); w.left(t) != 0 {
			t.Errorf("order %v: left are %v", order, w.Messages(testQueue))
		}
	}
}

// TestAnInstanceThatRunsAgain: one that was stopped, as in Standby, is left alone from then on, in whatever order the
// two are read; and what says that it runs does not stay.
func TestAnInstanceThatRunsAgain(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		w := newWorld(t, queued(), byQueue)
		at := w.clock.now()
		w.clock.pass(time.Minute)
		messages := []string{stateChange("i-1", "stopped", at), stateChange("i-1", "running", at.Add(time.Second))}
		w.hear(t, messages[order[0]])
		if got := w.marked(t); (got["i-1"] == "instance stopped") != (order[0] == 0) {
			t.Errorf("order %v: %v", order, got)
		}
		w.hear(t, messages[order[1]])
		if got := w.marked(t); len(got) != 0 {
			t.Errorf("order %v: it runs, and %v", order, got)
		}
		w.hear(t, stateChange("i-1", "stopping", at.Add(2*time.Second)))
		if got := w.marked(t); got["i-1"] != "instance stopping" {
			t.Errorf("order %v: it stops again, and %v", order, got)
		}
		w.clock.pass(backFor)
		if w.marked(t); w.left(t) != 1 {
			t.Errorf("order %v: left are %v", order, w.Messages(testQueue))
		}
	}
}

// TestWhatIsNotDeletedIsTriedAgain, and told meanwhile.
func TestWhatIsNotDeletedIsTriedAgain(t *testing.T) {
	w := newWorld(t, queued(), byQueue)
	for range 11 { // more than one call takes
		w.hear(t, stateChange("i-1", "pending", w.clock.now()))
	}
	w.RefuseDeletes(3)
	if n := w.left(t); n != 3 {
		t.Errorf("%d messages are left, want 3", n)
	}
	n := noticesOf(w.read(t), noticeNoInterruptions)
	if len(n) != 1 || !strings.Contains(n[0].Message, "3 were not deleted, one because of InternalError") {
		t.Error(n)
	}
	if n := w.left(t); n != 0 || len(noticesOf(w.read(t), noticeNoInterruptions)) != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// TestAQueueThatCannotBeRead is told once for each cause with what it means; the groups are read all the same, and
// nothing is lost.
func TestAQueueThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		fault awstest.Fault
		queue string
		want  string
	}{
		"denied":      {awstest.Fault{Action: "ReceiveMessage", Mishap: awstest.Denied}, testQueue, "the IAM policy lacks this"},
		"away":        {awstest.Fault{Action: "ReceiveMessage", Mishap: awstest.Unavailable}, testQueue, "ServiceUnavailable"},
		"cut":         {awstest.Fault{Action: "ReceiveMessage", Mishap: awstest.Cut}, testQueue, "could not read the queue"},
		"garbled":     {awstest.Fault{Action: "ReceiveMessage", Mishap: awstest.Garbled}, testQueue, "could not read the queue"},
		"no such one": {awstest.Fault{Action: "x"}, "other", "NonExistentQueue"},
		"no name":     {awstest.Fault{Action: "GetQueueUrl", Mishap: awstest.EmptyList}, testQueue, "the answer has no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			cfg := byQueue
			cfg.InterruptionQueue = c.queue
			w := newWorld(t, queued(), cfg)
			if _, err := w.Send(testQueue, spotWarning("i-1", w.clock.now())); err != nil {
				t.Fatal(err)
			}
			w.Arm(c.fault)
			for range 2 {
				if useful, err := w.interruptions.receive(t.Context()); err == nil || useful {
					t.Fatalf("read: %v, %v", useful, err)
				}
				inv := w.read(t)
				n := noticesOf(inv, noticeNoInterruptions)
				if len(n) != 1 || !strings.Contains(n[0].Message, c.want) || len(inv.Groups[0].Instances) != 2 {
					t.Fatalf("%v; %+v", n, inv.Groups)
				}
			}
			if n := w.log.count("code=" + noticeNoInterruptions); n != 1 {
				t.Errorf("it is logged %d times", n)
			}
			w.ClearFaults()
			if c.queue != testQueue {
				return
			}
			if w.hear(t); len(w.marked(t)) != 1 || len(noticesOf(w.read(t), noticeNoInterruptions)) > 0 {
				t.Error("the queue can be read, and what was in it is lost")
			}
		})
	}
}

// TestTheLeaderListens: from Start on, in the background, and at once; a message that waits delays no read, and a
// process that does not lead takes none.
func TestTheLeaderListens(t *testing.T) {
	w := newWorld(t, queued(), byQueue)
	w.read(t)
	if n := w.Count("GetQueueUrl", "ReceiveMessage"); n != 0 {
		t.Fatalf("the queue is read by who does not lead, %d times", n)
	}
	deleted := make(chan struct{}, 1)
	w.Arm(awstest.Fault{Action: "DeleteMessageBatch", After: true, Met: func() { poke(deleted) }})
	w.interruptions.pause = time.Millisecond
	p := listening{w.Provider}
	ctx, cancel := context.WithCancel(t.Context())
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- p.Notify(ctx, func() { poke(changed) }) }()
	for range 2 { // a second time nothing begins
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	// A long poll is under way, and the groups are read.
	w.read(t)
	if _, err := w.Send(testQueue, spotWarning("i-1", w.clock.now())); err != nil {
		t.Fatal(err)
	}
	<-changed
	if got := w.marked(t); len(got) != 1 {
		t.Error(got)
	}
	if n := w.Peak("ReceiveMessage"); n > 1 {
		t.Errorf("%d ask at once", n)
	}
	if _, err := w.Send(testQueue, stateChange("i-1", "pending", w.clock.now())); err != nil {
		t.Fatal(err)
	}
	<-deleted
	if left := w.Messages(testQueue); len(left) != 1 || !strings.Contains(left[0], "Spot") {
		t.Error(left)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// noisy is a door by which a change by hand is in the queue, too.
type noisy struct{ door.Door }

func (d noisy) SetTarget(group provider.GroupID, n int) error {
	_, err := d.Cloud.Send(testQueue, spotWarning("i-other", time.Now()))
	return errors.Join(err, d.Door.SetTarget(group, n))
}

// TestConformsWithAQueue: the same suite, with a cloud that says what it is about to take.
func TestConformsWithAQueue(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		spec := conforming()
		spec.Queues = []string{testQueue}
		cloud, err := awstest.New(spec, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		serve(t, cloud)
		p, err := New(t.Context(), Config{Nodes: []string{"1:12:group", "1:12:other", "0:12:heavy"},
			InterruptionQueue: testQueue}, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(strings.Split(t.Name(), "/"), "NotifierTells") {
			if err := (listening{p}).Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return providertest.Subject{
			Provider: listening{p}, Group: "group", Other: "other", Unsupported: "heavy", Door: noisy{door.Door{Cloud: cloud}},
			Interrupt: func(id provider.InstanceID) error {
				if _, err := cloud.Send(testQueue, spotWarning(string(id), time.Now())); err != nil {
					return err
				}
				_, err := p.interruptions.receive(t.Context())
				return err
			},
			Lacks: map[string]string{
				"P4/GrowKeepsThePoolsMaximum":        "Auto Scaling groups share no limits",
				"P9/OnlyWhatStillFailsIsEnded":       "an instance of AWS is launched, or is none",
				"P9/OnlyWhatHasNoNodeIsEndedForThat": "AWS knows of no nodes",
			},
		}
	})
}
