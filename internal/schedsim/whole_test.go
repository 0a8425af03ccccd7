package schedsim

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestVerdictsAreThoseOnWholeObjects: pods and nodes with every field that a filter
// reads are cut down, folded into classes and asked about here, and the verdict on each
// pod and node is the one that the plugins give on the objects as they are.
func TestVerdictsAreThoseOnWholeObjects(t *testing.T) {
	seen, pairs := map[model.Reason]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		c := testkit.New()
		c.Namespaces["other"] = map[string]string{"team": "x", corev1.LabelMetadataName: "other"}
		d := drawer{t}
		nodes := make([]*corev1.Node, d.number("nodes", 1, 3))
		bound, expendable := make([][]*corev1.Pod, len(nodes)), make([][]*corev1.Pod, len(nodes))
		for i := range nodes {
			nodes[i] = d.node(i)
			c.AddNode(nodes[i].DeepCopy(), "")
			for b := range d.number("bound", 0, 2) {
				p := d.pod(fmt.Sprintf("bound-%d-%d", i, b))
				d.runs(p, nodes[i].Name)
				bound[i] = append(bound[i], p)
				c.Bound(p.DeepCopy(), 1, nodes[i].Name)
			}
		}
		for i := range nodes {
			for b := range d.number("expendable", 0, 2) {
				p := testkit.Pod("default", fmt.Sprintf("expendable-%d-%d", i, b), "700m", "1Gi", nil)
				p.UID, p.Spec.Priority = types.UID(p.Name), ptr.To[int32](-20)
				if d.number("port of an expendable", 0, 1) == 1 {
					p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 1}}
				}
				d.runs(p, nodes[i].Name)
				expendable[i] = append(expendable[i], p)
				c.Bound(p.DeepCopy(), 1, nodes[i].Name)
			}
		}
		pending := make([]*corev1.Pod, d.number("pending", 1, 3))
		for i := range pending {
			pending[i] = d.pod(fmt.Sprintf("pending-%d", i))
			c.Pending(pending[i].DeepCopy(), 1)
		}
		o := c.Observation()
		o.Volumes = wholeVolumes()
		s := snapshot.New(nil, o, model.Standing{}, testkit.Policy().Rules)
		w := Load(nil, s)
		defer w.Close()
		referee := Load(nil, s)
		defer referee.Close()

		// Expendable pods are there for pods that may not preempt them.
		var stages [2][]stageNode
		for calm := range stages {
			for i := range nodes {
				info := framework.NewNodeInfo(bound[i]...)
				if calm == 1 {
					info = framework.NewNodeInfo(append(bound[i], expendable[i]...)...)
				}
				info.SetNode(nodes[i])
				stages[calm] = append(stages[calm], info)
			}
		}
		pairs += sameRefusals(t, w, "as drawn")
		for _, p := range pending {
			class, stage := classNamed(t, s, p), stages[0]
			if policy := p.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
				stage = stages[1]
			}
			for i := range nodes {
				got, want := w.check(class, i), referee.whole(p, i, stage)
				if got != nil {
					seen[got.reason]++
				} else {
					seen[model.Fits]++
				}
				if (got == nil) != (want == nil) {
					t.Fatalf("%s on %s: here %s, the scheduler says %s\npod %+v\nas kept %+v", p.Name, nodes[i].Name,
						said(got), said(want), p.Spec, w.classes[class].pod.Spec)
				}
			}
		}
	})
	t.Logf("verdicts: %v; %d pairs of a class and a node were compared", seen, pairs)
}

// whole asks the plugins about a pod as it is, before nodes as they are.
func (w *World) whole(p *corev1.Pod, i int, stage []stageNode) *rejection {
	w.filters.stage.show(stage)
	state := framework.NewCycleState()
	only, status, _ := w.filters.full.RunPreFilterPlugins(w.filters.ctx, state, p)
	if !status.IsSuccess() {
		return rejectionOf(status)
	}
	if name := stage[i].Node().Name; !only.AllNodes() && !only.NodeNames.Has(name) {
		return &rejection{reason: model.NodeAffinity}
	}
	return rejectionOf(w.filters.full.RunFilterPlugins(w.filters.ctx, state, p, stage[i]))
}

func said(r *rejection) string {
	if r == nil {
		return "yes"
	}
	return fmt.Sprintf("%s (%s)", r.reason, r.words())
}

