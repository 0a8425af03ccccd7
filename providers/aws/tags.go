package aws

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// The tags that say what a node of the group will be like.
const (
	tagTemplate  = "k8s.io/cluster-autoscaler/node-template/"
	tagLabel     = tagTemplate + "label/"
	tagTaint     = tagTemplate + "taint/"
	tagResource  = tagTemplate + "resources/"
	tagOption    = tagTemplate + "autoscaling-options/"
	tagCluster   = "eks:cluster-name"
	tagNodegroup = "eks:nodegroup-name"
)

// tagFacts are what a group's tags say. A tag that says it wrongly is in bad,
// and changes nothing else.
type tagFacts struct {
	labels    map[string]string
	taints    []corev1.Taint
	resources map[corev1.ResourceName]amount
	options   provider.Options
	bad       []badTag
	// unclear are the taints whose effect is not known, and so the pods that they keep
	// away.
	unclear []string
}

// amount is a quantity as the user wrote it, so that messages can quote it.
type amount struct {
	resource.Quantity
	text string
}

// badTag is a tag that cannot be understood, and why.
type badTag struct{ key, value, why string }

// parseTags reads tags by their prefix; those of others mean nothing here.
func parseTags(tags map[string]string) tagFacts {
	out := tagFacts{labels: map[string]string{}, resources: map[corev1.ResourceName]amount{}}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(key, tagTemplate) {
			continue
		}
		if err := out.take(key, tags[key]); err != nil {
			out.bad = append(out.bad, badTag{key, tags[key], err.Error()})
			if errors.Is(err, errNoEffect) {
				out.unclear = append(out.unclear, strings.TrimPrefix(key, tagTaint))
			}
		}
	}
	return out
}

func (t *tagFacts) take(key, value string) error {
	if name, ok := strings.CutPrefix(key, tagLabel); ok {
		if err := checkLabel(name, value); err != nil {
			return err
		}
		t.labels[name] = value
		return nil
	}
	if name, ok := strings.CutPrefix(key, tagTaint); ok {
		taint, err := parseTaint(name, value)
		if err == nil {
			t.taints = append(t.taints, taint)
		}
		return err
	}
	if name, ok := strings.CutPrefix(key, tagResource); ok {
		amount, err := parseAmount(name, value)
		if err == nil {
			t.resources[corev1.ResourceName(name)] = amount
		}
		return err
	}
	if name, ok := strings.CutPrefix(key, tagOption); ok {
		return t.options.Set(name, value)
	}
	return fmt.Errorf("after %s there must be label/, taint/, resources/ or autoscaling-options/", tagTemplate)
}

func checkLabel(name, value string) error {
	if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
		return fmt.Errorf("%q is no label key: %s", name, wrong[0])
	}
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		return fmt.Errorf("%q is no label value: %s", value, wrong[0])
	}
	if name == corev1.LabelHostname {
		return fmt.Errorf("%s is each node's own, and no template has it", name)
	}
	return nil
}

// parseTaint reads "value:Effect"; the value may be empty. The last colon
// counts: a taint's value has none, so that one more is seen to be a mistake.
func parseTaint(name, text string) (corev1.Taint, error) {
	taint := corev1.Taint{Key: name, Value: text}
	if at := strings.LastIndex(text, ":"); at >= 0 {
		taint.Value, taint.Effect = text[:at], corev1.TaintEffect(text[at+1:])
	}
	return taint, checkTaint(taint)
}

// errNoEffect says that the effect of a taint is unknown.
var errNoEffect = errors.New("is no effect of a taint")

func checkTaint(t corev1.Taint) error {
	if wrong := validation.IsQualifiedName(t.Key); len(wrong) > 0 {
		return fmt.Errorf("%q is no taint key: %s", t.Key, wrong[0])
	}
	if wrong := validation.IsValidLabelValue(t.Value); len(wrong) > 0 {
		return fmt.Errorf("%q is no taint value: %s", t.Value, wrong[0])
	}
	if passes(t.Key) {
		return fmt.Errorf("the taint %s is set and taken away on running nodes, and no template has it", t.Key)
	}
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
	default:
		return fmt.Errorf("%q %w: the form is value:Effect, as in true:NoSchedule, with NoSchedule, NoExecute or "+
			"PreferNoSchedule", t.Effect, errNoEffect)
	}
	return nil
}

// passes reports whether a taint is put onto nodes and taken from them again as
// they live, by Kubernetes or by an autoscaler.
func passes(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.Contains(key, "ClusterAutoscaler")
}

func parseAmount(name, text string) (amount, error) {
	if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
		return amount{}, fmt.Errorf("%q is no resource name: %s", name, wrong[0])
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return amount{}, fmt.Errorf("%q is no quantity such as 4, 500m or 16Gi", text)
	}
	if quantity.Sign() < 0 {
		return amount{}, fmt.Errorf("%q is less than nothing", text)
	}
	return amount{quantity, text}, nil
}
