package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func names(nodes []Stay) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Node)
	}
	return strings.Join(out, " ")
}

// Nodes on their way out are among the drains, those that nothing holds are in
// no list, and all others are counted and listed.
func TestDrainsAndStays(t *testing.T) {
	d := Of(start, cycle(), Document{})
	if d.Drains.Total != 2 || len(d.Drains.Nodes) != 2 {
		t.Fatalf("%+v", d.Drains)
	}
	goes, returns := d.Drains.Nodes[0], d.Drains.Nodes[1]
	if goes.PodsLeft != 3 || goes.Refused == nil || goes.Refused.Pod != "ns/db-0" || goes.Reason != "" {
		t.Errorf("%+v: %+v", goes, goes.Refused)
	}
	if returns.Refused != nil || returns.Reason != model.PodLanded || returns.Why != "pod ns/late is on it" {
		t.Errorf("%+v", returns)
	}
	want := []ReasonCount{{model.NotEnoughPdb, 1}, {model.NotUnderutilized, 1}, {model.NotUnneededLongEnough, 1}}
	if diff := cmp.Diff(want, d.Stays.Reasons); diff != "" || d.Stays.Total != 3 ||
		names(d.Stays.Nodes) != "b busy guarded" {
		t.Errorf("%d: %s\n%s", d.Stays.Total, names(d.Stays.Nodes), diff)
	}
}

// Where there is nothing of it, the document is the Cluster Autoscaler's.
func TestNothingOfOursInAnEmptyCluster(t *testing.T) {
	out := text(t, Of(start, model.Cycle{Snapshot: &model.Snapshot{}}, Document{}))
	if strings.Contains(out, "drains") || strings.Contains(out, "stays") {
		t.Error(out)
	}
}

// What keeps a node does so since the ledger says, else since the document before
// does, else since now; a restart changes nothing of it.
func TestSinceWhenANodeStays(t *testing.T) {
	at := func(minute int) time.Time {
		return start.Truncate(time.Second).Add(time.Duration(minute) * time.Minute)
	}
	of := func(now time.Time, st model.NodeStanding, before Document, unneeded bool, v model.Verdict) Stay {
		c := model.Cycle{Snapshot: &model.Snapshot{Nodes: []*model.Node{{Name: "n", Standing: st}}}}
		verdicts := []model.NodeVerdict{{Node: "n", Verdict: v}}
		if unneeded {
			c.Plan.Unneeded = verdicts
		} else {
			c.Plan.Kept = verdicts
		}
		d, err := parse(text(t, Of(now, c, before)))
		if err != nil || len(d.Stays.Nodes) != 1 {
			t.Fatalf("%v, %+v", err, d.Stays)
		}
		return d.Stays.Nodes[0]
	}
	doc := func(s Stay) Document { return Document{Stays: Stays{Nodes: []Stay{s}}} }
	pdb, cool := model.Verdict{Reason: model.NotEnoughPdb}, model.Verdict{Reason: model.Cooldown, Since: at(2)}
	held := model.NodeStanding{Held: model.NotEnoughPdb, HeldSince: at(1)}
	first := of(at(5), held, Document{}, false, pdb)
	for what, c := range map[string]struct {
		got  Stay
		want time.Time
	}{
		"as the ledger says": {first, at(1)},
		"the ledger knows of another reason": {of(at(5),
			model.NodeStanding{Held: model.NotReplicated, HeldSince: at(1)}, Document{}, false, pdb), at(5)},
		"the verdict itself says": {of(at(5), model.NodeStanding{}, Document{}, false, cool), at(2)},
		"a cycle later":           {of(at(6), model.NodeStanding{}, doc(first), false, pdb), at(1)},
		"after a restart": {of(at(9),
			model.NodeStanding{Held: model.NotEnoughPdb, HeldSince: at(8)}, doc(first), false, pdb), at(1)},
		"another reason than before": {of(at(6), model.NodeStanding{}, doc(first), false,
			model.Verdict{Reason: model.NotReplicated}), at(6)},
		"unneeded is not since when it is held": {of(at(6), model.NodeStanding{}, Document{}, true, cool), at(6)},
		"unneeded, and the ledger says since when": {of(at(6),
			model.NodeStanding{Held: model.Cooldown, HeldSince: at(3)}, Document{}, true, cool), at(3)},
	} {
		if !c.got.Since.Time.Equal(c.want) {
			t.Errorf("%s: since %s, want %s", what, c.got.Since.UTC(), c.want)
		}
	}
	if s := of(at(6), model.NodeStanding{}, Document{}, true, cool); !s.UnneededSince.Time.Equal(at(2)) {
		t.Errorf("unneeded since %s", s.UnneededSince)
	}
}

// many is a cycle of that many nodes, of which all are busy but the first of each
// hundred; those stay for reasons that are rarer and rarer.
func many(nodes int) model.Cycle {
	c := model.Cycle{Snapshot: &model.Snapshot{Now: start}}
	for i := range nodes {
		name := fmt.Sprintf("ip-10-0-%05d.eu-central-1.compute.internal", i)
		v := model.Verdict{Reason: model.NotUnderutilized, Detail: "memory 87% >= 50%",
			Fix: "--scale-down-utilization-threshold"}
		switch {
		case i%5000 == 0:
			v = model.Verdict{Reason: model.NotReplicated, Detail: "pod default/by-hand: nothing would replace it",
				Fix: "the pod's annotation cluster-autoscaler.kubernetes.io/safe-to-evict=true"}
		case i%100 == 0:
			v = model.Verdict{Reason: model.NotEnoughPdb,
				Detail: "pod shop/database-0: budget shop/database: 2 of 3 healthy, 2 wanted",
				Fix:    "a pod of the budget that becomes healthy"}
		}
		c.Snapshot.Nodes = append(c.Snapshot.Nodes, &model.Node{Name: name,
			Standing: model.NodeStanding{Held: v.Reason, HeldSince: start.Add(-time.Duration(nodes-i) * time.Second)}})
		c.Plan.Kept = append(c.Plan.Kept,
			model.NodeVerdict{Node: name, Group: "general-purpose-eu-central-1a", Use: 0.87, Verdict: v})
	}
	return c
}

