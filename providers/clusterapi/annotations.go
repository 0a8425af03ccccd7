package clusterapi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// keys are the labels and annotations that begin with the API group.
type keys struct{ group string }

func (k keys) minSize() string     { return k.group + "/cluster-api-autoscaler-node-group-min-size" }
func (k keys) maxSize() string     { return k.group + "/cluster-api-autoscaler-node-group-max-size" }
func (k keys) options() string     { return k.group + "/autoscaling-options-" }
func (k keys) clusterName() string { return k.group + "/cluster-name" }
func (k keys) paused() string      { return k.group + "/paused" }
func (k keys) deleteMe() string    { return k.group + "/delete-machine" }
func (k keys) managedBy() string   { return k.group + "/replicas-managed-by" }

// badAnnotation is one that cannot be understood, and why.
type badAnnotation struct{ key, value, why string }

func (b badAnnotation) String() string {
	return fmt.Sprintf("the annotation %s=%q %s", b.key, b.value, b.why)
}

// bounds are the sizes that a group may have.
type bounds struct{ min, max int }

// readBounds reads the two annotations; one that is not there is zero. Without a
// maximum it is no node group, whatever its minimum.
func readBounds(annotations map[string]string, k keys) (bounds, *badAnnotation) {
	var b bounds
	for _, each := range []struct {
		key  string
		into *int
	}{{k.minSize(), &b.min}, {k.maxSize(), &b.max}} {
		value, ok := annotations[each.key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return bounds{}, &badAnnotation{each.key, value, fmt.Sprintf("is no whole number from 0 to %d", math.MaxInt32)}
		}
		*each.into = n
	}
	if _, limited := annotations[k.maxSize()]; limited && b.max < b.min {
		return bounds{}, &badAnnotation{
			k.maxSize(), annotations[k.maxSize()], fmt.Sprintf("is below the minimum of %d", b.min),
		}
	}
	return b, nil
}

// readOptions reads the group's own settings. One that is wrong has no effect.
func readOptions(annotations map[string]string, k keys) (provider.Options, []badAnnotation) {
	var o provider.Options
	var bad []badAnnotation
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		name, ok := strings.CutPrefix(key, k.options())
		if !ok {
			continue
		}
		if err := o.Set(name, annotations[key]); err != nil {
			bad = append(bad, badAnnotation{key, annotations[key], "has no effect: " + err.Error()})
		}
	}
	return o, bad
}
