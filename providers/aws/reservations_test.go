package aws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// ours are capacity reservations, of which those with the tag cluster=us are for the groups.
var ours = []awstest.Reservation{
	{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1a", Count: 3, Tags: map[string]string{"cluster": "us"}},
	{ID: "cr-2", InstanceType: "m5.large", Zone: "us-east-1a", Count: 2, Tags: map[string]string{"cluster": "us", "x": "y"}},
	{ID: "cr-3", InstanceType: "m5.large", Zone: "us-east-1b", Count: 1, Tags: map[string]string{"cluster": "us"}},
	{ID: "cr-4", InstanceType: "m5.large", Zone: "us-east-1a", Count: 4, Tags: map[string]string{"cluster": "us"},
		Platform: "Windows with SQL Server"},
	{ID: "cr-5", InstanceType: "m5.large", Zone: "us-east-1a", Count: 90, Tags: map[string]string{"cluster": "us"},
		State: "expired"},
	{ID: "cr-6", InstanceType: "m5.large", Zone: "us-east-1a", Count: 90, Tags: map[string]string{"cluster": "them"}},
	{ID: "cr-7", InstanceType: "m5.large", Zone: "us-east-1a", Count: 90},
	{ID: "cr-8", InstanceType: "c5.large", Zone: "us-east-1a", Count: 0, Tags: map[string]string{"cluster": "us"}},
}

func reservedWorld(t *testing.T, tag string, reserved []awstest.Reservation, faults ...awstest.Fault) *world {
	t.Helper()
	cfg := byTag
	cfg.ReservationsTag = tag
	return newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g"), twoTypes("spot", 0)},
		Reservations: reserved, Faults: faults}, cfg)
}

func commitments(inv provider.Inventory) string {
	if inv.CommitmentsUnread {
		return "unread"
	}
	var out []string
	for _, c := range inv.Commitments {
		out = append(out, fmt.Sprintf("%d %s %s %s %s %g", c.Nodes, c.InstanceType, c.Zone, c.OS, c.CapacityType, c.PerHour))
	}
	return strings.Join(out, "; ")
}

// TestReservationsByTag: those that are active and have the tag, added up by type, zone and system; asked for again
// after a few minutes. Groups say how they are bought, though prices are not asked for.
func TestReservationsByTag(t *testing.T) {
	const us = "5 m5.large us-east-1a linux on-demand 0; 1 m5.large us-east-1b linux on-demand 0; " +
		"4 m5.large us-east-1a windows on-demand 0"
	for tag, want := range map[string]string{"cluster=us": us, "cluster=them": "90 m5.large us-east-1a linux on-demand 0",
		"x": "2 m5.large us-east-1a linux on-demand 0", "cluster=neither": "", "": ""} {
		w := reservedWorld(t, tag, ours)
		inv := w.read(t)
		if diff := cmp.Diff(want, commitments(inv)); diff != "" {
			t.Errorf("%s: %s", tag, diff)
		}
		if n := noticesOf(inv, noticeNoneReserved); (len(n) == 1) != (tag == "cluster=neither") {
			t.Errorf("%s: %v", tag, n)
		}
		if tag != "" && (inv.Groups[0].CapacityType != provider.OnDemand || inv.Groups[1].CapacityType != provider.Spot) {
			t.Errorf("%s: the groups are %q and %q", tag, inv.Groups[0].CapacityType, inv.Groups[1].CapacityType)
		}
		w.read(t)
		calls := w.Count("DescribeCapacityReservations")
		w.clock.pass(reservationsTTL)
		w.read(t)
		again := w.Count("DescribeCapacityReservations")
		if tag != "" && (calls != 1 || again != 2) || tag == "" && again > 0 {
			t.Errorf("%q: %d calls, %d after a few minutes", tag, calls, again)
		}
	}
}

// TestManyReservations: more than a page has.
func TestManyReservations(t *testing.T) {
	var many []awstest.Reservation
	for i := range 1100 {
		many = append(many, awstest.Reservation{ID: fmt.Sprintf("cr-%04d", i), InstanceType: "m5.large", Zone: "us-east-1a",
			Count: 1, Tags: map[string]string{"cluster": "us"}})
	}
	if got := commitments(reservedWorld(t, "cluster", many).read(t)); got != "1100 m5.large us-east-1a linux on-demand 0" {
		t.Error(got)
	}
}

// TestReservationsThatCannotBeRead: an answer that fails is not taken for none. Before the first one it is told that
// they are not known; after it the last one holds.
func TestReservationsThatCannotBeRead(t *testing.T) {
	denied := awstest.Fault{Action: "DescribeCapacityReservations", Mishap: awstest.Denied}
	w := reservedWorld(t, "cluster=us", ours[:1], denied)
	for range 2 {
		inv := w.read(t)
		if n := noticesOf(inv, noticeNoReservations); commitments(inv) != "unread" || len(n) != 1 {
			t.Errorf("%s, %v", commitments(inv), n)
		}
	}
	if n := w.Count("DescribeCapacityReservations"); n != 1 {
		t.Errorf("AWS is asked %d times in vain at once", n)
	}
	w = reservedWorld(t, "cluster=us", ours[:1])
	before := commitments(w.read(t))
	w.Arm(denied)
	w.clock.pass(time.Hour)
	inv := w.read(t)
	if n := noticesOf(inv, noticeNoReservations); before == "" || commitments(inv) != before || len(n) != 1 {
		t.Errorf("%q, and then %q: %v", before, commitments(inv), n)
	}
}

func TestMistakesInTheTagOfReservations(t *testing.T) {
	for text, wrong := range map[string]bool{"": false, "a": false, "a=b": false, "a=b=c": false, "a=": true, "=b": true,
		" a": true, "a= b": true} {
		cfg := byTag
		cfg.ReservationsTag = text
		if err := cfg.Validate(); (err != nil) != wrong {
			t.Errorf("%q: %v", text, err)
		}
	}
}
