package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// TestFlagsWithSuffixes: flags under keys with a suffix, or in lists, lead to what they lead
// to under their own names, rights and all; and of several the last one counts. All flags
// that there are take part, since any of them may lead to something one day.
func TestFlagsWithSuffixes(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.Bind(set, providers.All()).BindMode()
	on, off := map[string]any{}, map[string]any{}
	set.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "bool":
			on[f.Name], off[f.Name] = true, false
		case "duration":
			on[f.Name], off[f.Name] = "10m", "30s"
		default:
			on[f.Name], off[f.Name] = "some", "other"
		}
	})
	on["mcm-deletion-marker"] = "priority"
	// What the chart sets itself, or refuses.
	for _, name := range []string{"cloud-provider", "namespace", "address", "mode", "kubeconfig", "cloud-config",
		"clusterapi-cloud-config-authoritative", "help-all", "leader-elect-resource-namespace", "ui-address",
		"ui-tls-cert-file", "ui-tls-private-key-file"} {
		delete(on, name)
		delete(off, name)
	}
	type form struct {
		name  string
		write func(name string, value, otherwise any) map[string]any
	}
	forms := []form{
		{"with a suffix", func(name string, value, _ any) map[string]any { return map[string]any{name + "_1": value} }},
		{"in a list", func(name string, value, _ any) map[string]any { return map[string]any{name: []any{value}} }},
		{"as the last of two", func(name string, value, otherwise any) map[string]any {
			return map[string]any{name: otherwise, name + "_1": value}
		}},
		{"as the last of a list", func(name string, value, otherwise any) map[string]any {
			return map[string]any{name: []any{otherwise, value}}
		}},
	}
	c := load(t)
	for _, provider := range []string{"aws", "gardener"} {
		for _, mode := range []string{"act", "observe"} {
			with := func(extra map[string]any) map[string]string {
				r, err := c.Render(Default, map[string]any{
					"cloudProvider": provider, "mode": mode, "replicaCount": 1, "extraArgs": extra,
					"prometheusRule": map[string]any{"enabled": true},
				})
				if err != nil {
					t.Fatalf("%s, %s: %v", provider, mode, err)
				}
				// The flags themselves are in it, in the order of their keys.
				delete(r.Objects, "deployment.yaml")
				r.Objects["NOTES.txt"] = r.Notes
				return r.Objects
			}
			if maps.Equal(with(on), with(off)) {
				t.Fatalf("%s, %s: nothing follows the flags", provider, mode)
			}
			for _, pair := range [][2]map[string]any{{on, off}, {off, on}} {
				want := with(pair[0])
				for _, f := range forms {
					extra := map[string]any{}
					for name, value := range pair[0] {
						maps.Copy(extra, f.write(name, value, pair[1][name]))
					}
					got := with(extra)
					for file := range want {
						if got[file] != want[file] {
							t.Errorf("%s, %s: %s does not follow flags %s:\n%s\nby their names\n%s",
								provider, mode, file, f.name, got[file], want[file])
						}
					}
				}
			}
		}
	}
}

// TestMetricsPerGroup: what switches them on does it once, and not against a flag that says
// otherwise under any of its keys.
func TestMetricsPerGroup(t *testing.T) {
	for extra, want := range map[string][]string{
		"{}":                                      {"--emit-per-nodegroup-metrics"},
		"{emit-per-nodegroup-metrics_1: []}":      {"--emit-per-nodegroup-metrics"},
		"{emit-per-nodegroup-metrics_1: null}":    {"--emit-per-nodegroup-metrics"},
		"{emit-per-nodegroup-metrics: true}":      {"--emit-per-nodegroup-metrics=true"},
		"{emit-per-nodegroup-metrics: false}":     {"--emit-per-nodegroup-metrics=false"},
		"{emit-per-nodegroup-metrics_1: false}":   {"--emit-per-nodegroup-metrics=false"},
		"{emit-per-nodegroup-metrics_1: [false]}": {"--emit-per-nodegroup-metrics=false"},
	} {
		d := objects(
			t, render(t, parse(t, "{cloudProvider: kwok, dashboards: {enabled: true}, extraArgs: "+extra+"}")),
		)["deployment.yaml"].(*appsv1.Deployment)
		got := slices.DeleteFunc(slices.Clone(d.Spec.Template.Spec.Containers[0].Args), func(a string) bool {
			return !strings.HasPrefix(a, "--emit-per-nodegroup-metrics")
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", extra, got, want)
		}
	}
}

// TestSwitches: a switch is off in whatever spelling Plimsoll takes for off.
func TestSwitches(t *testing.T) {
	for _, c := range []struct{ value, events, available string }{
		{"null", "yes", "yes"}, {"true", "yes", "yes"}, {`"T"`, "yes", "yes"}, {"1", "yes", "yes"},
		{"false", "no", "no"}, {`"False"`, "no", "no"}, {"0", "no", "no"}, {"[true, false]", "no", "no"}, {"[]", "no", "yes"},
	} {
		all := rights{}
		for _, object := range objects(t, render(t, parse(t, "{cloudProvider: gardener, mode: observe, extraArgs: "+
			"{observe-events: "+c.value+", mcm-require-available: "+c.value+"}}"))) {
			all = all.and(ofObject(object))
		}
		for right, want := range map[string]string{"create /events": c.events, "get apps/deployments": c.available} {
			if all[right] != (want == "yes") {
				t.Errorf("with %s the right to %s is there: %t", c.value, right, all[right])
			}
		}
	}
}

// TestOldPodEndsBeforeTheNextActs: without an election an upgrade ends the old pod first.
func TestOldPodEndsBeforeTheNextActs(t *testing.T) {
	for extra, want := range map[string]appsv1.DeploymentStrategyType{
		"{}": "", "{leader-elect: true}": "", "{leader-elect: false}": appsv1.RecreateDeploymentStrategyType,
		"{leader-elect_1: [false]}": appsv1.RecreateDeploymentStrategyType,
	} {
		s := objects(
			t, render(t, parse(t, "{cloudProvider: kwok, replicaCount: 1, extraArgs: "+extra+"}")),
		)["deployment.yaml"].(*appsv1.Deployment).Spec.Strategy
		if s.Type != want || (s.RollingUpdate == nil) != (want != "") {
			t.Errorf("%s: %+v", extra, s)
		}
	}
}

// TestNumbersAreWhole: a large number is no power of ten, in a list either.
func TestNumbersAreWhole(t *testing.T) {
	r := render(t, parse(t, "{cloudProvider: kwok, extraArgs: {max-nodes-total: 2000000, max-nodes-total_1: [1000000]}}"))
	for _, want := range []string{"--max-nodes-total=2000000", "--max-nodes-total=1000000"} {
		if !strings.Contains(r.Objects["deployment.yaml"], want) {
			t.Errorf("no %s in\n%s", want, r.Objects["deployment.yaml"])
		}
	}
}

// TestFlagsAreReadInOnePlace: a look into extraArgs by a key would miss those with a suffix.
func TestFlagsAreReadInOnePlace(t *testing.T) {
	var readers []string
	for _, template := range load(t).chart.Templates {
		if strings.Contains(string(template.Data), ".extraArgs") {
			readers = append(readers, template.Name)
		}
	}
	if want := []string{"templates/_flags.tpl"}; !slices.Equal(readers, want) {
		t.Errorf("%q read extraArgs", readers)
	}
}
