package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/packaging/chart"
)

const chartFolder = "../../../charts/plimsoll"

// rendered are the rules that the operator is given, for flags of extraArgs.
func rendered(t *testing.T, extraArgs map[string]any) map[string]rulefmt.Rule {
	t.Helper()
	c, err := chart.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Render(chart.Default, map[string]any{
		"cloudProvider": "kwok", "prometheusRule": map[string]any{"enabled": true}, "extraArgs": extraArgs,
	})
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Spec any }
	if err := yaml.Unmarshal([]byte(r.Objects["prometheusrule.yaml"]), &object); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(data, false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	out := map[string]rulefmt.Rule{}
	for _, rule := range groups.Groups[0].Rules {
		out[rule.Alert] = rule
	}
	return out
}

// eachMinute is a series with a value for each minute of eight hours.
func eachMinute(name, labels string, value func(minute int) int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s{namespace="n",job="p",instance="a"%s}`, name, labels)
	for minute := range 480 {
		fmt.Fprintf(&b, " %d", value(minute))
	}
	return b.String()
}

// cycling are the gauges of time of one that cycles every ten minutes, until the minute end;
// and of a cloud that is read as often, in between, and last before the minute blind. Of the
// cycles those succeed that are not said to fail.
func cycling(end, blind int, failing func(cycle int) bool) string {
	cycle := func(minute int) int { return min(minute, end) / 10 }
	return with(strings.Join([]string{
		eachMinute("cluster_autoscaler_last_activity", `,activity="main"`, func(m int) int { return 600 * cycle(m) }),
		eachMinute("cluster_autoscaler_last_activity", `,activity="mainSuccessful"`, func(m int) int {
			c := cycle(m)
			for c > 0 && failing(c) {
				c--
			}
			return 600 * c
		}),
		// The cycle shows what was read just after the one before it.
		eachMinute("plimsoll_inventory_as_of_seconds", "", func(m int) int { return 600*(min(cycle(m), blind/10)-1) + 5 }),
	}, "\n"))
}

// TestScanInterval: with a long --scan-interval no alert fires between two cycles that are
// as they should be, and each does when they are not.
func TestScanInterval(t *testing.T) {
	const never = 1 << 20
	well := func(int) bool { return false }
	rules := rendered(t, map[string]any{"scan-interval": "10m"})
	for _, c := range []struct {
		name, alert, series string
		from, to            int // the minutes within which it fires; 0: it does not
	}{
		{"cycles every ten minutes", "PlimsollLoopStalled", cycling(never, never, well), 0, 0},
		{"and stands from the hour on", "PlimsollLoopStalled", cycling(60, never, well), 70, 80},
		{"one that observes does", "PlimsollLoopStalled", observing(cycling(60, never, well)), 70, 80},
		{"one that observes cycles", "PlimsollLoopStalled", observing(cycling(never, never, well)), 0, 0},
		{"a cycle fails now and then", "PlimsollLoopFails", cycling(never, never, func(c int) bool { return c%5 == 4 }), 0, 0},
		{"all fail from the hour on", "PlimsollLoopFails", cycling(never, never, func(c int) bool { return c > 6 }), 80, 85},
		{"the cloud is read every ten minutes", "PlimsollInventoryStale", cycling(never, never, well), 0, 0},
		{"and from the hour on no more", "PlimsollInventoryStale", cycling(never, 60, well), 70, 90},
	} {
		t.Run(c.alert+", "+c.name, func(t *testing.T) {
			t.Parallel()
			var minutes []int
			for _, at := range fired(t, rules[c.alert], c.series) {
				minutes = append(minutes, at...)
			}
			if c.to == 0 && len(minutes) > 0 {
				t.Errorf("it fires at %v", minutes)
			}
			if c.to > 0 && (len(minutes) == 0 || minutes[0] < c.from || minutes[0] > c.to || slices.Max(minutes) < 470) {
				t.Errorf("it fires at %v, want from %d to %d on", minutes, c.from, c.to)
			}
		})
	}
}

// observing makes the series those of a Plimsoll that observes.
func observing(series string) string {
	return series + eachMinute("plimsoll_shadow_calls_total", `,verb="Grow"`, func(int) int { return 0 }) + "\n"
}

// TestThresholdsFollowTheScanInterval: those of the three alerts that measure since when
// something was, in whole seconds, and no others.
func TestThresholdsFollowTheScanInterval(t *testing.T) {
	byDefault := rendered(t, nil)
	for _, rule := range readRules(t) {
		if byDefault[rule.Alert].Expr != rule.Expr {
			t.Errorf("%s is %s, want it as in the file: %s", rule.Alert, byDefault[rule.Alert].Expr, rule.Expr)
		}
	}
	for given, seconds := range map[string]string{
		"10m": "600", "1m30s": "90", "1.5h": "5400", "1s": "1", "200ms": "1", "10s": "10", "10.001s": "11",
	} {
		for _, extra := range []map[string]any{{"scan-interval": given}, {"scan-interval_1": given}} {
			rules, changed := rendered(t, extra), map[string]int{}
			for name, rule := range rules {
				plain := byDefault[name].Expr
				if n := strings.Count(plain, " 10)"); n > 0 {
					changed[name] = n
				}
				if want := strings.ReplaceAll(plain, " 10)", " "+seconds+")"); rule.Expr != want {
					t.Errorf("%v: %s is %s, want %s", extra, name, rule.Expr, want)
				}
			}
			if want := map[string]int{
				"PlimsollLoopStalled": 2, "PlimsollLoopFails": 1, "PlimsollInventoryStale": 1,
			}; !maps.Equal(changed, want) {
				t.Errorf("%v are made of a scan interval, want %v", changed, want)
			}
		}
	}
}
