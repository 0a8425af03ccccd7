package budget_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

var groups = []*provider.Group{{ID: "web"}, {ID: "db"}}

func ofGroup(name string) *policy.Policy {
	return &policy.Policy{Groups: []*regexp.Regexp{policy.Pattern(name)}}
}

func open(t *testing.T, schedule, zone, duration string) []window.Window {
	t.Helper()
	w, err := window.Parse(window.Spec{Schedule: schedule, TimeZone: zone, Duration: duration})
	if err != nil {
		t.Fatal(err)
	}
	return []window.Window{w}
}

func count(n int) *budget.Amount { return &budget.Amount{Count: n} }

// TestWhichBudgetHolds asks each kind of budget for a node of the group web that goes since its pods have room.
func TestWhichBudgetHolds(t *testing.T) {
	begun := func(ago ...time.Duration) (out []budget.Exit) {
		for _, d := range ago {
			out = append(out, budget.Exit{Group: "web", Reason: budget.Cheaper, At: noon.Add(-d), Count: 1})
		}
		return out
	}
	going := []budget.Exit{
		{Group: "web", Reason: budget.Underutilized, Count: 2}, {Group: "db", Reason: budget.Empty, Count: 1}}
	for _, c := range []struct {
		name   string
		budget budget.Budget
		begun  []budget.Exit
		want   string
	}{
		{"room", budget.Budget{Nodes: count(4)}, nil, ""},
		{"a count", budget.Budget{Nodes: count(3)}, nil, "3 of at most 3 nodes at a time on the way out"},
		{"another group's", budget.Budget{Nodes: count(1), Of: ofGroup("db")}, nil, ""},
		{"the group's own", budget.Budget{Nodes: count(2), Of: ofGroup("w*")}, nil, "2 of at most 2 nodes"},
		{"another reason's", budget.Budget{Nodes: count(0), Reasons: []budget.Reason{budget.Empty, budget.Drifted}}, nil, ""},
		{"the reason's own", budget.Budget{Nodes: count(2), Reasons: []budget.Reason{budget.Underutilized}}, nil, "2 of at most 2"},
		{"a share of 11, rounded up", budget.Budget{Nodes: &budget.Amount{Percent: 20, Share: true}}, nil, "3 of at most 3"},
		{"a larger share", budget.Budget{Nodes: &budget.Amount{Percent: 28, Share: true}}, nil, ""},
		{"a share of the group's 7", budget.Budget{Nodes: &budget.Amount{Percent: 15, Share: true}, Of: ofGroup("web")}, nil,
			"2 of at most 2"},
		{"a rate with room", budget.Budget{Rate: &budget.Rate{Count: 2, Over: time.Hour}}, begun(time.Hour, time.Minute), ""},
		{"a rate", budget.Budget{Rate: &budget.Rate{Count: 2, Over: time.Hour}}, begun(time.Minute, 59*time.Minute),
			"2 of at most 2 nodes within 1h0m0s began to go until 12:01"},
		{"a rate of none", budget.Budget{Rate: &budget.Rate{Over: time.Hour}}, nil, "0 of at most 0 nodes"},
		{"it does not count now", budget.Budget{Nodes: count(0), Windows: open(t, "0 13 * * *", "UTC", "1h")}, nil, ""},
		{"deny in a window", budget.Budget{Nodes: count(0), Windows: open(t, "0 12 * * *", "Europe/Berlin", "8h")}, nil,
			"3 of at most 0 nodes at a time on the way out until 19:00"},
		{"allow, and it is open", budget.Budget{Allow: open(t, "0 11 * * *", "UTC", "2h")}, nil, ""},
		{"allow, over the change of clocks", budget.Budget{Allow: open(t, "0 3 * * *", "Europe/Berlin", "2h")}, nil,
			"nodes may begin to go in its windows only until 01:00"},
	} {
		b := budget.Open([]budget.Budget{c.budget}, budget.Use{
			Now: noon, Groups: groups, Nodes: []int{7, 4}, Going: going, Begun: c.begun})
		got := ""
		if h := b.Ask(0, budget.Underutilized, 1); h != nil {
			got = h.Detail
			if !h.Until.IsZero() {
				got += " until " + h.Until.UTC().Format("15:04")
			}
		}
		if c.want == "" && got != "" || len(got) < len(c.want) || got[:len(c.want)] != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWhatTheCloudTakes: nodes whose machine the cloud is about to take are held by no budget, and take no place from
// others.
func TestWhatTheCloudTakes(t *testing.T) {
	taken := []budget.Exit{{Group: "web", Reason: budget.Interrupted, At: noon.Add(-time.Minute), Count: 2}}
	b := budget.Open([]budget.Budget{
		{Nodes: count(2)},
		{Rate: &budget.Rate{Count: 2, Over: time.Hour}, Of: ofGroup("web")},
	}, budget.Use{Now: noon, Groups: groups, Nodes: []int{7, 4}, Going: taken, Begun: taken})
	for _, reason := range []budget.Reason{budget.Interrupted, budget.Underutilized} {
		if h := b.Ask(0, reason, 2); h != nil {
			t.Errorf("two nodes go for %s, and %s holds them", reason, h.Detail)
		}
	}
	if b.Ask(0, budget.Underutilized, 3) == nil || b.Ask(0, budget.Interrupted, 3) != nil {
		t.Error("two nodes may go for another reason, and as many as there are for this one")
	}
}

// TestTheLongestSpeaks: of several budgets that hold a node, the one that does so for longest is named.
func TestTheLongestSpeaks(t *testing.T) {
	b := budget.Open([]budget.Budget{
		{Name: "count", Nodes: count(0)},
		{Name: "late", Allow: open(t, "0 22 * * *", "UTC", "1h")},
		{Name: "soon", Allow: open(t, "0 13 * * *", "UTC", "1h")},
	}, budget.Use{Now: noon, Groups: groups, Nodes: []int{1, 1}})
	if h := b.Ask(0, budget.Empty, 1); h == nil || h.Budget != "late" {
		t.Errorf("%+v", h)
	}
}

// TestNoBudgetIsExceeded lets nodes go at random as far as the book allows, through a day, and counts again from what
// went in the plainest way.
func TestNoBudgetIsExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []budget.Budget{}
		for i := range rapid.IntRange(1, 3).Draw(t, "budgets") {
			b := budget.Budget{Name: fmt.Sprint(i)}
			if rapid.Bool().Draw(t, "grouped") {
				b.Of = ofGroup("web")
			}
			if rapid.Bool().Draw(t, "reasoned") {
				b.Reasons = []budget.Reason{budget.Empty}
			}
			if rapid.Bool().Draw(t, "counted") {
				b.Nodes = count(rapid.IntRange(0, 3).Draw(t, "nodes"))
			}
			if rapid.Bool().Draw(t, "rated") {
				b.Rate = &budget.Rate{Count: rapid.IntRange(0, 4).Draw(t, "rate"), Over: 3 * time.Hour}
			}
			all = append(all, b)
		}
		type gone struct {
			budget.Exit
			until time.Time
		}
		var went []gone
		var begun []budget.Exit
		now := noon
		for range 40 {
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			u := budget.Use{Now: now, Groups: groups, Nodes: []int{5, 5}, Begun: begun}
			for _, g := range went {
				if g.until.After(now) {
					u.Going = append(u.Going, g.Exit)
				}
			}
			b := budget.Open(all, u)
			for range 4 {
				group := rapid.IntRange(0, 1).Draw(t, "group")
				reason := rapid.SampledFrom(budget.Reasons).Draw(t, "reason")
				if b.Ask(group, reason, 1) != nil {
					continue
				}
				b.Take(group, reason, 1)
				e := budget.Exit{Group: groups[group].ID, Reason: reason, At: now, Count: 1}
				begun = budget.Record(begun, e, budget.LongestRate(all))
				went = append(went, gone{e, now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "takes")) * time.Minute)})
			}
			for _, one := range all {
				going, recent := 0, 0
				for _, g := range went {
					if one.Of != nil && g.Group != "web" || one.Reasons != nil && g.Reason != budget.Empty {
						continue
					}
					if g.until.After(now) {
						going++
					}
					if g.At.After(now.Add(-3 * time.Hour)) {
						recent++
					}
				}
				if one.Nodes != nil && going > one.Nodes.Count || one.Rate != nil && recent > one.Rate.Count {
					t.Fatalf("budget %+v: %d are going, and %d began within its time", one, going, recent)
				}
			}
		}
	})
}

