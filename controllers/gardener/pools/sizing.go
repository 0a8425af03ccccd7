package pools

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// defaultSizing is how a pool's limits are spread over its zones where the shoot
// does not say.
const defaultSizing = mcm.SizingEquitable

var sizings = []string{mcm.SizingBackwardCompatible, mcm.SizingEquitable, mcm.SizingLaxGreedy}

// saying is one place where a shoot names its sizing.
type saying struct {
	path *field.Path
	text string
}

// sayings are all places where a shoot does. GEP-24 has two names for the field.
// The annotation is for a Gardener that knows neither, and so keeps neither.
func sayings(shoot v1beta1.Shoot) []saying {
	var all []saying
	if a := shoot.Spec.Kubernetes.ClusterAutoscaler; a != nil {
		if a.Sizing != nil {
			all = append(all, saying{autoscalerPath.Child("sizing"), *a.Sizing})
		}
		if a.NodeGroupSizingStrategy != nil {
			all = append(all, saying{autoscalerPath.Child("nodeGroupSizingStrategy"), *a.NodeGroupSizingStrategy})
		}
	}
	if text, ok := shoot.Annotations[mcm.SizingAnnotation]; ok {
		all = append(all, saying{field.NewPath("metadata", "annotations").Key(mcm.SizingAnnotation), text})
	}
	return all
}

// sizingNamed is a strategy's name as it is spelled, however it was written.
func sizingNamed(text string) (string, bool) {
	for _, name := range sizings {
		if strings.EqualFold(name, text) {
			return name, true
		}
	}
	return "", false
}

// sizingOf is the sizing of a valid shoot's pools.
func sizingOf(shoot v1beta1.Shoot) string {
	for _, s := range sayings(shoot) {
		if name, ok := sizingNamed(s.text); ok {
			return name
		}
	}
	return defaultSizing
}

// validateSizing says what is wrong with what a shoot says of its sizing: an
// unknown name, or two places that differ.
func validateSizing(shoot v1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	first, at := "", (*field.Path)(nil)
	for _, s := range sayings(shoot) {
		name, ok := sizingNamed(s.text)
		switch {
		case !ok:
			errs = append(errs, field.NotSupported(s.path, s.text, sizings))
		case first == "":
			first, at = name, s.path
		case name != first:
			errs = append(errs, field.Invalid(s.path, s.text,
				fmt.Sprintf("differs from %s, which is %s: they are spellings of one setting, so keep one of them", at, first)))
		}
	}
	return errs
}
