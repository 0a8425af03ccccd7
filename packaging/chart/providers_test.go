package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofProviders are the values that only some providers take: who does, and something else
// than the default.
var ofProviders = map[string]struct {
	providers []string
	other     string
}{
	"autoDiscovery.clusterName":         {[]string{"aws", "clusterapi", "gardener"}, "prod"},
	"autoDiscovery.labels":              {[]string{"clusterapi", "gardener"}, "{team: web}"},
	"autoDiscovery.namespace":           {[]string{"clusterapi"}, "eksa-system"},
	"autoDiscovery.tags":                {[]string{"aws"}, "[team]"},
	"clusterAPICloudConfigPath":         {[]string{"clusterapi"}, "/etc/kubernetes/other"},
	"clusterAPIConfigMapsNamespace":     {[]string{"clusterapi"}, "other"},
	"clusterAPIInfrastructureTemplates": {[]string{"clusterapi"}, "[vspheremachinetemplates]"},
	"clusterAPIKubeconfigSecret":        {[]string{"clusterapi"}, "secret"},
	"clusterAPIMode":                    {[]string{"clusterapi"}, "single-kubeconfig"},
	"clusterAPIWorkloadKubeconfigPath":  {[]string{"clusterapi"}, "/etc/kubernetes/other"},
	"gardener.controlKubeconfigSecret":  {[]string{"gardener"}, "secret"},
	"gardener.namespace":                {[]string{"gardener"}, "shoot--a--b"},
	"gardener.targetKubeconfigSecret":   {[]string{"gardener"}, "secret"},
	"kwok.configMapName":                {[]string{"kwok"}, "mine"},
	"kwok.controller.enabled":           {[]string{"kwok"}, "true"},
	"kwok.controller.image.digest":      {[]string{"kwok"}, "sha256:0123456789012345678901234567890123456789012345678901234567890123"},
	"kwok.controller.image.pullPolicy":  {[]string{"kwok"}, "Always"},
	"kwok.controller.image.repository":  {[]string{"kwok"}, "example.com/kwok"},
	"kwok.controller.image.tag":         {[]string{"kwok"}, "v0"},
	"kwok.controller.resources":         {[]string{"kwok"}, "{requests: {cpu: 1}}"},
	"kwok.templates":                    {[]string{"kwok"}, "[{metadata: {name: a}}]"},
	"nodeGroups":                        {[]string{"aws", "gardener"}, "[{name: a.b, min: 0, max: 1}]"},
}

// TestValuesOfAnotherProvider: a value that the chosen provider does not take is refused,
// by a message that names the value and the providers that do; and those take it.
func TestValuesOfAnotherProvider(t *testing.T) {
	for _, provider := range []string{"", "aws", "clusterapi", "gardener", "kwok"} {
		t.Run("provider "+provider, func(t *testing.T) {
			for path, v := range ofProviders {
				values := parse(t, map[string]string{
					"":           "{controllers: {eksAnywhere: {enabled: true}}}",
					"aws":        "{cloudProvider: aws, autoDiscovery: {clusterName: c}}",
					"clusterapi": "{cloudProvider: clusterapi, clusterAPIKubeconfigSecret: s}",
				}[provider])
				if values == nil {
					values = map[string]any{"cloudProvider": provider}
				}
				set(values, strings.Split(path, "."), parse(t, "value: "+v.other)["value"])
				_, err := load(t).Render(Default, values)
				if slices.Contains(v.providers, provider) {
					if err != nil {
						t.Errorf("%s: %v", path, err)
					}
					continue
				}
				for _, words := range append([]string{"'/" + strings.ReplaceAll(path, ".", "/") + "'", "/cloudProvider"},
					v.providers...) {
					if err == nil || !strings.Contains(err.Error(), words) {
						t.Errorf("%s with the provider %q: got %v, want it to say %q", path, provider, err, words)
						break
					}
				}
			}
		})
	}
}

// TestEveryValueOfAProvider: the table above forgets none.
func TestEveryValueOfAProvider(t *testing.T) {
	defaults, err := readValues(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		if below, ok := value.(map[string]any); ok && len(below) > 0 && ofProviders[path].other == "" {
			for name := range below {
				walk(path+"."+name, below[name])
			}
			return
		}
		paths = append(paths, path)
	}
	for name, value := range defaults {
		if slices.Contains([]string{"autoDiscovery", "nodeGroups", "gardener", "kwok"}, name) ||
			strings.HasPrefix(name, "clusterAPI") {
			walk(name, value)
		}
	}
	slices.Sort(paths)
	if want := slices.Sorted(maps.Keys(ofProviders)); !slices.Equal(paths, want) {
		t.Errorf("values.yaml has\n%s\nand the table has\n%s", fmt.Sprint(paths), fmt.Sprint(want))
	}
}

// set gives a value to a path in values.
func set(values map[string]any, path []string, to any) {
	for _, name := range path[:len(path)-1] {
		below, ok := values[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			values[name] = below
		}
		values = below
	}
	values[path[len(path)-1]] = to
}
