package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// The Gardener story's pools: equal but for their sizing.
const (
	gardenerNamespace = "shoot"
	gardenerMin       = 3
	gardenerMax       = 4
	gardenerPods      = 5 // of each pool; a machine has room for one
	gardenerJoin      = 2 * time.Second
	gardenerLimit     = 60 * time.Second
	gardenerBackoff   = 15 * time.Second

	// gardenerStands is how long what nobody needs must stay where it is: longer than
	// it takes to go where it may.
	gardenerStands = 8 * time.Second
)

var (
	gardenerZones = []string{"zone-a", "zone-b", "zone-c"}
	// By pool, in the order in which they are shown.
	gardenerSizings = []struct{ pool, sizing string }{
		{"lax-greedy", machinev1.SizingLaxGreedy},
		{"backward-compatible", machinev1.SizingBackwardCompatible},
		{"equitable", machinev1.SizingEquitable},
	}
)

// The pool that keeps its zones' shares, come what may.
const gardenerFixedShares = "backward-compatible"

func gardenerShoot() pools.Shoot {
	s := pools.Shoot{Namespace: gardenerNamespace}
	for _, p := range gardenerSizings {
		s.Pools = append(s.Pools, pools.Pool{
			Name: p.pool, Sizing: p.sizing, Minimum: gardenerMin, Maximum: gardenerMax, Zones: gardenerZones,
			// A type of its own, and so a quota of its own.
			Machine: pools.Machine{Type: p.pool + "-4-16", Capacity: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
			}},
			JoinDelay: metav1.Duration{Duration: gardenerJoin},
			Quota:     map[string]int{gardenerZones[0]: 0},
		})
	}
	return s
}

func gardenerWorkloads(replicas int) []stage.Workload {
	var all []stage.Workload
	for _, p := range gardenerSizings {
		all = append(all, stage.Workload{
			Name: p.pool, Replicas: replicas, CPU: "3", Memory: "1Gi", Selector: map[string]string{machinev1.PoolLabel: p.pool},
		})
	}
	return all
}

func gardenerFlags() []string {
	return append(growthFlags(), "--initial-node-group-backoff-duration="+gardenerBackoff.String())
}

// GardenerResult is what the Gardener story recorded.
type GardenerResult struct {
	Steps []GardenerStep
	// Most and Least are what each pool asked for at once, by a watch: ever, and
	// since it had its minimum first.
	Most, Least map[string]int
}

// GardenerStep is what each pool had in each zone at the end of a step.
type GardenerStep struct {
	What  string
	Took  time.Duration
	Pools []PoolsRow
}

// pooled is the Gardener story while it is played.
type pooled struct {
	stage  *stage.Stage
	screen *Screen
	shoot  pools.Shoot
	admin  client.WithWatch
	record *poolRecord
}

