package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/migrate"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// migrated are the values that plimsoll migrate makes of values of the Cluster
// Autoscaler's chart, whose release is in a namespace; empty: not known.
func migrated(values, namespace string) (map[string]any, error) {
	got, err := migrate.Translate([]byte(values), migrate.Settings{
		File: "values.yaml", Providers: providers.All(), Namespace: namespace,
	})
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, yaml.UnmarshalStrict(got.Text, &out)
}

// TestEveryTranslationIsAccepted: what plimsoll migrate does not refuse, this chart
// takes.
func TestEveryTranslationIsAccepted(t *testing.T) {
	c := load(t)
	seen := map[string]bool{} // many come to the same
	accepted := func(name, values string) (translated int) {
		for _, namespace := range []string{"", "autoscaling"} {
			got, err := migrated(values, namespace)
			if err != nil {
				continue
			}
			translated++
			if at := nullIn("", got); at != "" {
				t.Errorf("%s, in %q: %s is null\n%s", name, namespace, at, values)
			}
			if seen[fmt.Sprint(got)] {
				continue
			}
			seen[fmt.Sprint(got)] = true
			if _, err := c.Render(Release{Name: "plimsoll", Namespace: "autoscaling"}, got); err != nil {
				t.Errorf("%s, in %q: %v\n%s", name, namespace, err, values)
			}
		}
		return translated
	}
	files, err := filepath.Glob("../../internal/migrate/testdata/*.values.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if accepted(filepath.Base(file), string(text)) != 2 {
			t.Errorf("%s is refused", file)
		}
	}
	// Each flag that this chart sets itself, as an extra one of each provider.
	providers := []string{
		"cloudProvider: aws\nautoDiscovery: {clusterName: prod}\n",
		"cloudProvider: kwok\nautoscalingGroups: [{name: a, minSize: 1, maxSize: 2}]\n",
		"cloudProvider: clusterapi\nautoDiscovery: {clusterName: prod}\nextraVolumeSecrets: {a: {name: both, mountPath: /etc/kubernetes}}\n",
		"cloudProvider: clusterapi\nautoDiscovery: {clusterName: prod}\nclusterAPIMode: kubeconfig-incluster\nclusterAPIKubeconfigSecret: both\n",
		"cloudProvider: clusterapi\nautoDiscovery: {clusterName: prod}\nclusterAPIMode: kubeconfig-kubeconfig\nclusterAPIKubeconfigSecret: both\n",
		"cloudProvider: mcm\nautoscalingGroups: [{name: a.b, minSize: 1, maxSize: 2}]\n",
	}
	translated := 0
	for _, flag := range refusedFlags(t) {
		for _, values := range providers {
			for _, value := range []string{"autoscaling", "aws", "clusterapi", "observe", ":9090", "/etc/kubernetes/other",
				"/value", "true", "false", "null", "$(POD_NAMESPACE)", "[a, b]"} {
				for _, form := range []string{"extraArgs: {%s: %s}\n", "extraArgs: {%s_1: %s}\n", "customArgs: ['--%s=%s']\n"} {
					translated += accepted(flag, values+fmt.Sprintf(form, flag, value))
				}
			}
		}
	}
	if translated < 100 {
		t.Errorf("only %d of them were translated at all", translated)
	}
	// Values whose form differs between the charts.
	for name, values := range map[string]string{
		"names":  "fullnameOverride: Foo_bar\nnameOverride: a_b\n",
		"labels": "podLabels: {app.kubernetes.io/name: ca, app.kubernetes.io/instance: ca, app.kubernetes.io/component: ca, team: a}\n",
		"nulls": "extraEnv: {A: null}\nnodeSelector: {a: null}\nresources: {limits: null}\naffinity: " +
			"{nodeAffinity: null, podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}\ntolerations: [null, " +
			"{key: a, value: null}]\ntopologySpreadConstraints: []\npodAnnotations: {a: null}\n",
		"several tags":        "autoDiscovery: {clusterName: a, tags: ['a=b,c', d]}\n",
		"numbers":             "extraEnv: {A: 1.5, B: [1, 2]}\nresources: {limits: {cpu: 1}}\npodDisruptionBudget: {maxUnavailable: 50%}\nreplicaCount: 0\n",
		"an interval":         "serviceMonitor: {enabled: true, interval: 30s}\n",
		"one of two units":    "serviceMonitor: {enabled: true, interval: 1m30s}\n",
		"an account":          "rbac: {create: false, serviceAccount: {create: false, name: mine, annotations: {a: b}}}\n",
		"without an election": "extraArgs: {leader-elect: false}\n",
	} {
		if !strings.Contains(values, "autoDiscovery") {
			values = "autoDiscovery: {clusterName: prod}\n" + values
		}
		if accepted(name, values) != 2 {
			t.Errorf("%s are refused", name)
		}
	}
}

// nullIn is the path of a null, which would take a default of this chart away; empty if
// there is none.
func nullIn(path string, value any) string {
	switch value := value.(type) {
	case nil:
		return path
	case map[string]any:
		for name, one := range value {
			if at := nullIn(path+"."+name, one); at != "" {
				return at
			}
		}
	case []any:
		for i, one := range value {
			if at := nullIn(fmt.Sprintf("%s[%d]", path, i), one); at != "" {
				return at
			}
		}
	}
	return ""
}

// refusedFlags are those that the schema refuses among extraArgs.
func refusedFlags(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			ExtraArgs struct {
				PropertyNames struct{ Not struct{ Pattern string } }
			}
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	pattern := schema.Properties.ExtraArgs.PropertyNames.Not.Pattern
	words := regexp.MustCompile(`^\^\(([a-z|-]+)\)`).FindStringSubmatch(pattern)
	if words == nil {
		t.Fatalf("the pattern %q of refused flags is no list of them", pattern)
	}
	return strings.Split(words[1], "|")
}
