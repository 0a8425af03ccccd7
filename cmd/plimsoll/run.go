package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/plimsoll-dev/plimsoll/internal/calibrate"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// grace is what the process has for ending in all, below the grace period that the
// chart asks for.
const grace = 170 * time.Second

// closing bounds the provider's clean-up, and what is left to a write that has not
// ended until then.
const closing = time.Minute

// firstRead is how long a new leader waits for the cloud before it says what it
// can say without, and for what the leader before has left.
const firstRead = 10 * time.Second

// lastStatus bounds the last write of the status ConfigMap.
const lastStatus = 10 * time.Second

func runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "run",
		Annotations: map[string]string{longLived: "true"},
		Short:       "Keep the cluster's pods running: grow and shrink its node groups",
		Example: `  plimsoll run --cloud-provider=kwok --kubeconfig=$HOME/.kube/config
  plimsoll run --cloud-provider=kwok --expander=priority,least-waste --max-nodes-total=100
  plimsoll run --cloud-provider=kwok --mode=observe    # tells what it would do, and does none of it`,
		Args: onlyFlags,
	}
	flags := config.Bind(cmd.Flags(), providers.All())
	modes := flags.BindMode()
	help(cmd, func() string {
		if flags.HelpAll() {
			return flags.AllHelp()
		}
		return flags.Help()
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := configured(cmd, flags)
		if s == nil {
			return err
		}
		c, mode, warnings := modes.Apply(s.config)
		for _, w := range warnings {
			s.log.Warn(w)
		}
		s.config = c
		return run(cmd.Context(), s, mode)
	}
	return cmd
}

// run is the whole life of the process, until ctx ends.
func run(ctx context.Context, s *start, mode config.Mode) error {
	c, log, b := s.config, s.log, thisBuild()
	if c.Loop.DecideSteps == 0 {
		c.Policy.Share(c.Loop.Steps(calibrate.StepsPerSecond(time.Now)))
	}
	log.Info("starting", "version", b.Version, "tested_with_kubernetes", b.tested(), "decide_steps", c.Policy.Steps)
	heedMemoryLimit(ctx, memlimit.FromCgroup, log)
	// 1. Clients. The lease has one of its own, so that no burst of other
	// requests can make it late.
	rc, err := restConfig(c.Cluster)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	// 2. What reports, served from the start: a standby is alive, too.
	recorder, stopEvents := newRecorder(mode, client)
	defer stopEvents()
	reporter := report.New(recorder, report.Settings{
		Namespace: c.Cluster.Namespace, StatusConfigMap: c.Report.StatusConfigMap, StatusInterval: c.Loop.ScanInterval,
		PerGroupMetrics: c.Report.PerGroupMetrics, DuplicatedEvents: c.Report.DuplicatedEvents,
		Health: report.HealthLimits{
			MaxInactivity: c.HTTP.MaxInactivity, MaxFailingTime: c.HTTP.MaxFailingTime, MaxStartupTime: c.HTTP.MaxStartupTime,
		},
		Observe: mode.Observe,
	}, log)
	cloud, err := s.newProvider(ctx, reporter.Registry(), log)
	if err != nil {
		return err
	}
	if mode.Observe {
		log.Info("observe mode: nothing is bought, removed or written but the lease and the status ConfigMap",
			"lease", c.Leader.Name, "status_config_map", c.Report.StatusConfigMap)
		cloud = onlyRead(cloud)
	}
	stopServer, err := serve(c.HTTP.Address, reporter.Handler(), log)
	if err != nil {
		return err
	}
	defer stopServer()
	shown, err := show(ctx, c, mode, rc, reporter.Registry(), log)
	if err != nil {
		return err
	}
	defer shown.stop()
	// 3. What observes, from now on: a standby's memory is warm when it takes
	// over.
	prices := observe.Prices{First: c.Prices.First}
	if file := c.Prices.File; file != "" {
		prices.Read = func() (*model.Prices, error) { return config.ReadPrices(file) }
	}
	observer := observe.New(client, watched(cloud, reporter.ReadFailed), observe.Settings{
		Namespace: c.Cluster.Namespace, Seed: c.Loop.Seed,
		ScanInterval: c.Loop.ScanInterval, InventoryDeadline: c.Cloud.InventoryDeadline, Passing: c.Policy.Rules.Passing,
		MaxAge: c.Policy.InventoryMaxAge, Priorities: slices.Contains(c.Policy.ScaleUp.Expanders, model.ByPriority),
		Prices: prices,
	}, log)
	observing, stopObserving := context.WithCancel(ctx)
	defer stopObserving()
	var background sync.WaitGroup
	defer background.Wait()
	defer stopObserving()
	background.Go(func() { observer.Run(observing) })
	settings := &settled{policy: c.Policy}
	background.Go(func() { settings.reread(observing, s.file, c.Loop.ScanInterval, observer.Tell, log) })
	if err := observer.WaitForSync(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("read the cluster: %w", err)
	}
	reporter.Health().Ready()
	// 4. Lead, or wait for the lease.
	all := parts{c, settings, client, cloud, observer, reporter, log, []loop.Reporter{shown.book, shown.page}}
	if !c.Leader.Enabled {
		shown.page.Leader("", true)
		return all.lead(ctx, func() error { return nil })
	}
	return elected(ctx, c, mode, rc, log, leading{all.lead, shown.leader})
}

