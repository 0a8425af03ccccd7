package exact

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// riddle is a workload of which not all pods can run, by how it is made.
type riddle struct {
	name string
	// draw says how many of its pods can run.
	draw func(*draft) (run int)
}

// impossible are such workloads. None has a priority, so that none takes the place of others.
var impossible = []riddle{
	{"too-large", func(f *draft) int {
		f.spec.Containers = []corev1.Container{container("main", "100", "64Mi")}
		return 0
	}},
	{"no-such-node", func(f *draft) int {
		f.spec.NodeSelector = map[string]string{diskLabel: "tape"}
		return 0
	}},
	{"not-tolerant", func(f *draft) int {
		f.spec.NodeSelector = map[string]string{"rehearse.plimsoll.dev/group": "edge"}
		return 0
	}},
	{"too-many-for-zones", func(f *draft) int {
		f.apart(corev1.LabelTopologyZone, ownLabels(f.w.Name))
		return len(f.Zones)
	}},
	{"too-few-zones", func(f *draft) int {
		c := f.spread(corev1.LabelTopologyZone)
		c.MaxSkew, c.MinDomains = 1, ptr.To(int32(len(f.Zones)+1))
		return len(f.Zones)
	}},
	{"alone", func(f *draft) int {
		f.beside(map[string]string{"no": "such"})
		return 0
	}},
	{"too-few-nodes", func(f *draft) int {
		f.spec.NodeSelector = map[string]string{"rehearse.plimsoll.dev/group": "edge"}
		f.tolerate(corev1.Toleration{Key: edgeTaint, Operator: corev1.TolerationOpExists})
		f.spec.Containers[0].Ports = []corev1.ContainerPort{hostPort(9000)}
		return edgeMost
	}},
	{"volume-elsewhere", func(f *draft) int {
		f.w.Needs = volumeFor(f.w.Name, "zone-x", corev1.ReadWriteOnce)
		f.mount(f.w.Name)
		return 0
	}},
	{"no-such-claim", func(f *draft) int {
		f.mount("none")
		return 0
	}},
	{"volume-in-use", func(f *draft) int {
		f.w.Needs = volumeFor(f.w.Name, f.zone(), corev1.ReadWriteOncePod)
		f.mount(f.w.Name)
		return 1
	}},
}

// drawImpossible draws one or two pods more than can run.
func (d *drawing) drawImpossible(r riddle) *Workload {
	f := d.newDraft(r.name, 0)
	f.spec.Containers = []corev1.Container{container("main", f.cpu(), f.memory())}
	run := r.draw(f)
	f.w.Stays = 1 + d.dice.IntN(2)
	f.w.Pods = run + f.w.Stays
	f.w.Traits = []string{r.name}
	f.finish()
	return f.w
}
