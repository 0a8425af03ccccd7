package gardener

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// The tests here and in complaints_growth_test.go are named for what operators of
// Gardener's autoscaler complain about: the number is that of the issue, of
// gardener/autoscaler if nothing else is said. TestEveryComplaintIsAnswered lists all.

func metav1Now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// phase sets a machine's phase by hand.
func phase(t *testing.T, w *gardenertest.World, machine provider.InstanceID, to v1alpha1.MachinePhase) {
	t.Helper()
	if err := w.EditMachine(string(machine), func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = to }); err != nil {
		t.Fatal(err)
	}
}

// #29: a MachineDeployment that --nodes names and that is missing stops no other.
func Test29AMissingMachineDeployment(t *testing.T) {
	p := connect(t, zones(nil, 1), Config{
		Namespace: ns, Nodes: []string{"0:5:" + ns + ".gone", "0:5:" + ns + "." + zone(0)},
	})
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{zone(0)}) || !noticed(inv, noticeNoDeployment, "gone") {
		t.Errorf("groups %v, notices %v", got, inv.Notices)
	}
	if err := grow(p, t, id(0), 1, 2); err != nil {
		t.Error(err)
	}
	refusal(t, grow(p, t, "gone", 0, 1), provider.NotFound)
}

// #104: a zone whose maximum is 0 is a group that does not grow, and stops no other.
func Test104AZoneWithAMaximumOfZero(t *testing.T) {
	p := connect(t, zones(nil, 0, 1), Config{
		Namespace: ns, Nodes: []string{"0:0:" + ns + "." + zone(0), "0:5:" + ns + "." + zone(1)},
	})
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{zone(0), zone(1)}) || inv.Groups[0].Max != 0 ||
		inv.Groups[0].Err != nil {
		t.Errorf("groups %+v", inv.Groups)
	}
	refusal(t, grow(p, t, id(0), 0, 1), provider.Limit)
	if err := grow(p, t, id(1), 1, 2); err != nil {
		t.Error(err)
	}
}

// #216: a write that meets a changed object each time ends by itself, as a conflict, and
// the target is what it was.
func Test216NoWriteIsTriedForEver(t *testing.T) {
	w := zones(limited("0", "9"), 1)
	p := connect(t, w, anywhere)
	w.Arm(kubetest.Fault{Verb: "patch", Mishap: kubetest.Conflict})
	refusal(t, grow(p, t, id(0), 1, 2), provider.Conflict)
	w.Disarm()
	if got := targets(inventory(t, p)); !slices.Equal(got, []int{1}) {
		t.Errorf("targets %v", got)
	}
}

// #353: machines of a pool that is gone belong to no group, and stop no other group.
func Test353MachinesOfARemovedPool(t *testing.T) {
	w := zones(limited("0", "9"), 1, 2)
	orphan := byAge(w, id(0))[0]
	w.Drop(v1alpha1.KindMachineDeployment, ns, zone(0))
	p := connect(t, w, anywhere)
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{zone(1)}) {
		t.Fatalf("groups %v", got)
	}
	r, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: id(1), Instances: []provider.InstanceID{orphan, live(inv.Groups[0])[0]},
	})
	if err != nil || r.Instances[0].Err == nil || r.Instances[0].Err.Kind != provider.Conflict ||
		r.Instances[1].Err != nil || r.Target != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// #330, machine-controller-manager#952, #253: a first scale-up that meets a quota is no
