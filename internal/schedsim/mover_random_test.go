package schedsim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

const gpu = "example.com/gpu"

// drawCrowd makes small clusters in which pods have run for a while: up to nine
// nodes of every kind in three zones, and apps that repel, attract, spread, pin
// and hold volumes, several on each node, whether or not they would be put there
// again.
func drawCrowd(t *rapid.T) *model.Snapshot {
	c := testkit.New()
	taint := corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	zones := []string{"a", "b", "c"}
	like := func(name, zone string, small, tainted, gpus bool) *corev1.Node {
		cpu := "4"
		if small {
			cpu = "2"
		}
		var taints []corev1.Taint
		if tainted {
			taints = append(taints, taint)
		}
		n := testkit.Node(name, cpu, "16Gi", map[string]string{corev1.LabelTopologyZone: zone}, taints...)
		if gpus {
			n.Status.Allocatable[gpu] = resource.MustParse("2")
		}
		return n
	}
	for _, z := range zones {
		c.Group(z, 0, 10, like("", z, false, false, false)).Target = 1 // one is coming
	}
	apps := make([]*corev1.Pod, rapid.IntRange(2, 6).Draw(t, "apps"))
	volumes := model.Volumes{}
	for a := range apps {
		apps[a] = drawApp(t, a, len(apps), &volumes)
	}
	standing := model.Standing{Nodes: map[string]model.NodeStanding{}}
	nodes := rapid.IntRange(2, 9).Draw(t, "nodes")
	for i := range nodes {
		name, zone := fmt.Sprintf("n%d", i), rapid.SampledFrom(zones).Draw(t, "zone")
		kind := rapid.SampledFrom([]string{"ready", "ready", "ready", "ready", "ready", "leaving", "returning",
			"booting", "unready"}).Draw(t, "kind")
		plain := kind == "returning" || kind == "booting"
		n := like(name, zone, !plain && rapid.Bool().Draw(t, "small"), !plain &&
			rapid.IntRange(0, 4).Draw(t, "tainted") == 0, !plain && rapid.IntRange(0, 3).Draw(t, "gpus") == 0)
		if kind == "leaving" || kind == "returning" {
			n.Spec.Taints = append(n.Spec.Taints,
				corev1.Taint{Key: model.TaintToBeDeleted, Value: "1", Effect: corev1.TaintEffectNoSchedule})
			stage := model.Tainted
			if kind == "leaving" {
				stage = model.Evicting
			}
			standing.Nodes[name] = model.NodeStanding{Drain: &model.Drain{Node: name, Stage: stage,
				Since: c.Now, Began: c.Now}}
		}
		if kind == "booting" || kind == "unready" {
			n.Status.Conditions[0].Status = corev1.ConditionFalse
		}
		if kind == "booting" {
			n.CreationTimestamp = metav1.NewTime(c.Now)
		}
		c.AddNode(n, zone)
		for a := range apps {
			flags := model.Flags(0)
			if kind == "returning" {
				flags = model.FromDaemonSet // others keep it
			}
			c.BoundAs(apps[a], rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, "pods"), name, flags, "")
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "daemonset") == 0 {
		c.DaemonSet("agent", testkit.Pod("default", "agent", "100m", "128Mi", map[string]string{"app": "agent"}))
	}
	seen := c.Observation()
	seen.Volumes = volumes
	return snapshot.New(nil, seen, standing, testkit.Policy().Rules)
}

func drawApp(t *rapid.T, a, apps int, volumes *model.Volumes) *corev1.Pod {
	own := map[string]string{"app": fmt.Sprintf("app%d", a)}
	p := testkit.Pod("default", own["app"],
		rapid.SampledFrom([]string{"", "200m", "500m", "1", "1500m"}).Draw(t, "request"), "1Gi", own)
	about := own
	if rapid.IntRange(0, 2).Draw(t, "about another") == 0 {
		about = map[string]string{"app": fmt.Sprintf("app%d", (a+1)%apps)}
	}
	if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	if rapid.IntRange(0, 5).Draw(t, "wants gpu") == 0 {
		p.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "traits") {
		key := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelTopologyZone,
			corev1.LabelHostname}).Draw(t, "key")
		switch rapid.SampledFrom([]string{"spread", "spread", "anti", "affinity", "port", "zone", "pin",
			"volume"}).Draw(t, "trait") {
		case "spread":
			testkit.SpreadOver(p, key, int32(rapid.IntRange(1, 2).Draw(t, "skew")), about)
			s := &p.Spec.TopologySpreadConstraints[len(p.Spec.TopologySpreadConstraints)-1]
			if rapid.IntRange(0, 4).Draw(t, "min domains") == 0 {
				s.MinDomains = new(int32)
				*s.MinDomains = 3
			}
			if rapid.IntRange(0, 3).Draw(t, "honor taints") == 0 {
				honor := corev1.NodeInclusionPolicyHonor
				s.NodeTaintsPolicy = &honor
			}
		case "anti":
			testkit.Apart(p, key, about)
		case "affinity":
			testkit.Together(p, key, about)
		case "port":
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80,
				Protocol: corev1.ProtocolTCP}}
		case "zone":
			p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: rapid.SampledFrom(
				[]string{"a", "b", "c"}).Draw(t, "zone selector")}
		case "pin":
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: fmt.Sprintf("n%d",
				rapid.IntRange(0, 8).Draw(t, "pinned to"))}
		case "volume":
			if len(p.Spec.Volumes) == 0 {
				addVolume(t, p, volumes)
			}
		}
	}
	return p
}

// addVolume gives all pods of the app one volume, in one zone.
func addVolume(t *rapid.T, p *corev1.Pod, all *model.Volumes) {
	name, class := "data-"+p.Name, "fast"
	mode := rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod,
		corev1.ReadWriteMany}).Draw(t, "access")
	zone := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone of volume")
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	all.Claims = append(all.Claims, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: name, AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	})
	all.Persistent = append(all.Persistent, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
			Capacity:    size,
			AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: name}},
		},
	})
	if len(all.Classes) == 0 {
		all.Classes = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: class},
			Provisioner: "disk.example.com"}}
		one := int32(1)
		for i := range 9 {
			node := fmt.Sprintf("n%d", i)
			all.CSINodes = append(all.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node},
				Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
					Name: "disk.example.com", NodeID: node,
					Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}}})
		}
	}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
}
