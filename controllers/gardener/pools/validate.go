package pools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// Findings are what is wrong. With Errors the pools cannot be applied; with Warnings they can,
// though the result may be unwanted.
type Findings struct {
	Errors   field.ErrorList
	Warnings Warnings
}

func (f *Findings) add(more Findings) {
	f.Errors = append(f.Errors, more.Errors...)
	f.Warnings = append(f.Warnings, more.Warnings...)
}

// And are these findings and more, but for what more says is wrong with a field that
// is missing: that is said of the value that stands in for it.
func (f Findings) And(more Findings) Findings {
	missing := map[string]bool{}
	for _, e := range f.Errors {
		if e.Type == field.ErrorTypeRequired {
			missing[e.Field] = true
		}
	}
	more.Errors = slices.DeleteFunc(slices.Clone(more.Errors), func(e *field.Error) bool { return missing[e.Field] })
	all := Findings{Errors: slices.Clone(f.Errors), Warnings: slices.Clone(f.Warnings)}
	all.add(more)
	return all
}

// Err is the errors as one; nil, if there is none.
func (f Findings) Err() error {
	if len(f.Errors) == 0 {
		return nil
	}
	return f.Errors.ToAggregate()
}

// Warning is what may be unwanted, and where. Unlike an error, its value is valid.
type Warning struct{ Field, Text string }

func (w Warning) String() string { return w.Field + ": " + w.Text }

// Warnings are several.
type Warnings []Warning

func (w *Warnings) add(at *field.Path, format string, values ...any) {
	*w = append(*w, Warning{at.String(), fmt.Sprintf(format, values...)})
}

func (w Warnings) String() string {
	var all []string
	for _, one := range w {
		all = append(all, one.String())
	}
	return strings.Join(all, "; ")
}

// Where a Shoot has what is looked at here.
var (
	autoscalerPath = field.NewPath("spec", "kubernetes", "clusterAutoscaler")
	workersPath    = field.NewPath("spec", "provider", "workers")
)

var updateStrategies = []string{v1beta1.AutoInPlaceUpdate, v1beta1.AutoRollingUpdate, v1beta1.ManualInPlaceUpdate}

// validate says what is wrong with the pools of a shoot whose control plane is in a
// namespace. existing are the names of pools that there are already: what would be
// refused of a new one because it is unwise, those are only warned of.
func validate(pools []v1alpha1.Pool, namespace string, existing func(pool string) bool, path *field.Path) Findings {
	var f Findings
	if len(pools) == 0 {
		f.Errors = append(f.Errors, field.Required(path, "there must be a pool"))
	}
	seen := map[string]bool{}
	for i, p := range pools {
		at := path.Index(i)
		if seen[p.Name] {
			f.Errors = append(f.Errors, field.Duplicate(at.Child("name"), p.Name))
		}
		seen[p.Name] = true
		f.Errors = append(f.Errors, validateNames(p, namespace, at)...)
		f.Errors = append(f.Errors, validateNodes(p, at)...)
		f.Errors = append(f.Errors, validateOptions(p, at)...)
		f.add(validateLimits(p, existing(p.Name), at))
		f.add(validateUpdate(p, at))
	}
	return f
}

// validateNames: a machine deployment's name is a label of its machines, so it must
// not be longer than a label can be.
func validateNames(p v1alpha1.Pool, namespace string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Name == "" {
		return append(errs, field.Required(at.Child("name"), "machine deployments are named after it"))
	}
	for _, problem := range validation.IsDNS1123Label(p.Name) {
		errs = append(errs, field.Invalid(at.Child("name"), p.Name, problem))
	}
	last := zoneName(namespace, p.Name, int32(max(1, len(p.Zones)))-1)
	if len(last) > validation.LabelValueMaxLength {
		errs = append(errs, field.Invalid(at.Child("name"), p.Name,
			fmt.Sprintf("the machine deployment's name, %s, would have %d characters: it must fit into a label, %d",
				last, len(last), validation.LabelValueMaxLength)))
	}
	zones := map[string]bool{}
	for i, zone := range p.Zones {
		where := at.Child("zones").Index(i)
		switch {
		case zone == "":
			errs = append(errs, field.Required(where, "a zone needs a name"))
		case zones[zone]:
			errs = append(errs, field.Duplicate(where, zone))
		}
		for _, problem := range validation.IsValidLabelValue(zone) {
			errs = append(errs, field.Invalid(where, zone, problem))
		}
		zones[zone] = true
	}
	return errs
}

func validateLimits(p v1alpha1.Pool, existing bool, at *field.Path) Findings {
	var f Findings
	for _, limit := range []struct {
		name  string
		value int32
	}{{"minimum", p.Minimum}, {"maximum", p.Maximum}} {
		if limit.value < 0 {
			f.Errors = append(f.Errors, field.Invalid(at.Child(limit.name), limit.value, "must not be negative"))
		}
	}
	if p.Maximum < p.Minimum {
		f.Errors = append(f.Errors,
			field.Invalid(at.Child("maximum"), p.Maximum, fmt.Sprintf("must not be less than the minimum, %d", p.Minimum)))
	}
	// A pool that may have no machines at all is switched off on purpose.
	if zones := len(p.Zones); p.Maximum > 0 && int(p.Maximum) < zones {
		const why = "not every zone can have a node"
		if existing {
			f.Warnings.add(at.Child("maximum"), "%d is less than the number of zones, %d: %s", p.Maximum, zones, why)
		} else {
			f.Errors = append(f.Errors, field.Invalid(at.Child("maximum"), p.Maximum,
				fmt.Sprintf("must not be less than the number of zones, %d: %s", zones, why)))
		}
	}
	if p.Priority != nil && *p.Priority < -1 {
		f.Errors = append(f.Errors, field.Invalid(at.Child("priority"), *p.Priority, "must not be less than -1"))
	}
	return f
}

// validateUpdate: how machines are replaced.
func validateUpdate(p v1alpha1.Pool, at *field.Path) Findings {
	var f Findings
	if s := p.UpdateStrategy; s != nil && *s != "" && !slices.Contains(updateStrategies, *s) {
		f.Errors = append(f.Errors, field.NotSupported(at.Child("updateStrategy"), *s, updateStrategies))
		return f
	}
	surge, err := bound(p.MaxSurge, at.Child("maxSurge"))
	f.Errors = append(f.Errors, err...)
	missing, err := bound(p.MaxUnavailable, at.Child("maxUnavailable"))
	f.Errors = append(f.Errors, err...)
	if p.MaxUnavailable.Type == intstr.String && missing > 100 {
		f.Errors = append(f.Errors,
			field.Invalid(at.Child("maxUnavailable"), p.MaxUnavailable.StrVal, "must not be more than 100%"))
	}
	if len(f.Errors) > 0 {
		return f
	}
	if surge == 0 && missing == 0 {
		f.Errors = append(f.Errors, field.Invalid(at.Child("maxUnavailable"), p.MaxUnavailable.String(),
			"must not be 0 as long as maxSurge is: no machine could be replaced"))
		return f
	}
	if stuck := withoutSurge(p); len(stuck) > 0 {
		f.Warnings.add(at.Child("maxSurge"), "%s is spread over %d zones, with nothing for %s: there, each machine goes "+
			"before its replacement comes; %d is enough for all",
			p.MaxSurge.String(), len(p.Zones), strings.Join(stuck, ", "), len(p.Zones))
	}
	return f
}

func bound(v intstr.IntOrString, at *field.Path) (int32, field.ErrorList) {
	if v.Type == intstr.String {
		percent, err := percentOf(v.StrVal)
		if err != nil {
			return 0, field.ErrorList{field.Invalid(at, v.StrVal, err.Error())}
		}
		return percent, nil
	}
	if v.IntVal < 0 {
		return 0, field.ErrorList{field.Invalid(at, v.IntVal, "must not be negative")}
	}
	return v.IntVal, nil
}

// withoutSurge are the zones of a pool whose share of surge and of what may be
// missing is 0 both, although the pool has a surge. One that has none does not expect
// replacements first.
func withoutSurge(p v1alpha1.Pool) []string {
	if isZero(p.MaxSurge) {
		return nil
	}
	var names []string
	zones := int32(len(p.Zones))
	for i, name := range p.Zones {
		surge := distributePositiveIntOrPercent(int32(i), p.MaxSurge, zones, p.Maximum)
		missing := distributePositiveIntOrPercent(int32(i), p.MaxUnavailable, zones, p.Minimum)
		if isZero(surge) && isZero(missing) {
			names = append(names, name)
		}
	}
	return names
}

func isZero(v intstr.IntOrString) bool {
	return v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && v.StrVal == "0%"
}

func validateNodes(p v1alpha1.Pool, at *field.Path) field.ErrorList {
	errs := metavalidation.ValidateLabels(p.Labels, at.Child("labels"))
	for i, t := range p.Taints {
		where := at.Child("taints").Index(i)
		for _, problem := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(where.Child("key"), t.Key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(t.Value) {
			errs = append(errs, field.Invalid(where.Child("value"), t.Value, problem))
		}
		if !slices.Contains(taintEffects, string(t.Effect)) {
			errs = append(errs, field.NotSupported(where.Child("effect"), string(t.Effect), taintEffects))
		}
	}
	return errs
}

var taintEffects = []string{"NoExecute", "NoSchedule", "PreferNoSchedule"}

func validateOptions(p v1alpha1.Pool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m := p.MachineControllerManager; m != nil {
		where := at.Child("machineControllerManager")
		for name, d := range map[string]*metav1.Duration{
			"machineDrainTimeout": m.MachineDrainTimeout, "machineHealthTimeout": m.MachineHealthTimeout,
			"machineCreationTimeout": m.MachineCreationTimeout, "machineInPlaceUpdateTimeout": m.MachineInPlaceUpdateTimeout,
			"machinePreserveTimeout": m.MachinePreserveTimeout,
		} {
			errs = append(errs, notNegative(d, where.Child(name))...)
		}
		for name, n := range map[string]*int32{
			"maxEvictRetries": m.MaxEvictRetries, "autoPreserveFailedMachineMax": m.AutoPreserveFailedMachineMax,
		} {
			errs = append(errs, notBelow(n, 0, where.Child(name))...)
		}
	}
	if a := p.ClusterAutoscaler; a != nil {
		where := at.Child("clusterAutoscaler")
		for name, text := range map[string]*string{
			"scaleDownUtilizationThreshold":    a.ScaleDownUtilizationThreshold,
			"scaleDownGpuUtilizationThreshold": a.ScaleDownGpuUtilizationThreshold,
		} {
			if text == nil {
				continue
			}
			n, err := strconv.ParseFloat(*text, 64)
			if err != nil {
				errs = append(errs, field.Invalid(where.Child(name), *text, "must be a number from 0 to 1"))
				continue
			}
			errs = append(errs, fraction(&n, where.Child(name))...)
		}
		for name, d := range map[string]*metav1.Duration{
			"scaleDownUnneededTime": a.ScaleDownUnneededTime, "scaleDownUnreadyTime": a.ScaleDownUnreadyTime,
			"maxNodeProvisionTime": a.MaxNodeProvisionTime,
		} {
			errs = append(errs, notNegative(d, where.Child(name))...)
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

func notNegative(d *metav1.Duration, at *field.Path) field.ErrorList {
	if d != nil && d.Duration < 0 {
		return field.ErrorList{field.Invalid(at, d.Duration.String(), "must not be negative")}
	}
	return nil
}

func notBelow(n *int32, least int32, at *field.Path) field.ErrorList {
	if n != nil && *n < least {
		return field.ErrorList{field.Invalid(at, *n, fmt.Sprintf("must not be less than %d", least))}
	}
	return nil
}

// fraction is written so that what is not a number fails, too.
func fraction(n *float64, at *field.Path) field.ErrorList {
	if n != nil && !(*n >= 0 && *n <= 1) {
		return field.ErrorList{field.Invalid(at, strconv.FormatFloat(*n, 'g', -1, 64), "must be from 0 to 1")}
	}
	return nil
}
