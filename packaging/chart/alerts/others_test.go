package alerts

import (
	"regexp"
	"strings"
	"testing"
)

// shared are the series whose names a Cluster Autoscaler has as well.
var shared = regexp.MustCompile(`(?m)^cluster_autoscaler_\w+\{.*$`)

// ofClusterAutoscaler are those of some series, as a Cluster Autoscaler of the same
// namespace serves them to a Prometheus that gives both the same job: those who scrape
// pods by their annotations do.
func ofClusterAutoscaler(series string) string {
	lines := shared.FindAllString(series, -1)
	for i := range lines {
		lines[i] = strings.NewReplacer(`instance="a"`, `instance="ca"`, `instance="b"`, `instance="ca-standby"`).Replace(lines[i])
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
			if beside := firing(t, rule, amiss+ofClusterAutoscaler(well)); len(beside) != len(alone) || len(alone) == 0 {
				t.Errorf("beside a Cluster Autoscaler that is well %v fire, alone %v", beside, alone)
			} else {
				for alert, at := range alone {
					if beside[alert] != at {
						t.Errorf("beside a Cluster Autoscaler that is well %s fires at minute %d, alone at %d", alert, beside[alert], at)
					}
				}
			}
		})
	}
}

// TestNoLeader: whoever else runs a loop, there is none of this release's.
func TestNoLeader(t *testing.T) {
	const (
		waiting  = `plimsoll_plan_divergence_total{namespace="n",job="p",instance="b"} 0x480` + "\n"
		observer = `plimsoll_plan_divergence_total{namespace="n",job="observer",instance="o"} 0x480
cluster_autoscaler_last_activity{namespace="n",job="observer",instance="o",activity="main"} 0+60x480
`
		// Up for a minute of every three.
		crashing = `plimsoll_plan_divergence_total{namespace="n",job="p",instance="b"} 0 stale stale ` +
			`0 stale stale 0 stale stale 0 stale stale 0 stale stale 0 stale stale` + "\n"
	)
	for _, c := range []struct {
		name, series string
		from         int // -1: never
	}{
		{"nothing at all", "load 1m\nup 1x480\n", 5},
		{"a replica waits", "load 1m\n" + waiting, 5},
		{"a replica waits, and an observer of another release runs", "load 1m\n" + waiting + observer, 5},
		{"a replica crashes again and again", "load 1m\n" + crashing, 5},
		{"another release runs", "load 1m\n" + observer, -1},
		{"all is well", well, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, rule := range readRules(t) {
				if rule.Alert != "PlimsollNoLeader" {
					continue
				}
				at := -1
				fired := firing(t, rule, c.series)
				for _, minute := range fired {
					at = minute
				}
				if at != c.from || len(fired) > 1 {
					t.Errorf("fired %v, want minute %d", fired, c.from)
				}
			}
		})
	}
}
