package migrate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// notTheirs is why a value is dropped that their chart does not have.
const notTheirs = "the Cluster Autoscaler's chart has no such value, nor has Plimsoll's"

// leftOut tells all values that differ from their chart's defaults and are not carried over, and those that their
// chart does not know. No note has a value: it may be a secret.
func (v *values) leftOut(under string, fields map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		path, value := under+field, fields[field]
		inner, isMap := value.(map[string]any)
		i := slices.IndexFunc(theirChart, func(c chartValue) bool { return c.path == path })
		within := slices.ContainsFunc(theirChart, func(c chartValue) bool { return strings.HasPrefix(c.path, path+".") })
		switch {
		case i >= 0:
			v.leftOutOf(theirChart[i], value)
		case within && isMap:
			v.leftOut(path+".", inner)
		case path == "podDisruptionBudget", within && value == nil:
			// The first is looked at where it is translated, the other says nothing.
		case within:
			v.tell(path, "the Cluster Autoscaler's chart has a map of values there")
		case value != false && empty(value):
		default:
			v.tell(path, notTheirs)
		}
	}
}

// leftOutOf tells a value of their chart, if it is to be told.
func (v *values) leftOutOf(c chartValue, value any) {
	switch {
	case empty(value) && empty(c.byDefault) || reflect.DeepEqual(value, c.byDefault):
	case c.instead != "":
		v.tell(c.path, c.instead)
	case !c.isFor(v.provider):
		v.tell(c.path,
			fmt.Sprintf("with the cloudProvider %s the Cluster Autoscaler's chart does not read it either", v.provider))
	case value == nil:
		v.tell(c.path, "null takes the default of the Cluster Autoscaler's chart away; Plimsoll's has its own")
	}
}

// insideOf tells what their chart does not read in lists and maps of things that have names.
func (v *values) insideOf() {
	groups, _ := v.raw["autoscalingGroups"].([]any)
	for i, g := range groups {
		v.unknownOf(fmt.Sprintf("autoscalingGroups[%d]", i), g, "name", "minSize", "maxSize")
	}
	for _, section := range []string{"extraEnvConfigMaps", "extraEnvSecrets"} {
		keys, _ := v.raw[section].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			v.unknownOf(section+"."+name, keys[name], "name", "key")
		}
	}
	for _, volume := range slices.Sorted(maps.Keys(v.theirs.ExtraVolumeSecrets)) {
		v.tell("extraVolumeSecrets."+volume, noMounts) // but for the one with the kubeconfigs
	}
}

// unknownOf tells what their chart does not read in one of several values of a kind, such as a group.
func (v *values) unknownOf(path string, value any, known ...string) {
	fields, _ := value.(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, field) && !empty(fields[field]) {
			v.tell(path+"."+field, notTheirs)
		}
	}
}

// empty reports whether a value says nothing: in a chart it is as if it were not there.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, inner := range value {
			if !empty(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// anyText are values in which braces may be: their chart copies them as they are, and they mean something to another
// program; or they are not in the translation.
var anyText = []string{"awsAccessKeyID", "awsSecretAccessKey", "expanderPriorities", "extraEnv", "image.repository",
	"image.tag", "podAnnotations"}

// templates refuses values that only Helm can fill in. In some of them their chart does that; in the others the
// Cluster Autoscaler got the braces themselves, which cannot have been intended. No value is shown: it may be a
// secret.
func (v *values) templates() {
	for _, c := range theirChart {
		if c.instead == "" && !slices.Contains(anyText, c.path) && c.isFor(v.provider) {
			v.templatesIn(c.path, tree(v.raw).at(c.path))
		}
	}
}

func (v *values) templatesIn(path string, value any) {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(path, "autoDiscovery.tags[") {
			value = ofCluster(value, "")
		}
		if strings.Contains(value, "{{") {
			v.wrong(path, "it is a template that only Helm can fill in: write what it stands for")
		}
	case []any:
		for i, one := range value {
			v.templatesIn(fmt.Sprintf("%s[%d]", path, i), one)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			v.templatesIn(path+"."+name, value[name])
		}
	}
}

// ofCluster fills in the one template that their chart's defaults have.
func ofCluster(text, clusterName string) string {
	for _, form := range []string{"{{ .Values.autoDiscovery.clusterName }}", "{{.Values.autoDiscovery.clusterName}}"} {
		text = strings.ReplaceAll(text, form, clusterName)
	}
	return text
}
