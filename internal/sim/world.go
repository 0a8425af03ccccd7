package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

// start is the instant at which every world begins.
var start = testkit.Start

// settings are what a world is made with.
type settings struct {
	Seed uint64
	// Policy and Loop are the autoscaler's, as its flags say.
	Policy model.Policy
	// Flags are the same as text, for the judge.
	Flags []string
	Loop  config.Loop
	Lags  lags
}

// lags are ordinary delays.
type lags struct {
	// Watch is from a change in the API server until a watcher knows it.
	Watch Span
	// Read is how long a read of the cloud takes.
	Read Span
	// Begin is from a call's start until it is carried out; then a write to the cloud takes Write,
	// and each request to the API server API.
	Begin, Write, API Span
	// Restart is from a leader's death to the next leader.
	Restart Span
	// Memory is how late the leader's memory is written.
	Memory Span
}

// defaults are the product's own settings in a world of ordinary delays.
func defaults(seed uint64) settings {
	c := config.Defaults()
	return settings{
		Seed: seed, Policy: c.Policy, Loop: c.Loop,
		Lags: lags{
			Watch: Span{10 * time.Millisecond, 400 * time.Millisecond},
			Read:  Span{100 * time.Millisecond, 1500 * time.Millisecond},
			Begin: Span{0, 20 * time.Millisecond}, Write: Span{50 * time.Millisecond, 2 * time.Second},
			API:     Span{10 * time.Millisecond, 600 * time.Millisecond},
			Restart: Span{15 * time.Second, 40 * time.Second}, Memory: Span{50 * time.Millisecond, 2 * time.Second},
		},
	}
}

// world is one virtual world. It serves one goroutine. Close it in the end.
type world struct {
	clock
	dice
	settings settings
	log      timeline
	shown    verdicts
	product  consistency
	judge    judge

	catalog    *catalog.Catalog
	cloud      *providertest.Cloud
	groups     map[provider.GroupID]*group
	machines   map[provider.InstanceID]*machine
	cloudTick  time.Time // when the cloud is looked at next; zero: not planned
	faults     []*fault
	truth      *view
	unmanaged  map[string]bool       // nodes that no group has
	version    uint64                // of the API server's objects
	dead       map[string]bool       // nodes whose machine is gone
	cordons    map[string]bool       // nodes that people keep pods from
	silenced   map[string][]silenced // pods that have ended, and their node cannot say so
	workloads  map[string]*workload
	budgets    map[podName]*budget
	starting   map[types.UID]bool // pods that are bound and not ready yet
	daemonSets []model.DaemonSet
	// daemonFacts are those of the pods of daemonSets, in the same order.
	daemonFacts []model.FactsID
	namespaces  map[string]map[string]string
	contents    map[*provider.Template]model.Template
	sched       scheduler

	leader *leader // nil while no process leads
	// stopped are processes that are, or were, and may be alive beside the leader.
	stopped []*leader
	doom    doom
	writes  int // that took effect
	// ahead is how far the clock is ahead of the machine that the autoscaler runs on.
	ahead time.Duration
	// reflag gives the next leader other flags; nil: it has the same.
	reflag   func()
	happened happened
	stale    *watch               // an older state, while a fault has reads answered from it
	client   kubernetes.Interface // what act writes with
	saved    []byte               // what the last leader wrote
	// remembered is when it last wrote.
	remembered time.Time
	err        error // the first failure of the world itself
}

// group is what the world knows of a node group beyond what its cloud does.
type group struct {
	id       provider.GroupID
	template *provider.Template
	// register is from a machine's start to its node, ready from the node to its readiness.
	register, ready Span
	// timing is how long the cloud takes where no fault changes that.
	timing providertest.Timing
	// differs: some node of the group differed from its template.
	differs bool
}

// New makes an empty world, at Start, in which no process leads yet.
func New(s settings) *world {
	w := &world{
		clock: clock{now: start}, dice: newDice(s.Seed), settings: s,
		catalog: catalog.New(), groups: map[provider.GroupID]*group{}, machines: map[provider.InstanceID]*machine{},
		truth: newView(), unmanaged: map[string]bool{}, dead: map[string]bool{}, cordons: map[string]bool{},
		silenced: map[string][]silenced{}, workloads: map[string]*workload{}, budgets: map[podName]*budget{},
		starting: map[types.UID]bool{}, happened: newHappened(),
		contents:   map[*provider.Template]model.Template{},
		namespaces: map[string]map[string]string{"default": {corev1.LabelMetadataName: "default"}},
	}
	w.cloud = providertest.NewCloud(func() time.Time { return w.now })
	w.startScheduler()
	w.wrong(w.sched.PutNamespace("default", w.namespaces["default"]))
	w.log.now = func() time.Time { return w.now }
	w.product = newConsistency(w)
	w.client = w.clientset()
	w.judge = newJudge(w)
	return w
}