func classNamed(t *rapid.T, s *model.Snapshot, p *corev1.Pod) model.ClassID {
	for i := range s.Pending {
		for _, q := range s.Pending[i].Pods {
			if q.Name == p.Name+"-000001" && s.Classes[s.Pending[i].Class].Namespace() == p.Namespace {
				return s.Pending[i].Class
			}
		}
	}
	t.Fatalf("pod %s is of no class", p.Name)
	return 0
}

// wholeVolumes are claims for pods to use: one that is bound in zone a, one that waits
// for its pod, one for a single pod, one that cannot be bound, and a limit of one volume a node.
func wholeVolumes() model.Volumes {
	late, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	v := model.Volumes{Classes: []*storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: "disk.example.com", VolumeBindingMode: &late},
		{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Provisioner: "disk.example.com", VolumeBindingMode: &now},
	}}
	for _, namespace := range []string{"default", "other"} {
		for name, class := range map[string]string{"bound": "late", "alone": "late", "late": "late", "never": "now"} {
			mode := corev1.ReadWriteOnce
			if name == "alone" {
				mode = corev1.ReadWriteOncePod
			}
			claim := &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)},
				Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class,
					AccessModes: []corev1.PersistentVolumeAccessMode{mode},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}},
				Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
			}
			if name == "bound" {
				disk := namespace + "-disk"
				claim.Spec.VolumeName, claim.Status.Phase = disk, corev1.ClaimBound
				claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
				v.Persistent = append(v.Persistent, &corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{Name: disk},
					Spec: corev1.PersistentVolumeSpec{
						StorageClassName: class,
						ClaimRef:         &corev1.ObjectReference{Namespace: namespace, Name: name, UID: claim.UID},
						Capacity:         claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes,
						PersistentVolumeSource: corev1.PersistentVolumeSource{
							CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: disk}},
						NodeAffinity: &corev1.VolumeNodeAffinity{
							Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
								MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone,
									Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}}},
					},
				})
			}
			v.Claims = append(v.Claims, claim)
		}
	}
	for i := range 3 {
		csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i),
			Annotations: map[string]string{
				"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/cinder,kubernetes.io/azure-disk," +
					"kubernetes.io/aws-ebs,kubernetes.io/gce-pd,kubernetes.io/vsphere-volume,kubernetes.io/azure-file," +
					"kubernetes.io/portworx-volume"}}}
		for _, driver := range []string{"disk.example.com", "cinder.csi.openstack.org", "disk.csi.azure.com",
			"ebs.csi.aws.com", "pd.csi.storage.gke.io", "csi.vsphere.vmware.com", "inline.example.com"} {
			csi.Spec.Drivers = append(csi.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: "x",
				Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](1)}})
		}
		v.CSINodes = append(v.CSINodes, csi)
	}
	return v
}

// drawer draws objects with every field that matters.
type drawer struct{ t *rapid.T }

func (d drawer) number(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(d.t, what)
}

// one in so many.
func (d drawer) one(what string, in int) bool {
	return rapid.IntRange(1, in).Draw(d.t, what) == in
}

func (d drawer) of(what string, words ...string) string {
	return rapid.SampledFrom(words).Draw(d.t, what)
}

func (d drawer) node(i int) *corev1.Node {
	name := fmt.Sprintf("n%d", i)
	n := testkit.Node(name, d.of("node cpu", "2", "8"), "16Gi",
		map[string]string{corev1.LabelTopologyZone: d.of("zone", "a", "b"), "disk": d.of("disk", "1", "3")})
	n.Status.Allocatable[corev1.ResourceEphemeralStorage] = resource.MustParse("10Gi")
	if d.one("gpus", 2) {
		n.Status.Allocatable["example.com/gpu"] = resource.MustParse("2")
	}
	if d.one("huge pages", 3) {
		n.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("64Mi")
	}
	if d.one("tainted", 3) {
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: d.of("taint", "k", "l"), Value: d.of("taint value", "1", "2"),
				Effect: corev1.TaintEffect(d.of("taint effect", "NoSchedule", "NoExecute", "PreferNoSchedule"))})
	}
	n.Spec.Unschedulable = d.one("cordoned", 8)
	for _, f := range []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport",
		"VolumeBindMountOptions"} {
		if d.one(f, 2) {
			n.Status.DeclaredFeatures = append(n.Status.DeclaredFeatures, f)
		}
	}
	return n
}

