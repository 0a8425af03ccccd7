package v1alpha1

import "encoding/json"

// schema is a part of a JSON schema (draft 2020-12).
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"`
	Const       string             `json:"const,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Required    []string           `json:"required,omitempty"`
	// Additional is false where no other properties may stand, and the schema of labels' values.
	Additional any `json:"additionalProperties,omitempty"`
}

// Schema is the JSON schema of the file, for editors. help gives what a flag says of itself.
func Schema(help func(flag string) string) ([]byte, error) {
	root := schemaOf(Tree(), help)
	root.Schema, root.Title = "https://json-schema.org/draft/2020-12/schema", "Plimsoll's configuration file"
	root.Properties["apiVersion"].Const, root.Properties["kind"].Const = APIVersion, Kind
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

func schemaOf(f Field, help func(flag string) string) *schema {
	s := &schema{Description: f.Says(help)}
	in := s
	kind, list := f.Element()
	if list {
		s.Type, s.Items = "array", &schema{}
		in = s.Items
	}
	switch kind {
	case "fields":
		in.Type, in.Additional, in.Properties = "object", false, map[string]*schema{}
		for _, sub := range f.Fields {
			in.Properties[sub.Name] = schemaOf(sub, help)
			if sub.Required {
				in.Required = append(in.Required, sub.Name)
			}
		}
	case "labels":
		in.Type, in.Additional = "object", &schema{Type: "string"}
	case "true or false":
		in.Type = "boolean"
	case "whole number":
		in.Type = "integer"
	case "number":
		in.Type = "number"
	default:
		in.Type = "string"
	}
	// A number is a text, too: nodes: 10 needs no quotes.
	if in.Type == "string" && !list && f.Flag == "" {
		in.Type = []string{"string", "number"}
	}
	return s
}