// The document stays small whatever the size of the cluster; counts are complete,
// and of each reason some nodes are listed: of rare ones all.
func TestManyNodesThatStay(t *testing.T) {
	c := many(15000)
	d := Of(start, c, Document{})
	out := text(t, d)
	if len(out) > 250_000 {
		t.Errorf("%d bytes", len(out))
	}
	want := []ReasonCount{{model.NotEnoughPdb, 147}, {model.NotReplicated, 3}, {model.NotUnderutilized, 14850}}
	if diff := cmp.Diff(want, d.Stays.Reasons); diff != "" || d.Stays.Total != 15000 {
		t.Errorf("%d in total\n%s", d.Stays.Total, diff)
	}
	listed := map[model.Reason]int{}
	for _, n := range d.Stays.Nodes {
		listed[n.Reason]++
	}
	if diff := cmp.Diff(map[model.Reason]int{model.NotReplicated: 3, model.NotEnoughPdb: 147,
		model.NotUnderutilized: maxStays - 150}, listed); diff != "" {
		t.Error(diff)
	}
	// Those that it has kept the longest; they come first by name, too.
	if last := d.Stays.Nodes[len(d.Stays.Nodes)-1]; last.Node != c.Plan.Kept[14900].Node {
		t.Errorf("the last is %s", last.Node)
	}
	busy := ""
	for _, n := range d.Stays.Nodes {
		if n.Reason == model.NotUnderutilized {
			busy = n.Node
		}
	}
	if busy != c.Plan.Kept[353].Node {
		t.Errorf("the last busy one is %s", busy)
	}
}

// Many reasons share the list, and no reason is left out of it.
func TestReasonsShareTheList(t *testing.T) {
	byReason := map[model.Reason][]keeper{}
	for i, n := range []int{1, 2, 100, 100} {
		for j := range n {
			r := model.Reason(fmt.Sprint("R", i))
			v := &model.NodeVerdict{Node: fmt.Sprintf("%s-%03d", r, j), Verdict: model.Verdict{Reason: r}}
			byReason[r] = append(byReason[r], keeper{verdict: v, since: start.Add(-time.Duration(j) * time.Second)})
		}
	}
	if got := names(someOf(byReason,
		10)); got != "R0-000 R1-000 R1-001 R2-097 R2-098 R2-099 R3-096 R3-097 R3-098 R3-099" {
		t.Error(got)
	}
}

func TestManyDrains(t *testing.T) {
	s := &model.Snapshot{}
	for i := range maxDrains + 50 {
		s.Nodes = append(s.Nodes, &model.Node{Name: fmt.Sprintf("n-%03d", i),
			Standing: model.NodeStanding{Drain: &model.Drain{
				Stage: model.Evicting, Began: start.Add(-time.Duration(i) * time.Second)}}})
	}
	d := drainsOf(s)
	if d.Total != maxDrains+50 || len(d.Nodes) != maxDrains || d.Nodes[0].Node != "n-050" ||
		d.Nodes[maxDrains-1].Node != "n-249" {
		t.Errorf("%d in total, %d listed, %s to %s", d.Total, len(d.Nodes), d.Nodes[0].Node,
			d.Nodes[len(d.Nodes)-1].Node)
	}
}

// Of what is too long, the lists of nodes go first; their counts stay.
func TestListsOfNodesGoFirst(t *testing.T) {
	c := many(1000)
	for i := range 1300 {
		c.Snapshot.Groups = append(c.Snapshot.Groups,
			model.Group{Group: provider.Group{ID: provider.GroupID(
				fmt.Sprintf("g-%04d-%s", i, strings.Repeat("x", 60)))}})
	}
	d, err := parse(text(t, Of(start, c, Document{})))
	if err != nil || len(d.NodeGroups) != 1300 || d.Message != "" || len(d.Stays.Nodes) != 0 || d.Stays.Total != 1000 ||
		len(d.Stays.Reasons) != 3 {
		t.Errorf("%v: %d groups, %q, %d nodes listed of %d", err, len(d.NodeGroups), d.Message,
			len(d.Stays.Nodes), d.Stays.Total)
	}
}

// That a node stays for another reason is no news by itself, and that one goes is.
func TestWhatIsNews(t *testing.T) {
	c := cycle()
	was := Of(start, c, Document{}).WithoutTimes()
	c.Plan.Kept[0].Reason = model.NotReplicated
	c.Plan.Unneeded[1].Detail = "4m0s of 10m0s"
	if diff := cmp.Diff(was, Of(start, c, Document{}).WithoutTimes()); diff != "" {
		t.Error(diff)
	}
	c.Snapshot.Nodes[3].Occupants--
	if cmp.Equal(was.Drains, Of(start, c, Document{}).WithoutTimes().Drains) {
		t.Error("a pod that has left changes nothing")
	}
}

func BenchmarkStays(b *testing.B) {
	c := many(15000)
	before := Of(start, c, Document{})
	for b.Loop() {
		Of(start, c, before)
	}
}
