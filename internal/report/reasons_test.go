package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/reasons.md has a row for every reason, and for nothing else.
func TestReasonsAreDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../model/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				reasons = append(reasons, s)
			}
		}
		return true
	})
	text, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	// The words of holds have a test of their own (internal: TestHoldsAreDocumented).
	before, held, _ := strings.Cut(string(text), "## Why a group is held")
	_, after, _ := strings.Cut(held, "\n## ")
	for line := range strings.Lines(before + after) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		documented = append(documented, strings.Trim(strings.TrimSpace(cells[1]), "`"))
		if strings.TrimSpace(cells[2]) == "" || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("a row without a meaning or a remedy: %s", line)
		}
	}
	slices.Sort(reasons)
	slices.Sort(documented)
	if len(reasons) < 40 {
		t.Errorf("only %d reasons were found in the source", len(reasons))
	}
	for _, r := range reasons {
		if !slices.Contains(documented, r) {
			t.Errorf("%s is not documented", r)
		}
	}
	for _, r := range documented {
		if !slices.Contains(reasons, r) {
			t.Errorf("%s is documented and does not exist", r)
		}
	}
	for i := range len(documented) - 1 {
		if documented[i] == documented[i+1] {
			t.Errorf("%s is documented twice", documented[i])
		}
	}
}
