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
	gardenerLimit     = 3 * time.Minute
	gardenerBackoff   = 15 * time.Second

	// gardenerStands is how long unneeded machines must stay where they are: longer than their removal
	// takes where it is allowed.
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

// gardenerResult is what the Gardener story recorded.
type gardenerResult struct {
	Steps []gardenerStep
	// Most and Least are what each pool asked for at once, by a watch: ever, and
	// since it had its minimum first.
	Most, Least map[string]int
}

// gardenerStep is what each pool had in each zone at the end of a step.
type gardenerStep struct {
	What  string
	Took  time.Duration
	Pools []poolsRow
}

// pooled is the Gardener story while it is played.
type pooled struct {
	*scene
	*poolRecord
	shoot pools.Shoot
	said  refusals
}

// gardenerStory is the Gardener story.
func gardenerStory(s *scene) *act {
	p := &pooled{scene: s, poolRecord: newPoolRecord(gardenerNamespace), shoot: gardenerShoot(),
		said: refusals{pools: map[string]bool{}}}
	var r gardenerResult
	workloads, gone := gardenerWorkloads(gardenerPods), gardenerWorkloads(0)
	// pooled is a step after which the pools are noted.
	pooled := func(one step) step {
		after := one.after
		one.limit = gardenerLimit
		one.after = func(ctx context.Context, took time.Duration) error {
			r.Steps = append(r.Steps, gardenerStep{one.title, took, p.rows(s.Watch.Tally())})
			if after == nil {
				return nil
			}
			return after(ctx, took)
		}
		return one
	}
	atMinimum := func(t stage.Tally) bool {
		return allRun(gone...)(t) && p.everyPool(t, func(row poolsRow) bool {
			return row.sum().Nodes.All == gardenerMin && row.sum().Asked == gardenerMin
		})
	}
	return &act{
		say: fmt.Sprintf(`Three worker pools of Gardener, each of %d to %d machines over %s, and
equal but for how the pool's limits are spread over its zones: %s.
In %s there is no quota. A stand-in for machine-controller-manager makes the machines;
Plimsoll finds its MachineDeployments, one for each pool and zone.
To be quick it waits seconds where it would wait minutes: %q`,
			gardenerMin, gardenerMax, strings.Join(gardenerZones, ", "), strings.Join(sizings(), ", "), gardenerZones[0],
			gardenerFlags()),
		open:    p.open,
		edit:    withoutOthers,
		columns: func(t stage.Tally) columns { return poolsRows{Zones: gardenerZones, Pools: p.rows(t)} },
		record:  p.record,
		tell: []func(context.Context) error{func(ctx context.Context) error {
			return s.hearEvents(ctx, func(event *corev1.Event) {
				p.note(func() error { p.said.take(event); return nil })
			})
		}},
		steps: []step{pooled(step{
			// Each zone has one machine of each pool's minimum, and one zone cannot give it.
			title: "the minimum, without a zone", workloads: gone,
			what: fmt.Sprintf("each pool has its %d machines, none of them in %s", gardenerMin, gardenerZones[0]),
			done: func(t stage.Tally) bool {
				return p.everyPool(t, func(row poolsRow) bool {
					return row.sum().Nodes.Ready == gardenerMin && row.Zones[0].Asked == 0
				})
			},
			after: func(context.Context, time.Duration) error {
				p.mindLeast()
				return nil
			},
		}), pooled(step{
			say: fmt.Sprintf(`
Each pool has its minimum all the same: the other zones have more than their share. Now a
Deployment arrives for each, with %d pods, each of which takes a machine: more than there may
be. %s leaves %s its share, which no other zone can use, and stays below its maximum.`,
				gardenerPods, machinev1.SizingBackwardCompatible, gardenerZones[0]),
			title: fmt.Sprintf("%d pods for each pool", gardenerPods), workloads: workloads,
			begin: s.create(workloads...),
			what:  "each pool has all that it can have, and Plimsoll has said of each why it gets no more",
			done: func(t stage.Tally) bool {
				return p.saidAll() && p.everyPool(t, func(row poolsRow) bool {
					want := gardenerMax
					if row.Name == gardenerFixedShares {
						want = gardenerMin
					}
					return row.sum().Nodes.Ready == want && t.Workloads[row.Name].Running == want
				})
			},
		}), pooled(step{
			say: fmt.Sprintf(`
%s has quota again. Plimsoll lets a zone rest for %s after it had none, and tries it then.
The pools that are at their maximum buy nothing just to be spread better.`, gardenerZones[0], gardenerBackoff),
			title: gardenerZones[0] + " has quota again", workloads: workloads,
			begin: p.giveQuota,
			what:  fmt.Sprintf("every pool has %d machines", gardenerMax),
			done: func(t stage.Tally) bool {
				return p.everyPool(t, func(row poolsRow) bool {
					return row.sum().Nodes.Ready == gardenerMax && t.Workloads[row.Name].Running == gardenerMax
				})
			},
		}), pooled(step{
			say:   "\nThe Deployments shrink to nothing. The pools' minimum must stay, whatever their zones'.",
			title: "and back to the minimum", workloads: gone,
			begin: s.scaleAll(gone),
			what:  fmt.Sprintf("every pool has %d machines", gardenerMin),
			done:  atMinimum,
			after: func(ctx context.Context, _ time.Duration) error {
				s.screen.Say(fmt.Sprintf("There they stay: nothing may go in the next %s.", gardenerStands))
				select {
				case <-time.After(gardenerStands):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				if err := p.catchUp(ctx, &machinev1.MachineDeploymentList{}); err != nil {
					return err
				}
				end := p.now()
				if !atMinimum(s.Watch.Tally()) {
					return fmt.Errorf("the pools did not stay at their minimum: %s", end)
				}
				r.Most, r.Least = end.most, end.least
				return errors.Join(withinMaximum(r.Most), withinMinimum(r.Least))
			},
		})},
		result: func() string { return r.String() },
	}
}

// open starts the world and the autoscaler. The watch begins when the kinds are there, and
// before the first pool is.
func (p *pooled) open(ctx context.Context) error {
	where, err := world.Gardener(p.Cluster, p.shoot)
	if err != nil {
		return err
	}
	if p.admin, err = client.NewWithWatch(p.Cluster.AdminConfig(), client.Options{Scheme: gardener.Scheme()}); err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	populate := where.Populate
	where.Populate = func(populating context.Context, plane *controlplane.ControlPlane) error {
		if err := p.watch(ctx, &machinev1.MachineDeploymentList{}); err != nil {
			return err
		}
		return populate(populating, plane)
	}
	return p.AutoscaleIn(ctx, p.plimsoll, where, gardenerFlags()...)
}

// giveQuota lets the zone recover.
func (p *pooled) giveQuota(ctx context.Context) error {
	for _, one := range gardenerSizings {
		class := &machinev1.MachineClass{
			ObjectMeta: metav1.ObjectMeta{Namespace: gardenerNamespace, Name: p.shoot.Deployment(one.pool, 0)},
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, gardener.QuotaAnnotation)
		if err := p.admin.Patch(ctx, class, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("give %s its quota back: %w", class.Name, err)
		}
	}
	return nil
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
			return fmt.Errorf("the pool %s asked for no more than %d machines at a time, and its minimum is %d",
				p.pool, n, gardenerMin)
		}
	}
	return nil
}

// saidAll reports whether Plimsoll has said of every pool that a pod gets no node.
func (p *pooled) saidAll() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.all()
}

// rows are the pools as they are.
func (p *pooled) rows(t stage.Tally) []poolsRow {
	var all []poolsRow
	now := p.now()
	for _, pool := range p.shoot.Pools {
		row := poolsRow{Name: pool.Name, Min: pool.Minimum, Max: pool.Maximum}
		for zone := range pool.Zones {
			name := p.shoot.Deployment(pool.Name, zone)
			row.Zones = append(row.Zones, poolZone{Asked: now.targets[name].replicas, Nodes: t.Groups[name]})
		}
		all = append(all, row)
	}
	return all
}

func (p *pooled) everyPool(t stage.Tally, is func(poolsRow) bool) bool {
	return !slices.ContainsFunc(p.rows(t), func(row poolsRow) bool { return !is(row) })
}
