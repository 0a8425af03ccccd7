package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const valuesSuffix = "-values.yaml"

// helmLabels are true of a release of Helm's, and of nothing else.
var helmLabels = regexp.MustCompile(`(?m)^ +(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n`)

// Manifests are the plain manifests, by the name of their file: one for each file
// <name>-values.yaml in the chart's folder ci.
func Manifests(folder string) (map[string]string, error) {
	c, err := Load(folder)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "ci", "*"+valuesSuffix))
	if err != nil {
		return nil, fmt.Errorf("look for values in %s: %w", folder, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file *%s is in %s: it says what manifests there are",
			valuesSuffix, filepath.Join(folder, "ci"))
	}
	out := map[string]string{}
	for _, file := range files {
		values, err := readValues(file)
		if err != nil {
			return nil, err
		}
		release := Default
		// Gardener's autoscaler runs in the shoot's namespace, where its Secret is.
		if namespace, _, _ := unstructured.NestedString(values, "gardener", "namespace"); namespace != "" {
			release.Namespace = namespace
		}
		rendering, err := c.Render(release, values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), valuesSuffix)
		out[name+".yaml"] = head(name, values) + helmLabels.ReplaceAllString(rendering.YAML(), "")
	}
	return out, nil
}

// readValues reads a file of values.
func readValues(file string) (map[string]any, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(data, &values); err != nil {
		return nil, fmt.Errorf("read the values in %s: %w", file, err)
	}
	return values, nil
}

// placeholder is a value that a person must put something else for.
var placeholder = regexp.MustCompile(`^[A-Z]+$|^shoot-`)

func head(name string, values map[string]any) string {
	text := "# Plimsoll with --cloud-provider=" + name + ", rendered from charts/plimsoll by `make manifests`:\n" +
		"# change the chart, not this file. docs/install.md says how it is applied.\n"
	var put []string
	for _, v := range leaves(values) {
		if placeholder.MatchString(v) {
			put = append(put, v)
		}
	}
	if len(put) > 0 {
		text += "# Put your own in place of " + strings.Join(put, " and ") + ".\n"
	}
	return text
}

// leaves are the texts in values, in the order of their keys.
func leaves(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, item := range v {
			out = append(out, leaves(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(v[key])...)
		}
	}
	return out
}
