package model_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestKept: both vocabularies keep a node; Karpenter's may name a time, which counts from the node's creation.
func TestKept(t *testing.T) {
	born := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		disabled, disrupt string
		age               time.Duration
		want              string
		until             time.Time
	}{
		"none":                     {},
		"the Cluster Autoscaler's": {disabled: "true", want: model.AnnotationScaleDownDisabled + "=true"},
		"with another word":        {disabled: "false"},
		"Karpenter's":              {disrupt: "true", want: model.AnnotationDoNotDisrupt + "=true"},
		"Karpenter's, off":         {disrupt: "false"},
		"both":                     {disabled: "true", disrupt: "1h", want: model.AnnotationScaleDownDisabled + "=true"},
		"for a time": {disrupt: "4h", age: 4*time.Hour - 1, want: model.AnnotationDoNotDisrupt + "=4h",
			until: born.Add(4 * time.Hour)},
		"for a time that is over": {disrupt: "4h", age: 4 * time.Hour},
		"for less than no time":   {disrupt: "-4h"},
		"for a time of no unit":   {disrupt: "4"},
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: metav1.NewTime(born), Annotations: map[string]string{},
		}}
		if c.disabled != "" {
			n.Annotations[model.AnnotationScaleDownDisabled] = c.disabled
		}
		if c.disrupt != "" {
			n.Annotations[model.AnnotationDoNotDisrupt] = c.disrupt
		}
		if got, until := model.Kept(n, born.Add(c.age)); got != c.want || !until.Equal(c.until) {
			t.Errorf("%s: %q until %v, want %q until %v", name, got, until, c.want, c.until)
		}
	}
}
