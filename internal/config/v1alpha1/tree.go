package v1alpha1

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Field is a field of the file, with what its type says of it.
type Field struct {
	Name, Path string
	// Kind is how it is written: text, true or false, whole number, number, fields, list of ..., labels.
	Kind string
	// Doc is its comment, empty where a flag says it.
	Doc string
	// Flag is the flag that it is, Like the one that it is the same as for some groups.
	Flag, Like string
	Required   bool
	Fields     []Field
}

//go:embed types.go
var source string

// Tree is the file as a whole: the fields of all levels, in the order of the types.
var Tree = sync.OnceValue(func() Field {
	docs := comments()
	root := Field{Kind: "fields", Doc: docs["Configuration"]}
	root.Fields = fieldsOf(reflect.TypeFor[Configuration](), "", docs)
	return root
})

// comments are those of the types and of their fields, by Type and Type.Field.
func comments() map[string]string {
	out := map[string]string{}
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", source, parser.ParseComments)
	if err != nil {
		return out // it is the source of this package: it was compiled
	}
	text := func(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		name := g.Specs[0].(*ast.TypeSpec).Name.Name
		out[name] = text(g.Doc)
		for _, f := range g.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
			for _, n := range f.Names {
				out[name+"."+n.Name] = text(f.Doc)
			}
		}
	}
	return out
}

func fieldsOf(in reflect.Type, path string, docs map[string]string) []Field {
	var out []Field
	for i := range in.NumField() {
		f := in.Field(i)
		name := nameOf(f)
		if name == "" {
			out = append(out, fieldsOf(f.Type, path, docs)...)
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		field := Field{
			Name: name, Path: at, Doc: docs[in.Name()+"."+f.Name], Flag: f.Tag.Get("flag"), Like: f.Tag.Get("like"),
			Required: !strings.Contains(f.Tag.Get("json"), "omitempty"),
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		field.Kind = kinds[of.Kind()]
		if of.Kind() == reflect.Slice {
			of = of.Elem()
			field.Kind = "list of " + kinds[of.Kind()]
		}
		if of.Kind() == reflect.Struct {
			field.Fields = fieldsOf(of, at, docs)
		}
		out = append(out, field)
	}
	return out
}

// kinds are what people write for each kind of type.
var kinds = map[reflect.Kind]string{
	reflect.String: "text", reflect.Bool: "true or false", reflect.Int64: "whole number", reflect.Uint64: "whole number",
	reflect.Float64: "number", reflect.Struct: "fields", reflect.Map: "labels",
}

// Find gives the field of a path such as policies.schedule.timeZone; indices of lists may stand in it. The
// empty path is the file.
func Find(path string) (Field, error) {
	at := Tree()
	if path == "" {
		return at, nil
	}
	for part := range strings.SplitSeq(path, ".") {
		name, _, _ := strings.Cut(part, "[")
		var names []string
		var next *Field
		for i := range at.Fields {
			names = append(names, at.Fields[i].Name)
			if at.Fields[i].Name == name {
				next = &at.Fields[i]
			}
		}
		if next == nil {
			where, did := at.Path, ""
			if where == "" {
				where = "the file"
			}
			if near := spelling.Nearest(name, names); near != "" {
				did = fmt.Sprintf("; did you mean %s?", near)
			} else if len(names) > 0 {
				did = "; there are " + strings.Join(names, ", ")
			}
			return Field{}, fmt.Errorf("%s has no field %s%s", where, name, did)
		}
		at = *next
	}
	return at, nil
}

// Says is what is known of the field: its comment, or the help of the flag that it is.
func (f Field) Says(help func(flag string) string) string {
	switch {
	case f.Flag != "":
		return sentence(help(f.Flag))
	case f.Like != "":
		return sentence(help(f.Like)) + " Without it, the value for the whole cluster counts."
	}
	return f.Doc
}

// sentence makes one of a flag's help.
func sentence(help string) string {
	if help == "" {
		return ""
	}
	return strings.ToUpper(help[:1]) + strings.TrimSuffix(help[1:], ".") + "."
}

// Element is the kind of a list's elements, and that of anything else.
func (f Field) Element() (kind string, list bool) {
	kind, list = strings.CutPrefix(f.Kind, "list of ")
	return kind, list
}

// Flags are the fields that are flags, by the flag's name.
func Flags() map[string]Field {
	out := map[string]Field{}
	var walk func(Field)
	walk = func(f Field) {
		if f.Flag != "" {
			out[f.Flag] = f
		}
		for _, sub := range f.Fields {
			walk(sub)
		}
	}
	walk(Tree())
	return out
}
