package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// replace ends the newest instance, and the cloud makes another one at once.
func (s *stage) replace(how provider.State) string {
	s.instances = slices.Clone(s.instances) // the pictures before keep theirs
	if how == "" {
		s.instances = s.instances[:len(s.instances)-1]
	} else {
		s.instances[len(s.instances)-1].State = how
	}
	return s.instance()
}

// TestReplacementsPostponeNothing: a cloud that replaces each machine that did not
// join, sooner than we give it up, does not keep its group from resting.
func TestReplacementsPostponeNothing(t *testing.T) {
	for name, how := range map[string]provider.State{"on its way out": provider.Deleting, "gone": ""} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 0)
			s.at(0)
			s.grow(1)
			s.minute = 1
			s.instance()
			s.at(1)
			for _, m := range []float64{6, 11} {
				s.minute = m
				s.replace(how)
				g := s.at(m)
				want(t, "given up", g.GivenUp(), 0)
				want(t, "since", g.Waiting[0].Since, t0.Add(time.Minute))
				want(t, "looked at again", g.Due, t0.Add(16*time.Minute))
			}
			want(t, "just before the time", s.at(15.9).GivenUp(), 0)
			g := s.at(16)
			want(t, "given up", g.GivenUp(), 1)
			want(t, "overdue beside it", g.Overdue, 0)
			want(t, "changes", kinds(s.l), []model.ChangeKind{model.AskGivenUp, model.BackoffBegan})
			want(t, "once", len(kinds(s.again(17))), 0)
		})
	}
}

func (s *stage) again(minute float64) *Ledger {
	s.at(minute)
	return s.l
}

// TestAReplacementIsWelcome: within the time it is the growth's node, and what ended
// before it is no failure.
func TestAReplacementIsWelcome(t *testing.T) {
	s := bought(t, 1)
	s.minute = 1
	s.instance()
	s.at(1)
	s.minute = 5
	name := s.replace(provider.Deleting)
	s.at(5)
	s.minute = 8
	s.node(name, corev1.ConditionTrue, s.now())
	g := s.at(8)
	want(t, "asks", len(g.Asks), 0)
	want(t, "changes", kinds(s.l), []model.ChangeKind{model.AskArrived})
	want(t, "backoff", backoff(g), model.Rest{Cause: model.RestFailed})
}

// TestAReplacementThatIsLate: between two of them there may be none for a while, and
// a leader may be followed by another. The time is the same.
func TestAReplacementThatIsLate(t *testing.T) {
	s := bought(t, 1)
	s.minute = 3
	s.instance()
	s.at(3)
	s.minute = 10
	s.instances = nil
	want(t, "due", s.at(10).Due, t0.Add(18*time.Minute))
	s.minute = 11
	s.restart()
	s.instance()
	want(t, "since", s.at(11).Waiting[0].Since, t0.Add(3*time.Minute))
	s.restart()
	s.at(11.1)
	want(t, "given up", s.at(17.9).GivenUp(), 0)
	want(t, "given up", s.at(18).GivenUp(), 1)
}

// TestAReplacementAfterTheTime: the cloud gives up as late as we do, and makes another
// machine when its unit has been given up. That one is not waited for again.
func TestAReplacementAfterTheTime(t *testing.T) {
	s := bought(t, 1)
	s.instance()
	s.at(1)
	s.minute, s.instances = 15, nil
	g := s.at(15)
	want(t, "overdue", g.Overdue, 1)
	s.minute = 15.2
	s.instance()
	g = s.at(15.2)
	want(t, "given up", g.GivenUp(), 1)
	want(t, "overdue beside it", g.Overdue, 0)
	want(t, "the rest is the first", backoff(g).Length, 5*time.Minute)
}

// TestALostNodesMachineIsReplaced: that a node had registered, and was lost, is no
// time that its replacement has used up.
func TestALostNodesMachineIsReplaced(t *testing.T) {
	s := bought(t, 2)
	s.minute = 1
	name := s.instance()
	s.at(1)
	s.minute = 2
	s.node(name, corev1.ConditionTrue, s.now())
	s.at(2)
	s.nodes = nil
	s.at(14)
	s.minute = 20
	s.replace(provider.Deleting)
	g := s.at(20)
	want(t, "since", g.Waiting[0].Since, t0.Add(14*time.Minute))
	want(t, "its time", s.at(28.9).Waiting[0].Long, false)
	want(t, "its time", s.at(29).Waiting[0].Long, true)
}

// stall says that what makes the machines does not work, as machine-controller-manager
// that is away.
func (s *stage) stall() {
	s.holds = nil
	for _, op := range []provider.Op{provider.OpGrow, provider.OpRemove, provider.OpCancel} {
		s.holds = append(s.holds, provider.Hold{Op: op, Reason: "Away", Stalled: true})
	}
}

