package model

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Always is how long a pod or a node is left alone that says no end.
const Always time.Duration = math.MaxInt64

// DoNotDisrupt reads the value of Karpenter's annotation on a pod or a node: how long after its creation it is left
// alone. "true" is Always. 0 is not at all; so is a word that is neither "true" nor a positive duration.
func DoNotDisrupt(value string) time.Duration {
	switch value {
	case "":
		return 0 // as on most nodes: to parse it would make an error
	case "true":
		return Always
	}
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return d
	}
	return 0
}

// MayBeKept reports whether Kept may say something of a node at some time.
func MayBeKept(n *corev1.Node) bool {
	return n.Annotations[AnnotationScaleDownDisabled] != "" || n.Annotations[AnnotationDoNotDisrupt] != ""
}

// Kept says by which annotation, as key=value, a person keeps a node, and until when; no time means until the
// annotation is taken off. Empty means by none.
func Kept(n *corev1.Node, now time.Time) (annotation string, until time.Time) {
	if n.Annotations[AnnotationScaleDownDisabled] == "true" {
		return AnnotationScaleDownDisabled + "=true", time.Time{}
	}
	value := n.Annotations[AnnotationDoNotDisrupt]
	switch d := DoNotDisrupt(value); {
	case d == 0:
		return "", time.Time{}
	case d == Always:
		return AnnotationDoNotDisrupt + "=true", time.Time{}
	default:
		until = n.CreationTimestamp.Add(d).UTC()
		if !now.Before(until) {
			return "", time.Time{}
		}
		return AnnotationDoNotDisrupt + "=" + value, until
	}
}
