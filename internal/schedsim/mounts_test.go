package schedsim

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestVolumesAreTheSchedulers: in random worlds full of claims, while pods are placed and nodes added, what is shared
// between claims of a kind is what the plugins say of each, in their words, and so is the whole verdict.
func TestVolumesAreTheSchedulers(t *testing.T) {
	pairs, shared, refused := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot.New(nil, drawStorage(t).Observation(), model.Standing{}, testkit.Policy().Rules)
		w := Load(nil, s)
		defer w.Close()
		compare := func(when string) {
			asked := map[kindOnSite]model.ClassID{}
			for c := range w.classes {
				id := model.ClassID(c)
				if len(w.classes[c].spec.Volumes) == 0 {
					continue
				}
				for i := range w.nodes {
					if w.nodes[i].gone {
						continue
					}
					pairs++
					if got, want := w.check(id, i) == nil, schedulerSays(w, id, i); got != want {
						t.Fatalf("%s: class %d (%v) on node %s: %v, the scheduler says %v", when, c,
							s.Classes[c].Spec.Claims, w.nodes[i].called(), got, want)
					}
					no, known := w.overVolumes(id, i)
					if !known || w.staticVerdict(id, w.nodes[i].shape) != nil {
						continue
					}
					info := w.info(i)
					want := w.ask(w.filters.local, id, info, []stageNode{info})
					if (no == nil) != (want == nil) || no != nil && (no.reason != want.reason || no.words() != want.words()) {
						t.Fatalf("%s: class %d (%v) on node %s: %+v, the plugins say %+v", when, c,
							s.Classes[c].Spec.Claims, w.nodes[i].called(), no, want)
					}
					key := kindOnSite{w.mounting(id).kind, w.site(w.nodes[i].shape)}
					if first, ok := asked[key]; !ok {
						asked[key] = id
					} else if first != id {
						if shared++; no != nil {
							refused++
						}
					}
				}
			}
		}
		compare("at first")
		m := w.Mark()
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch step := rapid.SampledFrom([]string{"add", "put", "put", "put", "undo"}).Draw(t, "step"); step {
			case "add":
				if tmpl, ok := w.GroupTemplate(rapid.IntRange(0, len(s.Groups)-1).Draw(t, "group")); ok {
					w.AddNodes(tmpl, 1)
				}
			case "put":
				c := model.ClassID(rapid.IntRange(0, len(w.classes)-1).Draw(t, "class"))
				for i := range w.nodes {
					if !w.nodes[i].gone && w.check(c, i) == nil {
						w.put(i, c, 1)
						break
					}
				}
			case "undo":
				w.Undo(m)
				m = w.Mark()
			}
			compare("later")
		}
	})
	t.Logf("%d verdicts were compared; %d of %d that two classes share are a no", pairs, refused, shared)
}

// claimPair is two claims that are equal but for their names; what may be changed is the second one's.
type claimPair struct {
	v      model.Volumes
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
	class  *storagev1.StorageClass
}

// kindsAfter are the kinds of both, after a change.
func kindsAfter(bound bool, change func(p *claimPair)) (first, second int32) {
	c := testkit.New()
	for i := range 2 {
		p := testkit.Pod("default", fmt.Sprintf("db-%d", i), "100m", "", nil)
		if bound {
			c.ClaimIn(p, p.Name, "a", corev1.ReadWriteOnce)
		} else {
			c.Claim(p, p.Name, false)
		}
		c.Pending(p, 1)
	}
	p := claimPair{v: c.Volumes, claim: c.Volumes.Claims[1], class: c.Volumes.Classes[0]}
	if bound {
		p.volume = c.Volumes.Persistent[1]
	}
	if change != nil {
		change(&p)
	}
	c.Volumes = p.v
	w := Load(nil, snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules))
	defer w.Close()
	ids := map[string]int32{}
	for i := range w.classes {
		ids[w.snap.Classes[i].Spec.Claims[0]] = w.mounting(model.ClassID(i)).kind
	}
	return ids["db-0"], ids["db-1"]
}

