package pools

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

var expanders = []string{"least-nodes", "least-waste", "most-pods", "priority", "random"}

// ValidateShoot says what is wrong with a Shoot, as far as its pools and its
// autoscaler go. namespace is that of its control plane.
func ValidateShoot(shoot v1beta1.Shoot, namespace string, existing func(pool string) bool) Findings {
	var f Findings
	if shoot.Name == "" {
		f.Errors = append(f.Errors,
			field.Required(field.NewPath("metadata", "name"), "the autoscaler finds its machine deployments by it"))
	}
	for _, problem := range validation.IsDNS1123Label(namespace) {
		f.Errors = append(f.Errors, field.Invalid(field.NewPath("status", "technicalID"), namespace, problem))
	}
	f.add(validateAutoscaler(shoot))
	var all []v1alpha1.Pool
	for _, w := range shoot.Spec.Provider.Workers {
		all = append(all, poolOf(w))
	}
	f.add(validate(all, namespace, existing, workersPath))
	for i, w := range shoot.Spec.Provider.Workers {
		if w.MaxSurge == nil {
			f.Warnings.ofDefault(workersPath.Index(i).Child("maxSurge"))
		}
	}
	return f
}

// ofDefault says in the warnings about a field that its value is a default, which no user set.
func (w Warnings) ofDefault(at *field.Path) {
	for i := range w {
		if w[i].Field == at.String() {
			w[i].Text = "is not set, and its default " + w[i].Text
		}
	}
}

// validateAutoscaler says what is wrong with a shoot's clusterAutoscaler section.
func validateAutoscaler(shoot v1beta1.Shoot) Findings {
	f := Findings{Errors: validateSizing(shoot)}
	a := shoot.Spec.Kubernetes.ClusterAutoscaler
	if a == nil {
		return f
	}
	at := autoscalerPath
	if a.Expander != nil {
		for _, name := range strings.Split(*a.Expander, ",") {
			if !slices.Contains(expanders, name) {
				f.Errors = append(f.Errors, field.NotSupported(at.Child("expander"), name, expanders))
			}
		}
	}
	f.Errors = append(f.Errors, fraction(a.ScaleDownUtilizationThreshold, at.Child("scaleDownUtilizationThreshold"))...)
	durations := map[string]*metav1.Duration{
		"initialNodeGroupBackoffDuration": a.InitialNodeGroupBackoffDuration, "maxBinpackingTime": a.MaxBinpackingTime,
		"maxNodeGroupBackoffDuration": a.MaxNodeGroupBackoffDuration, "maxNodeProvisionTime": a.MaxNodeProvisionTime,
		"newPodScaleUpDelay": a.NewPodScaleUpDelay, "nodeGroupBackoffResetTimeout": a.NodeGroupBackoffResetTimeout,
		"scaleDownDelayAfterAdd": a.ScaleDownDelayAfterAdd, "scaleDownDelayAfterDelete": a.ScaleDownDelayAfterDelete,
		"scaleDownDelayAfterFailure": a.ScaleDownDelayAfterFailure, "scaleDownUnneededTime": a.ScaleDownUnneededTime,
	}
	for _, name := range slices.Sorted(maps.Keys(durations)) {
		f.Errors = append(f.Errors, notNegative(durations[name], at.Child(name))...)
	}
	if d := a.ScanInterval; d != nil && d.Duration <= 0 {
		f.Errors = append(f.Errors, field.Invalid(at.Child("scanInterval"), d.Duration.String(), "must be more than 0"))
	}
	for _, n := range []struct {
		name  string
		value *int32
		least int32
	}{
		{"maxDrainParallelism", a.MaxDrainParallelism, 1},
		{"maxGracefulTerminationSeconds", a.MaxGracefulTerminationSeconds, 0},
		{"maxScaleDownParallelism", a.MaxScaleDownParallelism, 1}, {"verbosity", a.Verbosity, 0},
	} {
		f.Errors = append(f.Errors, notBelow(n.value, n.least, at.Child(n.name))...)
	}
	for name, taints := range map[string][]string{
		"ignoreTaints": a.IgnoreTaints, "startupTaints": a.StartupTaints, "statusTaints": a.StatusTaints,
	} {
		for i, taint := range taints {
			for _, problem := range validation.IsQualifiedName(taint) {
				f.Errors = append(f.Errors, field.Invalid(at.Child(name).Index(i), taint, problem))
			}
		}
	}
	if a.MaxEmptyBulkDelete != nil {
		f.Warnings.add(at.Child("maxEmptyBulkDelete"), "has no effect any more: use maxScaleDownParallelism")
	}
	if a.MaxBinpackingTime != nil {
		f.Warnings.add(at.Child("maxBinpackingTime"), "has no effect: how much is looked at is bounded in steps, not in time")
	}
	slices.SortStableFunc(f.Errors, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return f
}

// ValidateWorker says what is wrong with a Worker's pools, and with what the Shoot
// behind it says of their sizing.
func ValidateWorker(worker v1alpha1.Worker, shoot v1beta1.Shoot, existing func(pool string) bool) Findings {
	f := Findings{Errors: validateSizing(shoot)}
	f.add(validate(worker.Spec.Pools, worker.Namespace, existing, field.NewPath("spec", "pools")))
	return f
}
