package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// TestKarpenter: NodePools become a configuration that a run reads without a warning, the groups to create are listed,
// and what has no counterpart is named.
func TestKarpenter(t *testing.T) {
	file := filepath.Join("testdata", "karpenter", "pools.yaml")
	got, err := Translate(readFile(t, file), settings)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.TrimSuffix(got.Notes.String(), "\n")
	both := "# " + strings.ReplaceAll(notes, "\n", "\n# ") + "\n" + string(got.Text)
	golden := strings.TrimSuffix(file, ".yaml") + ".golden"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(both), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Split(string(readFile(t, golden)), "\n"), strings.Split(both, "\n")); diff != "" {
		t.Errorf("-rewrite writes it (-want +got):\n%s", diff)
	}
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
		pool + "{disruption: {consolidateAfter: soon}}":            `spec.disruption.consolidateAfter is "soon"`,
		pool + "{disruption: {consolidationPolicy: Sometimes}}":    `spec.disruption.consolidationPolicy is "Sometimes"`,
		pool + "{template: {spec: {expireAfter: 30d}}}":            `spec.template.spec.expireAfter is "30d"`,
		pool + "{template: {spec: {requirements: [{key: a}]}}}":    "spec.template.spec.requirements[0] lacks",
		pool + "{weight: heavy}":                                   "weight",
		pool + "{disruption: {budgets: [{reasons: [Sometimes]}]}}": `spec.disruption.budgets[0].reasons has "Sometimes"`,
	} {
		if _, err := Translate([]byte(text), settings); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "in.yaml: NodePool p") {
			t.Errorf("%s: %v, want in it: %s", text, err, want)
		}
	}
}
