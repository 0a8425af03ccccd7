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
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// ParseShoot reads the one Shoot of a YAML or JSON text. Its errors name the field that cannot be
// read, and what was expected there. What it finds besides are a pool's limits that are not said:
// Gardener's API demands them, and 0 would be a strange guess; and unknown names in the
// clusterAutoscaler section and of workers: a misspelling would go unnoticed.
func ParseShoot(text []byte) (v1beta1.Shoot, Findings, error) {
	fail := func(err error) (v1beta1.Shoot, Findings, error) { return v1beta1.Shoot{}, Findings{}, err }
	document, err := onlyDocument(text)
	if err != nil {
		return fail(err)
	}
	raw, err := yaml.YAMLToJSONStrict(document)
	if err != nil && strings.Contains(err.Error(), "invalid map key") {
		// the library shows it as Go has it
		return fail(errors.New("read YAML: the name of a field is a list or an object, and must be text"))
	}
	if err != nil {
		return fail(fmt.Errorf("read YAML: %w", err))
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return fail(fmt.Errorf("read JSON: %w", err))
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return fail(fmt.Errorf("this is %s, and a Shoot is wanted", kindOf(tree)))
	}
	if version, kind := fields["apiVersion"], fields["kind"]; version != v1beta1.Group+"/"+v1beta1.Version ||
		kind != v1beta1.Kind {
		return fail(fmt.Errorf("apiVersion and kind are %v and %v: a Shoot of %s/%s is wanted",
			named(version), named(kind), v1beta1.Group, v1beta1.Version))
	}
	if wrong := blame(tree, nil, reflect.TypeFor[v1beta1.Shoot](), func(v any) any { return v }); wrong != nil {
		return fail(wrong)
	}
	var shoot v1beta1.Shoot
	if err := json.Unmarshal(raw, &shoot); err != nil {
		return fail(fmt.Errorf("read the Shoot: %w", err))
	}
	return shoot, Findings{Errors: missing(fields), Warnings: unknown(fields)}, nil
}

func named(value any) string {
	if name, ok := value.(string); ok {
		return name
	}
	return kindOf(value)
}

// yamlVersion finds the line that says which version of YAML a text is. The reader takes it for a document.
var yamlVersion = regexp.MustCompile(`(?m)^%YAML .*$`)

// onlyDocument is the one document of a YAML text that is not empty.
func onlyDocument(text []byte) ([]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(yamlVersion.ReplaceAll(text, nil))))
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

// missing are the limits that a worker does not say.
func missing(shoot map[string]any) field.ErrorList {
	var found field.ErrorList
	for i, worker := range workersOf(shoot) {
		for _, name := range []string{"minimum", "maximum"} {
			if worker[name] == nil {
				found = append(found, field.Required(workersPath.Index(i).Child(name), "must be said, even if it is 0"))
			}
		}
	}
	return found
}

// unknown are the fields of the clusterAutoscaler section that v1beta1 does not
// have, and those of workers that Gardener does not. Of the former v1beta1 lacks one
// that Gardener has and that is not the autoscaler's own.
func unknown(shoot map[string]any) Warnings {
	known := map[string]bool{"autoscaling": true}
	section := reflect.TypeFor[v1beta1.ClusterAutoscaler]()
	for i := range section.NumField() {
		name, _, _ := strings.Cut(section.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	var found Warnings
	fields, _ := nested(shoot, "spec", "kubernetes", "clusterAutoscaler").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			found.add(autoscalerPath.Child(name), "is not known and has no effect")
		}
	}
	for i, worker := range workersOf(shoot) {
		for _, name := range slices.Sorted(maps.Keys(worker)) {
			if !slices.Contains(workerFields, name) {
				found.add(workersPath.Index(i).Child(name), "is not known and has no effect")
			}
		}
	}
	return found
}

// workersOf are the workers of a Shoot that can be read.
func workersOf(shoot map[string]any) []map[string]any {
	list, _ := nested(shoot, "spec", "provider", "workers").([]any)
	workers := make([]map[string]any, 0, len(list))
	for _, item := range list {
		fields, _ := item.(map[string]any)
		workers = append(workers, fields)
	}
	return workers
}

// workerFields are those that a worker has in Gardener, whether or not anything here
// reads them.
var workerFields = []string{
	"annotations", "caBundle", "clusterAutoscaler", "controlPlane", "cri", "dataVolumes", "kubeletDataVolumeName",
	"kubernetes", "labels", "machine",
	"machineControllerManager", "maxSurge", "maxUnavailable", "maximum", "minimum", "name", "priority", "providerConfig",
	"sysctls", "systemComponents",
	"taints", "updateStrategy", "volume", "zones",
}
