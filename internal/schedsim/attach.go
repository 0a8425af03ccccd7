package schedsim

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file counts the volumes of nodes that may attach only so many of a driver.

// full is the answer of a node that can attach no more volumes.
var full = &rejection{reason: model.VolumeLimit, said: nodevolumelimits.ErrReasonMaxVolumeCountExceeded}

// overAttaching is what a node has against attaching the volumes of a class, beside those that it has. Known is false
// where the plugin must be asked.
func (w *World) overAttaching(c model.ClassID, i int) (no *rejection, known bool) {
	m, csi, n := w.mounting(c), w.csiOf(i), &w.nodes[i]
	limited := limitedDrivers(csi, m)
	if len(limited) == 0 {
		return nil, true
	}
	attached := 0
	if n.name != "" {
		attached = w.filters.claimKinds().attached[n.name]
	}
	w.Looked(len(n.batches))
	most, counted := len(m.drivers)+attached, attached == 0
	for _, b := range n.batches {
		class := &w.classes[b.Class]
		if class.inline {
			return nil, false // the plugin may not be able to read it
		}
		most += len(class.spec.Volumes)
		counted = counted && (len(class.spec.Volumes) == 0 || w.mounting(b.Class).kind != 0)
	}
	// All that there is may be the same volume, or of another driver: where there is room for it even so, there is.
	if !slices.ContainsFunc(limited, func(d *storagev1.CSINodeDriver) bool { return most > int(*d.Allocatable.Count) }) {
		return nil, true
	}
	if !counted {
		return nil, false
	}
	for _, d := range limited {
		have := w.attached[:0]
		for _, b := range n.batches {
			have = w.appendVolumes(have, b.Class, d.Name)
		}
		slices.Sort(have)
		have = slices.Compact(have)
		all := w.appendVolumes(have, c, d.Name)
		slices.Sort(all[len(have):])
		more := 0
		for k, id := range all[len(have):] {
			if k > 0 && all[len(have)+k-1] == id {
				continue
			}
			if _, there := slices.BinarySearch(have, id); !there {
				more++
			}
		}
		w.attached = all[:0]
		if more > 0 && len(have)+more > int(*d.Allocatable.Count) {
			return full, true
		}
	}
	return nil, true
}

// limitedDrivers are those of what is mounted that a node may attach only so many volumes of. Of one that is listed
// twice the last limit holds, as for the plugin.
func limitedDrivers(csi *storagev1.CSINode, m *mounting) (out []*storagev1.CSINodeDriver) {
	if csi == nil {
		return nil
	}
	for k := range csi.Spec.Drivers {
		d := &csi.Spec.Drivers[k]
		if d.Allocatable != nil && d.Allocatable.Count != nil && slices.Contains(m.drivers, d.Name) {
			out = append(slices.DeleteFunc(out, func(x *storagev1.CSINodeDriver) bool { return x.Name == d.Name }), d)
		}
	}
	return out
}

// appendVolumes adds the numbers of a class's volumes of a driver to a list.
func (w *World) appendVolumes(list []int32, c model.ClassID, driver string) []int32 {
	m, k := w.mounting(c), w.filters.claimKinds()
	if m.volumes == nil {
		namespace := w.snap.Classes[c].Namespace()
		for at, name := range w.snap.Classes[c].Spec.Claims {
			// A volume is known by its handle, one that is still to be made by its claim.
			k.name = k.name[:0]
			if claim := w.claim(namespace, name); claim.Spec.VolumeName != "" {
				k.add("volume", m.drivers[at], w.volume(claim.Spec.VolumeName).Spec.CSI.VolumeHandle)
			} else {
				k.add("to be made", m.drivers[at], namespace, name)
			}
			m.volumes = append(m.volumes, k.number())
		}
	}
	for at, id := range m.volumes {
		if m.drivers[at] == driver {
			list = append(list, id)
		}
	}
	return list
}

// csiOf is the CSINode that the plugins find for a node, nil if there is none.
func (w *World) csiOf(i int) *storagev1.CSINode {
	n := &w.nodes[i]
	if n.name != "" {
		if csi := w.filters.stage.csiNodes[n.name]; csi != nil {
			return csi
		}
	}
	if n.object != nil {
		return nil
	}
	return w.csiNode(i)
}
