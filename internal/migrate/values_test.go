package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// enough are values that can be translated, for each provider that reads some of its own.
var enough = map[string]map[string]any{
	"aws": {"autoDiscovery": map[string]any{"clusterName": "prod"}, "awsRegion": "eu-west-1"},
	"clusterapi": {"cloudProvider": "clusterapi", "autoDiscovery": map[string]any{"clusterName": "prod"},
		"clusterAPIMode": "kubeconfig-kubeconfig", "clusterAPIKubeconfigSecret": "prod"},
	"kwok": {"cloudProvider": "kwok", "autoscalingGroups": []any{map[string]any{"name": "a", "minSize": 1, "maxSize": 2}}},
}

// others are values that are not the chart's defaults, and what of each is found in the translation or the notes.
// Those that are not here are texts and switches.
var others = map[string]struct {
	value any
	found string
}{
	"affinity":                           {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"autoDiscovery.namespace":            {"sentinel", "namespace: sentinel"},
	"autoDiscovery.labels":               {[]any{map[string]any{"sentinel": "yes"}}, `sentinel: "yes"`},
	"autoDiscovery.tags":                 {[]any{"sentinel"}, "- sentinel"},
	"autoscalingGroups":                  {[]any{map[string]any{"name": "sentinel", "minSize": 1, "maxSize": 2}}, "sentinel"},
	"awsAccessKeyID":                     {"value", "secretKeyRef"},
	"awsRegion":                          {"sentinel", "value: sentinel"},
	"awsSecretAccessKey":                 {"value", "secretKeyRef"},
	"cloudProvider":                      {"clusterapi", "cloudProvider: clusterapi"},
	"clusterAPICloudConfigPath":          {"/sentinel/value", "clusterAPICloudConfigPath is /etc/kubernetes/mgmt-kubeconfig, was /sentinel/value"},
	"clusterAPIMode":                     {"single-kubeconfig", "clusterAPIMode: single-kubeconfig"},
	"customArgs":                         {[]any{"--balancing-ignore-label=sentinel"}, "balancing-ignore-label: sentinel"},
	"expanderPriorities":                 {map[string]any{"10": []any{".*"}}, "expanderPriorities is dropped"},
	"extraArgs":                          {map[string]any{"balancing-ignore-label": "sentinel"}, "balancing-ignore-label: sentinel"},
	"extraEnv":                           {map[string]any{"SENTINEL": "yes"}, "name: SENTINEL"},
	"extraEnvConfigMaps":                 {map[string]any{"A": map[string]any{"name": "sentinel", "key": "k"}}, "name: sentinel"},
	"extraEnvSecrets":                    {map[string]any{"A": map[string]any{"name": "sentinel", "key": "k"}}, "name: sentinel"},
	"extraVolumeSecrets":                 {map[string]any{"sentinel": map[string]any{"mountPath": "/x"}}, "extraVolumeSecrets.sentinel is dropped"},
	"image.pullSecrets":                  {[]any{"sentinel"}, "name: sentinel"},
	"image.repository":                   {"sentinel", "image is the one of Plimsoll's chart, was sentinel:"},
	"image.tag":                          {"sentinel", ":sentinel"},
	"kwokConfigMapName":                  {"sentinel", "configMapName: sentinel"},
	"nodeSelector":                       {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"podAnnotations":                     {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"podDisruptionBudget.minAvailable":   {"7%", "minAvailable: 7%"},
	"podDisruptionBudget.maxUnavailable": {"7%", "maxUnavailable: 7%"},
	"podLabels":                          {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"prometheusRule.additionalLabels":    {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"rbac.serviceAccount.annotations":    {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"replicaCount":                       {7, "replicaCount: 7"},
	"resources":                          {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"secretKeyRefNameOverride":           {"sentinel", "name: sentinel"},
	"serviceMonitor.interval":            {"7s", "interval: 7s"},
	"serviceMonitor.selector":            {map[string]any{"sentinel": "yes"}, `sentinel: "yes"`},
	"tolerations":                        {[]any{map[string]any{"key": "sentinel"}}, "key: sentinel"},
	"topologySpreadConstraints":          {[]any{map[string]any{"key": "sentinel"}}, "key: sentinel"},
}

// beside is what must be set with a value that counts with it alone.
var beside = map[string]map[string]any{
	"clusterAPIConfigMapsNamespace": {"clusterAPIMode": "kubeconfig-incluster"},
	"secretKeyRefNameOverride":      {"awsAccessKeyID": "a"},
	"serviceMonitor":                {"serviceMonitor.enabled": true},
	"prometheusRule":                {"prometheusRule.enabled": true},
}

// with are values with one more.
func with(values map[string]any, path string, value any) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	field, rest, deep := strings.Cut(path, ".")
	if deep {
		inner, _ := out[field].(map[string]any)
		value = with(inner, rest, value)
	}
	out[field] = value
	return out
}

// translated is the translation of some values.
func translated(t *testing.T, values map[string]any) (text, changed string) {
	t.Helper()
	in, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Translate(in, settings)
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Text), strings.Join(got.Notes.Changed, "\n") + "\n"
}

// TestEveryValueOfTheirChartIsCarriedOrTold sets each of them to something else than the default: it is in the
// translation, or in a line of what changes.
func TestEveryValueOfTheirChartIsCarriedOrTold(t *testing.T) {
	if len(theirChart) < 110 {
		t.Errorf("their chart has %d values", len(theirChart))
	}
	for _, c := range theirChart {
		for provider, in := range enough {
			if c.path == "cloudProvider" && provider != "aws" {
				continue // it is among the values already
			}
			t.Run(c.path+"/"+provider, func(t *testing.T) {
				last := c.path[strings.LastIndex(c.path, ".")+1:]
				other, ok := others[c.path]
				if b, is := c.byDefault.(bool); !ok && is {
					other.value, other.found = !b, fmt.Sprintf("%s: %t", last, !b)
				} else if !ok {
					other.value, other.found = "/sentinel/value", last+": /sentinel/value"
				}
				section, _, _ := strings.Cut(c.path, ".")
				for path, value := range beside[section] {
					in = with(in, path, value)
				}
				if c.instead != "" || !c.isFor(provider) || c.path == "secretKeyRefNameOverride" && provider != "aws" {
					other.found = c.path + " is dropped: "
				}
				text, changed := translated(t, with(in, c.path, other.value))
				if !strings.Contains(changed+text, other.found) {
					t.Errorf("%q is neither translated nor told:\n%s\n%s", other.found, changed, text)
				}
			})
		}
	}
}

// TestDefaultsOfTheirChartSayNothing: helm get values --all has all of them.
func TestDefaultsOfTheirChartSayNothing(t *testing.T) {
	in := enough["aws"]
	for _, c := range theirChart {
		if c.path != "autoDiscovery.clusterName" && c.path != "awsRegion" && c.byDefault != nil {
			in = with(in, c.path, c.byDefault)
		}
	}
	_, changed := translated(t, in)
	for _, c := range theirChart {
		if strings.Contains("\n"+changed, "\n"+c.path+" is dropped") {
			t.Errorf("%s has its default, and is told:\n%s", c.path, changed)
		}
	}
}

// TestHelmValuesAreInTheDocs: docs/migrate.md has a row for each value of their chart, made of what the translation
// goes by.
func TestHelmValuesAreInTheDocs(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "migrate.md")
	const begin, end = "<!-- Values: generated by go test ./internal/migrate -rewrite -->\n", "<!-- End of values -->"
	before, rest, ok := strings.Cut(string(readFile(t, file)), begin)
	had, after, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatalf("docs/migrate.md lacks %q or %q", begin, end)
	}
	var b strings.Builder
	b.WriteString("\n| value | default there | what becomes of it |\n|---|---|---|\n")
	for _, c := range theirChart {
		value := ""
		if c.byDefault != nil {
			asJSON, err := json.Marshal(c.byDefault)
			if err != nil {
				t.Fatal(err)
			}
			value = "`" + string(asJSON) + "`"
		}
		what := "carried over"
		if c.here != "" {
			what = c.here
		}
		if c.only != "" {
			what += " (with the cloudProvider " + strings.Join(strings.Fields(c.only), ", ") + ")"
		}
		if c.instead != "" {
			what = "dropped: " + c.instead
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.path, value, what)
	}
	want := b.String() + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(had, "\n")); diff != "" {
		t.Errorf("-rewrite writes it (-want +got):\n%s", diff)
	}
}
