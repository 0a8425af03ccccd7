package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/inventory"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// The priority expander's document: a ConfigMap in Plimsoll's own namespace,
// and the key in it.
const (
	priorityConfigMap = "cluster-autoscaler-priority-expander"
	priorityKey       = "priorities"
)

// The pauses that plimsoll pause has made: a ConfigMap in the same namespace, and the key in it.
const (
	PauseConfigMap = "plimsoll-pauses"
	PauseKey       = "pauses"

	pauseResource = "configmaps " + PauseConfigMap
)

// deniedFor is how long a refusal must last before it is believed: new permissions take a moment to
// be effective.
const deniedFor = 5 * time.Second

// Settings are the operator's.
type Settings struct {
	// Namespace is Plimsoll's own, where the priority expander's ConfigMap is.
	Namespace string
	// Seed is given to every Observation.
	Seed uint64
	// ScanInterval is the time between two regular reads of the cloud; InventoryDeadline is how
	// long one may take.
	ScanInterval      time.Duration
	InventoryDeadline time.Duration
	// Passing are taints that templates are read without.
	Passing model.PassingTaints
	// MaxAge is how long a kind of object may be unreadable before Observe fails; zero: for ever.
	MaxAge time.Duration
	// Priorities: read the priority expander's ConfigMap. Without it, the permission to read it may
	// be missing.
	Priorities bool
	// Prices are the operator's.
	Prices Prices
}

// Observer watches the cluster and reads the cloud. Its methods may be called
// from any goroutine.
type Observer struct {
	settings Settings
	log      *slog.Logger
	sources  []*source
	cloud    *cloud
	changed  chan struct{}

	mu         sync.Mutex
	askedAt    time.Time     // when a read of the cloud was last requested that has not begun
	delivered  chan struct{} // closed at the end of the next read of the cloud
	generation uint64
	cluster    *cluster
	namespaces *objects[*corev1.Namespace]
	daemonSets *objects[*appsv1.DaemonSet]
	priorities *objects[*corev1.ConfigMap]
	pauseMap   *objects[*corev1.ConfigMap]
	budgets    *budgets
	volumes    volumes
	known      inventory.Known
	cloudErr   string

	// Frozen parts, rebuilt only after a change.
	labelsOf       map[string]map[string]string
	daemons        []model.DaemonSet
	behind         map[types.UID]behind // DaemonSets that have fewer pods than they want
	templates      []model.Template
	templatesStale bool
	numbers        *model.Priorities // those of the priority expander's document
	prices         *model.Prices
	pricesErr      string // why the prices could not be read again
	told           []provider.Notice
	pauses         []policy.GroupPause
}

// volumes are the kinds that the scheduler's volume plugins read.
type volumes struct {
	claims      *objects[*corev1.PersistentVolumeClaim]
	persistent  *objects[*corev1.PersistentVolume]
	classes     *objects[*storagev1.StorageClass]
	csiNodes    *objects[*storagev1.CSINode]
	csiDrivers  *objects[*storagev1.CSIDriver]
	capacities  *objects[*storagev1.CSIStorageCapacity]
	attachments *objects[*storagev1.VolumeAttachment]
	generation  uint64
}

// New makes an observer of a cluster and a cloud; Run starts it.
func New(client kubernetes.Interface, p provider.Provider, s Settings, log *slog.Logger) *Observer {
	o := &Observer{
		settings: s, log: log, changed: make(chan struct{}, 1), delivered: make(chan struct{}), prices: s.Prices.First,
	}
	o.cluster = newCluster(&o.generation, o.news)
	bump := func() { o.generation++ }
	bumpVolumes := func() { o.generation++; o.volumes.generation++ }
	o.namespaces = newObjects[*corev1.Namespace](&o.mu, bump)
	o.daemonSets = newObjects[*appsv1.DaemonSet](&o.mu, bump)
	o.priorities = newObjects[*corev1.ConfigMap](&o.mu, bump)
	o.pauseMap = newObjects[*corev1.ConfigMap](&o.mu, func() { o.generation++; o.news() })
	o.budgets = newBudgets(bump, o.news)
	o.volumes = volumes{
		claims:      newObjects[*corev1.PersistentVolumeClaim](&o.mu, bumpVolumes),
		persistent:  newObjects[*corev1.PersistentVolume](&o.mu, bumpVolumes),
		classes:     newObjects[*storagev1.StorageClass](&o.mu, bumpVolumes),
		csiNodes:    newObjects[*storagev1.CSINode](&o.mu, bumpVolumes),
		csiDrivers:  newObjects[*storagev1.CSIDriver](&o.mu, bumpVolumes),
		capacities:  newObjects[*storagev1.CSIStorageCapacity](&o.mu, bumpVolumes),
		attachments: newObjects[*storagev1.VolumeAttachment](&o.mu, bumpVolumes),
	}
	o.cloud = &cloud{
		provider: p, interval: s.ScanInterval, deadline: s.InventoryDeadline,
		poked: make(chan struct{}, 1), deliver: o.deliver, log: log,
	}
	o.sources = o.watches(client)
	return o
}

