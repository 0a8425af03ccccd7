package migrate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Settings are what the input does not say.
type Settings struct {
	// Image is Plimsoll's. Where it is empty, values leave it to the chart, and a
	// Deployment has DefaultImage.
	Image, DefaultImage string
	// Providers are those that Plimsoll has.
	Providers []wiring.Entry
	// File is the input's name, for errors.
	File string
	// Namespace is that of the release whose values are given; empty: not known.
	// Manifests say it themselves.
	Namespace string
}

// docs is where a person finds the pages that notes name.
const docs = "https://github.com/plimsoll-dev/plimsoll/blob/main/docs/"

// Result is the translation, and what a person should know of it.
type Result struct {
	// Text is YAML. The notes are not in it.
	Text  []byte
	Notes Notes
}

// Notes explain a translation.
type Notes struct {
	// Lost says which limits and rules are gone, Changed what else is not as it was,
	// Handover how one follows the other, and Next what to do now.
	Lost, Changed, Handover, Next []string
}

// Translate translates a file. An error names each field that is wrong.
func Translate(text []byte, s Settings) (Result, error) {
	result, err := translate(text, s)
	if err != nil {
		return Result{}, within(s.File, err)
	}
	return result, nil
}

func translate(text []byte, s Settings) (Result, error) {
	from, err := readSource(text, s)
	if err != nil {
		return Result{}, err
	}
	if err := from.translate(s); err != nil {
		return Result{}, err
	}
	documents, err := from.print(s)
	if err != nil {
		return Result{}, err
	}
	var b bytes.Buffer
	for i, d := range documents {
		text, err := yaml.Marshal(d)
		if err != nil {
			return Result{}, fmt.Errorf("write as YAML: %w", err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return Result{Text: b.Bytes(), Notes: from.notes(s)}, nil
}

// readSource reads manifests, values of the Cluster Autoscaler's chart, or Karpenter's objects.
func readSource(text []byte, s Settings) (source, error) {
	documents, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 || len(documents) == 1 && len(documents[0]) == 0 {
		return nil, errors.New("there is nothing in it: " +
			"want a Deployment or Helm values of a Cluster Autoscaler, or Karpenter's NodePools")
	}
	if kind, there := documents[0]["kind"]; len(documents) == 1 && !isObject(documents[0]) {
		if there {
			return nil, fmt.Errorf("this is a manifest of kind %v without apiVersion: want the Cluster Autoscaler's "+
				"Deployment, or values of its chart", kind)
		}
		return readValues(documents[0], s)
	}
	for i, d := range documents {
		if !isObject(d) {
			return nil, fmt.Errorf("document %d: apiVersion or kind is missing: want Kubernetes objects, or Helm values "+
				"alone in a file", i+1)
		}
	}
	all, err := flatten(documents)
	if err != nil {
		return nil, err
	}
	if isKarpenter(all) {
		return readKarpenter(all)
	}
	return readObjects(all)
}

// within says of each of several errors where it is.
func within(place string, err error) error {
	all := parts(err)
	for i := range all {
		all[i] = fmt.Errorf("%s: %w", place, all[i])
	}
	return errors.Join(all...)
}

// parts are the errors that were joined to one.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, parts(e)...)
	}
	return out
}

func isObject(d map[string]any) bool {
	_, version := d["apiVersion"]
	_, kind := d["kind"]
	return version && kind
}

// readInto fills a struct from a map of fields. Where a text is wanted, a number is one, as in Helm's templates.
func readInto(from map[string]any, to any) error {
	text, err := yaml.Marshal(from)
	if err == nil {
		err = yaml.Unmarshal(text, to)
	}
	return ofField(err)
}

// readExactly is readInto as the API server reads: nothing is made into a text.
func readExactly(from map[string]any, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return ofField(err)
}

// ofField names the field of an error of reading, and what is wrong with it in YAML's words.
func ofField(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &wrong):
		return fmt.Errorf("a field cannot be read: %w", err)
	}
	return fmt.Errorf("%s: %s", wrong.Field, spelling.Mistyped(wrong))
}

// yamlVersion finds the line that says which version of YAML a text is. The reader takes it for a document.
var yamlVersion = regexp.MustCompile(`(?m)^%YAML .*$`)

// parse reads all documents of a file; those that are empty are left out.
func parse(text []byte) ([]map[string]any, error) {
	var out []map[string]any
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(yamlVersion.ReplaceAll(text, nil))))
	for n := 1; ; n++ {
		one, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		var d any
		if err := yaml.UnmarshalStrict(one, &d); err != nil {
			return nil, fmt.Errorf("document %d is no YAML or JSON: %w", n, err)
		}
		switch d := d.(type) {
		case nil:
		case map[string]any:
			out = append(out, d)
		default:
			return nil, fmt.Errorf("document %d is no map of fields: want a Deployment or Helm values", n)
		}
	}
}

// Text is for a person: one line for each note. inLine writes a text of the file as a part of one.
func (n Notes) Text(inLine func(string) string) string {
	var b strings.Builder
	part := func(title string, notes []string) {
		if len(notes) == 0 {
			return
		}
		b.WriteString(title + ":\n")
		for _, note := range notes {
			b.WriteString("- " + inLine(note) + "\n")
		}
	}
	part("Lost: without these, other nodes are bought or removed than before", n.Lost)
	part("What changes", n.Changed)
	part("Handing over", n.Handover)
	part("What to do next", n.Next)
	return b.String()
}
