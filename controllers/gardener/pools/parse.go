package pools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// ParseShoot reads the one Shoot of a YAML or JSON text. Its errors name the field
// that cannot be read. What it finds besides are names in the clusterAutoscaler
// section and of workers that nobody knows: a slip of the pen would go unnoticed.
func ParseShoot(text []byte) (v1beta1.Shoot, field.ErrorList, error) {
	document, err := onlyDocument(text)
	if err != nil {
		return v1beta1.Shoot{}, nil, err
	}
	raw, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return v1beta1.Shoot{}, nil, fmt.Errorf("read YAML: %w", err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return v1beta1.Shoot{}, nil, fmt.Errorf("read JSON: %w", err)
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return v1beta1.Shoot{}, nil, fmt.Errorf("this is %T, not an object: a Shoot is wanted", tree)
	}
	if version, kind := fields["apiVersion"], fields["kind"]; version != v1beta1.Group+"/"+v1beta1.Version || kind != v1beta1.Kind {
		return v1beta1.Shoot{}, nil, fmt.Errorf("apiVersion and kind are %v and %v: a Shoot of %s/%s is wanted", version, kind, v1beta1.Group, v1beta1.Version)
	}
	if path, err := blame(tree, nil, func(v any) any { return v }); err != nil {
		return v1beta1.Shoot{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	var shoot v1beta1.Shoot
	if err := json.Unmarshal(raw, &shoot); err != nil {
		return v1beta1.Shoot{}, nil, fmt.Errorf("read the Shoot: %w", err)
	}
	return shoot, unknown(fields), nil
}

// onlyDocument is the one document of a YAML text that is not empty.
func onlyDocument(text []byte) ([]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var documents [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read YAML: %w", err)
		}
		var content any
		if yaml.Unmarshal(document, &content) == nil && content == nil {
			continue // nothing but comments; what is no YAML is told of below
		}
		documents = append(documents, document)
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("there are %d objects: exactly one is wanted, a Shoot", len(documents))
	}
	return documents[0], nil
}

// blame finds the innermost part of a JSON tree that does not fit into a Shoot, and
// why. Durations and the like do not tell where they stand.
func blame(value any, path *field.Path, around func(any) any) (*field.Path, error) {
	err := fits(around(value))
	if err == nil {
		return nil, nil
	}
	switch value := value.(type) {
	case map[string]any:
		if fits(around(map[string]any{})) != nil {
			break // no object is wanted here, whatever is in it
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inside := func(v any) any { return around(map[string]any{key: v}) }
			if at, err := blame(value[key], child(path, key), inside); err != nil {
				return at, err
			}
		}
	case []any:
		if fits(around([]any{})) != nil {
			break
		}
		for i, item := range value {
			inside := func(v any) any { return around([]any{v}) }
			if at, err := blame(item, path.Index(i), inside); err != nil {
				return at, err
			}
		}
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("this is %s, and %s is wanted", wrong.Value, wrong.Type)
	}
	return path, err
}

func fits(tree any) error {
	raw, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &v1beta1.Shoot{})
}

func child(path *field.Path, key string) *field.Path {
	if path == nil {
		return field.NewPath(key)
	}
	return path.Child(key)
}

// unknown are the fields of the clusterAutoscaler section that v1beta1 does not
// have, and those of workers that Gardener does not. Of the former v1beta1 lacks one
// that Gardener has and that is not the autoscaler's own.
func unknown(shoot map[string]any) field.ErrorList {
	known := map[string]bool{"autoscaling": true}
	section := reflect.TypeFor[v1beta1.ClusterAutoscaler]()
	for i := range section.NumField() {
		name, _, _ := strings.Cut(section.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	var found field.ErrorList
	fields, _ := nested(shoot, "spec", "kubernetes", "clusterAutoscaler").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			found = append(found, field.Invalid(field.NewPath("spec", "kubernetes", "clusterAutoscaler", name), fields[name], "is not known and has no effect"))
		}
	}
	workers, _ := nested(shoot, "spec", "provider", "workers").([]any)
	for i, worker := range workers {
		fields, _ := worker.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if !slices.Contains(workerFields, name) {
				found = append(found, field.Invalid(field.NewPath("spec", "provider", "workers").Index(i).Child(name), fields[name], "is not known and has no effect"))
			}
		}
	}
	return found
}

// workerFields are those that a worker has in Gardener, whether or not anything here
// reads them.
var workerFields = []string{
	"annotations", "caBundle", "clusterAutoscaler", "controlPlane", "cri", "dataVolumes", "kubeletDataVolumeName", "kubernetes", "labels", "machine",
	"machineControllerManager", "maxSurge", "maxUnavailable", "maximum", "minimum", "name", "priority", "providerConfig", "sysctls", "systemComponents",
	"taints", "updateStrategy", "volume", "zones",
}
