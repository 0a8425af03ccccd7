package exact

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	startLimit = 5 * time.Minute
	// calmLimit is how long it may take until nothing moves any more, on a machine that is busy with other things.
	calmLimit = 8 * time.Minute
	// waitLimit is how long a pod that came for one that ran may have no node: the scheduler leaves one that it has
	// refused alone for up to ten seconds, and a new node takes a second or two.
	waitLimit = 90 * time.Second
	steps     = 4
)

var (
	growing = []string{"--scan-interval=1s", "--scale-down-enabled=false", "--kwok-keep-nodes"}
	// Of what takes minutes by default, seconds.
	shrinking = []string{
		"--scan-interval=1s", "--scale-down-unneeded-time=3s", "--scale-down-delay-after-add=0s",
		"--scale-down-delay-after-failure=3s", "--node-delete-delay-after-taint=1s",
		"--scale-down-utilization-threshold=0.8", "--max-drain-parallelism=4",
	}
)

// stand is a round that is being played.
type stand struct {
	*stage.Stage
	*Round
	dice   *rand.Rand
	client client.Client
	log    *slog.Logger
	result *Result
	// open is whether gates are opened.
	open bool
	// ran are the workloads whose pods have run: a pod that comes then must not wait for long.
	ran map[string]bool
}

// Play draws a round and plays it on a control plane of its own. The error says what was not as it must be, or what
// else went wrong.
func Play(ctx context.Context, plimsoll string, seed uint64, log *slog.Logger) (result Result, err error) {
	round := Draw(seed)
	result = newResult(round)
	began := time.Now()
	defer func() { result.Took = time.Since(began) }()
	opening, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready within %s", startLimit))
	defer cancel()
	s, err := stage.Open(opening, log)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(s.WithLog(err), s.Close()) }()
	guarded, release := s.Guard(ctx)
	defer release()
	c, err := client.New(s.Cluster.AdminConfig(), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return result, fmt.Errorf("make the client of the round: %w", err)
	}
	p := stand{
		Stage: s, Round: round, client: c, log: log, result: &result, ran: map[string]bool{},
		dice: rand.New(rand.NewPCG(seed, 21)),
	}
	for _, part := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"start Plimsoll", func(ctx context.Context) error { return p.start(ctx, plimsoll) }},
		{"while the workloads come", p.grow},
		{"of what stays pending", p.askTheScheduler},
		{"when the gates are open", p.openGates},
		{"of the growth", p.judgeGrowth},
		{"while the workloads change", p.change},
		{"when all is deleted", p.leave},
	} {
		if err := part.do(guarded); err != nil {
			if cause := context.Cause(guarded); cause != nil {
				err = cause // a process has died, or the round was interrupted
			}
			return result, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	return result, nil
}

func (p *stand) start(ctx context.Context, plimsoll string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready within %s", startLimit))
	defer cancel()
	if err := p.create(ctx, p.Common...); err != nil {
		return err
	}
	return p.Autoscale(ctx, plimsoll, p.Groups, append(growing, p.Flags...)...)
}

func (p *stand) create(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := p.client.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// grow brings the workloads, and waits until those pods run that can.
func (p *stand) grow(ctx context.Context) error {
	if err := p.create(ctx, p.Daemons...); err != nil {
		return err
	}
	for _, w := range p.Workloads {
		if err := p.create(ctx, w.Needs...); err != nil {
			return err
		}
	}
	if err := p.claimsAreBound(ctx); err != nil {
		return err
	}
	for _, w := range p.Workloads {
		if err := p.create(ctx, w.Maker); err != nil {
			return err
		}
	}
	return p.calm(ctx)
}

// openGates lets the pods come that have waited for it.
func (p *stand) openGates(ctx context.Context) error {
	p.open = true
	return p.calm(ctx)
}

// change deletes what cannot run, then lets the others shrink and grow, while nodes are removed around them.
func (p *stand) change(ctx context.Context) error {
	var stay []*Workload
	for _, w := range p.Workloads {
		if w.Stays == 0 {
			stay = append(stay, w)
			p.ran[w.Name] = true
		} else if err := p.delete(ctx, w.Maker); err != nil {
			return err
		}
	}
	p.Workloads = stay
	if err := p.Restart(ctx, append(shrinking, p.Flags...)...); err != nil {
		return err
	}
	for step := range steps {
		for _, w := range p.Workloads {
			if err := p.resize(ctx, w, step%2 == 0); err != nil {
				return err
			}
		}
		if err := p.calm(ctx); err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
	}
	return nil
}

// resize gives a workload another size: in most cases of a step, a smaller one or a larger one.
func (p *stand) resize(ctx context.Context, w *Workload, shrinks bool) error {
	want := w.Least + p.dice.IntN(w.Most-w.Least+1)
	if shrinks != (want < w.Pods) && p.dice.IntN(4) > 0 {
		want = w.Pods
	}
	w.Pods = want
	patch := client.RawPatch(mergePatch, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want))
	if err := p.client.Patch(ctx, w.Maker, patch); err != nil {
		return fmt.Errorf("scale %s: %w", w.Name, err)
	}
	return nil
}

// leave deletes all that was made, and waits until there are no more nodes than each group's minimum.
func (p *stand) leave(ctx context.Context) error {
	for _, w := range p.Workloads {
		if err := p.delete(ctx, w.Maker); err != nil {
			return err
		}
	}
	for _, d := range p.Daemons {
		if err := p.delete(ctx, d); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, calmLimit, fmt.Errorf("the limit of %s is over", calmLimit))
	defer cancel()
	err := p.Watch.Wait(ctx, "all pods are gone, and each group is at its minimum", func(t stage.Tally) bool {
		for _, g := range p.Groups {
			if n := t.Groups[g.Name]; n.All != g.Min || n.Leaving > 0 {
				return false
			}
		}
		return t.Pods().All == 0
	})
	if err != nil {
		return err
	}
	return p.judgeReplays(ctx)
}

func (p *stand) delete(ctx context.Context, o client.Object) error {
	if err := p.client.Delete(ctx, o, client.PropagationPolicy(background)); err != nil {
		return fmt.Errorf("delete %T %s: %w", o, o.GetName(), err)
	}
	return nil
}
