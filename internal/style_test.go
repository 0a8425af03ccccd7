package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns    = 120 // of a line, a tab for one
	maxRow        = 250 // of a row of a test's table
	maxParameters = 6
	maxLines      = 80 // of a function
)

// TestLinesAreShort: no line of Go code is longer than maxColumns, but for generated files, lines
// with a raw string, and the rows of tests' tables, which are best read in one line.
func TestLinesAreShort(t *testing.T) {
	eachFile(t, func(f goFile) {
		spared := f.spared()
		for i, text := range strings.Split(string(f.src), "\n") {
			if n := utf8.RuneCountInString(text); n > maxColumns && !spared[i+1] {
				t.Errorf("%s:%d: %d columns, more than %d", f.path, i+1, n, maxColumns)
			}
		}
	})
}

// TestFunctionsAreSmall: no function has more than maxParameters parameters, and none but those of
// tests is longer than maxLines. The rows of a literal count as one line: a table is no long function.
func TestFunctionsAreSmall(t *testing.T) {
	eachFile(t, func(f goFile) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if count := parameters(n.Type); count > maxParameters {
					t.Errorf("%s:%d: %s has %d parameters, more than %d: some of them belong together, in a struct",
						f.path, f.line(n.Pos()), n.Name.Name, count, maxParameters)
				}
				if lines := f.lines(n); lines > maxLines && !f.test() {
					t.Errorf("%s:%d: %s has %d lines, more than %d", f.path, f.line(n.Pos()), n.Name.Name, lines, maxLines)
				}
			case *ast.FuncLit:
				if count := parameters(n.Type); count > maxParameters {
					t.Errorf("%s:%d: a function has %d parameters, more than %d", f.path, f.line(n.Pos()), count, maxParameters)
				}
			}
			return true
		})
	})
}

// vague are words that leave open who is meant, or that a reader who learned English late does not know.
var vague = regexp.MustCompile(`\b([Nn]obody|[Ss]omebody|[Ww]hoever|[Aa]new|tells whether)\b`)

// TestWordsArePlain: code and documents name who does something, as in "no other process" or "another client". Decision
// records stay as they were written.
func TestWordsArePlain(t *testing.T) {
	said := func(path, text string) {
		for i, line := range strings.Split(text, "\n") {
			if word := vague.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: name who it is", path, i+1, word)
			}
		}
	}
	eachFile(t, func(f goFile) {
		switch f.path {
		case "internal/style_test.go", "packaging/image/base.go": // here they are the subject, and a user of Unix
		default:
			said(f.path, string(f.src))
		}
	})
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil || len(documents) < 10 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	for _, path := range append(documents, "../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../bench/README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		said(strings.TrimPrefix(path, "../"), string(text))
	}
}

// goFile is a file of Go code that is not generated.
type goFile struct {
	path string
	src  []byte
	tree *ast.File
	fset *token.FileSet
}

// eachFile calls do with each Go file of the repository, of all its modules, but the generated ones.
func eachFile(t *testing.T, do func(goFile)) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || d.Name() == "dist" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		f := goFile{path: strings.TrimPrefix(filepath.ToSlash(path), "../"), fset: token.NewFileSet()}
		if f.src, err = os.ReadFile(path); err != nil {
			return err
		}
		mode := parser.ParseComments | parser.SkipObjectResolution
		if f.tree, err = parser.ParseFile(f.fset, path, f.src, mode); err != nil {
			return err
		}
		if !ast.IsGenerated(f.tree) {
			seen++
			do(f)
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("%d files read, %v", seen, err)
	}
}

// test reports whether the file is a test's, or of a package that only tests use.
func (f goFile) test() bool {
	folder := filepath.Base(filepath.Dir(f.path))
	return strings.HasSuffix(f.path, "_test.go") || strings.HasSuffix(folder, "test") || folder == "door"
}

func (f goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

// parameters counts those of a function, but for the arguments of a format.
func parameters(fn *ast.FuncType) int {
	n := fn.Params.NumFields()
	if n == 0 {
		return 0
	}
	if _, variadic := fn.Params.List[len(fn.Params.List)-1].Type.(*ast.Ellipsis); variadic {
		n--
	}
	return n
}

// lines counts a function's lines, with one for each literal.
func (f goFile) lines(fn *ast.FuncDecl) int {
	n := f.line(fn.End()) - f.line(fn.Pos()) + 1
	ast.Inspect(fn, func(node ast.Node) bool {
		if l, ok := node.(*ast.CompositeLit); ok && f.line(l.Rbrace) > f.line(l.Lbrace) {
			n -= f.line(l.Rbrace) - f.line(l.Lbrace)
			return false
		}
		return true
	})
	return n
}

// spared are the lines that may be longer: those with a raw string, and rows of tests' tables.
func (f goFile) spared() map[int]bool {
	spared := map[int]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			for l := f.line(n.Pos()); n.Value[0] == '`' && l <= f.line(n.End()); l++ {
				spared[l] = true
			}
		case *ast.CompositeLit:
			if !f.test() || !isTable(n) {
				return true
			}
			for i, row := range n.Elts {
				before, after := n.Lbrace, n.Rbrace
				if i > 0 {
					before = n.Elts[i-1].End()
				}
				if i+1 < len(n.Elts) {
					after = n.Elts[i+1].Pos()
				}
				l := f.line(row.Pos())
				spared[l] = spared[l] || f.line(before) < l && l == f.line(row.End()) && l < f.line(after) &&
					f.fset.Position(row.End()).Column < maxRow
			}
		}
		return true
	})
	return spared
}

// isTable reports whether a literal is a list or a map.
func isTable(l *ast.CompositeLit) bool {
	switch l.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}