// lostLease ends the process that no longer leads.
type lostLease struct{ why string }

func (e lostLease) Error() string { return "the lease was lost: " + e.why }

// parts are those of the process that lead.
type parts struct {
	config   config.Config
	settings *settled
	client   kubernetes.Interface
	cloud    provider.Provider
	observer *observe.Observer
	reporter *report.Reporter
	log      *slog.Logger
	// shown take in each cycle besides.
	shown []loop.Reporter
}

// reporters report one after the other.
type reporters []loop.Reporter

func (all reporters) Report(ctx context.Context, c model.Cycle) error {
	var errs []error
	for _, r := range all {
		errs = append(errs, r.Report(ctx, c))
	}
	return errors.Join(errs...)
}

// lead runs the loop until ctx ends, and then, if the process was asked to
// end and did not lose the lease, lets the provider clean up. may reports whether
// it still leads.
func (p parts) lead(ctx context.Context, may func() error) error {
	p.reporter.Health().Leads(time.Now())
	if s, ok := p.cloud.(provider.Starter); ok {
		if err := s.Start(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("start the provider: %w", err)
		}
	}
	// What was read of the cloud until now may be older than the last writes of
	// the leader before, or than the provider's start.
	policy := p.settings.now()
	policy.InventoryNotBefore = time.Now()
	p.observer.Refresh()
	soon, stopWaiting := context.WithTimeout(ctx, firstRead)
	err := p.observer.WaitForInventory(soon, policy.InventoryNotBefore)
	stopWaiting()
	if err != nil && ctx.Err() == nil {
		p.log.Warn("leading without a first read of the cloud: nothing is bought or removed before there is one",
			"error", err)
	}
	// What must survive a change of leader is in the status ConfigMap. It is read
	// before this process writes there, and kept up to date from then on.
	book := ledger.New(policy.Rules)
	var before status.Pending
	var keeper *report.StatusWriter
	var keeping sync.WaitGroup
	if p.config.Report.WriteStatus {
		left := remembered(ctx, p.config, p.client, p.log)
		book, before = ledger.Restore(policy.Rules, left.Memory), left.Document.Pending
		keeper = p.reporter.KeepStatus(p.client, may, left.Document)
		keeping.Go(func() { keeper.Run(ctx) })
	}
	actor := newHand(p.cloud, p.client, may, p.observer.Refresh, p.log)
	tried := newFixes(before, append(reporters{p.reporter}, p.shown...), p.log)
	go tried.Run(ctx) // it writes nothing, so the process may end before it
	l := loop.New(p.observer, actor, tried, policy, time.Now, book)
	p.reporter.Health().Watch(l.Steps)
	p.settings.hand(l.Adopt)
	l.Run(ctx, loop.Triggers{
		Interval: p.config.Loop.ScanInterval, Idle: p.config.Loop.NudgeIdle, Longest: p.config.Loop.NudgeMax,
		Nudges: []<-chan struct{}{p.observer.Changed(), actor.Changed()},
	}, p.reporter.Failed)
	// The write under way is finished, within its own deadline, unless that leaves
	// no time for the rest.
	lasts, cancel := context.WithTimeout(context.WithoutCancel(ctx),
		min(p.config.Policy.CallDeadline, grace-lastStatus-closing))
	defer cancel()
	if err := actor.Close(lasts); err != nil {
		p.log.Warn("a write is still under way", "err", err)
	}
	keeping.Wait()
	if lost, ok := errors.AsType[lostLease](context.Cause(ctx)); ok {
		return lost
	}
	if keeper != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastStatus)
		defer cancel()
		if err := keeper.Close(last); err != nil {
			p.log.Warn("what the next process begins with may be some seconds old", "err", err)
		}
	}
	return cleanUp(ctx, actor.Close, p.cloud)
}