func (o *Observer) locked(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
}

// Run watches the cluster and reads the cloud until ctx ends.
func (o *Observer) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, s := range o.sources {
		all.Go(func() { s.run(ctx) })
	}
	all.Go(func() { o.cloud.run(ctx) })
	all.Go(func() { o.cloud.notice(ctx) })
	all.Go(func() { o.rereadPrices(ctx) })
	all.Wait()
}

// WaitForSync returns when everything in the cluster has been read once, or with an error that
// names what could not be read: at once for missing permissions, else when ctx ends. Optional kinds
// may stay unread.
func (o *Observer) WaitForSync(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		denied, problems := o.problems()
		switch {
		case problems == nil:
			o.tellSpared()
			return nil
		case denied >= deniedFor:
			return fmt.Errorf("observe: the cluster cannot be read: %w", problems)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("observe: the cluster could not be read in time: %w", problems)
		case <-tick.C:
		}
	}
}

// problems joins what keeps the kinds from being read; nil when all are.
func (o *Observer) problems() (denied time.Duration, joined error) {
	var errs []error
	now := time.Now()
	for _, s := range o.sources {
		if s.ready() || s.spared(now) {
			continue
		}
		d, err := s.problem(now)
		if err != nil {
			errs = append(errs, err)
		}
		denied = max(denied, d)
	}
	return denied, errors.Join(errs...)
}

// tellSpared logs once how the observer works without the kinds that it may not read.
func (o *Observer) tellSpared() {
	for _, s := range o.sources {
		if s.spared(time.Now()) {
			o.log.Warn("a permission is missing; Plimsoll works without it", "resource", s.resource, "instead", s.without)
		}
	}
}

// Changed signals, coalesced, that the loop should look: a pod waits, was refused or was bound, a
// node came, turned ready or went, a budget allows other disruptions, the cloud changed.
func (o *Observer) Changed() <-chan struct{} { return o.changed }

// Tell makes notices part of what is seen from now on, in place of those that were told before.
func (o *Observer) Tell(notices []provider.Notice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = notices
	o.generation++
	o.news()
}

func (o *Observer) news() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// Refresh asks for a read of the cloud that begins after this moment. It returns at once. Changed
// signals the end of the read, whatever it shows, since the caller waits for it.
func (o *Observer) Refresh() {
	o.mu.Lock()
	o.askedAt = time.Now()
	o.mu.Unlock()
	o.cloud.refresh()
}

// WaitForInventory returns when the cloud has been read since an instant, or
// when ctx ends.
func (o *Observer) WaitForInventory(ctx context.Context, since time.Time) error {
	for {
		o.mu.Lock()
		asOf, next := o.known.Latest().AsOf, o.delivered
		o.mu.Unlock()
		if !asOf.Before(since) {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("wait for a read of the cloud: %w", context.Cause(ctx))
		}
	}
}

// deliver takes in the end of a read of the cloud.
func (o *Observer) deliver(answer provider.Inventory, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var next inventory.Known
	if err == nil {
		ready := sync.OnceValue(o.readyNodes)
		next, err = o.known.Fold(answer, func(in *provider.Instance) bool { return ready()(in) })
	}
	if err != nil {
		if o.cloudErr == "" {
			o.log.Warn("cannot read the cloud; the last known state is used", "asOf", o.known.Latest().AsOf, "err", err)
			o.news()
		}
		if why := err.Error(); why != o.cloudErr {
			o.cloudErr = why
			o.generation++
		}
		return
	}
	if o.cloudErr != "" {
		o.log.Info("reading the cloud works again", "groups", len(answer.Groups))
	}
	asked := !o.askedAt.IsZero() && !answer.AsOf.Before(o.askedAt)
	if asked {
		o.askedAt = time.Time{}
	}
	// An unchanged picture only matters to the caller of Refresh: the loop sees by AsOf that it is
	// newer. Whether missing instances are believed depends on the picture's age.
	differs := o.cloudErr != "" || o.known.Differs(next)
	if asked || differs {
		o.news()
	}
	if asked || differs || o.known.Contradicted() || next.Contradicted() {
		o.generation++
	}
	o.templatesStale = o.templatesStale || differs
	o.known, o.cloudErr = next, ""
	close(o.delivered)
	o.delivered = make(chan struct{})
}

// readyNodes returns a function that reports whether an instance's node is Ready now.
func (o *Observer) readyNodes() func(*provider.Instance) bool {
	byID := o.cluster.readyByID()
	return func(in *provider.Instance) bool { return o.cluster.readyNode(in, byID) }
}

