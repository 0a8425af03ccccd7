package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// TestKarpenter: NodePools become a configuration that a run reads without a warning, the groups to create are listed,
// and what has no counterpart is named.
func TestKarpenter(t *testing.T) {
	got, both := asGolden(t, filepath.Join("testdata", "karpenter", "pools.yaml"))
	pagesExist(t, both)

	written := filepath.Join(t.TempDir(), "plimsoll.yaml")
	if err := os.WriteFile(written, got.Text, 0o600); err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := config.Bind(set, settings.Providers)
	args := []string{"--config=" + written, "--cloud-provider=aws", "--nodes=0:1:general-spot-amd64"}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	if _, warnings, err := flags.Config(); err != nil || len(warnings) > 0 {
		t.Errorf("a run says of it: %v, %q", err, warnings)
	}
}

// TestKarpenterMistakes: each mistake is an error that names the object and the field.
func TestKarpenterMistakes(t *testing.T) {
	const pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: "
	for text, want := range map[string]string{
		"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\n": "NodePool p has apiVersion " +
			"karpenter.sh/v1beta1",
		pool + "{disruption: {consolidateAfter: soon}}":                       `spec.disruption.consolidateAfter is "soon"`,
		pool + "{disruption: {consolidationPolicy: Sometimes}}":               `spec.disruption.consolidationPolicy is "Sometimes"`,
		pool + "{template: {spec: {expireAfter: 30d}}}":                       `spec.template.spec.expireAfter is "30d"`,
		pool + "{template: {spec: {requirements: [{key: a}]}}}":               "spec.template.spec.requirements[0] lacks",
		pool + "{template: {spec: {requirements: [{key: a, operator: Is}]}}}": `requirements[0].operator is "Is": want one of`,
		pool + "{template: {spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [cheap]}]}}}": `spec.` +
			`template.spec.requirements[0].values has "cheap": want one of spot, on-demand, reserved`,
		pool + "{limits: {cpu: -5}}":                                   "spec.limits.cpu is -5, below 0",
		pool + `{disruption: {budgets: [{nodes: "0", duration: 1h}]}}`: "spec.disruption.budgets[0] has one of schedule and",
		pool + "{weight: heavy}":                                       "weight",
		pool + "{disruption: {budgets: [{reasons: [Sometimes]}]}}":     `spec.disruption.budgets[0].reasons has "Sometimes"`,
	} {
		if _, err := Translate([]byte(text), settings); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "in.yaml: NodePool p") {
			t.Errorf("%s: %v, want in it: %s", text, err, want)
		}
	}
	// What the configuration file has no word for is found there.
	for spec, want := range map[string]string{
		`{disruption: {budgets: [{nodes: "0", schedule: "0 0 31 2 *", duration: 1h}]}}`: "policies[0].budgets[0].windows[0]",
		`{disruption: {budgets: [{nodes: 101%}]}}`:                                      "policies[0].budgets[0].nodes",
		`{disruption: {consolidateAfter: -1m}}`:                                         "policies[0].scaleDown.unneededTime",
	} {
		if _, err := Translate([]byte(pool+spec), settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want in it: %s", spec, err, want)
		}
	}
	twice := pool + "{}\n---\n" + pool + "{}\n"
	_, err := Translate([]byte(twice), settings)
	if err == nil || !strings.Contains(err.Error(), "is not a name of its own") {
		t.Errorf("two of one name: %v", err)
	}
}

// TestWhatKarpenterHasNot: fields that a NodePool has not are told with their path, and so are requirements that name
// no groups.
func TestWhatKarpenterHasNot(t *testing.T) {
	got, err := Translate([]byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p, uid: u}\n"+
		"spec: {wieght: 3, template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, expireAfetr: 1h,\n"+
		"requirements: [{key: kubernetes.io/arch, operator: Gt, values: [\"1\"]}]}}}\nstatus: {nodes: 3}\n"), settings)
	if err != nil {
		t.Fatal(err)
	}
	lost := strings.Join(got.Notes.Lost, "\n")
	for _, want := range []string{"NodePool p: spec.template.spec.expireAfetr is no field", "NodePool p: spec.wieght",
		"NodePool p: requirements[0], kubernetes.io/arch > 1, does not say which groups to make: they are " +
			"p-on-demand-amd64*"} {
		if !strings.Contains(lost, want) {
			t.Errorf("want %q in\n%s", want, lost)
		}
	}
	if len(got.Notes.Lost) != 3 {
		t.Errorf("more is told:\n%s", lost)
	}
}

// TestKarpenterGroups: all requirements on a label hold together, and where no value is left there is no group. A limit
// of 0 switches a NodePool off.
func TestKarpenterGroups(t *testing.T) {
	const arch, capacity = "key: kubernetes.io/arch, ", "key: karpenter.sh/capacity-type, "
	for spec, want := range map[string]string{
		"template: {spec: {requirements: [{" + arch + "operator: NotIn, values: [amd64]}]}}":         "- p-on-demand-arm64*\n  m",
		"template: {spec: {requirements: [{" + capacity + "operator: NotIn, values: [on-demand]}]}}": "- p-reserved-amd64*\n  - p-spot-amd64*\n  m",
		"template: {spec: {requirements: [{" + arch + "operator: Exists}]}}":                         "- p-on-demand-amd64*\n  - p-on-demand-arm64*\n  m",
		"template: {spec: {requirements: [{" + arch + "operator: In, values: [arm64, amd64]}, {" + arch +
			"operator: In, values: [arm64]}]}}": "- p-on-demand-arm64*\n  m",
		"limits: {cpu: 0}": "    max: 0\n",
	} {
		got, err := Translate([]byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {"+spec+"}\n"),
			settings)
		if text := string(got.Text); err != nil || !strings.Contains(text, want) || strings.Contains(text, "coresTotal") {
			t.Errorf("%s: %v, want %q in\n%s", spec, err, want, text)
		}
	}
	got, err := Translate([]byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\n"+
		"spec: {template: {spec: {requirements: [{"+arch+"operator: In, values: [arm64]}, {"+arch+
		"operator: NotIn, values: [arm64]}]}}}\n"), settings)
	if lost := strings.Join(got.Notes.Lost, "\n"); err != nil || !strings.Contains(lost, "exclude each other") {
		t.Errorf("%v; told as lost:\n%s", err, lost)
	}
}

// TestKarpenterLimits: a limit that is no limit bounds nothing, and parts of a core are rounded up.
func TestKarpenterLimits(t *testing.T) {
	for limit, want := range map[string]string{
		`cpu: "1e30"`: "", "cpu: 500m": "coresTotal: \"0:1\"", `memory: "1"`: "memoryTotal: \"0:1\"", "cpu: 9223372036854775807": "",
	} {
		got, err := Translate([]byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {limits: {"+
			limit+"}}\n"), settings)
		text := string(got.Text)
		if err != nil || strings.Contains(text, "Total") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s", limit, err, text)
		}
		// The sum counts the nodes that Karpenter has at the handover, too.
		lost := strings.Join(got.Notes.Lost, "\n")
		if strings.Contains(lost, "Total 0:1 counts all nodes, Karpenter's too") != (want != "") {
			t.Errorf("%s: told as lost:\n%s", limit, lost)
		}
	}
}
