package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

// What is what a fault does to the world.
type What string

// The faults, by what they affect.
const (
	// Machines that boot: no node registers, or it never turns ready, or it has
	// another name and provider id than the cloud says, or less CPU, fewer labels
	// or one taint more than its template; or the cloud makes no machine but an
	// instance with an error.
	neverRegister What = "boots=never-register"
	neverReady    What = "boots=never-ready"
	driftedNode   What = "boots=drift"
	lessCPU       What = "boots=less-cpu"
	lostLabel     What = "boots=lost-label"
	extraTaint    What = "boots=extra-taint"
	failedBoot    What = "boots=error"
	// Writes: refused, done without an answer, neither done nor answered, slow.
	refuse What = "calls=refuse"
	lose   What = "calls=lose"
	hang   What = "calls=hang"
	slow   What = "calls=slow"
	// Reads of the cloud: an error, no answer, an old answer, no groups, groups
	// that cannot be read, groups that are missing, groups without instances,
	// ids in another format.
	readError      What = "reads=error"
	readHang       What = "reads=hang"
	readStale      What = "reads=stale"
	readEmpty      What = "reads=empty"
	readUnreadable What = "reads=unreadable"
	readMissing    What = "reads=missing"
	readBare       What = "reads=no-instances"
	readDrift      What = "reads=drift"
	// Nodes that are there: not ready for as long as it lasts; not ready now and
	// then; their machines taken away now and then.
	unreadyNodes What = "nodes=unready"
	flappingNode What = "nodes=flap"
	takenMachine What = "nodes=taken"
	// The cloud has no more than N machines; deletions do not end.
	stockOut         What = "stock"
	hangingDeletions What = "deletions=hang"
)

// fault is what goes wrong from an instant on, for a while.
type fault struct {
	What What
	// Group and Zone say where; empty: anywhere.
	Group provider.GroupID
	Zone  string
	// From is when it begins, from Start on; For is how long it lasts, zero: for
	// good.
	From, For time.Duration
	// Share is the share of possible subjects that it affects, 0 to 1; zero: all.
	Share float64
	// Every is how often it strikes, for those that do so now and then.
	Every time.Duration
	// Verb is which calls it affects; empty: all.
	Verb model.Verb
	// Err is the error that calls, reads and boots fail with.
	Err provider.Error
	// Skew is how far a clock is off; below zero: behind.
	Skew time.Duration
	// N is a number of machines.
	N int

	on     bool
	struck bool // it has had an effect
	empty  bool // of a stock that flips: there is none now
	frozen provider.Inventory
}

// kinds are the faults that there are.
var kinds = []What{
	neverRegister, neverReady, driftedNode, lessCPU, lostLabel, extraTaint, failedBoot, refuse, lose, hang, slow,
	readError, readHang, readStale, readEmpty, readUnreadable, readMissing, readBare, readDrift,
	unreadyNodes, flappingNode, takenMachine, stockOut, hangingDeletions,
}

// allKinds are the faults of all files.
func allKinds() []What {
	return slices.Concat(kinds, holdKinds, otherKinds, schedulerKinds, apiKinds, readKinds, machineKinds, clusterKinds,
		clockKinds)
}

// isFault reports whether there is such a fault.
func isFault(w What) bool {
	return slices.Contains(allKinds(), w)
}

// AddFault plans a fault.
func (w *world) AddFault(f fault) error {
	if !isFault(f.What) {
		return fmt.Errorf("there is no fault %q", f.What)
	}
	if _, ok := w.groups[f.Group]; !ok && f.Group != "" {
		return fmt.Errorf("fault %s: there is no group %q", f.What, f.Group)
	}
	if f.Share == 0 {
		f.Share = 1
	}
	if f.Every == 0 {
		f.Every = 5 * time.Minute
	}
	if f.Err.Kind == "" {
		f.Err.Kind = provider.Unavailable
	}
	own := &f
	w.faults = append(w.faults, own)
	w.At(f.From, func() { w.begin(own) })
	if f.For > 0 {
		w.At(f.From+f.For, func() { w.stop(own) })
	}
	return nil
}

// Peace ends all faults, now. From then on people mend the nodes of an unhealthy cluster, on which
// the autoscaler does not act.
func (w *world) Peace() {
	for _, f := range w.faults {
		w.stop(f)
	}
	w.faults = nil
	w.doom = doom{}
	w.judge.tell(check.Event{What: check.Peace})
	w.attend()
}

func (f *fault) String() string {
	s := "fault " + string(f.What)
	if f.Group != "" {
		s += " of group " + string(f.Group)
	}
	if f.Zone != "" {
		s += " in zone " + f.Zone
	}
	return s
}

// meets draws whether a fault of a kind affects something in a group; nil: none.
func (w *world) meets(what What, g *group, zone string) *fault {
	for _, f := range w.faults {
		if f.What == what && f.on && f.covers(g, zone) && w.dice.cloud.Float64() < f.Share {
			w.strikes(f)
			return f
		}
	}
	return nil
}

func (f *fault) covers(g *group, zone string) bool {
	return (f.Group == "" || g != nil && g.id == f.Group) && (f.Zone == "" || zone == f.Zone)
}

// goesOn reports whether another fault of a kind lasts in a group when one ends.
func (w *world) goesOn(what What, g *group) bool {
	return slices.ContainsFunc(w.faults, func(f *fault) bool { return f.What == what && f.on && f.covers(g, zoneOf(g)) })
}

// zoneOf is the zone that a group's template names, empty if it has several.
func zoneOf(g *group) string { return g.template.Node.Labels[corev1.LabelTopologyZone] }

