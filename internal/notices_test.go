package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNoticesAreDocumented: docs/notices.md has a row for every code of a notice,
// beside the provider that gives it, and for nothing else.
func TestNoticesAreDocumented(t *testing.T) {
	given := map[string]bool{} // "provider code"
	src := readSource(t)
	for _, use := range src.codes() {
		provider := "any"
		if rest, ok := strings.CutPrefix(use.pkg, "providers/"); ok {
			provider, _, _ = strings.Cut(rest, "/")
		}
		given[provider+" "+use.code] = true
	}
	if len(given) < 30 {
		t.Errorf("only %d codes of notices are found in the source", len(given))
	}

	text, err := os.ReadFile("../docs/notices.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		code := strings.Trim(strings.TrimSpace(cells[1]), "`")
		if strings.TrimSpace(cells[3]) == "" || strings.TrimSpace(cells[4]) == "" {
			t.Errorf("a row without a meaning or a remedy: %s", line)
		}
		for provider := range strings.SplitSeq(cells[2], ",") {
			key := strings.TrimSpace(provider) + " " + code
			if documented[key] {
				t.Errorf("%s is documented twice", key)
			}
			documented[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !documented[key] {
			t.Errorf("the notice %s has no row in docs/notices.md", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(documented)) {
		if !given[key] {
			t.Errorf("docs/notices.md has a row for %s, which nothing gives", key)
		}
	}
}

// TestHoldsAreDocumented: docs/reasons.md has a row for every word by which a provider
// holds a group, beside the providers that say it, and for every kind of error.
func TestHoldsAreDocumented(t *testing.T) {
	src := readSource(t)
	given := map[string]bool{"any BeingDeleted": true}
	for key, word := range src.words {
		pkg, name, _ := strings.Cut(key, " ")
		if rest, ok := strings.CutPrefix(pkg, "providers/"); ok && strings.HasPrefix(name, "hold") {
			given[rest+" "+word] = true
		}
	}
	kinds := 0
	for _, f := range src.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && f.pkg == "provider" && kind.Name == "Kind" {
					word, _ := literal(n.Values[0])
					given["any "+word] = true
					kinds++
				}
			case *ast.KeyValueExpr: // a word without a name would not be found
				key, ok := n.Key.(*ast.Ident)
				if text, isText := literal(n.Value); ok && isText && key.Name == "Reason" &&
					strings.HasPrefix(f.pkg, "providers/") && !strings.HasSuffix(f.pkg, "test") {
					t.Errorf("%s: the reason %q is no constant", f.pkg, text)
				}
			}
			return true
		})
	}
	if kinds < 12 || len(given) < kinds+12 {
		t.Errorf("only %d kinds and %d words are found in the source", kinds, len(given))
	}
	text, err := os.ReadFile("../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "## Why a group is held")
	part, _, _ = strings.Cut(part, "\n## ")
	documented := map[string]bool{}
	for line := range strings.Lines(part) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		if strings.TrimSpace(cells[3]) == "" || strings.TrimSpace(cells[4]) == "" {
			t.Errorf("a row without a meaning or a remedy: %s", line)
		}
		for provider := range strings.SplitSeq(cells[2], ",") {
			documented[strings.TrimSpace(provider)+" "+strings.Trim(strings.TrimSpace(cells[1]), "`")] = true
		}
	}
	for key := range given {
		if !documented[key] {
			t.Errorf("%s holds groups, or is a kind of error, and has no row in docs/reasons.md", key)
		}
	}
	for key := range documented {
		if !given[key] {
			t.Errorf("docs/reasons.md has a row for %s, which nothing gives", key)
		}
	}
}

// source is the code of this module that may give notices, without tests.
type source struct {
	t     *testing.T
	files []sourceFile
	// words are the constants with a text, by package and name.
	words map[string]string
	// makers are the functions that make a notice of a code that they are given, by
	// package and name: the place of that parameter.
	makers map[string]int
}

type sourceFile struct {
	pkg  string
	tree *ast.File
}

type noticeCode struct{ pkg, code string }

func readSource(t *testing.T) *source {
	s := &source{t: t, words: map[string]string{}, makers: map[string]int{}}
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.files = append(s.files, sourceFile{p.local(), tree})
		}
	}
	for _, f := range s.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					if text, ok := literal(spec.Values[i]); ok {
						s.words[f.pkg+" "+name.Name] = text
					}
				}
			}
			return true
		})
	}
	return s
}

// codes are all codes of notices: those in literals of the type, and those that
// are handed to a function that makes one.
func (s *source) codes() []noticeCode {
	var out []noticeCode
	take := func(pkg string, e ast.Expr) {
		if text, ok := literal(e); ok {
			out = append(out, noticeCode{pkg, text})
			return
		}
		if name, ok := e.(*ast.Ident); ok && s.words[pkg+" "+name.Name] != "" {
			out = append(out, noticeCode{pkg, s.words[pkg+" "+name.Name]})
			return
		}
		s.t.Errorf("%s: the code of a notice is neither a text nor a constant of the package: %#v", pkg, e)
	}
	// 1. The functions that hand a code on, through as many calls as there are.
	for known := -1; known < len(s.makers); {
		known = len(s.makers)
		s.each(func(f sourceFile, fn *ast.FuncDecl, e ast.Expr) {
			if at := parameter(fn, e); at >= 0 {
				s.makers[f.pkg+" "+fn.Name.Name] = at
			}
		})
	}

	// 2. The codes themselves.
	s.each(func(f sourceFile, fn *ast.FuncDecl, e ast.Expr) {
		if parameter(fn, e) < 0 {
			take(f.pkg, e)
		}
	})
	return out
}

// each calls do with every place where a notice gets its code.
func (s *source) each(do func(f sourceFile, fn *ast.FuncDecl, code ast.Expr)) {
	for _, f := range s.files {
		for _, d := range f.tree.Decls {
			fn, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				for _, e := range append(codesIn(n), s.handed(f.pkg, n)...) {
					do(f, fn, e)
				}
				return true
			})
		}
	}
}

// handed is the code in a call of a function that makes a notice of it.
func (s *source) handed(pkg string, n ast.Node) []ast.Expr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	maker := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		maker = pkg + " " + f.Name
	case *ast.SelectorExpr:
		maker = pkg + " " + f.Sel.Name // a method of this package
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "kube" {
			maker = "providers/kube " + f.Sel.Name
		}
	}
	if at, ok := s.makers[maker]; ok && at < len(call.Args) {
		return call.Args[at : at+1]
	}
	return nil
}

// codesIn are the codes in a literal of a notice, or of a list of them.
func codesIn(n ast.Node) []ast.Expr {
	lit, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	if list, ok := lit.Type.(*ast.ArrayType); ok && isNotice(list.Elt) {
		var out []ast.Expr
		for _, e := range lit.Elts {
			if inner, ok := e.(*ast.CompositeLit); ok && inner.Type == nil {
				out = append(out, codeOf(inner)...)
			}
		}
		return out
	}
	if isNotice(lit.Type) {
		return codeOf(lit)
	}
	return nil
}

func isNotice(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Notice"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Notice"
	}
	return false
}

func codeOf(lit *ast.CompositeLit) []ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Code" {
				return []ast.Expr{kv.Value}
			}
		}
	}
	return nil
}

// parameter is the place of a function's parameter, -1 if the expression is none.
func parameter(fn *ast.FuncDecl, e ast.Expr) int {
	wanted, ok := e.(*ast.Ident)
	if !ok || fn == nil {
		return -1
	}
	at := 0
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == wanted.Name {
				return at
			}
			at++
		}
	}
	return -1
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
