package v1alpha1

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Write gives the text of a file with some flags, and with what else a document says, comments included;
// nil: nothing else.
func Write(flags map[string]Value, rest *Document) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, n *yaml.Node) { root.Content = append(root.Content, scalarNode("", name), n) }
	add("apiVersion", scalarNode("", APIVersion))
	add("kind", scalarNode("", Kind))
	for _, f := range Tree().Fields[2:] {
		n := written(f, flags)
		for i := 0; rest != nil && n == nil && i+1 < len(rest.root.Content); i += 2 {
			if rest.root.Content[i].Value == f.Name && !f.hasFlags() {
				n = rest.root.Content[i+1]
			}
		}
		if n != nil {
			add(f.Name, n)
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return out.Bytes(), nil
}

// written is the node of a field, nil if no flag in it is given.
func written(f Field, flags map[string]Value) *yaml.Node {
	if v, ok := flags[f.Flag]; ok && f.Flag != "" {
		kind, list := f.Element()
		if !list {
			return scalarNode(kind, v.String())
		}
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, text := range v.Texts {
			out.Content = append(out.Content, scalarNode(kind, text))
		}
		return out
	}
	if f.Kind != "fields" {
		return nil
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, sub := range f.Fields {
		if n := written(sub, flags); n != nil {
			out.Content = append(out.Content, scalarNode("", sub.Name), n)
		}
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

// hasFlags reports whether the field is a flag, or has some.
func (f Field) hasFlags() bool { return f.Flag != "" || slices.ContainsFunc(f.Fields, Field.hasFlags) }

// scalarNode is a value of a kind; texts get quotes where YAML would read them as something else.
func scalarNode(kind, text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text, Tag: "!!str"}
	switch kind {
	case "true or false":
		n.Tag = "!!bool"
	case "whole number":
		n.Tag = "!!int"
	case "number":
		n.Tag = "!!float"
	}
	return n
}