// TestAMachineIsListedAgain: one that answers of the cloud lack, and that loses its node meanwhile, is the same when it
// is listed again. Its time to register runs from that loss, and not from when the machine was made that an ask has
// lost. One that was made since then is another, whatever its id.
func TestAMachineIsListedAgain(t *testing.T) {
	for _, c := range []struct {
		name                   string
		unready, gone, lacking float64 // when its node is not ready, when it is gone, and from when on it is not listed
		back                   float64
		made                   float64 // zero: it is the machine that it was
		since                  float64
		lost                   bool
	}{
		{name: "soon", gone: 5, lacking: 5, back: 6, since: 5, lost: true},
		{name: "late", gone: 5, lacking: 5, back: 15, since: 5, lost: true},
		{name: "after its time", gone: 5, lacking: 5, back: 21, since: 2},
		{name: "unready before", unready: 4, gone: 6, lacking: 4, back: 8, since: 8, lost: true},
		{name: "lost before", gone: 4, lacking: 5, back: 15, since: 4, lost: true},
		{name: "another", gone: 5, lacking: 5, back: 8, made: 7, since: 5}, // it may be for what is missing
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settled(t, 1)
			s.minute = 1
			s.grow(1)
			s.minute = 2
			s.instance()
			s.at(2)
			s.instances = s.instances[:1:1]
			old := s.instances
			s.at(3)
			for m := 4.0; m < c.back; m++ {
				if s.minute = m; m == c.unready {
					s.turn(s.nodes[0], corev1.ConditionFalse)
				}
				if m == c.gone {
					s.nodes = nil
				}
				if m == c.lacking {
					s.instances = nil
				}
				if g := s.at(m); m > 5 && c.name != "lost before" && g.Counts.Lost != 0 {
					t.Errorf("minute %v: %d machines that are not listed count as lost", m, g.Counts.Lost)
				}
			}
			s.minute, s.instances = c.back, slices.Clone(old)
			if c.made > 0 {
				s.instances[0].Created = t0.Add(time.Duration(c.made) * time.Minute)
			}
			for _, again := range []bool{false, true} {
				if again {
					s.restart()
				}
				s.at(c.back)
				g := s.at(c.back + 0.1)
				want(t, "since", g.Waiting[0].Since, t0.Add(time.Duration(c.since)*time.Minute))
				want(t, "lost", g.Waiting[0].Lost, c.lost)
			}
		})
	}
}

// TestAReplacementMayBeForALaterRequest: a machine that comes after one that is not listed any more has the time that
// is left of that, unless another one has been asked for since which is not there: it may be that.
func TestAReplacementMayBeForALaterRequest(t *testing.T) {
	for _, later := range []bool{false, true} {
		s := bought(t, 1)
		s.minute = 1
		s.instance()
		s.at(1)
		s.instances = nil
		s.at(2)
		since := 1.0
		if later {
			s.target, since = 3, 5
		}
		s.at(5)
		s.minute = 6
		s.instance()
		g := s.at(6)
		want(t, "since", g.Waiting[0].Since, t0.Add(time.Duration(since*float64(time.Minute))))
	}
}

// TestAnOlderMachineIsNoReplacement: a machine that lost its node is ended, and its leader dies. The next one finds
// another machine without a node. It is not in place of the first if it is older than what that one was waited for by,
// however far the cloud's clock is behind: it has lost its node since then, and has all of its time.
func TestAnOlderMachineIsNoReplacement(t *testing.T) {
	for _, c := range []struct {
		name   string
		made   float64 // the other machine
		behind float64 // the cloud's clock
		since  float64
	}{
		{name: "older", made: -60, since: 12},
		{name: "younger", made: 6, since: 5},
		{name: "older, and the clock is behind", made: -60, behind: 30, since: 12},
		{name: "younger, and the clock is behind", made: 6, behind: 30, since: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settled(t, 3)
			old := s.nodes
			s.nodes = old[:2]
			s.at(5)
			s.instances[2].State = provider.Deleting
			s.nodes, s.minute = old[1:2], 12
			s.instances[0].Created = t0.Add(time.Duration(c.made * float64(time.Minute)))
			for i := range s.instances {
				s.instances[i].Created = s.instances[i].Created.Add(-time.Duration(c.behind * float64(time.Minute)))
			}
			s.target = 2
			s.restart()
			g := s.at(12)
			want(t, "waiting", len(g.Waiting), 1)
			want(t, "since", g.Waiting[0].Since, t0.Add(time.Duration(c.since)*time.Minute))
			s.restart()
			want(t, "since, by another leader", s.at(13).Waiting[0].Since, g.Waiting[0].Since)
		})
	}
}

