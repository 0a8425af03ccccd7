package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// clock is a virtual one.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

func (c *clock) pass(d time.Duration) { c.set(c.now().Add(d)) }

func aTemplate() *provider.Template {
	return &provider.Template{Version: "1", Node: &corev1.Node{
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		}},
	}}
}

func aGroup(id provider.GroupID, timing Timing) GroupSpec {
	return GroupSpec{Group: provider.Group{ID: id, Min: 1, Max: 10, Template: aTemplate()}, Timing: timing}
}

// slow is how clouds are.
var slow = Timing{Find: 5 * time.Second, Boot: 40 * time.Second, End: 30 * time.Second}

func mustAdd(t interface{ Fatal(...any) }, c *Cloud, groups ...GroupSpec) {
	for _, g := range groups {
		if err := c.AddGroup(g); err != nil {
			t.Fatal(err)
		}
	}
}

// cloudDoor is the back door of a Cloud under the suite.
type cloudDoor struct {
	*Cloud
	clock *clock
}

func (d cloudDoor) Settle() {
	for due, any := d.NextChange(); any; due, any = d.NextChange() {
		d.clock.set(due)
	}
	for _, g := range d.Truth().Groups {
		for _, in := range g.Instances {
			if in.State == provider.Running {
				if err := d.Join(in.ID, true); err != nil {
					panic(err)
				}
			}
		}
	}
}

func (d cloudDoor) Fail(id provider.InstanceID) error {
	return d.Cloud.Fail(id, provider.Error{Kind: provider.NoCapacity})
}

func (d cloudDoor) Recover(id provider.InstanceID) error {
	return errors.Join(d.Cloud.Recover(id), d.Join(id, true))
}

func (d cloudDoor) Starve(id provider.GroupID) error {
	return d.SetStock(id, len(d.Instances(id)))
}

func (d cloudDoor) Break(op provider.Op, group provider.GroupID, how Breakage) <-chan struct{} {
	met := make(chan struct{}, 1)
	mode := map[Breakage]Mode{Refused: Refuse, Empty: Refuse, Garbled: Refuse, Hanging: Hang, Lost: Lose}[how]
	d.Arm(Fault{Op: op, Group: group, Mode: mode, Met: func() {
		select {
		case met <- struct{}{}:
		default:
		}
	}})
	return met
}

func (d cloudDoor) Mend() { d.ClearFaults() }

func (d cloudDoor) Instances(id provider.GroupID) []provider.InstanceID {
	for _, g := range d.Truth().Groups {
		if g.ID == id {
			return Live(g)
		}
	}
	return nil
}

func cloudSubject(t *testing.T, timing Timing) Subject {
	clock := newClock()
	c := NewCloud(clock.now)
	if err := c.AddPool(provider.Pool{ID: "pool", Max: 12}); err != nil {
		t.Fatal(err)
	}
	group, other, none := aGroup("group", timing), aGroup("other", timing), aGroup("none", timing)
	group.Pool, other.Pool = "pool", "pool"
	none.Holds = []provider.Hold{{
		Op: provider.OpGrow, Reason: string(provider.Unsupported), Message: "its machines have weights",
	}}
	mustAdd(t, c, group, other, none)
	return Subject{Provider: c, Group: "group", Other: "other", Unsupported: "none", Pool: "pool",
		Door: cloudDoor{c, clock}, Now: clock.now, Interrupt: func(id provider.InstanceID) error {
			return c.Interrupt(id, provider.Interruption{Kind: "spot interruption", Since: clock.now()})
		}}
}

func TestCloudConforms(t *testing.T) {
	for name, timing := range map[string]Timing{
		"Slow": slow, "Instant": {}, "NamedAtOnce": {Boot: time.Minute, End: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(t *testing.T) Subject { return cloudSubject(t, timing) })
		})
	}
}