// groupSettings are a group's own: the cloud's part and the kubelets'.
type groupSettings struct {
	provider.Group
	Timing providertest.Timing
	// Spread is how far the cloud's times lie apart: 0.5 means from half to one
	// and a half times as long as Timing says.
	Spread float64
	// KeepsRequests, TellsStockOut and KillsToLower are as in providertest.GroupSpec.
	KeepsRequests, TellsStockOut, KillsToLower bool
	// Zones are where the cloud puts machines: balanced, or Scattered by chance.
	Zones     []string
	Scattered bool

	Register, Ready Span
}

// AddGroup adds a group; its Target is how many machines it has from the start,
// with nodes that are ready.
func (w *world) AddGroup(g groupSettings) error {
	if g.Template == nil || g.Template.Node == nil {
		return fmt.Errorf("add group %q: machines need a template", g.ID)
	}
	own := &group{id: g.ID, template: g.Template, register: g.Register, ready: g.Ready, timing: g.Timing}
	met := func(what What) func() bool {
		return func() bool { return w.meets(what, own, zoneOf(own)) != nil }
	}
	err := w.cloud.AddGroup(providertest.GroupSpec{
		Group: g.Group, Timing: g.Timing, Zones: g.Zones, Scattered: g.Scattered, Pick: w.dice.zones.IntN,
		KeepsRequests: g.KeepsRequests, TellsStockOut: g.TellsStockOut, KillsToLower: g.KillsToLower,
		NeverRuns: met(neverRuns), UsedNames: met(usedNames),
		Pace: func() float64 { return 1 + g.Spread*(2*w.dice.cloud.Float64()-1) },
	})
	if err != nil {
		return err
	}
	w.groups[g.ID] = own
	w.judge.groupIs(g.ID)
	w.judge.look()
	for _, in := range w.inventory(g.ID).Instances {
		m := &machine{instance: in.ID, group: own, node: string(in.ID), providerID: in.ProviderID, zone: in.Zone}
		w.machines[in.ID] = m
		w.register(m, quirks{})
		w.setReady(m, corev1.ConditionTrue, "KubeletReady")
	}
	return nil
}

// AddPool adds limits that groups share, before the groups.
func (w *world) AddPool(p provider.Pool) error {
	w.judge.tell(check.Event{What: check.PoolIs, Pool: string(p.ID), Min: p.Min, Max: p.Max, Sized: p.Sizing != ""})
	return w.cloud.AddPool(p)
}

// AddNode adds a node that no group has, ready from the start.
func (w *world) AddNode(n *corev1.Node) {
	w.unmanaged[n.Name] = true
	if !model.NodeReady(n) {
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	}
	w.putNode(n)
}

// inventory is one group as it is in the cloud; empty if there is none.
func (w *world) inventory(id provider.GroupID) provider.Group {
	for _, g := range w.cloud.Truth().Groups {
		if g.ID == id {
			return g
		}
	}
	return provider.Group{}
}

// Run lets time pass. The error is about the world itself, or the joined
// breaches of safety since the world began.
func (w *world) Run(d time.Duration) error {
	if w.leader == nil && w.now.Equal(start) {
		w.lead()
		w.watchCloud()
	}
	w.runUntil(w.now.Add(d))
	w.log.flush()
	return errors.Join(w.err, errors.Join(w.product.broken...), w.judge.breaches())
}

// At does something at an instant from Start on.
func (w *world) At(d time.Duration, do func()) { w.at(start.Add(d), do) }

// Now is how long the world has lasted.
func (w *world) Now() time.Duration { return w.now.Sub(start) }

// Timeline is what has happened until now, a line each.
func (w *world) Timeline() *timeline { return &w.log }

// Close ends the world.
func (w *world) Close() {
	if w.leader != nil {
		w.leader.end()
		w.leader = nil
	}
	for _, l := range w.stopped {
		l.end()
	}
	w.sched.Close()
}

// wrong notes a failure of the world itself.
func (w *world) wrong(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("at %s: %w", stamp(w.now), err)
	}
}

var background = context.Background()