// TestClaimsThatAreNotEqual: two claims are of one kind until one of them differs in anything that a plugin may read.
func TestClaimsThatAreNotEqual(t *testing.T) {
	for _, bound := range []bool{false, true} {
		if a, b := kindsAfter(bound, nil); a == 0 || a != b {
			t.Errorf("equal claims, bound: %v: of kinds %d and %d", bound, a, b)
		}
	}
	for bound, changes := range map[bool]map[string]func(p *claimPair){false: changesOfWaiting, true: changesOfBound} {
		for what, change := range changes {
			if a, b := kindsAfter(bound, change); a == b && a != 0 {
				t.Errorf("%s, bound: %v: both are of kind %d", what, bound, a)
			}
		}
	}
}

var isTrue, blockMode, other = true, corev1.PersistentVolumeBlock, "other"

func inB(key string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}
}

var changesOfWaiting = map[string]func(p *claimPair){
	"size":        func(p *claimPair) { p.claim.Spec.Resources = sized("1Gi") },
	"no size":     func(p *claimPair) { p.claim.Spec.Resources = corev1.VolumeResourceRequirements{} },
	"access mode": func(p *claimPair) { p.claim.Spec.AccessModes[0] = corev1.ReadWriteMany },
	"volume mode": func(p *claimPair) { p.claim.Spec.VolumeMode = &blockMode },
	"selector":    func(p *claimPair) { p.claim.Spec.Selector = &metav1.LabelSelector{} },
	"attributes":  func(p *claimPair) { p.claim.Spec.VolumeAttributesClassName = &other },
	"no class":    func(p *claimPair) { p.claim.Spec.StorageClassName = &other },
	"class": func(p *claimPair) {
		class := *p.class
		class.Name, p.claim.Spec.StorageClassName = other, &other
		p.v.Classes = append(p.v.Classes, &class)
	},
	"its node is chosen": func(p *claimPair) {
		p.claim.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n"}
	},
	"a volume is meant for it": func(p *claimPair) {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
		v.Spec.StorageClassName = p.class.Name
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: p.claim.Name}
		p.v.Persistent = append(p.v.Persistent, v)
	},
	"a volume is on one host": func(p *claimPair) {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
		v.Spec.StorageClassName = p.class.Name
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: inB(corev1.LabelHostname)}
		p.v.Persistent = append(p.v.Persistent, v)
	},
	"made on one host": func(p *claimPair) {
		p.class.AllowedTopologies = []corev1.TopologySelectorTerm{{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelHostname}}}}
	},
	"room on one host": func(p *claimPair) {
		p.v.Capacities = append(p.v.Capacities, &storagev1.CSIStorageCapacity{StorageClassName: p.class.Name,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: "n"}}})
	},
	"driver in Kubernetes": func(p *claimPair) { p.class.Provisioner = "kubernetes.io/aws-ebs" },
	"driver must be there": func(p *claimPair) {
		p.v.CSIDrivers = append(p.v.CSIDrivers, &storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: p.class.Provisioner},
			Spec:       storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &isTrue}})
	},
	"lost":           func(p *claimPair) { p.claim.Status.Phase = corev1.ClaimLost },
	"on its way out": func(p *claimPair) { p.claim.DeletionTimestamp = &metav1.Time{} },
	"not there":      func(p *claimPair) { p.v.Claims = p.v.Claims[:1] },
}

var changesOfBound = map[string]func(p *claimPair){
	"zone":                 func(p *claimPair) { p.volume.Spec.NodeAffinity.Required = inB(corev1.LabelTopologyZone) },
	"host":                 func(p *claimPair) { p.volume.Spec.NodeAffinity.Required = inB(corev1.LabelHostname) },
	"anywhere":             func(p *claimPair) { p.volume.Spec.NodeAffinity = nil },
	"zone label":           func(p *claimPair) { p.volume.Labels = map[string]string{corev1.LabelTopologyZone: "a"} },
	"region label":         func(p *claimPair) { p.volume.Labels = map[string]string{corev1.LabelTopologyRegion: "a"} },
	"not yet":              func(p *claimPair) { p.claim.Annotations = nil },
	"its volume is gone":   func(p *claimPair) { p.v.Persistent = p.v.Persistent[:1] },
	"driver in Kubernetes": func(p *claimPair) { p.volume.Spec.CSI = nil },
	"driver must be there": func(p *claimPair) {
		p.volume.Spec.CSI.Driver = other
		p.v.CSIDrivers = append(p.v.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: other},
			Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &isTrue}})
	},
}

func sized(size string) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}
}

