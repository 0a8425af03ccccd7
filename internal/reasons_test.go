package internal_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestReasonsAreTheModels: outside of the model no text is a reason, since only the model's have a
// row in docs/reasons.md. And each of the model's is given somewhere.
func TestReasonsAreTheModels(t *testing.T) {
	reasons := map[string]bool{} // whether something names it
	var mentioned []string
	eachFile(t, func(f goFile) {
		inModel := strings.HasPrefix(f.path, "internal/model/")
		switch {
		case f.path == "internal/model/reason.go":
			for _, name := range constants(f.tree) {
				reasons[name] = false
			}
			return
		case f.test(), f.path == "internal/model/reasontable.go", !strings.HasPrefix(f.path, "internal/"),
			strings.HasPrefix(f.path, "internal/sim/"), strings.HasPrefix(f.path, "internal/testkit/"):
			return
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if text := reasonAsText(n); text != nil && !inModel {
				t.Errorf("%s:%d: %s is a reason of its own: add a constant to internal/model/reason.go, and its row to "+
					"ReasonSections (reasontable.go)", f.path, f.line(text.Pos()), text.Value)
			}
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isModel(n.X) {
					mentioned = append(mentioned, n.Sel.Name)
				}
			case *ast.Ident:
				if inModel {
					mentioned = append(mentioned, n.Name)
				}
			}
			return true
		})
	})
	for _, name := range mentioned {
		if _, known := reasons[name]; known {
			reasons[name] = true
		}
	}
	var idle []string
	for name, given := range reasons {
		if !given {
			idle = append(idle, name)
		}
	}
	slices.Sort(idle)
	if len(reasons) < 90 || len(idle) > 0 {
		t.Errorf("of the %d reasons of internal/model/reason.go nothing gives %v: give them, or take them out",
			len(reasons), idle)
	}
}

// constants are the names of a file's constants.
func constants(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		if block, ok := d.(*ast.GenDecl); ok && block.Tok == token.CONST {
			for _, spec := range block.Specs {
				if spec := spec.(*ast.ValueSpec); spec.Type != nil {
					names = append(names, spec.Names[0].Name)
				}
			}
		}
	}
	return names
}

// reasonAsText is the text that a node makes a reason: as a constant or a variable of that type, as
// a conversion, or as what is put into a field of the model that is called Reason.
func reasonAsText(n ast.Node) *ast.BasicLit {
	var value ast.Expr
	switch n := n.(type) {
	case *ast.ValueSpec:
		if isReason(n.Type) && len(n.Values) > 0 {
			value = n.Values[0]
		}
	case *ast.CallExpr:
		if isReason(n.Fun) {
			value = n.Args[0]
		}
	case *ast.CompositeLit:
		if typed, ok := n.Type.(*ast.SelectorExpr); n.Type != nil && (!ok || !isModel(typed.X)) {
			break
		}
		for _, e := range n.Elts {
			if field, ok := e.(*ast.KeyValueExpr); ok && isNamed(field.Key, "Reason") {
				value = field.Value
			}
		}
	case *ast.AssignStmt:
		if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && to.Sel.Name == "Reason" {
			value = n.Rhs[0]
		}
	}
	if text, ok := value.(*ast.BasicLit); ok && text.Value != `""` {
		return text
	}
	return nil
}

func isReason(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Reason" && isModel(sel.X)
}

func isModel(e ast.Expr) bool { return isNamed(e, "model") }

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