func (d drawer) pod(name string) *corev1.Pod {
	app := d.of("app", "a", "b")
	p := testkit.Pod(d.of("namespace", "default", "default", "other"), name, "", "",
		map[string]string{"app": app, "hash": d.of("hash", "1", "2")})
	p.UID = types.UID(name)
	spec := &p.Spec
	spec.Containers = nil
	for i := range d.number("containers", 1, 2) {
		spec.Containers = append(spec.Containers, d.container(fmt.Sprintf("c%d", i)))
	}
	for i := range d.number("init containers", 0, 1) {
		c := d.container(fmt.Sprintf("i%d", i))
		if d.one("restarts", 2) {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		spec.InitContainers = append(spec.InitContainers, c)
	}
	if d.one("ephemeral container", 8) {
		c := d.container("e")
		spec.EphemeralContainers = []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name, VolumeMounts: c.VolumeMounts}}}
	}
	if d.one("overhead", 6) {
		spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}
	}
	if d.one("pod-level resources", 6) {
		spec.Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(d.of("pod cpu", "1", "3"))}}
	}
	if d.one("priority", 3) {
		spec.Priority = ptr.To(int32(d.number("its priority", 0, 3)))
		spec.PreemptionPolicy = ptr.To(corev1.PreemptionPolicy(d.of("preemption", "Never", "PreemptLowerPriority")))
	}
	spec.HostNetwork = d.one("host network", 4)
	if d.one("user namespace", 3) {
		spec.HostUsers = ptr.To(d.one("host users", 2))
	}
	if d.one("os", 6) {
		spec.OS = &corev1.PodOS{Name: corev1.OSName(d.of("os name", "linux", "windows"))}
	}
	d.placement(p, app)
	d.volumes(spec)
	return p
}

func (d drawer) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{},
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}}}
	request := func(r corev1.ResourceName, in int, amounts ...string) {
		if d.one(string(r), in) {
			c.Resources.Requests[r] = resource.MustParse(d.of("amount", amounts...))
		}
	}
	request(corev1.ResourceCPU, 1, "10m", "20m", "300m", "1")
	request(corev1.ResourceMemory, 2, "100Mi", "200Mi", "300Mi", "9Gi")
	request(corev1.ResourceEphemeralStorage, 8, "1Gi", "8Gi")
	request("example.com/gpu", 20, "1", "2")
	request("hugepages-2Mi", 24, "2Mi", "64Mi")
	if d.one("port", 3) {
		c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(d.number("host port", 0, 2)),
			HostIP:   d.of("ip", "", "0.0.0.0", "127.0.0.1"),
			Protocol: corev1.Protocol(d.of("protocol", "TCP", "UDP"))}}
	}
	if d.one("restart rules", 12) {
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleAction(
			d.of("action", "Restart", "RestartAllContainers"))}}
	}
	if d.one("mount", 6) {
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		if d.one("bind options", 3) {
			c.VolumeMounts[0].BindMountOptions = []string{d.of("option", "noexec", "nosuid")}
		}
	}
	return c
}

