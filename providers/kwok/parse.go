package kwok

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// template is one node as it was found, and where: `document 2, item 1, node
// "web"`. The place is for a person, who has to mend it.
type template struct {
	where string
	node  *corev1.Node
}

// strict refuses unknown and doubled fields: a misspelt annotation block or
// resource would otherwise be a node that silently fits nothing.
var strict = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err) // a fault of the program, not of its input
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}()

// parseTemplates reads template nodes from YAML or JSON: a List or a NodeList,
// one Node, or several of these, as documents or as JSON objects that follow each
// other. Each error names the source, the
// document, the item, the node and the field; all of them are returned, joined,
// beside the nodes that could be read.
func parseTemplates(source string, data []byte) ([]template, error) {
	var found []template
	var errs []error
	all, err := documents(data)
	if err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", source, err))
	}
	for i, raw := range all {
		nodes, err := parseDocument(fmt.Sprintf("document %d", i+1), raw)
		if err != nil {
			errs = append(errs, inSource(source, err))
		}
		found = append(found, nodes...)
	}
	if len(errs) > 0 {
		return found, errors.Join(errs...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no template node in it: give a List, a NodeList, a Node, or several documents of these",
			source)
	}
	return found, nil
}

// inSource puts the source's name before every line of a joined error.
func inSource(source string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", source, err)
	}
	var errs []error
	for _, each := range joined.Unwrap() {
		errs = append(errs, inSource(source, each))
	}
	return errors.Join(errs...)
}

func parseDocument(where string, raw []byte) ([]template, error) {
	all, err := objects(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	var found []template
	var errs []error
	for i, object := range all {
		at := where
		if len(all) > 1 {
			at = fmt.Sprintf("%s, object %d", where, i+1)
		}
		nodes, err := parseObject(at, object)
		if err != nil {
			errs = append(errs, err)
		}
		found = append(found, nodes...)
	}
	return found, errors.Join(errs...)
}

// head is what has to be known of an object before it can be read strictly.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

func parseObject(where string, raw []byte) ([]template, error) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, fmt.Errorf("%s: not a Kubernetes object with apiVersion, kind and metadata", where)
	}
	switch {
	case h.APIVersion == "v1" && h.Kind == "Node":
		node, err := parseNode(raw)
		where = nodeAt(where, h.Metadata.Name)
		if err != nil {
			return nil, atNode(where, err)
		}
		return []template{{where: where, node: node}}, nil
	case h.APIVersion == "v1" && (h.Kind == "List" || h.Kind == "NodeList"):
		return parseItems(where, h.Kind, h.Items, raw)
	case h.Kind == "" || h.APIVersion == "":
		return nil, fmt.Errorf("%s: apiVersion and kind must both be set, as in \"apiVersion: v1\" and \"kind: Node\"", where)
	}
	return nil, fmt.Errorf("%s: kind: a template must be a Node of v1, not a %s of %s", where, h.Kind, h.APIVersion)
}

func parseItems(where, kind string, items []json.RawMessage, raw []byte) ([]template, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	var found []template
	var errs []error
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "items"}, field) {
			errs = append(errs, fmt.Errorf("%s: unknown field %q", where, field))
		}
	}
	for i, item := range items {
		at := fmt.Sprintf("%s, item %d", where, i+1)
		// The items of a NodeList carry no kind of their own.
		if kind == "NodeList" {
			var err error
			if item, err = withKind(item); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", at, err))
				continue
			}
		}
		nodes, err := parseObject(at, item)
		if err != nil {
			errs = append(errs, err)
		}
		found = append(found, nodes...)
	}
	return found, errors.Join(errs...)
}

func withKind(item []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(item, &fields); err != nil {
		return nil, fmt.Errorf("not a node: %w", err)
	}
	if fields == nil {
		return nil, errors.New("not a node: it is empty")
	}
	for field, want := range map[string]string{"apiVersion": `"v1"`, "kind": `"Node"`} {
		if _, ok := fields[field]; !ok {
			fields[field] = json.RawMessage(want)
		}
	}
	return json.Marshal(fields)
}

func parseNode(raw []byte) (*corev1.Node, error) {
	if err := checkValues(raw); err != nil {
		return nil, err
	}
	object, _, err := strict.Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return nil, fmt.Errorf("kind: a template must be a Node, not a %T", object)
	}
	return node, nil
}

// checkValues finds the two likeliest mistakes, for which the decoder's own error lacks the key: a
// count without quotes, and a resource that is no quantity.
func checkValues(raw []byte) error {
	var node struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
		Status   map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(raw, &node); err != nil {
		return nil // the strict decoder's error is better
	}
	var errs []error
	for _, field := range []string{"annotations", "labels"} {
		for key, value := range entries(node.Metadata[field]) {
			if value[0] != '"' && value[0] != 'n' {
				errs = append(errs, fmt.Errorf("metadata.%s[%s]: %s is not text: put it in quotes", field, key, value))
			}
		}
	}
	for _, field := range []string{"allocatable", "capacity"} {
		for key, value := range entries(node.Status[field]) {
			text := strings.Trim(string(value), `"`)
			if _, err := resource.ParseQuantity(text); err != nil {
				errs = append(errs,
					fmt.Errorf("status.%s[%s]: %q is not a quantity such as \"4\", \"500m\" or \"16Gi\"", field, key, text))
			}
		}
	}
	return errors.Join(errs...)
}

// entries yields a JSON object's members by key; of anything else, none.
func entries(raw json.RawMessage) iter.Seq2[string, json.RawMessage] {
	var members map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &members) != nil {
		members = nil
	}
	return func(yield func(string, json.RawMessage) bool) {
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if !yield(key, members[key]) {
				return
			}
		}
	}
}

func nodeAt(where, name string) string {
	if name == "" {
		return where + ", a node without a name"
	}
	return fmt.Sprintf("%s, node %q", where, name)
}

// atNode puts the node's place before every line of a joined error.
func atNode(where string, err error) error { return inSource(where, err) }