// Gardener plays the Gardener story. Its error says what did not happen, or what
// happened and should not have.
func Gardener(ctx context.Context, s *stage.Stage, plimsoll string, screen *Screen) (GardenerResult, error) {
	var r GardenerResult
	p := pooled{stage: s, screen: screen, shoot: gardenerShoot()}
	where, err := world.Gardener(s.Cluster, p.shoot)
	if err != nil {
		return r, err
	}
	if p.admin, err = client.NewWithWatch(s.Cluster.AdminConfig(), client.Options{Scheme: gardener.Scheme()}); err != nil {
		return r, fmt.Errorf("make the administrator's client: %w", err)
	}
	// The watch begins when the kinds are there, and before the first pool is.
	populate := where.Populate
	where.Populate = func(populating context.Context, plane *controlplane.ControlPlane) error {
		var err error
		if p.record, err = newPoolRecord(ctx, p.admin, gardenerNamespace); err != nil {
			return err
		}
		return populate(populating, plane)
	}
	screen.Say(fmt.Sprintf(`Three worker pools of Gardener, each of %d to %d machines over %s, and
equal but for how the pool's limits are spread over its zones: %s.
In %s there is no quota. A stand-in for machine-controller-manager makes the machines;
Plimsoll finds its MachineDeployments, one for each pool and zone.
To be quick it waits seconds where it would wait minutes: %q`,
		gardenerMin, gardenerMax, strings.Join(gardenerZones, ", "), strings.Join(sizings(), ", "), gardenerZones[0], gardenerFlags()))
	err = s.AutoscaleIn(ctx, plimsoll, where, gardenerFlags()...)
	if p.record != nil {
		defer p.record.stop()
	}
	if err != nil {
		return r, err
	}
	screen.Edit(withoutOthers)
	defer screen.Edit(nil)
	err = narrate(ctx, s, screen, func() error {
		for _, step := range []func(context.Context) (GardenerStep, error){p.fill, p.grow, p.quotaIsBack, p.shrink} {
			done, err := step(ctx)
			r.Steps = append(r.Steps, done)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	end, err := p.record.catchUp(ctx)
	r.Most, r.Least = end.most, end.least
	if err != nil {
		return r, err
	}
	return r, errors.Join(withinMaximum(r.Most), withinMinimum(r.Least))
}

func sizings() []string {
	var all []string
	for _, p := range gardenerSizings {
		all = append(all, p.sizing)
	}
	return all
}

// withinMaximum is what must hold under every sizing, at any time.
func withinMaximum(most map[string]int) error {
	for _, p := range gardenerSizings {
		if n := most[p.pool]; n > gardenerMax {
			return fmt.Errorf("the pool %s asked for %d machines at once, and its maximum is %d", p.pool, n, gardenerMax)
		}
	}
	return nil
}

// withinMinimum is what must hold under every sizing, once the minimum is there.
func withinMinimum(least map[string]int) error {
	for _, p := range gardenerSizings {
		if n := least[p.pool]; n < gardenerMin {
			return fmt.Errorf("the pool %s asked for no more than %d machines at a time, and its minimum is %d", p.pool, n, gardenerMin)
		}
	}
	return nil
}

// 1. Each zone has one machine of each pool's minimum, and one zone cannot give it.
func (p *pooled) fill(ctx context.Context) (GardenerStep, error) {
	step, err := p.play(ctx, "the minimum, without a zone", gardenerWorkloads(0), func(context.Context) error { return nil },
		fmt.Sprintf("each pool has its %d machines, none of them in %s", gardenerMin, gardenerZones[0]), func(t stage.Tally, s poolState) bool {
			return p.everyPool(t, s, func(row PoolsRow) bool { return row.sum().Nodes.Ready == gardenerMin && row.Zones[0].Asked == 0 })
		})
	p.record.mindLeast()
	return step, err
}

// 2. More pods than any pool may have machines for.
func (p *pooled) grow(ctx context.Context) (GardenerStep, error) {
	workloads := gardenerWorkloads(gardenerPods)
	p.screen.Say(fmt.Sprintf(`
Each pool has its minimum all the same: the other zones have more than their share. Now a
Deployment arrives for each, with %d pods, each of which takes a machine: more than there may
be. %s leaves %s its share, which nobody can use, and stays below its maximum.`,
		gardenerPods, machinev1.SizingBackwardCompatible, gardenerZones[0]))
	said, err := p.refusals(ctx)
	if err != nil {
		return GardenerStep{}, err
	}
	defer said.stop()
	return p.play(ctx, fmt.Sprintf("%d pods for each pool", gardenerPods), workloads, func(ctx context.Context) error {
		return p.stage.Create(ctx, workloads...)
	}, "each pool has all that it can have, and Plimsoll has said of each why it gets no more", func(t stage.Tally, s poolState) bool {
		return said.all() && p.everyPool(t, s, func(row PoolsRow) bool {
			want := gardenerMax
			if row.Name == gardenerFixedShares {
				want = gardenerMin
			}
			return row.sum().Nodes.Ready == want && t.Workloads[row.Name].Running == want
		})
	})
}

// 3. The zone recovers.
func (p *pooled) quotaIsBack(ctx context.Context) (GardenerStep, error) {
	p.screen.Say(fmt.Sprintf(`
%s has quota again. Plimsoll lets a zone rest for %s after it had none, and tries it then.
The pools that are at their maximum buy nothing just to be spread better.`, gardenerZones[0], gardenerBackoff))
	return p.play(ctx, gardenerZones[0]+" has quota again", gardenerWorkloads(gardenerPods), func(ctx context.Context) error {
		for _, one := range gardenerSizings {
			class := &machinev1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: gardenerNamespace, Name: p.shoot.Deployment(one.pool, 0)}}
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, gardener.QuotaAnnotation)
			if err := p.admin.Patch(ctx, class, client.RawPatch(types.MergePatchType, patch)); err != nil {
				return fmt.Errorf("give %s its quota back: %w", class.Name, err)
			}
		}
		return nil
	}, fmt.Sprintf("every pool has %d machines", gardenerMax), func(t stage.Tally, s poolState) bool {
		return p.everyPool(t, s, func(row PoolsRow) bool {
			return row.sum().Nodes.Ready == gardenerMax && t.Workloads[row.Name].Running == gardenerMax
		})
	})
}

