package awstest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// world is a cloud without a wire.
func world(t *testing.T, spec awstest.Spec) (*awstest.Cloud, *awstest.Clock) {
	t.Helper()
	clock := awstest.NewClock(dawn)
	c, err := awstest.New(spec, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	return c, clock
}

// shape tells of a group in one line: desired, launches under way, states.
func shape(t *testing.T, c *awstest.Cloud, name string) string {
	t.Helper()
	g, ok := c.Group(name)
	if !ok {
		t.Fatalf("there is no group %q", name)
	}
	counts := map[string]int{}
	for _, i := range g.Instances {
		counts[i.State]++
	}
	return fmt.Sprintf("%d+%d %v", g.Desired, g.Launching, counts)
}

var slow = awstest.Timing{
	Decide: 10 * time.Second, Launch: 5 * time.Second, Boot: 40 * time.Second, End: 30 * time.Second, Retry: time.Minute,
}

func TestAGroupGrowsAndShrinksStepByStep(t *testing.T) {
	hooked := slow
	hooked.PendingWait, hooked.TerminatingWait, hooked.Linger = 20*time.Second, 15*time.Second, 5*time.Second
	for _, c := range []struct {
		name   string
		timing awstest.Timing
		want   []string // by the second at which the shape changes
	}{
		{"plain", slow, []string{
			"0s: 3+0 map[InService:1]", "10s: 3+2 map[InService:1]", "15s: 3+0 map[InService:1 Pending:2]",
			"55s: 3+0 map[InService:3]",
			"100s: 1+0 map[InService:3]", "110s: 1+0 map[InService:1 Terminating:2]", "140s: 1+0 map[InService:1]"}},
		{"hooks", hooked, []string{
			"0s: 3+0 map[InService:1]", "10s: 3+2 map[InService:1]", "15s: 3+0 map[InService:1 Pending:Wait:2]",
			"35s: 3+0 map[InService:1 Pending:Proceed:2]", "75s: 3+0 map[InService:3]",
			"100s: 1+0 map[InService:3]", "110s: 1+0 map[InService:1 Terminating:Wait:2]", "125s: 1+0 map[InService:1 " +
				"Terminating:Proceed:2]", "155s: 1+0 map[InService:1 Terminated:2]", "160s: 1+0 map[InService:1]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cloud, clock := world(t, awstest.Spec{
				Timing: c.timing, LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 1)},
			})
			var got []string
			for second := range 200 {
				switch second {
				case 0:
					cloud.SetDesired("g", 3)
				case 100:
					cloud.SetDesired("g", 1)
				}
				line := shape(t, cloud, "g")
				if len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "s: "+line) {
					got = append(got, fmt.Sprintf("%ds: %s", second, line))
				}
				clock.Advance(time.Second)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// How often the cloud is read makes no difference.
func TestTimeIsFollowedEventByEvent(t *testing.T) {
	run := func(step time.Duration) []awstest.GroupState {
		cloud, clock := world(t, awstest.Spec{
			Timing: slow, LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 20, 5), small("h", 0, 20, 0)},
		})
		cloud.SetDesired("g", 9)
		cloud.SetDesired("h", 4)
		for passed := time.Duration(0); passed < 10*time.Minute; passed += step {
			clock.Advance(step)
			cloud.Tick()
		}
		return cloud.Groups()
	}
	if diff := cmp.Diff(run(time.Second), run(10*time.Minute)); diff != "" {
		t.Error(diff)
	}
}

func TestZonesAreFilledEvenly(t *testing.T) {
	cloud, _ := world(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 20, 0)}})
	cloud.SetDesired("g", 7)
	cloud.Settle()
	g, _ := cloud.Group("g")
	load := map[string]int{}
	for _, i := range g.Instances {
		load[i.Zone]++
	}
	if want := map[string]int{"us-east-1a": 3, "us-east-1b": 2, "us-east-1c": 2}; !cmp.Equal(load, want) {
		t.Errorf("the zones have %v, want %v", load, want)
	}
}

func TestWhoDiesWhenThereAreTooMany(t *testing.T) {
	at := func(minute int, zone string) awstest.Instance {
		return awstest.Instance{
			ID:       fmt.Sprintf("i-%s%d", zone, minute),
			Zone:     "us-east-1" + zone,
			Launched: dawn.Add(time.Duration(minute) * time.Minute),
		}
	}
	instances := []awstest.Instance{at(1, "a"), at(2, "b"), at(3, "b"), at(4, "b")}
	for _, c := range []struct {
		name      string
		policies  []string
		protected string
		want      string
	}{
		{"the oldest of the fullest zone", nil, "", "i-b2"},
		{"the same by its name", []string{"Default"}, "", "i-b2"},
		{"the oldest", []string{"OldestInstance"}, "", "i-a1"},
		{"the newest", []string{"NewestInstance", "Default"}, "", "i-b4"},
		{"not a protected one", nil, "i-b2", "i-b3"},
	} {
		g := small("g", 0, 9, 4)
		g.Instances, g.TerminationPolicies = instances, c.policies
		cloud, _ := world(t, awstest.Spec{
			Timing: awstest.Timing{End: time.Hour}, LaunchTemplates: templates, Groups: []awstest.Group{g},
		})
		if c.protected != "" {
			if err := cloud.Protect(c.protected, true); err != nil {
				t.Fatal(err)
			}
		}
		cloud.SetDesired("g", 3)
		state, _ := cloud.Group("g")
		for _, i := range state.Instances {
			if i.State == awstest.Terminating && i.ID != c.want {
				t.Errorf("%s: %s dies, want %s", c.name, i.ID, c.want)
			}
		}
		if len(state.Live()) != 3 {
			t.Errorf("%s: %d live", c.name, len(state.Live()))
		}
	}
}

