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

// tell says of a value that it is not carried over, once.
func (v *values) tell(path, instead string) {
	if !v.told[path] {
		v.told[path] = true
		v.note("%s is dropped: %s", path, instead)
	}
}

// leftOut tells all values that differ from their chart's defaults and are not
// carried over, and those that their chart does not know. No note has a value: it
// may be a secret.
func (v *values) leftOut(under string, fields map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		path, value := under+field, fields[field]
		inner, isMap := value.(map[string]any)
		i := slices.IndexFunc(theirChart, func(c chartValue) bool { return c.path == path })
		within := slices.ContainsFunc(theirChart, func(c chartValue) bool { return strings.HasPrefix(c.path, path+".") })
		switch {
		case i >= 0:
			v.judge(theirChart[i], value)
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

// judge tells a value of their chart, if it is to be told.
func (v *values) judge(c chartValue, value any) {
	if empty(value) && empty(c.byDefault) || reflect.DeepEqual(value, c.byDefault) {
		return
	}
	provider := v.ours.CloudProvider
	switch {
	case c.instead != "":
		v.tell(c.path, c.instead)
	case !c.isFor(provider):
		v.tell(c.path,
			fmt.Sprintf("with the cloudProvider %s the Cluster Autoscaler's chart does not read it either", provider))
	case value == nil:
		v.tell(c.path, "null takes the default of the Cluster Autoscaler's chart away; Plimsoll's has its own")
	}
}

// unknownOf tells what their chart does not read in one of several values of a
// kind, such as a group.
func (v *values) unknownOf(path string, value any, known ...string) {
	fields, _ := value.(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, field) && !empty(fields[field]) {
			v.tell(path+"."+field, notTheirs)
		}
	}
}

// empty tells whether a value says nothing: in a chart it is as if it were not
// there.
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
