package clusterfile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Form is how a cluster is written.
type Form int

// The forms: documents of YAML, or one List of JSON, with a line for each object.
const (
	YAML Form = iota
	JSON
)

// Write writes a cluster, one object at a time.
func Write(w io.Writer, c *Cluster, form Form) error {
	d, err := dumpOf(c)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	first, between, last := "---\n", "---\n", ""
	if form == JSON {
		first, between, last = `{"apiVersion":"v1","kind":"List","items":[`+"\n", ",\n", "\n]}\n"
	}
	put := func(before string, text []byte, err error) error {
		if err == nil && form == YAML {
			text, err = yaml.JSONToYAML(text)
		}
		if err != nil {
			return err
		}
		if _, err := out.WriteString(before); err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	text, err := json.Marshal(d)
	if err := put(first, text, err); err != nil {
		return fmt.Errorf("write the cluster: %w", err)
	}
	for _, obj := range c.Objects {
		text, err := textOf(obj)
		if err := put(between, text, err); err != nil {
			return fmt.Errorf("write the cluster: %w", err)
		}
	}
	if len(c.Objects) > 0 {
		text, err := json.Marshal(typeMeta{dumpVersion, endKind})
		if err := put(between, text, err); err != nil {
			return fmt.Errorf("write the cluster: %w", err)
		}
	}
	if _, err := out.WriteString(last); err != nil {
		return fmt.Errorf("write the cluster: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the cluster: %w", err)
	}
	return nil
}

// textOf is an object as JSON, its kind first. Objects that were cut down do not have it themselves.
func textOf(obj runtime.Object) ([]byte, error) {
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	gvk := gvkOf(obj)
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, gvk.GroupVersion().String(), gvk.Kind)
	return append([]byte(head), body[1:]...), nil
}
