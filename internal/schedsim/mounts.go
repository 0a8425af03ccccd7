package schedsim

import (
	"encoding/binary"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file asks about volumes once for all pods whose claims are equal but for their names, as those of a StatefulSet
// are. What the plugins say of such volumes on a node has three parts: who uses a claim that one pod may use at a
// time, how many volumes the node may still attach, and all else, which depends on the kind of the volumes and on the
// node's site. The third part is shared, and volumes that are attached are counted. Where one pod uses a claim that
// no other may use, or where something is mounted that is not counted here, the plugins are asked about the pod itself.

// mounting is what a class's pods mount.
type mounting struct {
	kind int32 // equal for classes that a node's site has the same to say to; 0: the plugins are asked for each
	// exclusive are those of its claims, by key, that one pod may use at a time.
	exclusive []string
	drivers   []string // of its volumes, one for each
	volumes   []int32  // their numbers, once asked for
}

// kindOnSite is what the third part is about.
type kindOnSite struct{ kind, site int32 }

// overVolumes is what a node has against the volumes of a class. Known is false where the plugins must be asked.
func (w *World) overVolumes(c model.ClassID, i int) (no *rejection, known bool) {
	m := w.mounting(c)
	if m.kind == 0 || slices.ContainsFunc(m.exclusive, func(key string) bool { return w.claims[key] > 0 }) {
		return nil, false
	}
	if no, known := w.overAttaching(c, i); no != nil || !known {
		return no, known
	}
	key := kindOnSite{m.kind, w.site(w.nodes[i].shape)}
	no, known = w.onSites[key]
	if known {
		return no, true
	}
	info := framework.NewNodeInfo()
	info.SetNode(named(w.shapes[w.nodes[i].shape].content.Node, "(bare)"))
	no = w.ask(w.filters.local, c, info, []stageNode{info})
	if no != nil && !unbindable(no.reason) {
		return nil, false // it is not about volumes
	}
	w.onSites[key] = no
	return no, true
}

// mounting finds what a class's pods mount, once.
func (w *World) mounting(c model.ClassID) *mounting {
	if w.mountings == nil {
		w.mountings = make([]mounting, len(w.classes))
		w.mountingKnown = make([]bool, len(w.classes))
	}
	m := &w.mountings[c]
	if w.mountingKnown[c] {
		return m
	}
	w.mountingKnown[c] = true
	if class := &w.classes[c]; !class.carries || class.inline {
		return m
	}
	k, namespace := w.filters.claimKinds(), w.snap.Classes[c].Namespace()
	var kinds []int32
	for _, claimed := range w.snap.Classes[c].Spec.Claims {
		w.Looked(1)
		claim := w.claim(namespace, claimed)
		if claim == nil {
			return m
		}
		kind, driver := k.of(w, claim)
		if kind == 0 {
			return m
		}
		kinds, m.drivers = append(kinds, kind), append(m.drivers, driver)
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			m.exclusive = append(m.exclusive, namespace+"/"+claimed)
		}
	}
	k.name = k.name[:0]
	k.add("all of")
	for _, kind := range kinds {
		k.count(int(kind))
	}
	m.kind = k.number()
	return m
}

// claimKinds are the kinds of claims that there are. They hold for as long as the storage objects stay the same.
type claimKinds struct {
	numbers map[string]int32 // by name
	name    []byte           // of the kind that is looked for
	late    map[string]*lateClass
	meant   map[string]bool // claims, by key, that a volume names which is not theirs yet
	// picky are the drivers that must be on a node, and attached counts the volumes that are, by the node's name.
	picky    map[string]bool
	attached map[string]int
}

// lateClass is a storage class whose volumes are made where their first pod goes.
type lateClass struct {
	*storagev1.StorageClass
	readsNames bool // what is said of its volumes may differ between nodes of one shape
}

