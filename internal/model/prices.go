package model

import corev1 "k8s.io/api/core/v1"

// PriceOf is what a node costs per hour: by its group's id, else by its instance type, else as the
// provider says. The group is nil for a node of no group. ok is false where nobody knows.
func (p *ScaleUpPolicy) PriceOf(g *Group, labels map[string]string) (price float64, ok bool) {
	if g != nil {
		if price, ok = p.Prices[string(g.ID)]; ok {
			return price, true
		}
	}
	if price, ok = p.Prices[labels[corev1.LabelInstanceTypeStable]]; ok {
		return price, true
	}
	if g != nil && g.PricePerHour != nil {
		return *g.PricePerHour, true
	}
	return 0, false
}