// cleanUp lets the provider clean up after the last write. A write that does not
// end is given half of the time; the provider cleans up then all the same, since no other process will.
func cleanUp(ctx context.Context, finish func(context.Context) error, cloud provider.Provider) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	first, cancelFirst := context.WithTimeout(end, closing/2)
	defer cancelFirst()
	var errs []error
	if err := finish(first); err != nil {
		errs = append(errs, fmt.Errorf("finish the write under way: %w", err))
	}
	if cl, ok := cloud.(provider.Closer); ok {
		if err := cl.Close(end); err != nil {
			errs = append(errs, fmt.Errorf("clean up the provider: %w", err))
		}
	}
	return errors.Join(errs...)
}

// remembered is what the leader before has left. What cannot be read is logged, and
// is as if there were nothing: timers begin again then, and what boots is found
// out from the cloud.
func remembered(ctx context.Context, c config.Config, client kubernetes.Interface, log *slog.Logger) report.Left {
	soon, cancel := context.WithTimeout(ctx, firstRead)
	defer cancel()
	left, err := report.ReadLeft(soon, client, c.Cluster.Namespace, c.Report.StatusConfigMap)
	if err != nil && ctx.Err() == nil {
		log.Warn("the memory of the last leader could not be read: timers and backoffs begin again", "err", err)
	}
	return left
}

// leading is what a process does when the lease is its own: lead; and at each change: note who holds it.
type leading struct {
	lead  func(ctx context.Context, may func() error) error
	noted func(holder string, own bool)
}

// elected leads while it holds the lease. Losing it ends the process with an
// error; being asked to end releases it, after the last write.
func elected(
	ctx context.Context, c config.Config, mode config.Mode, rc *rest.Config, log *slog.Logger, does leading,
) error {
	own := rest.CopyConfig(rc)
	own.Timeout = c.Leader.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return fmt.Errorf("make a client for the lease: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find a name for the lease: %w", err)
	}
	lock := &resourcelock.LeaseLock{Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}}
	lock.LeaseMeta.Namespace, lock.LeaseMeta.Name = c.Leader.Namespace, c.Leader.Name
	// The election outlives ctx: the lease is held until leading has ended, and
	// its last write with it, also when it could not be renewed. Only a process
	// that never led stops waiting at once.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var gaveUp, inLead atomic.Bool
	keep := context.AfterFunc(ctx, func() { gaveUp.Store(true); release() })
	var result error
	var elector *leaderelection.LeaderElector
	// Whether the lease is held is asked of the clock, too: a process that was
	// stopped for a while has not noticed that others have taken over.
	may := func() error {
		switch {
		case !elector.IsLeader():
			return lostLease{fmt.Sprintf("%s leads now", cmp.Or(elector.GetLeader(), "no process"))}
		case elector.Check(c.Leader.RenewDeadline-c.Leader.LeaseDuration) != nil:
			return lostLease{fmt.Sprintf("it could not be renewed for %s; does the API server answer?", c.Leader.RenewDeadline)}
		}
		return nil
	}
	led := make(chan struct{})
	elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lease{lock, c.Leader.Namespace, c.Leader.Name, mode.Observe, &inLead}, LeaseDuration: c.Leader.LeaseDuration,
		RenewDeadline: c.Leader.RenewDeadline, RetryPeriod: c.Leader.RetryPeriod,
		ReleaseOnCancel: true, Name: c.Leader.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				defer close(led)
				if !keep() {
					return // asked to end in the very moment
				}
				defer release()
				log.Info("leading", "lease", c.Leader.Name)
				leads, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
				defer cancel(nil)
				context.AfterFunc(ctx, func() { cancel(context.Canceled) })
				context.AfterFunc(held, func() {
					lost := may()
					if lost == nil {
						lost = lostLease{"it could not be renewed"}
					}
					cancel(lost)
				})
				inLead.Store(true)
				result = does.lead(leads, may)
				inLead.Store(false)
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(id string) {
				does.noted(id, id == lock.LockConfig.Identity)
				if id != lock.LockConfig.Identity {
					log.Info("another process leads", "leader", id)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	elector.Run(holding)
	if gaveUp.Load() {
		return nil
	}
	<-led
	return result
}

// serve answers on address until the returned function is called.
func serve(address string, h http.Handler, log *slog.Logger) (func(), error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on --address %s: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP server ended", "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			log.Debug("HTTP connections were cut", "error", err)
		}
	}, nil
}
