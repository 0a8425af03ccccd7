package model_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the tables of docs/reasons.md")

const reasonsDoc = "../../docs/reasons.md"

// TestEveryReasonHasARow: and no row is of a reason that does not exist, or there twice.
func TestEveryReasonHasARow(t *testing.T) {
	var rows []string
	for _, section := range model.ReasonSections {
		for _, row := range section.Rows {
			if row.Meaning == "" || row.Fix == "" {
				t.Errorf("the row of %s has no meaning, or no fix", row.Reason)
			}
			rows = append(rows, string(row.Reason))
		}
	}
	reasons := reasonsInSource(t)
	for _, r := range reasons {
		if !slices.Contains(rows, r) {
			t.Errorf(
				"%s has no row: add one to ReasonSections in reasontable.go, with what it is good for, its meaning and a fix; "+
					"then `go test ./internal/model -rewrite` writes docs/reasons.md", r,
			)
		}
	}
	slices.Sort(rows)
	for i, r := range rows {
		if !slices.Contains(reasons, r) {
			t.Errorf("there is a row for %s, and reason.go has no such reason", r)
		}
		if i > 0 && rows[i-1] == r {
			t.Errorf("%s has two rows", r)
		}
	}
}

// TestReasonsOfPodsAreUsed: each reason why a pod keeps its node keeps it, fails a removal that has
// begun, and has a detail that the node's annotation can show.
func TestReasonsOfPodsAreUsed(t *testing.T) {
	const heading = "Why a pod keeps its node"
	found := false
	for _, section := range model.ReasonSections {
		if section.Heading != heading {
			continue
		}
		found = true
		for _, row := range section.Rows {
			if r := row.Reason; !r.KeepsNode() || !r.FailedRemoval() || !r.DetailStays() {
				t.Errorf("%s: its row in reasontable.go wants keepsNode | failsRemoval | detailStays, as all of section %q have",
					r, heading)
			}
		}
	}
	if !found {
		t.Errorf("there is no section %q: is it named otherwise?", heading)
	}
}

// reasonsInSource are the texts of all constants of reason.go.
func reasonsInSource(t *testing.T) (reasons []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
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
		return false
	})
	if len(reasons) < 90 {
		t.Fatalf("only %d reasons were found in the source", len(reasons))
	}
	return reasons
}

// TestReasonsAreDocumented: the tables of docs/reasons.md are those of ReasonSections.
func TestReasonsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(reasonsDoc)
	if err != nil {
		t.Fatal(err)
	}
	doc, anchored := string(text), map[model.Reason]bool{}
	for _, section := range model.ReasonSections {
		before, rest, found := strings.Cut(doc, "\n## "+section.Heading+"\n")
		if !found {
			t.Fatalf("docs/reasons.md has no section %q", section.Heading)
		}
		intro, table, found := strings.Cut(rest, "| Reason | Meaning | What to do |\n")
		if !found || strings.Contains(intro, "\n## ") {
			t.Fatalf("the section %q of docs/reasons.md has no table", section.Heading)
		}
		after := ""
		if at := strings.Index(table, "\n\n"); at >= 0 {
			after = table[at+1:]
		}
		var b strings.Builder
		for _, row := range section.Rows {
			anchor := ""
			if !anchored[row.Reason] { // answers lead there: Reason.Page
				anchor, anchored[row.Reason] = fmt.Sprintf("<a id=%q></a>", row.Reason), true
			}
			fmt.Fprintf(&b, "| %s`%s` | %s | %s |\n", anchor, row.Reason, row.Meaning, row.Fix)
		}
		doc = before + "\n## " + section.Heading + "\n" + intro + "| Reason | Meaning | What to do |\n|---|---|---|\n" +
			b.String() + after
	}
	if doc == string(text) {
		return
	}
	if *rewrite {
		if err := os.WriteFile(reasonsDoc, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("docs/reasons.md is stale; `go test ./internal/model -rewrite` writes it (-want +got):\n%s",
		cmp.Diff(doc, string(text)))
}