// rollout; the machine is known to have failed at once, by kind, and can be removed by
// name.
func Test330QuotaIsSeenAtOnce(t *testing.T) {
	for description, want := range map[string]provider.Kind{
		"insufficient capacity in zone a": provider.NoCapacity, "VcpuLimitExceeded: you have requested more vCPU capacity " +
			"than your current vCPU limit": provider.Quota,
		"Quota 'CPUS' exceeded. Limit: 24.0 in region europe": provider.Quota, "": provider.NoCapacity,
	} {
		w := zones(limited("0", "9"), 0)
		w.FailCreation(zone(0), v1alpha1.CodeResourceExhausted, description)
		p := connect(t, w, anywhere)
		if err := grow(p, t, id(0), 0, 1); err != nil {
			t.Fatal(err)
		}
		// The condition that looks like a rollout there.
		edit(t, w, 0, func(d *v1alpha1.MachineDeployment) {
			d.Status.Conditions = []v1alpha1.Condition{{
				Type: v1alpha1.ConditionProgressing, Status: v1alpha1.ConditionTrue, Reason: "NewMachineSetCreated",
			}}
		})
		g := groupOf(t, p, id(0))
		if len(g.Holds) != 0 || len(g.Instances) != 1 {
			t.Fatalf("%+v", g)
		}
		failed := g.Instances[0]
		if failed.State != provider.Creating || failed.Err == nil || failed.Err.Kind != want ||
			failed.Err.Code != v1alpha1.CodeResourceExhausted || failed.Err.Group != id(0) || failed.Err.Zone != "zonea" {
			t.Errorf("%q: %+v, error %+v", description, failed, failed.Err)
		}
		if r := remove(t, p, id(0), failed.ID); r.Target != 0 {
			t.Errorf("%+v", r)
		}
		w.Settle()
		if g := groupOf(t, p, id(0)); g.Target != 0 || len(g.Instances) != 0 {
			t.Errorf("%+v", g)
		}
	}
}

// Any other failure is one, too; what machine-controller-manager may overcome by itself
// says how soon it tries again.
func TestOtherFailures(t *testing.T) {
	type failure struct {
		kind  provider.Kind
		retry time.Duration
	}
	for code, want := range map[string]failure{
		v1alpha1.CodeUnauthenticated:  {provider.Credentials, 0},
		v1alpha1.CodePermissionDenied: {provider.Denied, 0}, v1alpha1.CodeInvalidArgument: {provider.BadConfig, 0},
		v1alpha1.CodeOutOfRange:    {provider.BadConfig, 0},
		v1alpha1.CodeUnimplemented: {provider.BadConfig, 0}, v1alpha1.CodeResourceExhausted: {provider.NoCapacity, 0},
		v1alpha1.CodeInternal: {provider.Transient, 3 * time.Minute}, v1alpha1.CodeUninitialized: {
			provider.Transient, 3 * time.Minute,
		}, v1alpha1.CodeFailedPrecondition: {provider.Transient, 3 * time.Minute},
		v1alpha1.CodeUnavailable:      {provider.Transient, 5 * time.Second},
		v1alpha1.CodeDeadlineExceeded: {provider.Transient, 5 * time.Second},
		v1alpha1.CodeAborted:          {provider.Transient, 5 * time.Second},
		v1alpha1.CodeUnknown:          {provider.Transient, 5 * time.Second}, "": {provider.Transient, 5 * time.Second},
	} {
		w := zones(limited("0", "9"), 0)
		w.FailCreation(zone(0), code, "no")
		p := connect(t, w, anywhere)
		if err := grow(p, t, id(0), 0, 1); err != nil {
			t.Fatal(err)
		}
		in := groupOf(t, p, id(0)).Instances[0]
		if e := in.Err; e == nil || e.Kind != want.kind || in.Retry != want.retry || e.Code == "" ||
			!strings.Contains(e.Message, "no") {
			t.Errorf("%q: %+v, tried again after %s", code, e, in.Retry)
		}
	}
}

// #118: a machine that has failed is replaced at once, so that it counts as one on its
// way out: else a second one would be removed in its place.
func Test118FailedMachinesAreOnTheirWayOut(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour})
	phase(t, w, machines[1], v1alpha1.MachineFailed)
	if got := live(groupOf(t, p, id(0))); !slices.Equal(got, without(machines, machines[1])) {
		t.Errorf("live %v", got)
	}
	if r := remove(t, p, id(0), machines[1]); r.Target != 3 {
		t.Errorf("the target went to %d for a machine that is replaced anyway", r.Target)
	}
}

