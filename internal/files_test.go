package internal_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileOrders are packages whose files are to be read from the top: a file uses what those below
// it declare. Up is how many arrows may point the other way.
var fileOrders = []struct {
	folder string
	order  []string
	up     int
}{
	{"ledger", []string{"ledger", "memory", "calls", "nodes", "drains", "verdicts", "doubts", "standing", "state"}, 0},
}

// TestFilesGoDownOnly: within those packages, files use only what files below them declare.
func TestFilesGoDownOnly(t *testing.T) {
	for _, p := range fileOrders {
		paths, err := filepath.Glob(filepath.Join(p.folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		place := func(pos token.Position) int {
			return slices.Index(p.order, strings.TrimSuffix(filepath.Base(pos.Filename), ".go"))
		}
		var files []*ast.File
		fset := token.NewFileSet()
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if place(fset.Position(f.Pos())) < 0 {
				t.Fatalf("%s has no place in the order of its package", path)
			}
			files = append(files, f)
		}
		// What is imported is not resolved: only the package's own names matter.
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: nothing{}, Error: func(error) {}}
		_, _ = conf.Check(p.folder, fset, files, info)
		up := map[[2]int][]string{}
		for id, o := range info.Uses {
			from, to := fset.Position(id.Pos()), fset.Position(o.Pos())
			field, isVar := o.(*types.Var)
			if o.Pos() == token.NoPos || isVar && (field.IsField() || o.Parent() != o.Pkg().Scope()) {
				continue
			}
			if a := [2]int{place(from), place(to)}; a[0] > a[1] && !slices.Contains(up[a], o.Name()) {
				up[a] = append(up[a], o.Name())
			}
		}
		if len(info.Uses) < 100 {
			t.Errorf("%s: only %d uses are found", p.folder, len(info.Uses))
		}
		if len(up) <= p.up {
			continue
		}
		for a, names := range up {
			slices.Sort(names)
			t.Errorf("%s: %s.go uses what is declared above it, in %s.go: %s",
				p.folder, p.order[a[0]], p.order[a[1]], strings.Join(names, ", "))
		}
	}
}

// nothing imports no package.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not looked at") }