// 4. Nobody needs them any more.
func (p *pooled) shrink(ctx context.Context) (GardenerStep, error) {
	p.screen.Say("\nThe Deployments shrink to nothing. The pools' minimum must stay, whatever their zones'.")
	workloads := gardenerWorkloads(0)
	atMinimum := func(t stage.Tally, s poolState) bool {
		return allRun(workloads)(t) && p.everyPool(t, s, func(row PoolsRow) bool {
			return row.sum().Nodes.All == gardenerMin && row.sum().Asked == gardenerMin
		})
	}
	step, err := p.play(ctx, "and back to the minimum", workloads, func(ctx context.Context) error {
		for _, w := range workloads {
			if err := p.stage.Scale(ctx, w.Name, 0); err != nil {
				return err
			}
		}
		return nil
	}, fmt.Sprintf("every pool has %d machines", gardenerMin), atMinimum)
	if err != nil {
		return step, err
	}
	p.screen.Say(fmt.Sprintf("There they stay: nothing may go in the next %s.", gardenerStands))
	select {
	case <-time.After(gardenerStands):
	case <-ctx.Done():
		return step, context.Cause(ctx)
	}
	now, err := p.record.catchUp(ctx)
	if err == nil && !atMinimum(p.stage.Watch.Tally(), now) {
		err = fmt.Errorf("the pools did not stay at their minimum: %s", now)
	}
	return step, err
}

// rows are the pools as they are.
func (p *pooled) rows(t stage.Tally, s poolState) []PoolsRow {
	var all []PoolsRow
	for _, pool := range p.shoot.Pools {
		row := PoolsRow{Name: pool.Name, Min: pool.Minimum, Max: pool.Maximum}
		for zone := range pool.Zones {
			name := p.shoot.Deployment(pool.Name, zone)
			row.Zones = append(row.Zones, PoolZone{Asked: s.targets[name].replicas, Nodes: t.Groups[name]})
		}
		all = append(all, row)
	}
	return all
}

func (p *pooled) everyPool(t stage.Tally, s poolState, is func(PoolsRow) bool) bool {
	return !slices.ContainsFunc(p.rows(t, s), func(row PoolsRow) bool { return !is(row) })
}

// play does what begins a step, and shows the pools until they are as wanted.
func (p *pooled) play(ctx context.Context, title string, workloads []stage.Workload, begin func(context.Context) error,
	what string, done func(stage.Tally, poolState) bool) (GardenerStep, error) {
	step := GardenerStep{What: title}
	ctx, cancel := context.WithTimeoutCause(ctx, gardenerLimit, fmt.Errorf("the limit of %s is over", gardenerLimit))
	defer cancel()
	began := time.Now()
	end := p.screen.follow(ctx, func() Frame {
		tally := p.stage.Watch.Tally()
		now, _, _ := p.record.look() // an error of the record ends the waiting
		f := newFrame(title, time.Since(began), tally, workloads, nil)
		f.Pools = &PoolsRows{Zones: gardenerZones, Pools: p.rows(tally, now)}
		return f
	})
	defer end()
	if err := begin(ctx); err != nil {
		return step, err
	}
	for {
		changed := p.stage.Watch.Changed()
		tally := p.stage.Watch.Tally()
		now, asked, err := p.record.look()
		if err != nil {
			return step, err
		}
		if err := withinMaximum(now.most); err != nil {
			return step, err
		}
		if done(tally, now) {
			step.Took, step.Pools = time.Since(began), p.rows(tally, now)
			return step, nil
		}
		select {
		case <-changed:
		case <-asked:
		case <-ctx.Done():
			return step, fmt.Errorf("this did not happen: %s: %w (%s; %s)", what, context.Cause(ctx), tally, now)
		}
	}
}