// A machine that is kept for a person to look at is no candidate, whether it has
// failed or not; nor is one that is updated in place.
func TestPreservedMachinesStay(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Machine){
		"preserved": func(m *v1alpha1.Machine) {
			m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: time.Now().Add(time.Hour)}
		},
		"preserved after a failure": func(m *v1alpha1.Machine) {
			m.Status.CurrentStatus.Phase, m.Status.CurrentStatus.PreserveExpiryTime = v1alpha1.MachineFailed, &metav1.Time{
				Time: time.Now().Add(time.Hour),
			}
		},
		"to be preserved": func(m *v1alpha1.Machine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PreserveAnnotation, "now")
		},
		"updated in place": func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = v1alpha1.MachineInPlaceUpdating },
	} {
		t.Run(name, func(t *testing.T) {
			w, p, machines := three(t)
			if err := w.EditMachine(string(machines[0]), change); err != nil {
				t.Fatal(err)
			}
			g := groupOf(t, p, id(0))
			at := slices.IndexFunc(g.Instances, func(i provider.Instance) bool { return i.ID == machines[0] })
			if at < 0 || g.Instances[at].Hold == "" || g.Instances[at].State != provider.Running {
				t.Fatalf("%+v", g.Instances)
			}
			r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:2]})
			if err != nil || r.Instances[0].Err == nil || r.Instances[1].Err != nil || r.Target != 2 {
				t.Errorf("%+v, %v", r, err)
			}
			left(t, w, p, 2, without(machines, machines[1]))
		})
	}
	// When that time is over, it is a candidate like any other.
	w, p, machines := three(t)
	if err := w.EditMachine(string(machines[0]), func(m *v1alpha1.Machine) {
		m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	}); err != nil {
		t.Fatal(err)
	}
	remove(t, p, id(0), machines[0])
}

// #437, #438: a removal of machines that are already being deleted is a success, so that the taint
// stays on their nodes.
func Test437NothingLeftToDoIsNoError(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(gardenertest.Timing{End: time.Hour})
	remove(t, p, id(0), machines...)
	for range 2 {
		if r := remove(t, p, id(0), machines...); r.Target != 0 {
			t.Errorf("%+v", r)
		}
	}
	w.Settle()
	remove(t, p, id(0), machines...)
}

// #87, #30: what is removed at once is held against the minimum at once.
func Test87TheMinimumHoldsForAllOfARequest(t *testing.T) {
	w := zones(nil, 3)
	p := connect(t, w, Config{Namespace: ns, Nodes: []string{"2:5:" + zone(0)}})
	machines := byAge(w, id(0))
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:2]})
	refusal(t, err, provider.Limit)
	left(t, w, p, 3, without(machines))
}

// machine-controller-manager#741: to take back what never came ends no machine, least
// of all one that is Unknown and has a node.
func Test741TakingBackEndsNoMachine(t *testing.T) {
	w, p, machines := three(t)
	w.Starve(zone(0))
	if err := grow(p, t, id(0), 3, 6); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	phase(t, w, machines[1], v1alpha1.MachineUnknown)
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 6, To: 0}); err != nil ||
		r.Target != 3 || r.Cancelled != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	left(t, w, p, 3, without(machines))
}

// #189, gardener/gardener#7485: a paused MachineDeployment is left alone, and still a
// group with its nodes.
func Test189PausedIsLeftAlone(t *testing.T) {
	w, p, machines := three(t)
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true })
	g := groupOf(t, p, id(0))
	for _, op := range everyWrite {
		if !held(g, op, holdPaused) {
			t.Errorf("%s is not held: %v", op, g.Holds)
		}
	}
	refusal(t, grow(p, t, id(0), 3, 4), provider.Conflict)
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: machines[:1]})
	refusal(t, err, provider.Conflict)
	if len(live(g)) != 3 {
		t.Errorf("instances %v", live(g))
	}
}

