package schedsim

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestSelectorsOfMany: terms that need no one label are compared with a class of each kind that they tell apart, and
// match what they match when they are compared with each class. Those that match the same share a list.
func TestSelectorsOfMany(t *testing.T) {
	const classes, terms = 4 * fewKin, 60
	c := testkit.New()
	c.AddNode(testkit.Node("n", "64", "64Gi", nil), "")
	for i := range classes {
		labels := map[string]string{"id": fmt.Sprint(i)}
		if i%3 > 0 {
			labels["app"] = fmt.Sprint("app", i%7)
		}
		if i%5 > 0 {
			labels["tier"] = fmt.Sprint(i % 2)
		}
		c.Bound(testkit.Pod(fmt.Sprint("space", i%2), "p", "1m", "1Mi", labels), 1, "n")
	}
	not := func(key, value string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}}
	}
	has := func(key string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}
	}
	for i := range terms {
		p := testkit.Pod("space0", fmt.Sprint("apart", i), "1m", "1Mi", map[string]string{"app": "apart"})
		testkit.Apart(p, corev1.LabelHostname, nil)
		term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		if i%4 > 0 {
			term.NamespaceSelector = &metav1.LabelSelector{}
		}
		term.LabelSelector = &metav1.LabelSelector{MatchExpressions: [][]metav1.LabelSelectorRequirement{
			{not("app", fmt.Sprint("app", i%9)), not("tier", fmt.Sprint(i%2))},
			{not("app", fmt.Sprint("none", i))},
			{has("tier"), not("app", fmt.Sprint("app", i%7))},
			{has("id"), not("id", fmt.Sprint(i))},
			{not(fmt.Sprint("other", i), "x")},
			{not("app", "app1"), not("app", "app2")},
		}[i%6]}
		c.Pending(p, 1)
	}
	w := Load(nil, snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules))
	defer w.Close()
	for _, term := range w.bonds.terms {
		before := w.bonds.steps
		got := w.bonds.matches(term)
		t.Logf("%s: %d classes, %d compared", term.Selector, len(got), w.bonds.steps-before)
		var want []model.ClassID
		for i := range w.classes {
			if w.bonds.matchesClass(term.selection, &w.classes[i]) {
				want = append(want, model.ClassID(i))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s matches %d classes, want %d", term.name, len(got), len(want))
		}
	}
	if n := len(w.bonds.kin); n == 0 || n > mostKin {
		t.Errorf("kin are kept for %d sets of labels, want 1 to %d", n, mostKin)
	}
}
