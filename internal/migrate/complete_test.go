package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// enough are values that can be translated, for each provider that reads some of
// its own.
var enough = map[string]map[string]any{
	"aws":        {"autoDiscovery": map[string]any{"clusterName": "prod"}, "awsRegion": "eu-west-1"},
	"clusterapi": {"cloudProvider": "clusterapi", "autoDiscovery": map[string]any{"clusterName": "prod"}, "clusterAPIMode": "kubeconfig-kubeconfig", "clusterAPIKubeconfigSecret": "prod"},
	"kwok":       {"cloudProvider": "kwok", "autoscalingGroups": []any{map[string]any{"name": "a", "minSize": 1, "maxSize": 2}}},
}

// another is a value that is not the chart's default, and what of it can be found
// again.
func another(c chartValue) (any, string) {
	switch c.path {
	case "cloudProvider":
		return "clusterapi", "cloudProvider: clusterapi"
	case "clusterAPIMode":
		return "single-kubeconfig", "clusterAPIMode: single-kubeconfig"
	case "autoscalingGroups":
		return []any{map[string]any{"name": "sentinel", "minSize": 1, "maxSize": 2}}, "name: sentinel"
	case "autoDiscovery.labels":
		return []any{map[string]any{"sentinel": "yes"}}, `sentinel: "yes"`
	case "autoDiscovery.tags", "image.pullSecrets":
		return []any{"sentinel"}, "sentinel"
	case "customArgs":
		return []any{"--balancing-ignore-label=sentinel"}, "balancing-ignore-label: sentinel"
	case "extraArgs":
		return map[string]any{"balancing-ignore-label": "sentinel"}, "balancing-ignore-label: sentinel"
	case "extraEnvConfigMaps", "extraEnvSecrets":
		return map[string]any{"A": map[string]any{"name": "sentinel", "key": "k"}}, "name: sentinel"
	case "extraEnv":
		return map[string]any{"SENTINEL": "yes"}, "name: SENTINEL"
	case "extraVolumeSecrets":
		return map[string]any{"sentinel": map[string]any{"mountPath": "/x"}}, "extraVolumeSecrets.sentinel is dropped"
	case "awsAccessKeyID", "awsSecretAccessKey":
		return "value", "secretKeyRef"
	case "expanderPriorities":
		return map[string]any{"10": []any{".*"}}, "expanderPriorities is dropped"
	case "image.repository", "image.tag":
		return "sentinel", "image is the one of Plimsoll's chart, was"
	case "replicaCount":
		return 7, "replicaCount: 7"
	case "podDisruptionBudget.maxUnavailable":
		return "7%", "maxUnavailable: 7%"
	case "podDisruptionBudget.minAvailable":
		return "7%", "minAvailable: 7%"
	case "tolerations", "topologySpreadConstraints":
		return []any{map[string]any{"key": "sentinel"}}, "key: sentinel"
	case "affinity", "nodeSelector", "podAnnotations", "podLabels", "resources", "prometheusRule.additionalLabels",
		"rbac.serviceAccount.annotations", "serviceMonitor.selector":
		return map[string]any{"sentinel": "yes"}, `sentinel: "yes"`
	}
	last := c.path[strings.LastIndex(c.path, ".")+1:]
	if b, ok := c.byDefault.(bool); ok {
		return !b, fmt.Sprintf("%s: %t", last, !b)
	}
	return "/sentinel/value", last + ": /sentinel/value"
}

// with are values with one more.
func with(values map[string]any, path string, value any) map[string]any {
	out := map[string]any{}
	for k, v := range values {
		out[k] = v
	}
	field, rest, deep := strings.Cut(path, ".")
	if !deep {
		out[field] = value
		return out
	}
	inner, _ := out[field].(map[string]any)
	out[field] = with(inner, rest, value)
	return out
}