// TestAMachineWithoutANodeIsListedAgain: one that has had no node, and that an answer of the cloud lacks, is the same
// when it is listed again within some hours, however long its time is over. Where the cloud's clock is ahead, only when
// it was first seen says how old it is, and so whether a node may be its own that nothing is known of.
func TestAMachineWithoutANodeIsListedAgain(t *testing.T) {
	for _, c := range []struct {
		again, older bool
		away         float64 // for how long it is not listed
	}{{true, true, 1}, {true, true, 300}, {true, false, 400}, {false, false, 1}} {
		s := settled(t, 1)
		s.minute = 1
		s.grow(1)
		s.instance(func(in *provider.Instance) { in.Created = t0.Add(time.Hour) })
		s.at(1)
		s.at(30)
		all := s.instances
		s.instances = all[:1:1]
		s.at(31)
		s.at(30 + c.away)
		s.instances = slices.Clone(all)
		if !c.again {
			s.instances[1].Created = t0.Add(90 * time.Minute)
		}
		g := s.at(31 + c.away)
		want(t, "made", g.Waiting[0].Created.Equal(t0.Add(time.Minute)), c.older)
		want(t, "its time is over", g.Waiting[0].Long, c.older)
	}
}

// TestAMachineThatIsListedAgainIsOfItsOwnScaleUp: it was seen before more was asked for. What came for that is not put
// in its place, to end with its time.
func TestAMachineThatIsListedAgainIsOfItsOwnScaleUp(t *testing.T) {
	s := settled(t, 1)
	s.minute = 1
	s.grow(1)
	first := s.instance()
	s.at(1)
	all := s.instances
	s.instances = all[:1:1]
	s.at(15)
	s.grow(1)
	s.at(16.5)
	s.instances = slices.Clone(all)
	second := s.instance()
	for _, w := range s.at(17).Waiting {
		want(t, string(w.Instance), w.Long, string(w.Instance) == first)
		if string(w.Instance) != first && string(w.Instance) != second {
			t.Errorf("%s waits", w.Instance)
		}
	}
	want(t, "wait", len(s.at(17.1).Waiting), 2)
}

// TestAnOldPictureShowsNothingOfANewScaleUp: at the first look the picture is older than the last scale-up. The machine
// in it has lost its node while no process looked, and has all of its time.
func TestAnOldPictureShowsNothingOfANewScaleUp(t *testing.T) {
	s := settled(t, 1)
	s.instances[0].Created = t0.Add(-20 * time.Minute)
	s.at(8)
	old := s.seen()
	s.minute = 10
	s.grow(3)
	s.minute = 14
	s.restart()
	old.Now, old.Nodes = t0.Add(15*time.Minute), nil
	s.l.Fold(old, nil)
	g := s.l.Standing().Groups["g"]
	want(t, "since", g.Waiting[0].Since, old.Now)
	s.nodes = nil
	g = s.at(25.5)
	want(t, "its time is over", g.Waiting[0].Long, false)
}

// TestAPictureIsNotOldByAnotherClock: who asked for a scale-up ended, and its clock was a little ahead of ours. The
// machine in our first picture is of that scale-up.
func TestAPictureIsNotOldByAnotherClock(t *testing.T) {
	s := settled(t, 1)
	s.minute = 10
	s.grow(1)
	s.instance()
	first := s.seen()
	s.restart()
	first.Inventory.AsOf = s.now().Add(-20 * time.Second)
	first.Now = s.now()
	s.l.Fold(first, nil)
	g := s.l.Standing().Groups["g"]
	want(t, "made", g.Asks[0].Units[0].Instance, g.Waiting[0].Instance)
}

// TestNoTimeRunsWhileNoMachinesAreMade: neither that of an instance nor that of a
// request. It begins again when machines are made again.
func TestNoTimeRunsWhileNoMachinesAreMade(t *testing.T) {
	s := bought(t, 2)
	s.minute = 1
	s.instance()
	s.at(1)
	s.stall()
	for m := 2.0; m <= 40; m++ {
		g := s.at(m)
		want(t, "given up", g.GivenUp(), 0)
		want(t, "changes", len(kinds(s.l)), 0)
	}
	s.holds = nil
	g := s.at(41)
	want(t, "given up when they are back", g.GivenUp(), 0)
	want(t, "due", g.Due, t0.Add(56*time.Minute))
	// A leader that follows knows.
	s.restart()
	want(t, "after a restart", s.at(42).Due, t0.Add(56*time.Minute))
	want(t, "just before", s.at(55.9).GivenUp(), 0)
	g = s.at(56)
	want(t, "given up", g.GivenUp(), 2)
	want(t, "rests", backoff(g).Code, model.CodeTimeout)
}

