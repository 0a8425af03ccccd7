package kwok

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// validate finds what the API server would refuse in a node made from this one, and what would make
// a template that no pod can use. It runs on the sanitised node: what is dropped anyway is not
// checked.
func validate(node *corev1.Node) error {
	var errs []error
	for _, err := range slices.Concat(
		byKey(node.Labels, field.NewPath("metadata", "labels"), metav1validation.ValidateLabels),
		byKey(node.Annotations, field.NewPath("metadata", "annotations"), validation.ValidateAnnotations),
		validateTaints(node.Spec.Taints, field.NewPath("spec", "taints")),
		validateResources(node, field.NewPath("status")),
	) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// byKey validates one entry after the other, so that each error names its key
// and they come in one order.
func byKey(
	entries map[string]string, path *field.Path, check func(map[string]string, *field.Path) field.ErrorList,
) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		errs = append(errs, check(map[string]string{key: entries[key]}, path.Key(key))...)
	}
	return errs
}

func validateTaints(taints []corev1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
	}
	seen := map[string]int{}
	for i, taint := range taints {
		at := path.Index(i)
		errs = append(errs, metav1validation.ValidateLabelName(taint.Key, at.Child("key"))...)
		for _, problem := range utilvalidation.IsValidLabelValue(taint.Value) {
			errs = append(errs, field.Invalid(at.Child("value"), taint.Value, problem))
		}
		if !slices.Contains(effects, taint.Effect) {
			errs = append(errs, field.NotSupported(at.Child("effect"), taint.Effect, effects))
		}
		id := taintID(taint)
		if first, ok := seen[id]; ok {
			errs = append(errs, field.Invalid(at, taint.ToString(),
				fmt.Sprintf("taints are unique by key and effect, and %s has the same", path.Index(first))))
			continue
		}
		seen[id] = i
	}
	return errs
}

// vital is what every pod needs some of.
var vital = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}

// most is the largest amount of a resource that can be counted without overflow,
// sums over many nodes included; CPU is counted in thousandths.
func most(name corev1.ResourceName) int64 {
	if name == corev1.ResourceCPU {
		return 1 << 40
	}
	return 1 << 52
}

func validateResources(node *corev1.Node, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for list, resources := range map[string]corev1.ResourceList{
		"capacity": node.Status.Capacity, "allocatable": node.Status.Allocatable,
	} {
		for name, quantity := range resources {
			at := path.Child(list).Key(string(name))
			switch {
			case quantity.Sign() < 0:
				errs = append(errs, field.Invalid(at, quantity.String(), "must not be negative"))
			case quantity.CmpInt64(most(name)) > 0:
				errs = append(errs, field.Invalid(at, quantity.String(), "is more than the scheduler can count"))
			case isWhole(name) && quantity.MilliValue()%1000 != 0:
				errs = append(errs,
					field.Invalid(at, quantity.String(), "must be a whole number: the API server takes no fraction of this resource"))
			case list == "allocatable" && quantity.IsZero() && slices.Contains(vital, name):
				errs = append(errs, field.Invalid(at, quantity.String(), "must be above 0, or no pod fits"))
			}
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, ok := node.Status.Allocatable[name]; !ok {
			errs = append(errs,
				field.Required(path.Child("allocatable").Key(string(name)), "a template must say how much of it a node has"))
		}
	}
	for name, quantity := range node.Status.Allocatable {
		capacity, ok := node.Status.Capacity[name]
		if ok && quantity.Cmp(capacity) > 0 {
			errs = append(errs, field.Invalid(path.Child("allocatable").Key(string(name)), quantity.String(),
				"must not be above the capacity, "+capacity.String()))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return errs
}

// isWhole reports whether the API server takes whole numbers of a resource only:
// pods, and extended resources, which have a domain other than Kubernetes' own.
func isWhole(name corev1.ResourceName) bool {
	if name == corev1.ResourcePods {
		return true
	}
	text := string(name)
	return strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix) &&
		len(utilvalidation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+text)) == 0
}

// checkAnnotations finds misspelt annotations of this provider, which would silently have no
// effect.
func checkAnnotations(annotations map[string]string) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, annotationDomain) && !slices.Contains(groupAnnotations, key) {
			errs = append(errs, fmt.Errorf("metadata.annotations[%s]: there is no such annotation; there are %s",
				key, strings.Join(groupAnnotations, ", ")))
		}
	}
	return errors.Join(errs...)
}

// counts are a group's numbers as the template's annotations give them.
type counts struct{ min, max, desired int }

