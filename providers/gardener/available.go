package gardener

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

var deploymentsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// availability is whether machine-controller-manager runs.
type availability struct {
	// missing says why nothing is to be written, empty if it runs or was not looked for.
	missing string
	// mistaken says why nothing is to be removed: it would not understand which
	// machines are meant.
	mistaken string
	notices  []provider.Notice
}

// available looks at machine-controller-manager's Deployment. Without it, nothing
// that is written comes to pass, and machines that were asked for would be taken for
// ones that the cloud cannot make. Without the permission to read it, the provider goes on without this check.
func (p *Provider) available(ctx context.Context) (availability, error) {
	if !p.settings.requireAvailable {
		return availability{}, nil
	}
	what := fmt.Sprintf("the Deployment %s/%s", p.settings.namespace, v1alpha1.ControllerManagerDeployment)
	o, err := p.client.Resource(deploymentsResource).Namespace(p.settings.namespace).Get(ctx,
		v1alpha1.ControllerManagerDeployment, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return availability{notices: []provider.Notice{kube.Notice("", noticeNoAvailability,
			"whether machine-controller-manager runs is not known: %v; give the right to get Deployments, or set "+
				"--mcm-require-available=false", err)}}, nil
	case apierrors.IsNotFound(err):
		return unavailable("%s is not there", what), nil
	case err != nil:
		return availability{}, fmt.Errorf("read %s: %w", what, err)
	}
	if n, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas"); n < 1 {
		return unavailable("%s has no available replica", what), nil
	}
	if why := mistaken(imageOf(o), p.settings.marker); why != "" {
		return availability{mistaken: why, notices: []provider.Notice{kube.Notice("", noticeWrongMarker, "%s", why)}}, nil
	}
	return availability{}, nil
}

// imageOf is the image of machine-controller-manager itself; the Deployment has one of
// the cloud's machine controller as well.
func imageOf(o *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		if container["name"] == v1alpha1.ControllerManagerDeployment {
			image, _ := container["image"].(string)
			return image
		}
	}
	return ""
}

// mistaken tells, of an image whose tag is a version, why it does not understand a
// marker; empty if it does, or if nothing is known.
func mistaken(image string, m marker) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, found := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	is, err := version.ParseGeneric(tag)
	if !found || err != nil {
		return ""
	}
	const says = "machine-controller-manager is %s, and would take --mcm-deletion-marker=%s for something else, so that " +
		"another machine would go than the one that is meant: set it to %s"
	switch {
	case m != priority && is.LessThan(namesSince):
		return fmt.Sprintf(says, tag, m, priority)
	case m == timestamped && is.LessThan(timesSince):
		return fmt.Sprintf(says, tag, m, names)
	}
	return ""
}

// Since when machine-controller-manager understands names, and names with times.
var (
	namesSince = version.MustParseGeneric("0.56.0")
	timesSince = version.MustParseGeneric("0.61.3")
)

func unavailable(format string, args ...any) availability {
	why := fmt.Sprintf(format, args...)
	return availability{missing: why, notices: []provider.Notice{kube.Notice("", noticeUnavailable,
		"%s: nothing is asked of its groups until it is back (--mcm-require-available)", why)}}
}

// hold holds a group as long as machine-controller-manager is away, or does not
// understand us.
func (a availability) hold() []provider.Hold {
	if a.mistaken != "" {
		return []provider.Hold{{Op: provider.OpRemove, Reason: string(provider.BadConfig), Message: a.mistaken}}
	}
	if a.missing == "" {
		return nil
	}
	var out []provider.Hold
	for _, op := range everyWrite {
		out = append(out, provider.Hold{Op: op, Reason: holdUnavailable, Message: a.missing, Stalled: true})
	}
	return out
}
