package kwok

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// documents splits a stream at the markers of YAML: a line that begins with ---
// begins a document, one that begins with ... ends one. Documents with nothing in
// them are left out.
func documents(data []byte) ([][]byte, error) {
	var out [][]byte
	var open []byte
	end := func() {
		if len(bytes.TrimSpace(open)) > 0 {
			out = append(out, open)
		}
		open = nil
	}
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		if rest, ok := marker(line, "---"); ok {
			end()
			open = append(open, rest...)
			continue
		}
		if rest, ok := marker(line, "..."); ok {
			end()
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				return out, fmt.Errorf("line %d: %q follows the ... that ends a document: put it onto the next line", i+1, rest)
			}
			continue
		}
		open = append(open, line...)
	}
	end()
	return out, nil
}

// marker is the rest of a line that begins with a marker, which stands alone or
// before a blank.
func marker(line []byte, mark string) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return rest, ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// objects gives the objects of a document as JSON: the one that it has in YAML,
// or all that follow each other in JSON. What is left over is an error, and never
// left out. A document of nothing but comments has none.
func objects(document []byte) ([]json.RawMessage, error) {
	several := stream(document)
	if len(several) > 1 {
		for i := range several {
			var err error
			if several[i], err = yaml.YAMLToJSONStrict(several[i]); err != nil { // doubled fields
				return nil, fmt.Errorf("object %d: %w", i+1, err)
			}
		}
		return several, nil
	}
	one, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if several == nil {
		if err := whole(document); err != nil {
			return nil, err
		}
	}
	if bytes.Equal(bytes.TrimSpace(one), []byte("null")) {
		return nil, nil
	}
	return []json.RawMessage{one}, nil
}

// stream reads JSON objects that follow each other; none if anything else is in
// the document.
func stream(document []byte) []json.RawMessage {
	var out []json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(document)); ; {
		var object json.RawMessage
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || object[0] != '{' {
			return nil
		}
		out = append(out, object)
	}
}

// whole checks that a document was parsed to its end: the parser stops after the first value. In an
// item of a list, anything after the value is a mistake.
func whole(document []byte) error {
	item := append([]byte("- "), bytes.ReplaceAll(document, []byte("\n"), []byte("\n  "))...)
	if _, err := yaml.YAMLToJSONStrict(item); err != nil {
		return errors.New("something follows the first object and would be left out: put a line --- between two objects, " +
			"and take away what is none")
	}
	return nil
}