// parseCounts reads the three count annotations. A desired count that is not
// given is the minimum, so that min alone is a good template.
func parseCounts(annotations map[string]string) (counts, error) {
	var errs []error
	read := func(key string, unset int) int {
		text, ok := annotations[key]
		if !ok {
			return unset
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("metadata.annotations[%s]: %q is not a whole number of nodes, 0 or more", key, text))
			return unset
		}
		return n
	}
	c := counts{min: read(annotationMin, 0), max: read(annotationMax, defaultMax)}
	c.desired = read(annotationDesired, c.min)
	if len(errs) > 0 {
		return counts{}, errors.Join(errs...)
	}
	if c.min > c.max {
		return counts{}, fmt.Errorf("metadata.annotations[%s]: the minimum %d is above the maximum %d (%s%s)",
			annotationMin, c.min, c.max, annotationMax, ifUnset(annotations, annotationMax))
	}
	if c.desired < c.min || c.desired > c.max {
		return counts{},
			fmt.Errorf("metadata.annotations[%s]: the desired count %d is outside of the minimum %d and the maximum %d",
				annotationDesired, c.desired, c.min, c.max)
	}
	return c, nil
}

func ifUnset(annotations map[string]string, key string) string {
	if _, ok := annotations[key]; ok {
		return ""
	}
	return ", not set: its default"
}

func samePrice(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// differences names what two templates of one group do not agree on, and must:
// counts, fault, labels and taints. Each entry reads "field: one value, other value".
func differences(a, b group) []string {
	var found []string
	for _, c := range []struct {
		key  string
		a, b int
	}{{annotationMin, a.min, b.min}, {annotationMax, a.max, b.max}, {annotationDesired, a.desired, b.desired}} {
		if c.a != c.b {
			found = append(found, fmt.Sprintf("metadata.annotations[%s]: %d and %d", c.key, c.a, c.b))
		}
	}
	if !samePrice(a.price, b.price) {
		found = append(found, fmt.Sprintf("metadata.annotations[%s]", provider.PriceAnnotation))
	}
	if !slices.Equal(a.zones, b.zones) {
		found = append(found, fmt.Sprintf("metadata.annotations[%s]: %s and %s", annotationZones,
			orNone(strings.Join(a.zones, ","), len(a.zones) > 0), orNone(strings.Join(b.zones, ","), len(b.zones) > 0)))
	}
	if a.fault != b.fault {
		found = append(found, fmt.Sprintf("metadata.annotations[%s]: %s and %s", annotationFault,
			orNone(string(a.fault), a.fault != noFault), orNone(string(b.fault), b.fault != noFault)))
	}
	for _, key := range keysOfEither(a.node.Labels, b.node.Labels) {
		one, hasOne := a.node.Labels[key]
		two, hasTwo := b.node.Labels[key]
		if one != two || hasOne != hasTwo {
			found = append(found, fmt.Sprintf("metadata.labels[%s]: %s and %s", key, orNone(one, hasOne), orNone(two, hasTwo)))
		}
	}
	one, two := taintsByID(a.node.Spec.Taints), taintsByID(b.node.Spec.Taints)
	for _, id := range keysOfEither(one, two) {
		x, hasX := one[id]
		y, hasY := two[id]
		if x != y || hasX != hasY {
			found = append(found, fmt.Sprintf("spec.taints[%s]: %s and %s", id, orNone(x, hasX), orNone(y, hasY)))
		}
	}
	return found
}

// resourceDifferences names the resources that two templates of one group do
// not agree on. Machines of one kind differ by a few KiB of memory, so this is
// worth a notice and never an error.
func resourceDifferences(a, b group) []string {
	var found []string
	one, two := a.node.Status.Allocatable, b.node.Status.Allocatable
	for _, name := range keysOfEither(one, two) {
		x, y := one[name], two[name]
		if x.Cmp(y) != 0 {
			found = append(found, fmt.Sprintf("status.allocatable[%s]: %s and %s", name, x.String(), y.String()))
		}
	}
	return found
}

func keysOfEither[K ~string, V any](a, b map[K]V) []K {
	all := maps.Clone(a)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func orNone(value string, has bool) string {
	if !has {
		return "none"
	}
	return strconv.Quote(value)
}

func taintsByID(taints []corev1.Taint) map[string]string {
	byID := map[string]string{}
	for _, t := range taints {
		byID[taintID(t)] = t.Value
	}
	return byID
}

func taintID(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }
