package alerts

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// shared are the series whose names a Cluster Autoscaler has as well.
var shared = regexp.MustCompile(`(?m)^cluster_autoscaler_\w+\{.*$`)

// ofClusterAutoscaler are those of some series, as a Cluster Autoscaler of the same
// namespace serves them to a Prometheus that gives both the same job: those who scrape
// pods by their annotations do.
func ofClusterAutoscaler(series string) string {
	lines := shared.FindAllString(series, -1)
	for i := range lines {
		lines[i] = strings.NewReplacer(`instance="a"`, `instance="ca"`, `instance="b"`, `instance="ca-standby"`).
			Replace(lines[i])
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestClusterAutoscalersAreNotPlimsoll: where a Cluster Autoscaler is scraped, too, no alert
// is about it, and none is silent because it is well.
func TestClusterAutoscalersAreNotPlimsoll(t *testing.T) {
	for _, rule := range readRules(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			t.Parallel()
			amiss := with(ill[rule.Alert].series)
			if fired := firing(t, rule, well+ofClusterAutoscaler(amiss)); len(fired) > 0 {
				t.Errorf("it fires for a Cluster Autoscaler that is not well: %v", fired)
			}
			alone := firing(t, rule, amiss)
			if beside := firing(t, rule, amiss+ofClusterAutoscaler(well)); len(alone) == 0 || !maps.Equal(alone, beside) {
				t.Errorf("beside a Cluster Autoscaler that is well %v fire, alone %v", beside, alone)
			}
		})
	}
}

// ofObserver are the series of a Plimsoll that observes, in the namespace of some other's
// and under the same job. It has counted nothing that was done.
func ofObserver(series string) string {
	var b strings.Builder
	for line := range strings.Lines(series) {
		if strings.Contains(line, "{") && !strings.Contains(line, "_total{") {
			b.WriteString(strings.ReplaceAll(line, `instance="a"`, `instance="o"`))
		}
	}
	for _, replica := range []string{"o", "o-standby"} {
		for _, counter := range []string{"plimsoll_plan_divergence_total{", `plimsoll_shadow_calls_total{verb="Grow",`} {
			b.WriteString(counter + `namespace="n",job="p",instance="` + replica + `"} 0x480` + "\n")
		}
	}
	return b.String()
}

// TestObserversHideNothing: a Plimsoll that observes and is well, under the job of one that
// acts, keeps no alert on that one silent or late; nor does one that acts hide that an
// observer's loop stands still.
func TestObserversHideNothing(t *testing.T) {
	for _, rule := range readRules(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			t.Parallel()
			if fired := firing(t, rule, well+ofObserver(well)); len(fired) > 0 {
				t.Errorf("it fires though all is well with both: %v", fired)
			}
			amiss := with(ill[rule.Alert].series)
			alone, beside := firing(t, rule, amiss), firing(t, rule, amiss+ofObserver(well))
			if len(alone) == 0 || len(alone) != len(beside) {
				t.Errorf("beside an observer that is well %v fire, alone %v", beside, alone)
			}
			for alert, at := range alone {
				if b, ok := beside[alert]; !ok || b > at {
					t.Errorf("beside an observer that is well %v fire, alone %v", beside, alone)
				}
			}
			if rule.Alert == "PlimsollLoopStalled" {
				if fired := firing(t, rule, well+ofObserver(amiss)); !maps.Equal(alone, fired) {
					t.Errorf("for an observer that stands still %v fire, for one that acts %v", fired, alone)
				}
			}
		})
	}
}