// Observe combines what is known at this moment. It waits for nothing. It is an error before the
// cluster has been read in full, and when a part of it could not be read for too long: new pods
// would never be seen, and bound ones would look pending.
func (o *Observer) Observe(_ context.Context, now time.Time) (model.Observation, error) {
	wall := time.Now() // as failures are dated
	for _, s := range o.sources {
		_, err := s.problem(wall)
		switch {
		case err == nil || s.spared(wall):
		case !s.seen():
			return model.Observation{}, fmt.Errorf("observe: the cluster has not been read in full: %w", err)
		case o.settings.MaxAge > 0 && wall.Sub(s.asOf()) > o.settings.MaxAge:
			return model.Observation{}, fmt.Errorf("observe: what is known of the cluster is %s old, more than %s: %w",
				wall.Sub(s.asOf()).Round(time.Second), o.settings.MaxAge, err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// 1. A catalog that is mostly stale is rebuilt, and with it all names.
	rebuilt := o.cluster.compact()
	if rebuilt {
		o.templatesStale = true
		o.log.Info("unused content was dropped")
	}
	// 2. The cloud, as believed.
	cloud := o.known.Latest()
	if o.known.Contradicted() {
		cloud = o.known.Believed(o.readyNodes())
	}
	if o.templatesStale {
		o.templates = o.cluster.templates(cloud.Groups, o.settings.Passing)
		o.templatesStale = false
	}
	// 3. The cluster. Contents come last: they must hold all that is named.
	seen := model.Observation{
		Now: now, Seed: o.settings.Seed, Generation: o.generation,
		Nodes:      o.cluster.observed(),
		Unbound:    o.cluster.waiting(),
		NoNode:     o.cluster.noNode(),
		DaemonSets: o.seenDaemonSets(rebuilt, now),
		Namespaces: o.seenNamespaces(),
		Volumes:    o.seenVolumes(),
		Budgets:    o.budgets.sorted(),
		Inventory:  cloud, InventoryErr: o.cloudErr,
		Templates:  o.templates,
		Priorities: o.seenPriorities(),
		Pauses:     o.seenPauses(),
		Prices:     o.prices, Notices: slices.Concat(o.priceNotices(), o.told),
	}
	seen.Contents = o.cluster.catalog.Contents()
	return seen, nil
}

func (o *Observer) seenDaemonSets(rebuilt bool, now time.Time) []model.DaemonSet {
	stale := o.daemonSets.stale
	all := o.daemonSets.sorted()
	if stale || rebuilt {
		o.behind = behindOf(o.behind, all, now)
		o.daemons = make([]model.DaemonSet, len(all))
		for i, ds := range all {
			o.daemons[i] = daemonSet(o.cluster.catalog, ds)
			o.daemons[i].Unmade = o.behind[ds.UID].since
		}
	}
	return o.daemons
}

// seenPauses parses the pauses once per change. While they cannot be understood, everything is paused.
func (o *Observer) seenPauses() []policy.GroupPause {
	if o.pauseMap.stale {
		o.pauses = nil
		for _, m := range o.pauseMap.sorted() {
			if m.Name != PauseConfigMap {
				continue
			}
			var err error
			if o.pauses, err = policy.ParsePauses(m.Data[PauseKey]); err != nil {
				o.pauses = policy.Halt(fmt.Errorf("ConfigMap %s/%s: %w", m.Namespace, m.Name, err))
			}
		}
	}
	return o.pauses
}

// seenPriorities parses the priority expander's document once per change.
func (o *Observer) seenPriorities() *model.Priorities {
	if o.priorities.stale {
		o.numbers = nil
		for _, m := range o.priorities.sorted() {
			if m.Name == priorityConfigMap {
				o.numbers = model.ParsePriorities(m.Data[priorityKey])
			}
		}
	}
	return o.numbers
}

func (o *Observer) seenNamespaces() map[string]map[string]string {
	if !o.namespaces.stale && o.labelsOf != nil {
		return o.labelsOf
	}
	all := o.namespaces.sorted()
	o.labelsOf = make(map[string]map[string]string, len(all))
	for _, ns := range all {
		o.labelsOf[ns.Name] = ns.Labels
	}
	return o.labelsOf
}

func (o *Observer) seenVolumes() model.Volumes {
	v := &o.volumes
	return model.Volumes{
		Claims:      v.claims.sorted(),
		Persistent:  v.persistent.sorted(),
		Classes:     v.classes.sorted(),
		CSINodes:    v.csiNodes.sorted(),
		CSIDrivers:  v.csiDrivers.sorted(),
		Capacities:  v.capacities.sorted(),
		Attachments: v.attachments.sorted(),
		Generation:  v.generation,
	}
}
