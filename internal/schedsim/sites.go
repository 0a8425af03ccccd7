package schedsim

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file spares questions about volumes that are somewhere: nodes that agree in all labels that volumes read are
// one site, and what a volume has against one of them it has against all.

// bindCompleted is an annotation on a claim whose volume is settled.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// barred is an empty set of the sites that the volumes of a class are known not to reach; nil where that cannot be
// said of sites.
func (w *World) barred(c model.ClassID) map[int32]bool {
	if w.mounting(c).kind != 0 || !w.settledVolumes(c) {
		return nil // what a site says to a kind is known to all of the kind
	}
	return map[int32]bool{}
}

// settledVolumes reports whether a class has claims, and each of them has its volume, of which labels alone say which
// nodes reach it. A volume of a driver within Kubernetes is translated by what is said of each node; we err to asking.
func (w *World) settledVolumes(c model.ClassID) bool {
	claims, namespace := w.snap.Classes[c].Spec.Claims, w.snap.Classes[c].Namespace()
	for _, name := range claims {
		claim := w.claim(namespace, name)
		if claim == nil || claim.Annotations[bindCompleted] == "" {
			return false
		}
		volume := w.volume(claim.Spec.VolumeName)
		if volume == nil || volume.Spec.CSI == nil || readsNames(volume) {
			return false
		}
	}
	return len(claims) > 0
}

// Exclusive reports whether a class has a claim that one pod may use at a time.
func (w *World) Exclusive(c model.ClassID) bool {
	return slices.ContainsFunc(w.snap.Classes[c].Spec.Claims, func(name string) bool {
		claim := w.claim(w.snap.Classes[c].Namespace(), name)
		return claim != nil && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
	})
}

// claim finds a persistent volume claim, nil if there is none.
func (w *World) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	v := &w.snap.Volumes
	at, found := slices.BinarySearchFunc(v.Claims, name, func(p *corev1.PersistentVolumeClaim, name string) int {
		return cmp.Or(cmp.Compare(p.Namespace, namespace), cmp.Compare(p.Name, name))
	})
	if !found {
		return nil
	}
	return v.Claims[at]
}

// volume finds a persistent volume, nil if there is none.
func (w *World) volume(name string) *corev1.PersistentVolume {
	list := w.snap.Volumes.Persistent
	at, found := slices.BinarySearchFunc(list, name,
		func(p *corev1.PersistentVolume, name string) int { return cmp.Compare(p.Name, name) })
	if !found {
		return nil
	}
	return list[at]
}

// readsNames reports whether a volume reads what differs between the nodes of a shape.
func readsNames(v *corev1.PersistentVolume) bool {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return false
	}
	return slices.ContainsFunc(v.Spec.NodeAffinity.Required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
			return e.Key == corev1.LabelHostname
		}) // the scheduler does not read fields here
	})
}

// site is the number of the site that nodes of a shape are on.
func (w *World) site(s model.ShapeID) int32 {
	if w.sites == nil {
		w.sites, w.siteOf = make([]int32, len(w.shapes)), map[string]int32{}
	}
	if w.sites[s] == 0 {
		look := w.mountLook(s)
		if w.siteOf[look] == 0 {
			w.siteOf[look] = int32(len(w.siteOf) + 1)
		}
		w.sites[s] = w.siteOf[look]
	}
	return w.sites[s]
}