// TestNoLeader: no process of this release runs a loop, though other processes may.
func TestNoLeader(t *testing.T) {
	const (
		waiting = `plimsoll_plan_divergence_total{namespace="n",job="p",instance="b"} 0x480` + "\n"
		// Another release, which leads.
		other = `plimsoll_plan_divergence_total{namespace="n",job="other",instance="o"} 0x480
cluster_autoscaler_last_activity{namespace="n",job="other",instance="o",activity="main"} 0+60x480
`
		// The release that leads for half an hour, and is gone.
		gone = `plimsoll_plan_divergence_total{namespace="n",job="p",instance="a"} 0x30 stale
plimsoll_plan_divergence_total{namespace="n",job="p",instance="b"} 0x30 stale
cluster_autoscaler_last_activity{namespace="n",job="p",instance="a",activity="main"} 0+60x30 stale
`
		missed   = `{alertname="PlimsollNoLeader", job="p", namespace="n", severity="critical"}`
		nameless = `{alertname="PlimsollNoLeader", severity="critical"}`
	)
	// Up for a minute of every three.
	crashing := `plimsoll_plan_divergence_total{namespace="n",job="p",instance="b"}` +
		strings.Repeat(" 0 stale stale", 160) + "\n"
	// From then on it observes.
	const observes = `plimsoll_plan_divergence_total{namespace="n",job="p",instance="c"} _x31 0x449
plimsoll_shadow_calls_total{namespace="n",job="p",instance="c",verb="Grow"} _x31 0x449
cluster_autoscaler_last_activity{namespace="n",job="p",instance="c",activity="main"} _x31 1860+60x449
`
	// A release that observes for half an hour, and acts from then on.
	const changed = `plimsoll_plan_divergence_total{namespace="n",job="p",instance="c"} 0x30 stale
plimsoll_shadow_calls_total{namespace="n",job="p",instance="c",verb="Grow"} 0x30 stale
cluster_autoscaler_last_activity{namespace="n",job="p",instance="c",activity="main"} 0+60x30 stale
plimsoll_plan_divergence_total{namespace="n",job="p",instance="d"} _x31 0x449
cluster_autoscaler_last_activity{namespace="n",job="p",instance="d",activity="main"} _x31 1860+60x449
`
	var rule rulefmt.Rule
	found := false
	for _, r := range readRules(t) {
		if r.Alert == "PlimsollNoLeader" {
			rule, found = r, true
		}
	}
	if !found {
		t.Fatal("there is no alert PlimsollNoLeader")
	}
	for _, c := range []struct {
		name, series string
		want         map[string][2]int // the first minute and the last, without a gap
	}{
		{"nothing at all", "up 1x480\n", map[string][2]int{nameless: {5, 479}}},
		{"a replica waits", waiting, map[string][2]int{missed: {5, 479}}},
		{"a replica waits, and another release leads", waiting + other, map[string][2]int{missed: {5, 479}}},
		{"a replica waits, and an observer under the same job leads", waiting + ofObserver(well), map[string][2]int{missed: {5, 479}}},
		{"a replica crashes again and again", crashing, map[string][2]int{missed: {5, 479}}},
		{"a replica crashes again and again, and another release leads", crashing + other, map[string][2]int{missed: {5, 479}}},
		{"a replica crashes again and again, and an observer under the same job leads", crashing + ofObserver(well), map[string][2]int{missed: {5, 479}}},
		{"the release is gone, and another leads", gone + other, map[string][2]int{missed: {36, 389}}},
		// First it is missed by name; when it has been gone for six hours, that there is none at all.
		{"the only release is gone", gone, map[string][2]int{missed: {36, 389}, nameless: {395, 479}}},
		{"all replicas of the release are replaced", gone + strings.ReplaceAll(other, `job="other"`, `job="p"`), nil},
		{"another release leads", other, nil},
		{"a release that observed acts", changed, nil},
		// The rules cannot know whether that was intended.
		{"a release that acted observes", gone + observes, map[string][2]int{missed: {36, 39}}},
		{"all is well", strings.TrimPrefix(well, "load 1m\n"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := map[string][2]int{}
			for alert, minutes := range fired(t, rule, "load 1m\n"+c.series) {
				first, last := minutes[0], minutes[len(minutes)-1]
				got[alert] = [2]int{first, last}
				if len(minutes) != last-first+1 {
					t.Errorf("%s fired with gaps, at %v", alert, minutes)
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("fired %v, want %v", got, c.want)
			}
		})
	}
}
