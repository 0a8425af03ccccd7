package story

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// Story is one that can be told: its acts are played one after the other, each on a
// stage of its own.
type Story struct {
	Name string
	// Try is what the reader may do with kubectl afterwards.
	Try  string
	acts func() []func(*scene) *act
}

// Stories are all that there are.
var Stories = []Story{
	{"growth", "scale deployment web --replicas=50", one(growth)},
	{"affinity", "scale deployment " + newWorkload + " --replicas=50", affinity},
	{"eks", "scale deployment web --replicas=50", one(eksStory)},
	{"eks-anywhere", "edit -n eksa-system clusters.anywhere.eks.amazonaws.com prod", one(anywhereStory)},
	{"explain", "scale deployment huge --replicas=5", one(explainStory)},
	{"money", "scale deployment " + moneyPods + " --replicas=60", money},
	{"gardener", "scale deployment equitable --replicas=5", one(gardenerStory)},
}

func one(act1 func(*scene) *act) func() []func(*scene) *act {
	return func() []func(*scene) *act { return []func(*scene) *act{act1} }
}

// Act plays one act on a stage, and returns what it counted as text. Its error says what
// did not happen, or what happened and should not have.
type Act func(ctx context.Context, s *stage.Stage, plimsoll string, screen *Screen) (string, error)

// Acts are the story's, for one telling.
func (s Story) Acts() []Act {
	var all []Act
	for _, write := range s.acts() {
		all = append(all, func(ctx context.Context, s *stage.Stage, plimsoll string, screen *Screen) (string, error) {
			on := &scene{s, screen, plimsoll}
			return write(on).play(ctx, on)
		})
	}
	return all
}

// scene is where an act is played.
type scene struct {
	*stage.Stage
	screen   *Screen
	plimsoll string
}

// act is what is played on one stage: an opening, and steps in their order.
type act struct {
	say string
	// open starts the autoscaler in its world.
	open  func(context.Context) error
	steps []step
	// columns are what a frame shows below the pods.
	columns func(stage.Tally) columns
	// record is what else is watched; nil: nothing.
	record *record
	// edit is what becomes of a line that is told; nil: it stays.
	edit func(string) string
	// tell are told while the steps are played, beside Plimsoll's decisions.
	tell   []func(context.Context) error
	result func() string
}

// step is one thing that must happen within a time.
type step struct {
	say       string
	title     string // of the frames; empty: nothing is shown
	limit     time.Duration
	workloads []stage.Workload // as they are wanted in this step
	begin     func(context.Context) error
	what      string // must happen
	done      func(stage.Tally) bool
	// after counts and judges what has happened, and in how long; nil: nothing.
	after func(ctx context.Context, took time.Duration) error
}

func (a *act) play(ctx context.Context, s *scene) (string, error) {
	if a.record != nil {
		defer a.record.end()
	}
	if a.say != "" {
		s.screen.Say(a.say)
	}
	if err := a.open(ctx); err != nil {
		return "", err
	}
	s.screen.Say(s.screen.link(s.PageURL()))
	s.screen.Edit(a.edit)
	defer s.screen.Edit(nil)
	told, stop := context.WithCancel(ctx)
	var telling errgroup.Group
	for _, tell := range append(a.tell, s.tellDecisions, s.tellReasons) {
		telling.Go(func() error { return tell(told) })
	}
	err := func() error {
		for _, one := range a.steps {
			took, err := a.step(ctx, s, one)
			if err == nil && one.after != nil {
				err = one.after(ctx, took)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}()
	stop()
	if errTelling := telling.Wait(); err == nil {
		err = errTelling
	}
	if err != nil {
		return "", err
	}
	return a.result(), nil
}

// step does what begins a step, shows the cluster until it is as wanted, and returns how
// long that took.
func (a *act) step(ctx context.Context, s *scene, one step) (time.Duration, error) {
	if one.say != "" {
		s.screen.Say(one.say)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, one.limit, fmt.Errorf("the limit of %s is over", one.limit))
	defer cancel()
	began := time.Now()
	if one.title != "" {
		end := s.screen.follow(ctx, func() Frame {
			tally := s.Watch.Tally()
			return newFrame(one.title, time.Since(began), tally, one.workloads, a.columns(tally))
		})
		defer end()
	}
	if one.begin != nil {
		if err := one.begin(ctx); err != nil {
			return 0, err
		}
	}
	err := a.wait(ctx, s, one)
	return time.Since(began), err
}

// wait returns once the cluster, and what else is watched, is as wanted.
func (a *act) wait(ctx context.Context, s *scene, one step) error {
	for {
		pods := s.Watch.Changed()
		tally := s.Watch.Tally()
		var more <-chan struct{}
		if a.record != nil {
			var err error
			if more, err = a.record.look(); err != nil {
				return err
			}
		}
		if one.done(tally) {
			return nil
		}
		select {
		case <-pods:
		case <-more:
		case <-ctx.Done():
			state := tally.String()
			if a.record != nil {
				state += "; " + a.record.state()
			}
			return fmt.Errorf("this did not happen: %s: %w (%s)", one.what, context.Cause(ctx), state)
		}
	}
}

// allRun reports whether exactly the wanted pods are there and run.
func allRun(workloads ...stage.Workload) func(stage.Tally) bool {
	return func(t stage.Tally) bool {
		for _, w := range workloads {
			if p := t.Workloads[w.Name]; p.Running != w.Replicas || p.All != w.Replicas {
				return false
			}
		}
		return true
	}
}

// wanted counts the pods of workloads.
func wanted(workloads []stage.Workload) int {
	sum := 0
	for _, w := range workloads {
		sum += w.Replicas
	}
	return sum
}

// none are the same workloads without pods.
func none(workloads []stage.Workload) []stage.Workload {
	var all []stage.Workload
	for _, w := range workloads {
		w.Replicas = 0
		all = append(all, w)
	}
	return all
}

// scaleAll sizes the workloads' Deployments as they are wanted.
func (s *scene) scaleAll(workloads []stage.Workload) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, w := range workloads {
			if err := s.Scale(ctx, w.Name, w.Replicas); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *scene) create(workloads ...stage.Workload) func(context.Context) error {
	return func(ctx context.Context) error { return s.Create(ctx, workloads...) }
}