// TestSharedVerdictsLeaveLimits: that a node's kind of volumes may go there is known of the first pod; how many it
// attaches is counted all the same, and attachments of volumes that no pod uses count.
func TestSharedVerdictsLeaveLimits(t *testing.T) {
	c := testkit.New()
	limit := int32(3)
	c.AddNode(testkit.Node("n", "16", "16Gi", nil), "")
	for i := range 5 {
		p := testkit.Pod("default", fmt.Sprintf("db-%d", i), "100m", "", nil)
		c.Claim(p, p.Name, true)
		c.Pending(p, 1)
	}
	v := &c.Volumes
	v.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: "example.com/disk", NodeID: "n", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}}}
	v.Attachments = []*storagev1.VolumeAttachment{{ObjectMeta: metav1.ObjectMeta{Name: "at"},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: "example.com/disk", NodeName: "n",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &v.Persistent[4].Name}}}}
	w := Load(nil, snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules))
	defer w.Close()
	placed := 0
	for i := range w.classes {
		if w.snap.Classes[i].Spec.Claims[0] == "db-4" {
			continue
		}
		put, _, _ := w.Place(model.ClassID(i), 1, OnReady, 1_000_000)
		placed += len(put)
	}
	if placed != 2 {
		t.Errorf("%d pods were placed beside a volume that is attached, want 2 of 3 volumes", placed)
	}
}

// drawStorage is a cluster of few nodes and pods, and of claims in all states.
func drawStorage(t *rapid.T) *testkit.Cluster {
	c := testkit.New()
	v := &c.Volumes
	v.Generation = 1
	drawStorageClasses(t, v)
	claims := drawClaims(t, v)
	for _, zone := range []string{"a", "b"} {
		labels := map[string]string{corev1.LabelTopologyZone: zone}
		g := c.Group(zone, 0, 10, testkit.Node("", "4", "16Gi", labels))
		g.Template.CSINode = drawCSINode(t, "")
		for _, name := range []string{zone + "1", zone + "2"} {
			c.AddNode(testkit.Node(name, "4", "16Gi", labels), "")
			if csi := drawCSINode(t, name); csi != nil {
				v.CSINodes = append(v.CSINodes, csi)
			}
			if len(v.Persistent) > 0 && rapid.IntRange(0, 3).Draw(t, "attached") == 0 {
				volume := rapid.SampledFrom(v.Persistent).Draw(t, "volume").Name
				v.Attachments = append(v.Attachments, &storagev1.VolumeAttachment{
					ObjectMeta: metav1.ObjectMeta{Name: "at-" + name},
					Spec: storagev1.VolumeAttachmentSpec{Attacher: "disk.example.com", NodeName: name,
						Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}}})
			}
		}
	}
	c.AddNode(testkit.Node("bare", "4", "16Gi", nil), "")
	for i := range rapid.IntRange(2, 7).Draw(t, "pods") {
		labels := map[string]string{"app": "db"}
		p := testkit.Pod(rapid.SampledFrom([]string{"default", "default", "default", "other"}).Draw(t, "namespace"),
			fmt.Sprintf("db-%d", i), "100m", "",
			map[string]string{"app": rapid.SampledFrom([]string{"db", "db", "db", "web"}).Draw(t, "app")})
		switch rapid.IntRange(0, 9).Draw(t, "coupling") {
		case 0:
			testkit.Apart(p, corev1.LabelHostname, labels)
		case 1:
			testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, labels)
		case 2:
			p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
		}
		for k := range rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2}).Draw(t, "volumes") {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", k),
				VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
					ClaimName: rapid.SampledFrom(append(slices.Repeat(claims[i:i+1], 12), claims...)).Draw(t, "claim")}}})
		}
		if rapid.IntRange(0, 7).Draw(t, "inline") == 0 {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "disk", VolumeSource: corev1.VolumeSource{
				AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}})
		}
		if rapid.Bool().Draw(t, "bound") {
			c.Bound(p, 1, rapid.SampledFrom([]string{"a1", "a2", "b1", "b2"}).Draw(t, "node"))
		} else {
			c.Pending(p, 1)
		}
	}
	return c
}