// TestAStallWhoseEndWasNotSeen: the leader that saw it is gone before it ends, and the next
// one finds everything at work.
func TestAStallWhoseEndWasNotSeen(t *testing.T) {
	s := bought(t, 2)
	s.minute = 1
	s.instance()
	s.at(1)
	s.stall()
	s.at(2)
	s.at(40)
	s.restart()
	s.holds = nil
	g := s.at(41)
	want(t, "given up", g.GivenUp(), 0)
	want(t, "due", g.Due, t0.Add(55*time.Minute))
}

// TestTheTimeAfterAStallIsWhole, of an instance that comes later too.
func TestTheTimeAfterAStallIsWhole(t *testing.T) {
	s := bought(t, 1)
	s.stall()
	s.at(2)
	s.at(40)
	s.holds = nil
	s.at(41)
	s.minute = 51
	s.instance()
	s.at(51)
	want(t, "just before", s.at(65.9).GivenUp(), 0)
	want(t, "given up", s.at(66).GivenUp(), 1)
}

// TestWhatWasGivenUpBeforeAStall stays so: its time was over.
func TestWhatWasGivenUpBeforeAStall(t *testing.T) {
	s := bought(t, 2)
	s.instance()
	s.at(1)
	want(t, "given up", s.at(15).GivenUp(), 2)
	s.stall()
	want(t, "during the stall", s.at(16).GivenUp(), 2)
	s.holds = nil
	want(t, "after it", s.at(17).GivenUp(), 2)
}

// TestAHoldIsNoStall: a group that is held for reasons of its own, such as one that is
// paused, is given up in its time.
func TestAHoldIsNoStall(t *testing.T) {
	s := bought(t, 1)
	s.stall()
	for i := range s.holds {
		s.holds[i].Stalled = false
	}
	s.at(1)
	want(t, "given up", s.at(15).GivenUp(), 1)
}

// TestGrowthThatThePoolRefuses: another client raised another group of the pool at the
// same moment. That is no failure of this one. If it happens again, it rests for a short
// time, and one that is refused over and over has failed.
func TestGrowthThatThePoolRefuses(t *testing.T) {
	for pool, row := range map[provider.PoolID]struct{ backsOff, rests bool }{"": {backsOff: true}, "p": {rests: true}} {
		s := newStage(t, 0)
		for i, m := range []float64{1, 2, 3, 4, 5} {
			s.at(m)
			c := model.Call{ID: string(rune('a' + i)), Verb: model.Grow, Group: "g", Pool: pool, To: 2}
			s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
			g := s.at(m+0.5, model.Outcome{Call: c, Ended: s.now(), Target: 0, Err: &provider.Error{Kind: provider.Limit}})
			want(t, "backs off", !backoff(g).Until.IsZero(), row.backsOff || i >= 4)
			want(t, "rests", !g.Rests.Of(model.RestPaused).Until.IsZero(), row.rests && i > 0 && i < 4)
			want(t, "asks", len(g.Asks), 0)
		}
	}
}

// refuse lets a scale-up by one be refused a moment after it was asked for.
func (s *stage) refuse(minute float64, pool provider.PoolID, kind provider.Kind) model.GroupStanding {
	s.at(minute)
	c := model.Call{ID: fmt.Sprint("refused/", minute), Verb: model.Grow, Group: "g", Pool: pool, From: s.target,
		To: s.target + 1}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	return s.at(minute+0.01, model.Outcome{Call: c, Ended: s.now(), Target: s.target, Err: &provider.Error{Kind: kind}})
}

// TestARefusalLongAgoIsForgotten: five by a pool's maximum, over hours, are not five in a
// row.
func TestARefusalLongAgoIsForgotten(t *testing.T) {
	s := newStage(t, 0)
	for i := range 6 {
		g := s.refuse(float64(1+i*60), "p", provider.Limit)
		want(t, "backs off", backoff(g).Until.IsZero(), true)
		want(t, "rests", g.Rests.Of(model.RestPaused).Until.IsZero(), true)
	}
}

// TestAThrottledGroupRestsLonger, so that others are grown where they can take its part; it
// never backs off for that.
func TestAThrottledGroupRestsLonger(t *testing.T) {
	s := newStage(t, 0)
	for i, rest := range []time.Duration{30 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
		2 * time.Minute} {
		g := s.refuse(float64(1+i*10), "p", provider.Throttled)
		want(t, "rests", g.Rests.Of(model.RestPaused).Until.Sub(t0.Add(time.Duration(1+i*10)*time.Minute)), rest)
		want(t, "backs off", backoff(g).Until.IsZero(), true)
	}
}

// TestTheLeastRest: the cloud is not asked each second, whatever the operator says.
func TestTheLeastRest(t *testing.T) {
	s := newStage(t, 0)
	s.l.rules.BackoffFirst, s.l.rules.BackoffMost = 0, 0
	g := s.refuse(1, "", provider.NoCapacity)
	want(t, "rests", backoff(g).Length, 10*time.Second)
}