// claimKinds finds what tells claims apart, once for all worlds that have the same storage objects.
func (f *filters) claimKinds() *claimKinds {
	if f.kinds != nil {
		return f.kinds
	}
	k := &claimKinds{numbers: map[string]int32{}, late: map[string]*lateClass{}, meant: map[string]bool{},
		picky: map[string]bool{}, attached: map[string]int{}}
	f.kinds = k
	for _, c := range f.volumes.Classes {
		if c.VolumeBindingMode == nil || *c.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
			continue
		}
		k.late[c.Name] = &lateClass{c, slices.ContainsFunc(c.AllowedTopologies, func(t corev1.TopologySelectorTerm) bool {
			return slices.ContainsFunc(t.MatchLabelExpressions, func(e corev1.TopologySelectorLabelRequirement) bool {
				return e.Key == corev1.LabelHostname
			})
		})}
	}
	for _, p := range f.shown {
		class := k.late[storagehelpers.GetPersistentVolumeClass(p)]
		if class == nil {
			continue // no claim that waits for its pod asks for it
		}
		class.readsNames = class.readsNames || readsNames(p)
		if ref := p.Spec.ClaimRef; ref != nil {
			k.meant[ref.Namespace+"/"+ref.Name] = true
		}
	}
	for _, c := range f.volumes.Capacities {
		if class := k.late[c.StorageClassName]; class != nil && c.NodeTopology != nil {
			_, reads := c.NodeTopology.MatchLabels[corev1.LabelHostname]
			for _, e := range c.NodeTopology.MatchExpressions {
				reads = reads || e.Key == corev1.LabelHostname
			}
			class.readsNames = class.readsNames || reads
		}
	}
	for _, a := range f.volumes.Attachments {
		k.attached[a.Spec.NodeName]++
	}
	for _, d := range f.volumes.CSIDrivers {
		k.picky[d.Name] = d.Spec.PreventPodSchedulingIfMissing != nil && *d.Spec.PreventPodSchedulingIfMissing
	}
	return k
}

// of is the number that claims share which are equal for the plugins on all nodes of a site, and the driver that
// their volumes count for; 0 where a claim is no one's equal, or one that the plugins refuse at once.
func (k *claimKinds) of(w *World, claim *corev1.PersistentVolumeClaim) (kind int32, driver string) {
	if claim.Status.Phase == corev1.ClaimLost || claim.DeletionTimestamp != nil {
		return 0, ""
	}
	if claim.Spec.VolumeName != "" {
		return k.ofBound(w, claim)
	}
	class := k.late[storagehelpers.GetPersistentVolumeClaimClass(claim)]
	_, chosen := claim.Annotations[storagehelpers.AnnSelectedNode]
	switch {
	case class == nil || class.readsNames || chosen || k.meant[claim.Namespace+"/"+claim.Name],
		strings.HasPrefix(class.Provisioner, inTree) || k.picky[class.Provisioner],
		claim.Spec.Selector != nil || claim.Spec.VolumeAttributesClassName != nil:
		return 0, ""
	}
	size, mode := "", ""
	if q, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		size = q.String()
	}
	if claim.Spec.VolumeMode != nil {
		mode = string(*claim.Spec.VolumeMode)
	}
	k.name = k.name[:0]
	k.add("waits", class.Name, size, mode)
	for _, access := range claim.Spec.AccessModes {
		k.add(string(access))
	}
	return k.number(), class.Provisioner
}

// inTree begins the names of drivers within Kubernetes, which the plugins translate by what is said of each node.
const inTree = "kubernetes.io/"

// ofBound is of for a claim that has its volume: of that, the plugins read where it can be reached from.
func (k *claimKinds) ofBound(w *World, claim *corev1.PersistentVolumeClaim) (kind int32, driver string) {
	volume := w.volume(claim.Spec.VolumeName)
	if claim.Annotations[bindCompleted] == "" || volume == nil || volume.Spec.CSI == nil || readsNames(volume) ||
		volume.Spec.CSI.VolumeHandle == "" || k.picky[volume.Spec.CSI.Driver] {
		return 0, ""
	}
	k.name = k.name[:0]
	k.add("bound")
	for _, key := range zoneLabels {
		if value, ok := volume.Labels[key]; ok {
			k.add(key, value)
		}
	}
	if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
		k.count(len(a.Required.NodeSelectorTerms))
		for _, term := range a.Required.NodeSelectorTerms {
			for _, list := range [][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
				k.count(len(list))
				for i := range list {
					k.add(list[i].Key, string(list[i].Operator))
					k.count(len(list[i].Values))
					k.add(list[i].Values...)
				}
			}
		}
	}
	return k.number(), volume.Spec.CSI.Driver
}

// zoneLabels are the labels of a volume that are compared with those of nodes.
var zoneLabels = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion}

// add adds words to the name, each after its length.
func (k *claimKinds) add(words ...string) {
	for _, word := range words {
		k.count(len(word))
		k.name = append(k.name, word...)
	}
}

func (k *claimKinds) count(n int) { k.name = binary.AppendUvarint(k.name, uint64(n)) }

// number is that of the name, above zero.
func (k *claimKinds) number() int32 {
	n, ok := k.numbers[string(k.name)]
	if !ok {
		n = int32(len(k.numbers) + 1)
		k.numbers[string(k.name)] = n
	}
	return n
}