func TestWhatIsLostIsReplaced(t *testing.T) {
	cloud, clock := world(t, awstest.Spec{
		Timing: slow, LaunchTemplates: templates, Groups: []awstest.Group{small("g", 2, 9, 2)},
	})
	g, _ := cloud.Group("g")
	killed, sick := g.Instances[0].ID, g.Instances[1].ID
	if err := cloud.Kill(killed); err != nil {
		t.Fatal(err)
	}
	if got := shape(t, cloud, "g"); got != "2+0 map[InService:1]" {
		t.Errorf("right after: %s", got)
	}
	if err := cloud.SetUnhealthy(sick); err != nil {
		t.Fatal(err)
	}
	clock.Advance(15 * time.Second)
	if got := shape(t, cloud, "g"); got != "2+0 map[Pending:2 Terminating:1]" {
		t.Errorf("later: %s", got)
	}
	clock.Advance(time.Minute)
	g, _ = cloud.Group("g")
	if live := g.Live(); len(live) != 2 || slices.Contains(live, killed) || slices.Contains(live, sick) {
		t.Errorf("at last there are %v", live)
	}
}

func TestStatesThatDoNotCount(t *testing.T) {
	g := small("g", 0, 9, 1)
	g.Instances = []awstest.Instance{{ID: "i-1"}, {ID: "i-2", State: "Warmed:Stopped"}, {ID: "i-3", State: "Standby"}}
	cloud, _ := world(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{g}})
	cloud.Settle()
	if got := shape(t, cloud, "g"); got != "1+0 map[InService:1 Standby:1 Warmed:Stopped:1]" {
		t.Errorf("a warm and a waiting instance: %s", got)
	}
	if err := cloud.SetState("i-1", "EnteringStandby"); err != nil {
		t.Fatal(err)
	}
	cloud.Settle()
	if got := shape(t, cloud, "g"); got != "1+0 map[EnteringStandby:1 InService:1 Standby:1 Warmed:Stopped:1]" {
		t.Errorf("one went into standby: %s", got)
	}
}

func TestSuspendedProcessesDoNothing(t *testing.T) {
	cloud, clock := world(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 2)}})
	suspend := func(processes ...string) {
		t.Helper()
		if err := cloud.Change(func(s *awstest.Spec) { s.Groups[0].Suspended = processes }); err != nil {
			t.Fatal(err)
		}
	}
	suspend("Launch", "Terminate")
	cloud.SetDesired("g", 5)
	clock.Advance(time.Hour)
	if got := shape(t, cloud, "g"); got != "5+0 map[InService:2]" {
		t.Errorf("Launch is suspended: %s", got)
	}
	cloud.SetDesired("g", 0)
	clock.Advance(time.Hour)
	if got := shape(t, cloud, "g"); got != "0+0 map[InService:2]" {
		t.Errorf("Terminate is suspended: %s", got)
	}
	suspend()
	if got := shape(t, cloud, "g"); got != "0+0 map[]" {
		t.Errorf("resumed: %s", got)
	}
}

func TestWeights(t *testing.T) {
	cloud, _ := world(t, awstest.Spec{
		LaunchTemplates: templates, Groups: []awstest.Group{{Name: "g", Max: 20, MixedInstances: &awstest.MixedInstances{
			Template:  awstest.TemplateRef{ID: "lt-0a"},
			Overrides: []awstest.Override{{InstanceType: "m5.2xlarge", Weight: "4"}, {InstanceType: "m5.large", Weight: "1"}}}}},
	})
	cloud.SetDesired("g", 9)
	cloud.Settle()
	if got := shape(t, cloud, "g"); got != "9+0 map[InService:3]" {
		t.Errorf("9 units of 4 each: %s", got)
	}
}

func TestChangeKeepsWhatLives(t *testing.T) {
	cloud, _ := world(t, awstest.Spec{
		LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 2), small("h", 0, 9, 1)},
	})
	before, _ := cloud.Group("g")
	err := cloud.Change(func(s *awstest.Spec) {
		s.Groups[0].Max, s.Groups[0].Tags = 4, map[string]string{"k": "v"}
		s.Groups = append(s.Groups[:1], small("new", 0, 3, 3))
	})
	if err != nil {
		t.Fatal(err)
	}
	after, _ := cloud.Group("g")
	if after.Max != 4 || !slices.Equal(before.Live(), after.Live()) {
		t.Errorf("g was %+v and is %+v", before, after)
	}
	if _, there := cloud.Group("h"); there {
		t.Error("h is still there")
	}
	if fresh, _ := cloud.Group("new"); len(fresh.Live()) != 3 {
		t.Errorf("the new group has %v", fresh.Live())
	}
	if err := cloud.Change(func(s *awstest.Spec) { s.Groups = append(s.Groups, small("g", 0, 1, 0)) }); err == nil {
		t.Error("a doubled name was taken")
	}
	if again, _ := cloud.Group("g"); again.Max != 4 {
		t.Errorf("a change that was refused left %+v", again)
	}
}