func drawCSINode(t *rapid.T, name string) *storagev1.CSINode {
	limit := rapid.SampledFrom([]int32{-2, -1, 0, 1, 2, 3}).Draw(t, "limit")
	if limit == -2 {
		return nil
	}
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	driver := storagev1.CSINodeDriver{Name: rapid.SampledFrom([]string{"disk.example.com", "disk.example.com",
		"other.example.com", "ebs.csi.aws.com"}).Draw(t, "limited driver"), NodeID: name}
	if limit >= 0 {
		driver.Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
	}
	csi.Spec.Drivers = append(csi.Spec.Drivers, driver)
	if rapid.Bool().Draw(t, "migrated") {
		csi.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: "kubernetes.io/aws-ebs"}
	}
	return csi
}

func drawStorageClasses(t *rapid.T, v *model.Volumes) {
	late, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	yes := true
	over := func(key, value string) []corev1.TopologySelectorTerm {
		return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: key, Values: []string{value}}}}}
	}
	for _, s := range []storagev1.StorageClass{
		{Provisioner: "disk.example.com", VolumeBindingMode: &now},
		{Provisioner: "disk.example.com", VolumeBindingMode: &late},
		{Provisioner: "disk.example.com", VolumeBindingMode: &late, AllowedTopologies: over(corev1.LabelTopologyZone, "a")},
		{Provisioner: "disk.example.com", VolumeBindingMode: &late, AllowedTopologies: over(corev1.LabelHostname, "a1")},
		{Provisioner: "other.example.com", VolumeBindingMode: &late},
		{Provisioner: "kubernetes.io/aws-ebs", VolumeBindingMode: &late},
		{Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &late},
		{Provisioner: "other.example.com"},
	} {
		s.Name = fmt.Sprintf("class-%d", len(v.Classes))
		v.Classes = append(v.Classes, &s)
	}
	if rapid.Bool().Draw(t, "capacities") {
		v.CSIDrivers = append(v.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "other.example.com"},
			Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}})
		size := resource.MustParse("1Gi")
		key := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "capacity by")
		value := map[string]string{corev1.LabelTopologyZone: "b", corev1.LabelHostname: "b1"}[key]
		v.Capacities = append(v.Capacities, &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: "c"},
			StorageClassName: "class-4", Capacity: &size,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}})
	}
	if rapid.IntRange(0, 3).Draw(t, "picky") == 0 {
		v.CSIDrivers = append(v.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disk.example.com"},
			Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &yes}})
	}
}

// drawClaims makes claims and volumes; of the names that it returns, one is no claim's.
func drawClaims(t *rapid.T, v *model.Volumes) (names []string) {
	for i := range 6 {
		names = append(names, fmt.Sprintf("data-%d", i))
		if i > 0 && rapid.Bool().Draw(t, "like the one before") {
			v.Claims = append(v.Claims, another(v, v.Claims[i-1], names[i]))
			continue
		}
		class := fmt.Sprintf("class-%d", rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7}).Draw(t, "class"))
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: names[i], Annotations: map[string]string{}},
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class,
				AccessModes: []corev1.PersistentVolumeAccessMode{drawMode(t)}, Resources: drawSize(t)},
		}
		switch rapid.IntRange(0, 7).Draw(t, "state") {
		case 0, 1, 2:
			bind(v, claim, drawVolume(t, "pv-"+claim.Name, class))
		case 3:
			makeOdd(t, claim)
		}
		v.Claims = append(v.Claims, claim)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "volumes that are free") {
		p := drawVolume(t, fmt.Sprintf("pv-free-%d", i), fmt.Sprintf("class-%d", rapid.IntRange(1, 6).Draw(t, "its class")))
		p.Spec.Capacity = drawSize(t).Requests
		p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{drawMode(t)}
		p.Status.Phase = corev1.VolumeAvailable
		if rapid.Bool().Draw(t, "meant for a claim") {
			p.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: rapid.SampledFrom(names).Draw(t, "for")}
		}
		v.Persistent = append(v.Persistent, p)
	}
	slices.SortFunc(v.Persistent, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	return append(names, "nowhere")
}

func bind(v *model.Volumes, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) {
	claim.Spec.VolumeName, claim.Annotations[bindCompleted] = volume.Name, "yes"
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: claim.Name}
	v.Persistent = append(v.Persistent, volume)
}

