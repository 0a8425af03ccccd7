package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/strvals"
)

const installPage = "../../docs/install.md"

// property is what of a JSON schema the page shows.
type property struct {
	Description          string
	Type                 any
	Properties           map[string]property
	AdditionalProperties any
}

// TestValuesTable: the table in docs/install.md is made of the schema's words and the
// defaults of values.yaml, and every value has both.
func TestValuesTable(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema property
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	defaults, err := readValues(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	table := "| value | default | meaning |\n|---|---|---|\n" + strings.Join(rows(t, "", schema.Properties, defaults), "")
	page, err := os.ReadFile(installPage)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- values -->\n", "<!-- /values -->\n"
	before, rest, ok1 := strings.Cut(string(page), from)
	_, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", installPage)
	}
	same(t, installPage, before+from+table+to+after)
}

// unset are values without a default.
var unset = []string{"global", "podDisruptionBudget.minAvailable"}

func rows(t *testing.T, prefix string, properties map[string]property, defaults map[string]any) []string {
	t.Helper()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, path := properties[name], prefix+name
		value, ok := defaults[name]
		if !ok && !slices.Contains(unset, path) {
			t.Errorf("values.yaml has no default of %s", path)
		}
		if p.Description == "" {
			t.Errorf("the schema says nothing of %s", path)
		}
		below, isMap := value.(map[string]any)
		if isMap && p.AdditionalProperties == false && len(p.Properties) > 0 && !strings.HasSuffix(name, "esources") &&
			name != "affinity" {
			out = append(out, rows(t, path+".", p.Properties, below)...)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown := "`" + string(text) + "`"
		switch {
		case path == "kwok.templates":
			shown = "one group, `general`"
		case !ok || slices.Contains([]string{`""`, "{}", "[]", "null"}, string(text)):
			shown = ""
		}
		out = append(out, fmt.Sprintf("| `%s` | %s | %s |\n", path, shown, p.Description))
	}
	for name := range defaults {
		if _, ok := properties[name]; !ok {
			t.Errorf("the schema does not know %s%s", prefix, name)
		}
	}
	return out
}

var (
	helmCommand = regexp.MustCompile(`(?m)^ *helm (?:install|upgrade) (\S+) charts/plimsoll -n (\S+)((?:.*\\\n)*.*)$`)
	setFlag     = regexp.MustCompile(`--set (?:'([^']*)'|(\S+))`)
)

// TestCommands: every command of the page renders the chart.
func TestCommands(t *testing.T) {
	page, err := os.ReadFile(installPage)
	if err != nil {
		t.Fatal(err)
	}
	commands := helmCommand.FindAllStringSubmatch(string(page), -1)
	if want := strings.Count(string(page), "charts/plimsoll -n "); len(commands) != want || want == 0 {
		t.Fatalf("%d of %d commands were understood", len(commands), want)
	}
	for _, command := range commands {
		values := map[string]any{}
		if strings.Contains(command[3], "reuse-values") {
			values = parse(t, "{cloudProvider: aws, autoDiscovery: {clusterName: prod}}")
		}
		for _, set := range setFlag.FindAllStringSubmatch(command[3], -1) {
			if err := strvals.ParseInto(set[1]+set[2], values); err != nil {
				t.Fatalf("%s: %v", command[0], err)
			}
		}
		r, err := load(t).Render(Release{Name: command[1], Namespace: command[2]}, values)
		if err != nil {
			t.Errorf("%s: %v", command[0], err)
			continue
		}
		if !strings.Contains(r.Notes, "kubectl") && !strings.Contains(r.Notes, "plimsoll status") {
			t.Errorf("%s: the notes say nothing to do next:\n%s", command[0], r.Notes)
		}
	}
}
