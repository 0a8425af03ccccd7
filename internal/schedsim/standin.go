package schedsim

import (
	"encoding/binary"
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is about the one node that the plugins are shown for a whole domain.

// mostStandIns is how many are kept of a domain. Counts change little as pods come and go, so few
// are enough.
const mostStandIns = 16

// lowest finds by how much each sort's count may be lowered in all domains
// without changing a verdict. Spread constraints compare counts with the
// lowest of them, so that what all domains have in common cancels out; one pod
// stays where there was one, for affinity asks whether there is any.
func (v *view) lowest(w *World, at int32, target *node) {
	class := &w.classes[v.class]
	clear(v.low)
	if class.spreadOver == "" || !v.oneDomainPerValue() {
		return
	}
	for s, r := range v.relevant {
		if !r.counted {
			continue
		}
		low := int32(-1)
		for j := range v.domains {
			d := &v.domains[j]
			if d.nodes == 0 || !d.counted {
				continue
			}
			n := d.counts[s]
			if int32(j) == at {
				n -= v.on(target, int32(s))
			}
			if low < 0 || n < low {
				low = n
			}
		}
		v.low[s] = max(0, low-1)
	}
}

// oneDomainPerValue reports whether each value of the spread key has just one
// counted domain: only then does lowering domains alike lower values alike.
func (v *view) oneDomainPerValue() bool {
	for i := range v.domains {
		for j := range i {
			a, b := &v.domains[i], &v.domains[j]
			if a.counted && b.counted && a.nodes > 0 && b.nodes > 0 && a.value == b.value {
				return false
			}
		}
	}
	return true
}

func countOf(batches []model.Batch, c model.ClassID) int32 {
	for _, b := range batches {
		if b.Class == c {
			return int32(b.Count)
		}
	}
	return 0
}

// show gives the stand-in of a domain, without the pods of the node that is
// shown itself, if any.
func (v *view) show(w *World, j int, without *node) *framework.NodeInfo {
	d := &v.domains[j]
	same := d.standIn != nil
	if d.shown == nil {
		d.shown = make([]int32, len(v.relevant))
	}
	for s, r := range v.relevant {
		n := d.counts[s]
		if without != nil {
			n -= v.on(without, int32(s))
		}
		switch {
		case r.counted && d.counted:
			n -= v.low[s]
		case n > 1:
			n = 1 // only whether there is one can matter
		}
		if d.shown[s] != n {
			d.shown[s], same = n, false
		}
	}
	if same {
		return d.standIn
	}
	var key []byte
	for _, n := range d.shown {
		key = binary.AppendVarint(key, int64(n))
	}
	if info, ok := d.standIns[string(key)]; ok {
		d.standIn = info
		return info
	}
	info := framework.NewNodeInfo()
	info.SetNode(named(d.content, fmt.Sprintf("domain-%d", j)))
	for s, r := range v.relevant {
		for range d.shown[s] {
			info.AddPodInfo(w.classes[r.class].info())
		}
	}
	if d.standIns == nil || len(d.standIns) == mostStandIns {
		d.standIns = map[string]*framework.NodeInfo{}
	}
	d.standIns[string(key)], d.standIn = info, info
	return info
}
