package model

import (
	"math"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestCommitmentsHoldForTheFirst: what fleets cost, what one node more costs, and what is saved with one less.
func TestCommitmentsHoldForTheFirst(t *testing.T) {
	only := func(group string) []*regexp.Regexp { return []*regexp.Regexp{regexp.MustCompile("^" + group + "$")} }
	none := math.NaN()
	for _, c := range []struct {
		name               string
		commitments        []Commitment
		dear, cheap        int // nodes of 4 cores and 8 GiB for 1 an hour, and of 2 cores and 8 GiB for 0.3
		cost               float64
		nextDear, nextLess float64 // of dear
		nextCheap          float64
	}{
		{"no commitment", nil, 2, 1, 2.3, 1, 1, 0.3},
		{"nodes, something left", []Commitment{{Groups: only("dear"), Amount: 3, PerHour: 0.1}}, 2, 1, 0.5, 0.1, 0.1, 0.3},
		{"nodes, used up", []Commitment{{Groups: only("dear"), Amount: 2, PerHour: 0.1}}, 2, 1, 0.5, 1, 0.1, 0.3},
		{"nodes, too many", []Commitment{{Groups: only("dear"), Amount: 1, PerHour: 0.1}}, 2, 0, 1.1, 1, 1, 0.3},
		{"shared: the dear ones first", []Commitment{{Amount: 2}}, 1, 2, 0.3, 0.3, 0.3, 0.3},
		{"cores: half a node", []Commitment{{Groups: only("dear"), Unit: CommittedCores, Amount: 6, PerHour: 0.05}},
			2, 0, 0.3 + 0.5, 1, 0.1 + 0.5, 0.3},
		{"GiB", []Commitment{{Groups: only("cheap"), Unit: CommittedGiB, Amount: 12, PerHour: 0.01}}, 0, 2,
			0.12 + 0.15, 1, none, 0.3},
		{"one after the other", []Commitment{{Groups: only("dear"), Amount: 1}, {Groups: only("dear"), Amount: 1,
			PerHour: 0.5}}, 3, 0, 1.5, 1, 1, 0.3},
		{"the most specific first", []Commitment{{Amount: 2, PerHour: 0.01}, {Groups: only("dear"), Amount: 1,
			PerHour: 0.02}}, 1, 2, 0.04, 0.3, 0.02, 0.3},
		{"another type, zone or way of buying", []Commitment{{Types: []string{"x"}, Amount: 9}, {Zone: "a", Amount: 9},
			{CapacityType: provider.Spot, Amount: 9}}, 2, 1, 2.3, 1, 1, 0.3},
	} {
		s := &Snapshot{Contents: Contents{}, Prices: &Prices{Commitments: c.commitments,
			Groups: map[provider.GroupID]float64{"dear": 1, "cheap": 0.3}}}
		for i, id := range []provider.GroupID{"dear", "cheap", "unpriced"} {
			s.Contents.Shapes = append(s.Contents.Shapes, &Shape{Node: &corev1.Node{},
				Capacity: Resources{MilliCPU: []int64{4000, 2000, 1000}[i], Memory: 8 << 30}})
			s.Groups = append(s.Groups, Group{Group: provider.Group{ID: id}, Shape: ShapeID(i), HasTemplate: true})
		}
		f := s.Fleet()
		f.Add(0, 0, c.dear)
		f.Add(1, 1, c.cheap)
		f.Add(2, 2, 1)
		less, _ := f.More(0, 0, -1)
		more, ok := f.Next(0)
		cheap, _ := f.Next(1)
		for what, x := range map[string][2]float64{
			"all": {f.Cost(), c.cost}, "one more": {more, c.nextDear}, "one less": {-less, c.nextLess},
			"a cheap one more": {cheap, c.nextCheap},
		} {
			if !ok || !math.IsNaN(x[1]) && math.Abs(x[0]-x[1]) > 1e-9 {
				t.Errorf("%s, %s: %v, want %v", c.name, what, x[0], x[1])
			}
		}
		if _, known := f.Next(2); known || f.Unknown() != 1 {
			t.Errorf("%s: a commitment gives a price to what has none", c.name)
		}
	}
}

// TestCostByGroupKnowsCommitments: the sums by group are what the fleet costs.
func TestCostByGroupKnowsCommitments(t *testing.T) {
	s := &Snapshot{
		Contents: Contents{Shapes: []*Shape{{Node: &corev1.Node{}, Capacity: Resources{MilliCPU: 1000, Memory: 1 << 30}}}},
		Groups:   []Group{{Group: provider.Group{ID: "a"}}, {Group: provider.Group{ID: "b"}}},
		Prices:   &Prices{Names: map[string]float64{"a": 1, "b": 2}, Commitments: []Commitment{{Amount: 3, PerHour: 0.1}}},
	}
	for i := range 4 {
		s.Nodes = append(s.Nodes, &Node{Group: i / 2, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	}
	costs := s.CostByGroup()
	if a, b := costs[0].PerHour, costs[1].PerHour; math.Abs(a-1.1) > 1e-9 || math.Abs(b-0.2) > 1e-9 {
		t.Errorf("a costs %v, b %v: want 1.1 and 0.2", a, b)
	}
}

// TestAtOnePrice: how many more nodes cost the same each.
func TestAtOnePrice(t *testing.T) {
	s := &Snapshot{
		Contents: Contents{Shapes: []*Shape{{Node: &corev1.Node{}, Capacity: Resources{MilliCPU: 1000, Memory: 1 << 30}}}},
		Groups:   []Group{{Group: provider.Group{ID: "a"}}},
		Prices:   &Prices{Names: map[string]float64{"a": 1}, Commitments: []Commitment{{Amount: 5, PerHour: 0.1}}},
	}
	f := s.Fleet()
	for i, want := range []int{5, 4, 3, 2, 1, 9, 9} {
		if got := f.AtOnePrice(0, 0, 9); got != want {
			t.Errorf("%d nodes are there: %d more cost the same, want %d", i, got, want)
		}
		if left := f.Left(0, 0); left != (i < 5) {
			t.Errorf("%d nodes are there: something is left: %v", i, left)
		}
		f.Add(0, 0, 1)
	}
}

// TestLeast: no new node costs less than what is said, also where it takes a commitment from another one, which has a
// second; and one that is dearer than the list is not used.
func TestLeast(t *testing.T) {
	second := regexp.MustCompile("^b$")
	for _, c := range []struct {
		commitments []Commitment
		least, more float64
	}{
		{[]Commitment{{Amount: 1, PerHour: 0.5}}, 0.5, 0.9},
		{[]Commitment{{Amount: 2, PerHour: 0.5}}, 0.5, 0.5},
		{[]Commitment{{Amount: 1, PerHour: 0.5}, {Groups: []*regexp.Regexp{second}, Amount: 1, PerHour: 0.1}}, 0, 0.1},
		{[]Commitment{{Amount: 3, PerHour: 7}}, 1, 1},
		{[]Commitment{{Amount: 3, PerHour: 0.95}}, 0.95, 0.95},
	} {
		s := &Snapshot{
			Contents: Contents{Shapes: []*Shape{{Node: &corev1.Node{}, Capacity: Resources{MilliCPU: 1000, Memory: 1 << 30}}}},
			Groups:   []Group{{Group: provider.Group{ID: "a"}}, {Group: provider.Group{ID: "b"}}},
			Prices:   &Prices{Names: map[string]float64{"a": 1, "b": 0.9}, Commitments: c.commitments},
		}
		f := s.Fleet()
		f.Add(1, 0, 1)
		least, _ := f.Least(0, 0)
		more, _ := f.More(0, 0, 1)
		if math.Abs(least-c.least) > 1e-9 || math.Abs(more-c.more) > 1e-9 {
			t.Errorf("%+v: at least %v, and %v: want %v and %v", c.commitments, least, more, c.least, c.more)
		}
	}
}

// TestCommitmentsOfTheCloud: they stand before the operator's, are for what they name, and cost what they say. While
// the cloud does not tell them, nothing but spot has a price: a node may be paid for already.
func TestCommitmentsOfTheCloud(t *testing.T) {
	own := &Prices{Names: map[string]float64{"m5.large": 1},
		Commitments: []Commitment{{Name: "own", Amount: 1, PerHour: 0.5}}}
	told := []provider.Commitment{{Name: "cloud", InstanceType: "m5.large", Zone: "a",
		CapacityType: provider.OnDemand, OS: "linux", Nodes: 2}}
	if got := own.WithCloud(nil, false); got != own {
		t.Error("prices to which the cloud adds nothing are others")
	}
	both := own.WithCloud(told, false)
	if n := len(own.Commitments); n != 1 || len(both.Commitments) != 2 || both.Commitments[0].Name != "cloud" {
		t.Errorf("%d of one's own, and %+v", n, both.Commitments)
	}
	labels := func(text string) map[string]string {
		at := strings.Split(text, " ")
		return map[string]string{corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: at[0],
			corev1.LabelOSStable: at[1], "karpenter.sh/capacity-type": at[2]}
	}
	for text, want := range map[string][2]float64{ // with it for the first node, and unread; -1: unknown
		"a linux on-demand":   {0, -1},
		"a linux spot":        {1, 1},
		"b linux on-demand":   {1, -1},
		"a windows on-demand": {1, -1},
	} {
		prices := [2]*Prices{(&Prices{Names: own.Names}).WithCloud(told, false), own.WithCloud(nil, true)}
		prices[1].Commitments = nil
		for i, p := range prices {
			s := &Snapshot{Prices: p, Groups: []Group{{Group: provider.Group{ID: "g"}, HasTemplate: true}},
				Contents: Contents{Shapes: []*Shape{{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels(text)}},
					Capacity: Resources{MilliCPU: 1000, Memory: 1 << 30}}}}}
			got, ok := s.Fleet().Next(0)
			if !ok {
				got = -1
			}
			if got != want[i] {
				t.Errorf("%s, unread %v: %v, want %v", text, i == 1, got, want[i])
			}
		}
	}
}