// covered are the groups that a fault is about, by id.
func (w *world) covered(f *fault) []*group {
	var out []*group
	for _, g := range w.sortedGroups() {
		if f.covers(g, zoneOf(g)) {
			out = append(out, g)
		}
	}
	return out
}

// drawQuirks draws how a machine turns out.
func (w *world) drawQuirks(m *machine) quirks {
	met := func(what What) bool { return w.meets(what, m.group, m.zone) != nil }
	replaced := w.meets(replacedBoot, m.group, m.zone)
	if replaced != nil {
		w.replaceLater(m, replaced)
	}
	return quirks{
		neverRegister: met(neverRegister) || replaced != nil, neverReady: met(neverReady), drift: met(driftedNode),
		lessCPU: met(lessCPU), lostLabel: met(lostLabel), extraTaint: met(extraTaint), wrongZone: met(wrongZone),
	}
}

// begin is a fault's first moment.
func (w *world) begin(f *fault) {
	if !slices.Contains(w.faults, f) {
		return // peace came first
	}
	f.on = true
	w.judge.tell(check.Event{What: check.FaultBegins, Name: string(f.What)})
	w.judge.stir()
	w.log.say("%s begins", f)
	if !slices.Contains(drawnKinds, f.What) {
		w.strikes(f)
	}
	switch f.What {
	case stockOut:
		for _, g := range w.covered(f) {
			w.wrong(w.cloud.SetStock(g.id, f.N))
		}
		w.watchCloud() // there may be more of them than before
	case failedBoot:
		for _, g := range w.covered(f) {
			w.wrong(w.cloud.FailBoots(g.id, max(1, f.N), f.Err))
		}
	case retriedBoot:
		for _, g := range w.covered(f) {
			w.wrong(w.cloud.RetryBoots(g.id, max(1, f.N), f.Err, f.Every))
		}
	case hangingDeletions:
		for _, g := range w.covered(f) {
			w.wrong(w.cloud.Edit(g.id, func(s *providertest.GroupSpec) { s.Timing.End = 1000 * time.Hour }))
		}
	case stalledGroups, leavingGroups:
		w.hold(f)
	case heldInstances:
		w.keepInstances(f)
	case readStale, readLies:
		f.frozen = w.cloud.Truth()
	case flippingStock:
		w.flip(f)
	case lossyWatch:
		w.relist(f)
	case ownClock:
		w.ahead += f.Skew
	case unreadyNodes:
		for _, m := range w.readyMachines(f) {
			if w.dice.kubelet.Float64() < f.Share {
				w.unready(m, f)
			}
		}
	case flappingNode, takenMachine:
		w.strike(f)
	case lostNodes:
		w.loseNodes(f)
	case schedulerDown, schedulerLate, schedulerPicky, schedulerContrary:
		w.remind()
	case apiDown, apiStale:
		w.apiFails(f)
	}
}

// stop is a fault's last moment.
func (w *world) stop(f *fault) {
	if !f.on {
		return
	}
	f.on = false
	w.judge.tell(check.Event{What: check.FaultEnds, Name: string(f.What)})
	w.judge.stir()
	w.log.say("%s ends", f)
	switch f.What {
	case stockOut:
		for _, g := range w.covered(f) {
			w.wrong(w.cloud.SetStock(g.id, -1))
		}
	case stalledGroups, leavingGroups:
		w.unhold(f)
	case heldInstances:
		w.letInstancesGo(f)
	case failedBoot, retriedBoot:
		for _, g := range w.covered(f) {
			w.wrong(w.cloud.MendBoots(g.id))
		}
	case schedulerDown, schedulerLate, schedulerPicky, schedulerContrary:
		w.remind()
	case apiDown, apiStale:
		w.apiMends(f)
	case flippingStock:
		w.flip(f)
	case lossyWatch:
		w.relist(f)
	case controllersDown, refusedPods:
		w.remake()
	case ownClock:
		w.ahead -= f.Skew
	case hangingDeletions:
		for _, g := range w.covered(f) {
			if !w.goesOn(f.What, g) {
				w.wrong(w.cloud.Edit(g.id, func(s *providertest.GroupSpec) { s.Timing.End = g.timing.End }))
			}
		}
	}
	w.watchCloud()
}

// readyMachines are those that a fault on nodes may affect.
func (w *world) readyMachines(f *fault) []*machine {
	return slices.DeleteFunc(w.sortedMachines(""), func(m *machine) bool {
		n := w.truth.object(m.node)
		return !f.covers(m.group, m.zone) || n == nil || !model.NodeReady(n)
	})
}

// unready makes a node not ready until a fault ends.
func (w *world) unready(m *machine, f *fault) {
	w.setReady(m, corev1.ConditionUnknown, "NodeStatusUnknown")
	w.mend(m, f)
}

// mend gives a node back when a fault is over.
func (w *world) mend(m *machine, f *fault) {
	w.after(10*time.Second, func() {
		switch {
		case m.gone:
		case f.on:
			w.mend(m, f)
		default:
			w.judge.stir()
			w.setReady(m, corev1.ConditionTrue, "KubeletReady")
		}
	})
}

// strike lets a fault that comes now and then meet one node, and comes again.
func (w *world) strike(f *fault) {
	if !f.on {
		return
	}
	if all := w.readyMachines(f); len(all) > 0 {
		m := all[w.dice.kubelet.IntN(len(all))]
		if f.What == takenMachine {
			w.wrong(w.Kill(m.instance))
		} else {
			w.setReady(m, corev1.ConditionFalse, "KubeletNotReady")
			w.after(Span{10 * time.Second, 3 * time.Minute}.draw(w.dice.kubelet), func() {
				if !m.gone {
					w.setReady(m, corev1.ConditionTrue, "KubeletReady")
				}
			})
		}
	}
	w.after(f.Every, func() { w.strike(f) })
}