// TestManyExitsTakeLittleRoom: those of long ago are put together, none is lost, and none is older than it was.
func TestManyExitsTakeLittleRoom(t *testing.T) {
	var all []budget.Exit
	for i := range 5000 {
		at := noon.Add(time.Duration(i) * 10 * time.Second)
		all = budget.Record(all, budget.Exit{Group: "web", Reason: budget.Empty, At: at, Count: 1}, 24*time.Hour)
	}
	sum := 0
	for _, e := range all {
		sum += e.Count
	}
	if sum != 5000 || len(all) > 700 {
		t.Errorf("%d exits, of 5000, take %d lines", sum, len(all))
	}
}

// TestWhatIsLeft: the least of what a budget's parts leave, nothing outside of the windows in which nodes may begin.
func TestWhatIsLeft(t *testing.T) {
	begun := []budget.Exit{{Group: "web", Reason: budget.Cheaper, At: noon.Add(-time.Minute), Count: 3}}
	going := []budget.Exit{{Group: "web", Reason: budget.Cheaper, Count: 1}}
	hourly := &budget.Rate{Count: 5, Over: time.Hour}
	for _, c := range []struct {
		name   string
		budget budget.Budget
		want   string
	}{
		{"a count", budget.Budget{Nodes: count(4)}, "3, until nil"},
		{"more on their way than may be", budget.Budget{Nodes: count(0)}, "0, until nil"},
		{"a rate is less", budget.Budget{Nodes: count(4), Rate: hourly}, "2, until nil"},
		{"not now", budget.Budget{Nodes: count(4), Windows: open(t, "0 22 * * *", "", "1h")}, "any, until 22:00"},
		{"closed", budget.Budget{Allow: open(t, "0 22 * * *", "", "1h")}, "0, until 22:00"},
		{"always open", budget.Budget{Nodes: count(2), Allow: open(t, "0 11 * * *", "", "2h")}, "1, until nil"},
	} {
		s := budget.Open([]budget.Budget{c.budget}, budget.Use{Now: noon, Groups: groups, Nodes: []int{7, 4},
			Going: going, Begun: begun}).States()[0]
		left, until := "any", "nil"
		if s.Left != nil {
			left = fmt.Sprint(*s.Left)
		}
		if s.Until != nil {
			until = s.Until.Format("15:04")
		}
		if got := left + ", until " + until; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