// line shows a group as "target: id state, ...".
func line(c *Cloud, id provider.GroupID) string {
	for _, g := range c.Truth().Groups {
		if g.ID != id {
			continue
		}
		var parts []string
		for _, i := range g.Instances {
			part := fmt.Sprintf("%s %s", strings.TrimPrefix(string(i.ID), string(id)+"-0000"), i.State)
			if i.Err != nil {
				part += " " + string(i.Err.Kind)
			}
			parts = append(parts, part)
		}
		return fmt.Sprintf("%d: %s", g.Target, strings.Join(parts, ", "))
	}
	return "no such group"
}

func expect(t *testing.T, c *Cloud, id provider.GroupID, want string) {
	t.Helper()
	if got := line(c, id); got != want {
		t.Errorf("%s: %q, want %q", id, got, want)
	}
}

// A machine's life: anonymous, creating, running, deleting, gone.
func TestLifeOfAMachine(t *testing.T) {
	clock := newClock()
	c := NewCloud(clock.now)
	mustAdd(t, c, aGroup("g", slow))
	if _, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 2}); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "g", "2: ")
	clock.pass(5 * time.Second)
	made := clock.now()
	expect(t, c, "g", "2: 1 Creating, 2 Creating")
	clock.pass(40 * time.Second)
	expect(t, c, "g", "2: 1 Running, 2 Running")
	if got := c.Truth().Groups[0].Instances[0].Created; !got.Equal(made) {
		t.Errorf("created %v, want when the cloud had a machine: %v", got, made)
	}
	if _, err := c.Remove(t.Context(), provider.RemoveRequest{
		Group: "g", Instances: []provider.InstanceID{"g-00001"},
	}); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "g", "1: 1 Deleting, 2 Running")
	clock.pass(30 * time.Second)
	expect(t, c, "g", "1: 2 Running")
	if _, any := c.NextChange(); any {
		t.Error("something is still due in a cloud that has settled")
	}
}

func TestStockOutAndItsEnd(t *testing.T) {
	clock := newClock()
	c := NewCloud(clock.now)
	mustAdd(t, c, aGroup("g", slow))
	c.SetStock("g", 1)
	if _, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 3}); err != nil {
		t.Fatal(err)
	}
	clock.pass(time.Hour)
	expect(t, c, "g", "3: 1 Running")
	c.SetStock("g", -1)
	expect(t, c, "g", "3: 1 Running, 2 Creating, 3 Creating")
}

func TestFailedBootsQuotaAndKilledMachines(t *testing.T) {
	clock := newClock()
	c := NewCloud(clock.now)
	mustAdd(t, c, aGroup("g", slow), aGroup("h", slow))
	if err := c.FailBoots("g", 1, provider.Error{Kind: provider.NoCapacity}); err != nil {
		t.Fatal(err)
	}
	c.SetQuota(2)
	_, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 3})
	if e, _ := errors.AsType[*provider.Error](err); e == nil || e.Kind != provider.Quota {
		t.Errorf("a growth beyond the quota: %v", err)
	}
	if _, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 2}); err != nil {
		t.Fatal(err)
	}
	clock.pass(time.Hour)
	expect(t, c, "g", "2: 1 Creating NoCapacity, 2 Running")
	if err := c.Kill("g-00002"); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "g", "2: 1 Creating NoCapacity")
	clock.pass(5 * time.Second)
	expect(t, c, "g", "2: 1 Creating NoCapacity, 3 Creating")
}

func TestFaultsAreCountedAndGroupsFailAlone(t *testing.T) {
	c := NewCloud(newClock().now)
	mustAdd(t, c, aGroup("g", slow), aGroup("h", slow))
	c.Arm(Fault{
		Op: provider.OpGrow, Group: "g", Times: 2, Err: &provider.Error{Kind: provider.Throttled, RetryAfter: time.Minute},
	})
	for i := range 3 {
		_, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 1})
		if e, _ := errors.AsType[*provider.Error](err); (i < 2) != (e != nil && e.Kind == provider.Throttled &&
			e.RetryAfter == time.Minute && e.Group == "g") {
			t.Errorf("call %d: %v", i, err)
		}
	}
	c.Arm(Fault{Op: provider.OpInventory, Group: "h"})
	inv, err := c.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if inv.Groups[0].Err != nil || inv.Groups[1].Err == nil || inv.Groups[1].Template != nil {
		t.Errorf("group h alone was to be unreadable: %+v", inv.Groups)
	}
}

