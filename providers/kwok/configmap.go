package kwok

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// mapConfig is the configuration of the Cluster Autoscaler's own kwok provider (ConfigMap
// kwok-provider-config, key "config"). Fields that it ignores are accepted here, so that a working
// file stays valid; any other unknown field is an error, since it is a misspelling.
type mapConfig struct {
	APIVersion    string `json:"apiVersion"`
	ReadNodesFrom string `json:"readNodesFrom"`
	Nodegroups    struct {
		FromNodeLabelKey      string `json:"fromNodeLabelKey"`
		FromNodeAnnotationKey string `json:"fromNodeAnnotationKey"`
	} `json:"nodegroups"`
	Nodes struct {
		SkipTaint bool `json:"skipTaint"`
		GPUConfig *struct {
			GPULabelKey       string              `json:"gpuLabelKey"`
			AvailableGPUTypes map[string]struct{} `json:"availableGPUTypes"`
		} `json:"gpuConfig"`
	} `json:"nodes"`
	ConfigMap struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	} `json:"configmap"`
	Kwok struct {
		Release     string `json:"release"`
		Install     bool   `json:"install"`
		SkipInstall bool   `json:"skipInstall"`
	} `json:"kwok"`
}

const (
	fromConfigMap = "configmap"
	fromCluster   = "cluster"
)

// parseConfigMap reads the provider's configuration out of the text of the key
// "config". Errors name the source and the field.
func parseConfigMap(source string, text string) (mapConfig, error) {
	var c mapConfig
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return mapConfig{}, fmt.Errorf("%s: %w%s", source, err, hintForField(err))
	}
	if all, err := documents([]byte(text)); err != nil || len(all) > 1 {
		return mapConfig{}, fmt.Errorf("%s: there must be one document, and there are %d: %w",
			source, len(all), cmp.Or(err, errors.New("all but the first would be left out")))
	} else if len(all) == 1 {
		if err := whole(all[0]); err != nil {
			return mapConfig{}, fmt.Errorf("%s: %w", source, err)
		}
	}
	var errs []error
	complain := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{source}, args...)...))
	}
	switch {
	case c.ReadNodesFrom != fromConfigMap && c.ReadNodesFrom != fromCluster:
		complain("readNodesFrom: %q is neither %q nor %q", c.ReadNodesFrom, fromConfigMap, fromCluster)
	case c.ReadNodesFrom == fromConfigMap && strings.TrimSpace(c.ConfigMap.Name) == "":
		complain("configmap.name: must name the ConfigMap of the templates, since readNodesFrom is %q", fromConfigMap)
	}
	label, annotation := c.Nodegroups.FromNodeLabelKey, c.Nodegroups.FromNodeAnnotationKey
	if (label == "") == (annotation == "") {
		complain("nodegroups: exactly one of fromNodeLabelKey and fromNodeAnnotationKey must be set, not %q and %q",
			label, annotation)
	}
	if gpu := c.Nodes.GPUConfig; gpu != nil && (gpu.GPULabelKey == "" || len(gpu.AvailableGPUTypes) == 0) {
		complain("nodes.gpuConfig: gpuLabelKey and availableGPUTypes must both be set, or neither")
	}
	if len(errs) > 0 {
		return mapConfig{}, errors.Join(errs...)
	}
	return c, nil
}

// hintForField knows two misspellings of the annotation's key that are in use and were silently
// ignored.
func hintForField(err error) string {
	for _, misspelt := range []string{"fromNodeLabelAnnotation", "fromNodeAnnotation"} {
		if strings.Contains(err.Error(), fmt.Sprintf("%q", misspelt)) {
			return " (the field is called fromNodeAnnotationKey)"
		}
	}
	return ""
}

// rules are what this configuration says of naming, taint and accelerators.
func (c mapConfig) rules(ofCluster bool) rules {
	r := rules{onlyKeyed: true, taint: !c.Nodes.SkipTaint, ofCluster: ofCluster}
	key := nameKey{key: c.Nodegroups.FromNodeLabelKey, required: true}
	if key.key == "" {
		key = nameKey{key: c.Nodegroups.FromNodeAnnotationKey, annotation: true, required: true}
	}
	r.keys = []nameKey{key}
	if gpu := c.Nodes.GPUConfig; gpu != nil {
		r.acceleratorLabel, r.accelerators = gpu.GPULabelKey, gpu.AvailableGPUTypes
	}
	return r
}
