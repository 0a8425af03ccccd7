package migrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// root is the repository.
var root = filepath.Join("..", "..")

// row is one of the tables of docs/migrate.md.
type row struct {
	keys               []string
	there, here, tests string
}

var (
	coded = regexp.MustCompile("`([^`]+)`")
	// aTest is a package and a test of it, and the file of testdata that counts.
	aTest = regexp.MustCompile("`([a-z0-9/]+): (Test[A-Za-z0-9]+)`(?: \\(`([a-z_0-9.]+)`\\))?")
)

// TestContractIsTold: each key of the contract has a row; a row that says it is there names tests, which exist; and
// what it says is in the code, or is not.
func TestContractIsTold(t *testing.T) {
	var contract struct {
		Keys, Labels map[string]string
		Skipped      []string
	}
	if err := yaml.UnmarshalStrict(readFile(t, "testdata/contract/contract.yaml"), &contract); err != nil {
		t.Fatal(err)
	}
	page := string(readFile(t, filepath.Join(root, "docs", "migrate.md")))
	words := productWords(t)
	for part, keys := range contract.Keys {
		told := rows(t, page, part)
		for key := range strings.FieldsSeq(keys) {
			rowOf(t, told, key)
		}
		for _, r := range told {
			r.check(t, part, words)
		}
	}
	// The scenario that a row names has the reason that is said here.
	told := rows(t, page, "Why pods wait")
	for _, key := range contract.Skipped {
		r := rowOf(t, told, key)
		reason, scenario := coded.FindStringSubmatch(r.here), aTest.FindStringSubmatch(r.tests)
		if reason == nil || scenario == nil {
			t.Errorf("%q: the row names no reason or no scenario: %+v", key, r)
			continue
		}
		content := readFile(t, filepath.Join(root, scenario[1], "testdata", scenario[3]))
		if !strings.Contains(string(content), reason[1]) {
			t.Errorf("%q: %s is not in the scenario %s", key, reason[1], scenario[3])
		}
	}
	told = rows(t, page, "Metrics")
	for metric, labels := range contract.Labels {
		r := rowOf(t, told, metric)
		for label := range strings.FieldsSeq(labels) {
			if !strings.Contains(r.there, "`"+label+"`") {
				t.Errorf("%s: the label or value %s is not told", metric, label)
			}
		}
	}
}

// rows are those of a part of the page.
func rows(t *testing.T, page, part string) []row {
	t.Helper()
	_, text, ok := strings.Cut(page, "\n## "+part+"\n")
	if !ok {
		t.Fatalf("docs/migrate.md has no part %q", part)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var out []row
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| key ") {
			continue
		}
		if len(cells) != 4 {
			t.Errorf("%q does not have four cells", line)
			continue
		}
		r := row{there: cells[1], here: cells[2], tests: strings.TrimSuffix(cells[3], " |")}
		for _, m := range coded.FindAllStringSubmatch(cells[0], -1) {
			r.keys = append(r.keys, m[1])
		}
		out = append(out, r)
	}
	return out
}

// rowOf is the row of a key.
func rowOf(t *testing.T, told []row, key string) row {
	t.Helper()
	i := slices.IndexFunc(told, func(r row) bool { return slices.Contains(r.keys, key) })
	if i < 0 {
		t.Errorf("%s has no row", key)
		return row{}
	}
	return told[i]
}

// everyday are words that mean other things in the code as well, or that are events on other objects.
var everyday = strings.Fields("Accepted Provisioned Provisioning Failed Expired TriggeredScaleUp NotTriggerScaleUp")

// spelled are the parts whose keys the code spells as the contract does, in a text or at its beginning.
var spelled = []string{
	"Pods", "Nodes and templates", "Taints", "Events", "Metrics", "ProvisioningRequests and CapacityBuffers",
}

// check compares what a row says with the code and with its tests. A row without a test says what differs, or that
// something is not there.
func (r row) check(t *testing.T, part string, words []string) {
	t.Helper()
	absent, untested := strings.HasPrefix(r.here, "not there"), r.tests == "–"
	bodies := ""
	found := aTest.FindAllStringSubmatch(r.tests, -1)
	for _, m := range found {
		bodies += testOf(t, m[1], m[2])
		if m[3] != "" {
			readFile(t, filepath.Join(root, m[1], "testdata", m[3]))
		}
	}
	if len(found) == 0 && !(untested && absent) && !strings.HasPrefix(r.here, "differs") {
		t.Errorf("%s: %v: %q names no test as `package: TestName`", part, r.keys, r.tests)
	}
	for _, key := range r.keys {
		if (absent || !untested) && slices.Contains(spelled, part) && !slices.Contains(everyday, key) &&
			said(words, key) == absent {
			t.Errorf("%s: %s: the row says %q, and in the code it is the other way round", part, key, r.here)
		}
		if (part == "Events" || part == "Metrics") && !(untested && absent) && !strings.Contains(bodies, key) {
			t.Errorf("%s: %s is not in the tests that its row names, %s", part, key, r.tests)
		}
	}
}

// said reports whether the code has a key, or for a family of keys one of it; taints of Kubernetes are a family in the
// code.
func said(words []string, key string) bool {
	const kubernetes = "node.kubernetes.io/"
	if strings.HasPrefix(key, kubernetes) {
		key = kubernetes
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return w == key || strings.HasSuffix(key, "/") && strings.HasPrefix(w, key)
	})
}

// testOf is the text of a package's test.
func testOf(t *testing.T, folder, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		_, text, ok := strings.Cut(string(readFile(t, file)), "\nfunc "+name+"(t *testing.T) {\n")
		if ok {
			text, _, _ = strings.Cut(text, "\n}\n")
			return text
		}
	}
	t.Errorf("%s has no %s", folder, name)
	return ""
}

// productWords are the texts in the product's code: this package only tells of the Cluster Autoscaler, and config has
// flags and warnings of its own.
func productWords(t *testing.T) (out []string) {
	t.Helper()
	for _, folder := range []string{"internal", "providers"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (slices.Contains([]string{"migrate", "config", "testdata"}, d.Name()) ||
				strings.HasSuffix(d.Name(), "test")):
				return filepath.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil {
						out = append(out, s)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