func TestFrozenReadsTellTheirAge(t *testing.T) {
	clock := newClock()
	c := NewCloud(clock.now)
	mustAdd(t, c, aGroup("g", Timing{}))
	frozen := clock.now()
	c.Freeze()
	clock.pass(time.Minute)
	if _, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 1}); err != nil {
		t.Fatal(err)
	}
	inv, err := c.Inventory(t.Context())
	if err != nil || inv.Groups[0].Target != 0 || !inv.AsOf.Equal(frozen) {
		t.Errorf("frozen inventory: %+v, %v", inv, err)
	}
	c.Thaw()
	if inv, err = c.Inventory(t.Context()); err != nil || inv.Groups[0].Target != 1 {
		t.Errorf("thawed inventory: %+v, %v", inv, err)
	}
}

// The virtual world has no deadline: it gets at once what one would bring. A
// caller with a deadline waits for it.
func TestHangingInVirtualAndRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(newClock().now)
		mustAdd(t, c, aGroup("g", slow))
		c.Arm(Fault{Op: provider.OpGrow, Mode: Hang})
		begun := time.Now()
		_, err := c.Grow(context.Background(), provider.GrowRequest{Group: "g", To: 1})
		if e, _ := errors.AsType[*provider.Error](err); e == nil || !e.MayHaveHappened || time.Since(begun) != 0 {
			t.Errorf("without a deadline: %v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = c.Grow(ctx, provider.GrowRequest{Group: "g", To: 1})
		if e, _ := errors.AsType[*provider.Error](err); e == nil || !e.MayHaveHappened || time.Since(begun) != time.Minute {
			t.Errorf("with a deadline of a minute: %v after %v", err, time.Since(begun))
		}
	})
}

// It does not matter how often the cloud is read: the same calls at the same times give the same cloud.
func TestLookingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clocks := []*clock{newClock(), newClock()}
		clouds := []*Cloud{NewCloud(clocks[0].now), NewCloud(clocks[1].now)}
		for _, c := range clouds {
			mustAdd(t, c, aGroup("g", slow), aGroup("h", Timing{Boot: time.Second}))
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := rapid.SampledFrom([]provider.GroupID{"g", "h"}).Draw(t, "group")
			n := rapid.IntRange(0, 10).Draw(t, "n")
			what := rapid.SampledFrom([]string{"grow", "remove", "cancel", "hand", "stock", "kill", "pass"}).Draw(t, "what")
			wait := time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second
			for i, c := range clouds {
				step(c, id, what, n)
				end := clocks[i].now().Add(wait)
				if i == 1 { // this one is looked at whenever something happens
					for due, any := c.NextChange(); any && !due.After(end); due, any = c.NextChange() {
						clocks[1].set(due)
						c.Truth()
					}
				}
				clocks[i].set(end)
			}
			if diff := cmp.Diff(clouds[0].Truth(), clouds[1].Truth()); diff != "" {
				t.Fatalf("after %s of %s to %d and %v:\n%s", what, id, n, wait, diff)
			}
			for _, g := range clouds[0].Truth().Groups {
				if g.Target < len(Live(g)) || what != "hand" && g.Target > 10 {
					t.Fatalf("group %+v", g)
				}
			}
		}
	})
}