// placement draws what a pod asks of nodes and of other pods.
func (d drawer) placement(p *corev1.Pod, app string) {
	spec := &p.Spec
	if d.one("tolerates", 3) {
		spec.Tolerations = []corev1.Toleration{{Key: d.of("tolerated", "", "k", "l"),
			Operator: corev1.TolerationOpExists,
			Effect:   corev1.TaintEffect(d.of("effect", "", "NoSchedule", "NoExecute"))}}
		if spec.Tolerations[0].Key != "" && d.one("by value", 2) {
			spec.Tolerations[0].Operator, spec.Tolerations[0].Value = corev1.TolerationOpEqual,
				d.of("tolerated value", "1", "2")
		}
	}
	if d.one("selector", 6) {
		spec.NodeSelector = map[string]string{d.of("label", "disk", corev1.LabelTopologyZone): d.of("value", "1", "a")}
	}
	a := &corev1.Affinity{}
	if d.one("node affinity", 4) {
		a.NodeAffinity = d.nodeAffinity()
	}
	about := &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.of("about", app, "a", "b")}}
	term := corev1.PodAffinityTerm{TopologyKey: d.of("key", corev1.LabelTopologyZone, corev1.LabelHostname, "disk"),
		LabelSelector: about}
	switch d.of("namespaces", "", "", "named", "selected", "all") {
	case "named":
		term.Namespaces = []string{"other"}
	case "selected":
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	case "all":
		term.NamespaceSelector = &metav1.LabelSelector{}
	}
	switch d.of("terms", "", "", "", "with", "apart", "wishes") {
	case "with":
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
	case "apart":
		a.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
	case "wishes":
		a.PodAntiAffinity = &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1,
				PodAffinityTerm: term}}}
	}
	if a.NodeAffinity != nil || a.PodAffinity != nil || a.PodAntiAffinity != nil {
		spec.Affinity = a
	}
	for range d.number("constraints", 0, 2) {
		s := corev1.TopologySpreadConstraint{MaxSkew: int32(d.number("skew", 1, 2)),
			TopologyKey: d.of("spread key", corev1.LabelTopologyZone, corev1.LabelHostname, "disk"),
			WhenUnsatisfiable: corev1.UnsatisfiableConstraintAction(
				d.of("when", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")), LabelSelector: about}
		policy := func(what string) *corev1.NodeInclusionPolicy {
			if p := d.of(what, "", "Honor", "Ignore"); p != "" {
				return ptr.To(corev1.NodeInclusionPolicy(p))
			}
			return nil
		}
		s.NodeAffinityPolicy, s.NodeTaintsPolicy = policy("affinity policy"), policy("taints policy")
		if d.one("min domains", 4) && s.WhenUnsatisfiable == corev1.DoNotSchedule {
			s.MinDomains = ptr.To[int32](3)
		}
		if d.one("match label keys", 4) {
			s.MatchLabelKeys = []string{"hash"}
		}
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, s)
	}
}

func (d drawer) nodeAffinity() *corev1.NodeAffinity {
	var terms []corev1.NodeSelectorTerm
	for range d.number("node terms", 1, 2) {
		var term corev1.NodeSelectorTerm
		switch d.of("requirement", "In", "NotIn", "Exists", "Gt", "name") {
		case "name":
			term.MatchFields = []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField,
				Operator: corev1.NodeSelectorOpIn, Values: []string{d.of("name", "n0", "n1")}}}
		case "Gt":
			term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpGt,
				Values: []string{"2"}}}
		case "Exists":
			term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: d.of("wanted", "disk", "none"),
				Operator: corev1.NodeSelectorOpExists}}
		case "In":
			term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname,
				Operator: corev1.NodeSelectorOpIn, Values: []string{d.of("host", "n0", "n1")}}}
		default:
			term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone,
				Operator: corev1.NodeSelectorOpNotIn, Values: []string{d.of("not in", "a", "b")}}}
		}
		terms = append(terms, term)
	}
	if d.one("preferred", 4) {
		return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 1, Preference: terms[0]}}}
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: terms}}
}

func (d drawer) volumes(spec *corev1.PodSpec) {
	for i := range d.number("volumes", 0, 2) * (d.number("with volumes", 0, 2) / 2) {
		v := corev1.Volume{Name: fmt.Sprintf("v%d", i)}
		disk := d.of("disk name", "d1", "d2")
		switch d.of("volume", "claim", "claim", "gce", "aws", "iscsi", "rbd", "csi", "empty", "cinder",
			"azure", "vsphere") {
		case "claim":
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.of("claim", "bound",
				"alone", "late", "never", "missing")}
		case "gce":
			v.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: disk, ReadOnly: d.one("read only", 2)}
		case "aws":
			v.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/" + disk}
		case "iscsi":
			v.ISCSI = &corev1.ISCSIVolumeSource{TargetPortal: "p", IQN: disk}
		case "rbd":
			v.RBD = &corev1.RBDVolumeSource{CephMonitors: []string{"m"}, RBDImage: disk, RBDPool: "p"}
		case "csi":
			v.CSI = &corev1.CSIVolumeSource{Driver: "inline.example.com"}
		case "cinder":
			v.Cinder = &corev1.CinderVolumeSource{VolumeID: disk}
		case "azure":
			v.AzureDisk = &corev1.AzureDiskVolumeSource{DiskName: disk,
				DataDiskURI: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/" + disk,
				Kind:        ptr.To(corev1.AzureManagedDisk)}
		case "vsphere":
			v.VsphereVolume = &corev1.VsphereVirtualDiskVolumeSource{VolumePath: disk}
		default:
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
		spec.Volumes = append(spec.Volumes, v)
	}
}

// runs makes a pod one that is bound, and perhaps resized or being deleted.
func (d drawer) runs(p *corev1.Pod, node string) {
	p.Spec.NodeName = node
	if d.one("ends", 6) {
		p.DeletionTimestamp = &metav1.Time{Time: testkit.Start}
	}
	if d.one("resized", 4) {
		amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(d.of("resized to", "100m", "2"))}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c0", AllocatedResources: amounts,
			Resources: &corev1.ResourceRequirements{Requests: amounts}}}
		if d.one("infeasible", 3) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue,
				Reason: corev1.PodReasonInfeasible}}
		}
	}
}
