package snapshot

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// settles is how long a node that has just become ready may still lack a label
// that its template has, or carry a taint that it has not.
const settles = 2 * time.Minute

// settling reports whether a node that was asked for a short while ago is ready
// before it is all that its template says: it carries a taint of its start, or
// lacks a label or a device that another component has yet to add. It counts as
// its template until then, so that it is not bought again. A node that is
// smaller than promised is what it is at once.
func (b *builder) settling(n *model.Node, startup time.Duration) (until time.Time, yes bool) {
	arrived, ok := b.arrived[n.Name]
	if !ok || n.Group < 0 || !b.snap.Groups[n.Group].HasTemplate {
		return time.Time{}, false
	}
	g := &b.snap.Groups[n.Group]
	form, _ := b.become(g, n.Object, g.InstanceNamed(n.Instance))
	shapes := b.snap.Contents.Shapes
	real, promised := shapes[n.Shape], shapes[form]
	switch {
	case lacksDevices(real, promised):
		until = n.Object.CreationTimestamp.Add(startup)
	case lacksLabels(real, promised) || addsTaints(real, promised):
		until = arrived.Add(settles)
	}
	return until, b.snap.Now.Before(until)
}

func lacksDevices(real, promised *model.Shape) bool {
	for _, x := range promised.Allocatable.Extended {
		if x.Value > 0 && real.Allocatable.Value(x.Name) == 0 {
			return true
		}
	}
	return false
}

func lacksLabels(real, promised *model.Shape) bool {
	for key := range promised.Node.Labels {
		if _, ok := real.Node.Labels[key]; !ok {
			return true
		}
	}
	return false
}

func addsTaints(real, promised *model.Shape) bool {
	for i := range real.Node.Spec.Taints {
		if t := &real.Node.Spec.Taints[i]; t.Effect != corev1.TaintEffectPreferNoSchedule &&
			!model.HasTaint(promised.Node, t.Key) {
			return true
		}
	}
	return false
}
