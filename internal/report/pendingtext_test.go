package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestTheNearestGroupIsNamedFirst: of many groups, the one that could take the pods
// soonest comes first, equal answers are one part, and a long list is cut.
func TestTheNearestGroupIsNamedFirst(t *testing.T) {
	said := func(group string, reason model.Reason, detail string) model.GroupVerdict {
		return model.GroupVerdict{Group: provider.GroupID(group),
			Verdict: model.Verdict{Reason: reason, Detail: detail}}
	}
	v := model.PendingVerdict{}
	for i := range 12 {
		v.Groups = append(v.Groups, said(fmt.Sprintf("arm-%02d", i), model.NodeAffinity,
			"kubernetes.io/arch in [amd64]"))
	}
	v.Groups = append(v.Groups, said("small", model.InsufficientResources, "cpu 4 > 1900m"),
		said("spot", model.GroupBackoff, "for 5m0s"), said("web", model.GroupAtMax, "10/10 nodes"))
	want := "spot: GroupBackoff (for 5m0s); web: GroupAtMax (10/10 nodes); small: InsufficientResources (cpu 4 > " +
		"1900m); " +
		"12 groups: NodeAffinity (kubernetes.io/arch in [amd64])"
	if got := reasonText(&v); got != want {
		t.Errorf("got:  %s\nwant: %s", got, want)
	}
	for i := range 4 {
		v.Groups = append(v.Groups, said(fmt.Sprintf("x-%d", i), model.TaintNotTolerated, fmt.Sprintf("taint x-%d", i)))
	}
	want = "spot: GroupBackoff (for 5m0s); web: GroupAtMax (10/10 nodes); small: InsufficientResources (cpu 4 > 1900m); " +
		"12 groups: NodeAffinity (kubernetes.io/arch in [amd64]); x-0: TaintNotTolerated (taint x-0); and 3 more groups: 3 " +
		"TaintNotTolerated"
	if got := reasonText(&v); got != want {
		t.Errorf("got:  %s\nwant: %s", got, want)
	}
}

// TestWhatKeepsAMachineIsTold: the cause of a held repair is in the log, once, and what
// passes within seconds is not.
func TestWhatKeepsAMachineIsTold(t *testing.T) {
	d := newDesk()
	stuck := leaving(0)
	stuck.Plan.Repair = []model.RepairVerdict{
		{Group: "b", Count: 1, Verdict: model.Verdict{Reason: model.GroupBusy}},
		{Group: "a", Instance: "i-1", Count: 1,
			Verdict: model.Verdict{Reason: model.MatchingBroken, Detail: "node x could be it", Fix: "ids that agree"}},
	}
	d.report(t, stuck)
	want := `msg="a machine is given up and cannot be removed" group=a instance=i-1 count=1 reason=MatchingBroken detail="node x could be it" would_change_with="ids that agree"`
	if log := d.takeLog(); len(log) != 1 || !strings.Contains(log[0], want) {
		t.Errorf("log: %q", log)
	}
	d.report(t, stuck)
	if log := d.takeLog(); len(log) > 0 {
		t.Errorf("told again: %q", log)
	}
	busy := leaving(0)
	busy.Plan.Repair = []model.RepairVerdict{{Group: "a", Count: 1, Verdict: model.Verdict{Reason: model.GroupBusy}}}
	d.report(t, busy)
	d.report(t, stuck)
	if log := d.takeLog(); len(log) > 0 {
		t.Errorf("told again after a call on its group: %q", log)
	}
	retried := leaving(0)
	retried.Plan.Repair = []model.RepairVerdict{{Group: "c", Instance: "i-2", Count: 1,
		Verdict: model.Verdict{Reason: model.CreationRetried}}}
	d.report(t, retried)
	if log := d.takeLog(); len(log) > 0 {
		t.Errorf("what is waited for is told as given up: %q", log)
	}
	d.report(t, stuck)
	if log := d.takeLog(); len(log) != 1 {
		t.Errorf("it began again: %q", log)
	}
}