// another is a claim that is equal to one but for its name, with a volume that is equal to its but for the name.
func another(v *model.Volumes, like *corev1.PersistentVolumeClaim, name string) *corev1.PersistentVolumeClaim {
	claim := like.DeepCopy()
	claim.Name = name
	at := slices.IndexFunc(v.Persistent, func(p *corev1.PersistentVolume) bool { return p.Name == like.Spec.VolumeName })
	if at >= 0 {
		volume := v.Persistent[at].DeepCopy()
		volume.Name = "pv-" + name
		if volume.Spec.CSI != nil && volume.Spec.CSI.VolumeHandle != "shared" {
			volume.Spec.CSI.VolumeHandle = volume.Name
		}
		bind(v, claim, volume)
	}
	return claim
}

func drawMode(t *rapid.T) corev1.PersistentVolumeAccessMode {
	return rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOnce,
		corev1.ReadWriteMany, corev1.ReadWriteOncePod}).Draw(t, "mode")
}

func drawSize(t *rapid.T) (r corev1.VolumeResourceRequirements) {
	if size := rapid.SampledFrom([]string{"", "1Gi", "2Gi"}).Draw(t, "size"); size != "" {
		r.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	}
	return r
}

// makeOdd is what keeps a claim from being like any other.
func makeOdd(t *rapid.T, claim *corev1.PersistentVolumeClaim) {
	switch rapid.IntRange(0, 6).Draw(t, "odd") {
	case 0:
		claim.Status.Phase = corev1.ClaimLost
	case 1:
		claim.DeletionTimestamp = &metav1.Time{}
	case 2:
		claim.Annotations["volume.kubernetes.io/selected-node"] = "a1"
	case 3:
		claim.Spec.VolumeName = "pv-nowhere"
	case 4:
		claim.Spec.VolumeName, claim.Annotations[bindCompleted] = "pv-nowhere", "yes"
	case 5:
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "fast"}}
	case 6:
		claim.Spec.VolumeMode = &blockMode
	}
}

// drawVolume is a volume that can be reached from some zone, from one node, or from anywhere.
func drawVolume(t *rapid.T, name, class string) *corev1.PersistentVolume {
	p := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: corev1.PersistentVolumeSpec{StorageClassName: class}}
	p.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: name}
	switch rapid.SampledFrom([]string{"csi", "csi", "csi", "other", "migrated", "local", "same"}).Draw(t, "source") {
	case "other":
		p.Spec.CSI.Driver = "other.example.com"
	case "same":
		p.Spec.CSI.VolumeHandle = "shared"
	case "migrated":
		p.Spec.CSI = nil
		p.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://a/" + name}
	case "local":
		p.Spec.CSI = nil
		p.Spec.Local = &corev1.LocalVolumeSource{Path: "/data"}
	}
	within := func(key string, op corev1.NodeSelectorOperator, values ...string) {
		p.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: key, Operator: op, Values: values}}}}}}
	}
	reach := []string{"", "a", "a", "b", "b", "both", "not a", "host", "label", "labels"}
	switch rapid.SampledFrom(reach).Draw(t, "reach") {
	case "a":
		within(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "a")
	case "b":
		within(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "b")
	case "both":
		within(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "a", "b")
	case "not a":
		within(corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, "a")
	case "host":
		within(corev1.LabelHostname, corev1.NodeSelectorOpIn, "a1")
	case "label":
		p.Labels[corev1.LabelFailureDomainBetaZone] = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone label")
	case "labels":
		p.Labels[corev1.LabelTopologyZone] = "a__b"
	}
	return p
}

// TestVolumeThatTwoPodsShareIsAttachedOnce: beside it, there is room for another one.
func TestVolumeThatTwoPodsShareIsAttachedOnce(t *testing.T) {
	c, limit := testkit.New(), int32(2)
	c.AddNode(testkit.Node("n", "16", "16Gi", nil), "")
	p := testkit.Pod("default", "a", "100m", "", nil)
	c.Claim(p, "data", false)
	q := testkit.Pod("default", "b", "200m", "", nil)
	q.Spec.Volumes = p.Spec.Volumes
	c.Bound(p, 1, "n")
	c.Bound(q, 1, "n")
	own := testkit.Pod("default", "c", "300m", "", nil)
	c.Claim(own, "other", false)
	c.Pending(own, 1)
	c.Volumes.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: "example.com/disk", NodeID: "n", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}}}
	w := Load(nil, snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules))
	defer w.Close()
	if no := w.check(w.snap.Pending[0].Class, 0); no != nil {
		t.Errorf("%s: %s", no.reason, no.words())
	}
}
