package policy_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/window"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func ref[T any](v T) *T { return &v }

func pattern(text string) []*regexp.Regexp { return []*regexp.Regexp{policy.Pattern(text)} }

func group(id provider.GroupID, zone string) provider.Group {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": zone}}}
	return provider.Group{ID: id, Min: 1, Max: 10, Template: &provider.Template{Node: node}}
}

func night(t *testing.T, zone string) window.Window {
	t.Helper()
	w, err := window.Parse(window.Spec{Schedule: "0 22 * * *", TimeZone: zone, Duration: "8h"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// TestTheLastPolicyCounts: field by field, the last policy that matches and says something counts, and what
// the group has of its own in its cloud wins over all of them.
func TestTheLastPolicyCounts(t *testing.T) {
	set := policy.Set{Policies: []policy.Policy{
		{Name: "all", Groups: pattern("*"), Priority: ref(1), Price: ref(0.5), Size: policy.Size{Max: ref(8)},
			Options: provider.Options{ScaleDownUnneededTime: ref(time.Minute), ScaleDownUnreadyTime: ref(time.Minute)}},
		{Name: "web", Groups: pattern("w?b"), Priority: ref(2), Size: policy.Size{Min: ref(2)},
			Options: provider.Options{ScaleDownUnneededTime: ref(time.Hour)}},
		{Name: "south", Selector: labels.SelectorFromSet(labels.Set{"zone": "south"}), Priority: ref(3)},
	}}
	web, db, south := group("web", "north"), group("db", "north"), group("far/web", "south")
	db.Prices = []provider.Price{{PerHour: 9}}
	web.Options.ScaleDownUnreadyTime = ref(time.Second)
	blind := group("w.b", "south")
	blind.Template = nil
	in := []provider.Group{web, db, south, blind}
	out, settled, next := set.Groups(in, noon)
	if !next.IsZero() {
		t.Errorf("time changes something at %s", next)
	}
	for i, want := range []struct{ priority, least, most int }{{2, 2, 8}, {1, 1, 8}, {3, 1, 8}, {2, 2, 8}} {
		if got := *settled[i].Priority; got != want.priority || out[i].Min != want.least || out[i].Max != want.most {
			t.Errorf("%s: priority %d, %d to %d, want %+v", out[i].ID, got, out[i].Min, out[i].Max, want)
		}
	}
	if o := out[0].Options; *o.ScaleDownUnneededTime != time.Hour || *o.ScaleDownUnreadyTime != time.Second {
		t.Errorf("web: %v, %v", *o.ScaleDownUnneededTime, *o.ScaleDownUnreadyTime)
	}
	if settled[0].MinFrom != "web" || settled[0].MaxFrom != "all" || *out[1].PricePerHour != 0.5 || out[1].Prices != nil {
		t.Errorf("web: %+v; db costs %v", settled[0], out[1].PricePerHour)
	}
	if !reflect.DeepEqual(in[0], web) || in[1].PricePerHour != nil || in[0].Max != 10 {
		t.Error("what was read of the cloud has been changed")
	}
}

// TestBoundsAreOnlyNarrowed: neither bound leaves those of the cloud, and the maximum wins.
func TestBoundsAreOnlyNarrowed(t *testing.T) {
	for _, c := range []struct{ least, most, wantLeast, wantMost int }{
		{3, 5, 3, 5}, {0, 5, 1, 5}, {3, 50, 3, 10}, {20, 50, 10, 10}, {3, 0, 1, 1}, {6, 4, 4, 4},
	} {
		set := policy.Set{Policies: []policy.Policy{{Groups: pattern("*"), Size: policy.Size{Min: &c.least, Max: &c.most}}}}
		out, _, _ := set.Groups([]provider.Group{group("g", "")}, noon)
		if out[0].Min != c.wantLeast || out[0].Max != c.wantMost {
			t.Errorf("%+v: %d to %d", c, out[0].Min, out[0].Max)
		}
	}
}

// TestSizesByTheClock plays the night in which Berlin's clocks go forward: the schedule holds for seven
// hours, and each change is announced.
func TestSizesByTheClock(t *testing.T) {
	set := policy.Set{Policies: []policy.Policy{{Name: "night", Groups: pattern("g"), Size: policy.Size{Min: ref(5)},
		Schedule: []policy.Scheduled{{Window: night(t, "Europe/Berlin"), Size: policy.Size{Min: ref(2), Max: ref(3)}}}}}}
	for _, step := range []struct {
		at, next    string
		least, most int
	}{
		{"2026-03-28T12:00:00Z", "2026-03-28T21:00:00Z", 5, 10},
		{"2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z", 2, 3},
		{"2026-03-29T04:00:00Z", "2026-03-29T20:00:00Z", 5, 10},
	} {
		at, _ := time.Parse(time.RFC3339, step.at)
		out, _, next := set.Groups([]provider.Group{group("g", "")}, at)
		if out[0].Min != step.least || out[0].Max != step.most || next.UTC().Format(time.RFC3339) != step.next {
			t.Errorf("%+v: %d to %d, next %s", step, out[0].Min, out[0].Max, next)
		}
	}
}

// TestPauses: the pause that lasts longest counts, and one that is over does not.
func TestPauses(t *testing.T) {
	hour, day := noon.Add(time.Hour), noon.Add(24*time.Hour)
	over := &policy.Pause{Until: noon}
	for _, c := range []struct {
		all, own *policy.Pause
		want     string
	}{
		{nil, over, ""}, {over, nil, ""},
		{&policy.Pause{Until: hour, Reason: "a"}, &policy.Pause{Until: day, Reason: "b"}, "b"},
		{&policy.Pause{Until: day, Reason: "a"}, &policy.Pause{Until: hour, Reason: "b"}, "a"},
		{&policy.Pause{Reason: "a"}, &policy.Pause{Until: hour, Reason: "b"}, "a"},
	} {
		set := policy.Set{Pause: c.all, Policies: []policy.Policy{{Groups: pattern("g"), Pause: c.own}}}
		_, settled, _ := set.Groups([]provider.Group{group("g", "")}, noon)
		got := ""
		if p := settled[0].Pause; p != nil {
			got = p.Reason
		}
		if got != c.want {
			t.Errorf("%+v and %+v: %q, want %q", c.all, c.own, got, c.want)
		}
	}
}

func TestWithoutPoliciesNothingIsCopied(t *testing.T) {
	in := []provider.Group{group("g", "")}
	out, settled, next := new(policy.Set).Groups(in, noon)
	if &out[0] != &in[0] || settled != nil || !next.IsZero() {
		t.Error("groups without policies are not those of the cloud")
	}
}

// TestPausesOfTheCommand: those of a pattern, those of all, and none that is over; a text that cannot be understood
// holds everything.
func TestPausesOfTheCommand(t *testing.T) {
	written, err := policy.PausesText([]policy.GroupPause{
		{Group: "w*", Since: noon, Reason: "web"}, {Group: "db", Since: noon, Until: noon.Add(time.Hour), Reason: "db"},
	})
	if err != nil {
		t.Fatal(err)
	}
	pauses, err := policy.ParsePauses(written)
	if err != nil {
		t.Fatal(err)
	}
	_, broken := policy.ParsePauses("[{}]")
	for _, c := range []struct {
		pauses []policy.GroupPause
		at     time.Time
		want   string
	}{
		{pauses, noon, "web db - "}, {pauses, noon.Add(time.Hour), "web - - "}, {nil, noon, ""},
		{policy.Halt(broken), noon, strings.Repeat(broken.Error()+" ", 3)},
	} {
		set := policy.Set{Pauses: c.pauses}
		_, settled, next := set.Groups([]provider.Group{group("web", ""), group("db", ""), group("else", "")}, c.at)
		got := ""
		for _, r := range settled {
			if got += "- "; r.Pause != nil {
				got = strings.TrimSuffix(got, "- ") + r.Pause.Reason + " "
			}
		}
		if got != c.want || next.IsZero() == (c.want == "web db - ") {
			t.Errorf("%q until %s, want %q", got, next, c.want)
		}
	}
}