func step(c *Cloud, id provider.GroupID, what string, n int) {
	var g provider.Group
	for _, each := range c.Truth().Groups {
		if each.ID == id {
			g = each
		}
	}
	some := Live(g)[:min(n, len(Live(g)))]
	ctx := context.Background()
	switch what {
	case "grow":
		c.Grow(ctx, provider.GrowRequest{Group: id, From: g.Target, To: n})
	case "remove":
		c.Remove(ctx, provider.RemoveRequest{Group: id, Instances: some})
	case "cancel":
		c.Cancel(ctx, provider.CancelRequest{Group: id, From: g.Target, To: n})
	case "hand":
		c.SetTarget(id, n)
	case "stock":
		c.SetStock(id, n-1)
	case "kill":
		for _, i := range some[:min(1, len(some))] {
			c.Kill(i)
		}
	}
}

func TestBadGroups(t *testing.T) {
	c := NewCloud(newClock().now)
	mustAdd(t, c, aGroup("g", slow))
	for name, spec := range map[string]GroupSpec{
		"taken":     aGroup("g", slow),
		"no id":     aGroup("", slow),
		"no pool":   {Group: provider.Group{ID: "h", Pool: "none"}},
		"limits":    {Group: provider.Group{ID: "h", Min: 2, Max: 1}},
		"instances": {Group: provider.Group{ID: "h", Instances: make([]provider.Instance, 1)}},
	} {
		if err := c.AddGroup(spec); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if ids := slices.Collect(func(yield func(provider.GroupID) bool) {
		for _, g := range c.Truth().Groups {
			yield(g.ID)
		}
	}); len(ids) != 1 {
		t.Errorf("groups %v", ids)
	}
}

// TestPaceIsEachUnitsOwn: a caller's distribution sets how long each unit takes,
// through all steps of its life.
func TestPaceIsEachUnitsOwn(t *testing.T) {
	clk := newClock()
	c := NewCloud(clk.now)
	spec := aGroup("g", slow)
	paces := []float64{1, 2, 0.5}
	spec.Pace = func() float64 {
		p := paces[0]
		paces = paces[1:]
		return p
	}
	mustAdd(t, c, spec)
	if _, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 0, To: 3}); err != nil {
		t.Fatal(err)
	}
	var ran []string
	began := clk.now()
	for {
		next, any := c.NextChange()
		if !any {
			break
		}
		clk.set(next)
		running := 0
		for _, in := range c.Truth().Groups[0].Instances {
			if in.State == provider.Running {
				running++
			}
		}
		ran = append(ran, fmt.Sprintf("%s:%d", next.Sub(began), running))
	}
	want := "[2.5s:0 5s:0 10s:0 22.5s:1 45s:2 1m30s:3]"
	if got := fmt.Sprint(ran); got != want {
		t.Fatalf("running machines over time: %s, want %s", got, want)
	}
}

// A cloud that has no machine says so for as long as something waits, and takes
// nothing back if it is of that kind.
func TestSoldOut(t *testing.T) {
	clock := newClock()
	c := NewCloud(clock.now)
	g := aGroup("g", slow)
	g.KeepsRequests, g.TellsStockOut = true, true
	mustAdd(t, c, g)
	if err := c.SetStock("g", 0); err != nil {
		t.Fatal(err)
	}
	if holds := c.Truth().Groups[0].Holds; len(holds) != 0 {
		t.Errorf("no hold was set, and there are holds: %v", holds)
	}
	if _, err := c.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 2}); err != nil {
		t.Fatal(err)
	}
	asked := clock.now()
	holds := c.Truth().Groups[0].Holds
	if len(holds) != 1 || !holds[0].NoLaunch() || !holds[0].Since.Equal(asked) {
		t.Errorf("holds: %v, want one of no launch since %v", holds, asked)
	}
	if r, err := c.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 2, To: 0}); err != nil ||
		r.Cancelled != 0 || r.Target != 2 {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
	if err := c.SetStock("g", -1); err != nil {
		t.Fatal(err)
	}
	clock.pass(5 * time.Second)
	expect(t, c, "g", "2: 1 Creating, 2 Creating")
	if holds := c.Truth().Groups[0].Holds; len(holds) != 0 {
		t.Errorf("it comes, and there are holds: %v", holds)
	}
}