// machine-controller-manager#82, #88, #346: a freeze is reported, with what ends it.
func Test82AFreezeIsExplained(t *testing.T) {
	w, p, machines := three(t)
	w.EditSets(zone(0), func(s *v1alpha1.MachineSet) { s.Labels[v1alpha1.FreezeLabel] = v1alpha1.FreezeValue })
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Labels[v1alpha1.FreezeLabel] = v1alpha1.FreezeValue })
	g := groupOf(t, p, id(0))
	if !held(g, provider.OpGrow, holdFrozen) || held(g, provider.OpRemove, holdFrozen) ||
		!strings.Contains(g.Holds[0].Message, v1alpha1.UnfreezeAnnotation) {
		t.Errorf("%+v", g.Holds)
	}
	refusal(t, grow(p, t, id(0), 3, 4), provider.Conflict)
	remove(t, p, id(0), machines[0])

	for label, reason := range map[string]string{
		v1alpha1.FreezeLabel: holdFrozen, v1alpha1.ScaleUpDisabledLabel: holdScaleUp,
	} {
		w, p, _ := three(t)
		w.EditSets(zone(0), func(s *v1alpha1.MachineSet) { s.Labels[label] = v1alpha1.FreezeValue })
		if g := groupOf(t, p, id(0)); !held(g, provider.OpGrow, reason) || held(g, provider.OpRemove, reason) {
			t.Errorf("%s: %+v", label, g.Holds)
		}
		// What was asked for before is not coming, and can be taken back.
		edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 5 })
		if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 5, To: 3}); err != nil ||
			r.Cancelled != 2 {
			t.Errorf("%s: %+v, %v", label, r, err)
		}
	}
}

// #60: nothing is asked for while machine-controller-manager is away; it goes on where a setting
// says so, or where the Deployment may not be read.
func Test60NothingIsAskedWhileMCMIsAway(t *testing.T) {
	w, p, _ := three(t)
	w.Apply(gardenertest.Manager(ns, 0))
	inv := inventory(t, p)
	for _, op := range everyWrite {
		if !held(inv.Groups[0], op, holdUnavailable) {
			t.Errorf("%s is not held: %+v", op, inv.Groups[0].Holds)
		}
	}
	if !noticed(inv, noticeUnavailable, "no available replica") {
		t.Errorf("notices %v", inv.Notices)
	}
	w.Drop("Deployment", ns, v1alpha1.ControllerManagerDeployment)
	if inv := inventory(t, p); !held(inv.Groups[0], provider.OpGrow, holdUnavailable) ||
		!noticed(inv, noticeUnavailable, "is not there") {
		t.Errorf("%+v", inv)
	}
	without := anywhere
	without.RequireAvailable = false
	if inv := inventory(t, connect(t, w, without)); len(inv.Groups[0].Holds) != 0 || len(inv.Notices) != 0 {
		t.Errorf("%+v", inv)
	}
	w.SetRights(rights()[:2]...)
	if inv := inventory(t, p); len(inv.Groups[0].Holds) != 0 ||
		!noticed(inv, noticeNoAvailability, "--mcm-require-available") {
		t.Errorf("%+v", inv)
	}
}

// #159, #328, #342, #64: priorities that are left from before delete no machine.
func Test159StalePrioritiesDeleteNoMachine(t *testing.T) {
	w, p, machines := three(t)
	for _, stale := range machines[:2] {
		if err := w.EditMachine(string(stale), func(m *v1alpha1.Machine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDelete)
		}); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, p, id(0), machines[2])
	left(t, w, p, 2, without(machines, machines[2]))
}

// gardener/gardener#14189: what Gardener sets replicas to meanwhile is accepted.
// A scale-up that was decided before does not overwrite it.
func Test14189ReplicasThatGardenerSetsStay(t *testing.T) {
	w, p, _ := three(t)
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 2 })
	refusal(t, grow(p, t, id(0), 3, 5), provider.Conflict)
	if g := groupOf(t, p, id(0)); g.Target != 2 {
		t.Errorf("target %d", g.Target)
	}
}