// TestEveryValueOfTheirChartIsCarriedOrTold: each of them is set to something else
// than the default, and is in the translation, or in a line of what changes.
func TestEveryValueOfTheirChartIsCarriedOrTold(t *testing.T) {
	if len(theirChart) < 110 {
		t.Errorf("their chart has %d values", len(theirChart))
	}
	for _, c := range theirChart {
		for provider, base := range enough {
			if c.path == "cloudProvider" && provider != "aws" {
				continue // it is among the values already
			}
			t.Run(c.path+"/"+provider, func(t *testing.T) {
				value, found := another(c)
				in := with(base, c.path, value)
				reads := c.only == "" || slices.Contains(strings.Fields(c.only), provider)
				switch c.path {
				case "clusterAPIConfigMapsNamespace":
					in["clusterAPIMode"] = "kubeconfig-incluster" // the one that reads it
				case "secretKeyRefNameOverride":
					in["awsAccessKeyID"], found = "a", "name: /sentinel/value"
				case "kwokConfigMapName":
					found = "configMapName: /sentinel/value"
				case "awsRegion":
					found = "value: /sentinel/value"
				case "image.pullSecrets":
					found = "name: sentinel"
				case "autoscalingGroups":
					if provider != "aws" {
						found = "--nodes=1:2:sentinel is dropped"
					}
				case "clusterAPICloudConfigPath":
					found = "clusterAPICloudConfigPath is /etc/kubernetes/mgmt-kubeconfig, was /sentinel/value"
				}
				if strings.HasPrefix(c.path, "serviceMonitor.") && c.path != "serviceMonitor.enabled" {
					in = with(in, "serviceMonitor.enabled", true)
				}
				if strings.HasPrefix(c.path, "prometheusRule.") && c.path != "prometheusRule.enabled" {
					in = with(in, "prometheusRule.enabled", true)
				}
				if c.path == "serviceMonitor.interval" {
					in, found = with(in, c.path, "7s"), "interval: 7s"
				}
				if c.path == "prometheusRule.additionalLabels" || c.path == "serviceMonitor.selector" {
					found = `sentinel: "yes"`
				}
				text, err := yaml.Marshal(in)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Translate(text, settings)
				if err != nil {
					t.Fatal(err)
				}
				changed := strings.Join(got.Notes.Changed, "\n") + "\n"
				if c.instead != "" || !reads || c.path == "secretKeyRefNameOverride" && provider != "aws" {
					found = c.path + " is dropped: "
				}
				if !strings.Contains(changed+string(got.Text), found) {
					t.Errorf("%q is neither translated nor told:\n%s\n%s", found, changed, got.Text)
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
	text, err := yaml.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Translate(text, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range got.Notes.Changed {
		for _, c := range theirChart {
			if strings.HasPrefix(note, c.path+" is dropped") {
				t.Errorf("told of a default: %s", note)
			}
		}
	}
}

// TestUnknownValuesAreTold: at any depth, and not by their values.
func TestUnknownValuesAreTold(t *testing.T) {
	in := `
autoDiscovery: {clusterName: prod, clusterNames: prod}
serviceMonitor: {scrapeTimeout: 5s}
rbac: {serviceAccount: {imagePullSecrets: [hidden-a]}}
unheardOf: {deep: hidden-b}
switchedOff: false
empty: {}
autoscalingGroups: [{name: a, minSize: 1, maxSize: 2, instanceType: hidden-c}]
extraEnvSecrets: {A: {name: b, key: c, optional: true}}
vpa: hidden-d
`
	got, err := Translate([]byte(in), settings)
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(got.Notes.Changed, "\n")
	for _, path := range []string{"autoDiscovery.clusterNames", "serviceMonitor.scrapeTimeout",
		"rbac.serviceAccount.imagePullSecrets", "unheardOf", "switchedOff", "autoscalingGroups[0].instanceType",
		"extraEnvSecrets.A.optional", "vpa"} {
		if strings.Count(told, path+" is dropped: ") != 1 {
			t.Errorf("%s is not told once:\n%s", path, told)
		}
	}
	if strings.Contains(told, "hidden") || strings.Contains(told, "empty is dropped") {
		t.Errorf("a note has a value, or tells what says nothing:\n%s", told)
	}
}
