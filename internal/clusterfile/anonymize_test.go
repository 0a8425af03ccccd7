package clusterfile

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var system = observe.Settings{Namespace: "kube-system", Seed: 1}

func live(c *testkit.Cluster) *Cluster {
	inventory := c.Inventory()
	out := &Cluster{Time: c.Now, Inventory: &inventory, Memory: idle(c)}
	for _, obj := range c.Objects() {
		if cut := observe.Cut(obj); cut != nil {
			out.Objects = append(out.Objects, cut)
		}
	}
	return out
}

// idle is a memory in which no node has been needed for a while, so that some can go at once.
func idle(c *testkit.Cluster) model.Memory {
	m := model.Memory{Written: c.Now, Unneeded: map[string]time.Time{}}
	for _, n := range c.Observation().Nodes {
		m.Unneeded[n.Object.Name] = c.Now.Add(-20 * time.Minute)
	}
	return m
}

// TestPlanOfAnAnonymousCluster: it is the plan of the cluster, but for names, on random worlds. What is
// equal in all that counts is ordered by a hash of its content: here the hashes are those of the anonymous
// cluster in both. The random expander draws by names, and is not asked.
func TestPlanOfAnAnonymousCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := testkit.DrawWorld
		if rapid.Bool().Draw(t, "occupied") {
			draw = testkit.DrawOccupied
		}
		w := draw(t)
		if w.Policy.ScaleUp.Expanders[0] == model.AtRandom {
			w.Policy.ScaleUp.Expanders[0] = model.ByLeastNodes // chance draws by names
		}
		whole := live(w.Build(testkit.InOrder))
		salt := [32]byte{byte(rapid.IntRange(0, 255).Draw(t, "salt"))}
		hidden, r, err := whole.anonymize(salt, system)
		if err != nil {
			t.Fatal(err)
		}
		a, err := whole.Observation(system)
		if err != nil {
			t.Fatal(err)
		}
		b, err := hidden.Observation(system)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Contents.Specs {
			a.Contents.Specs[i].Key = b.Contents.Specs[i].Key
		}
		for i := range a.Contents.Shapes {
			a.Contents.Shapes[i].Key = b.Contents.Shapes[i].Key
		}
		for i := range a.Contents.Facts {
			a.Contents.Facts[i].Key = b.Contents.Facts[i].Key
		}
		planned := func(seen model.Observation, memory model.Memory) model.Plan {
			book := ledger.Restore(w.Policy.Rules, memory)
			book.Fold(seen, nil)
			return decide.Decide(snapshot.New(nil, seen, book.Standing(), w.Policy.Rules), w.Policy)
		}
		want, got := planned(a, whole.Memory), planned(b, hidden.Memory)
		r.walk(reflect.ValueOf(&want))
		same := cmp.Options{
			cmpopts.IgnoreFields(model.Plan{}, "Unseen", "Brakes", "Notices"),
			cmpopts.IgnoreFields(model.Verdict{}, "Detail", "Fix"), cmpopts.IgnoreFields(model.Growth{}, "Why"),
			cmpopts.IgnoreFields(model.Call{}, "ID", "Why", "Note", "Pod"), cmpopts.IgnoreFields(model.PoolShareOf{}, "Sizing"),
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("plan (-with other names +anonymous):\n%s", diff)
		}
	})
}

// sentinels are texts that no word of Kubernetes is.
var sentinel = regexp.MustCompile(`zq\d+zq`)

// filler gives every text of a value a sentinel, and remembers its field.
type filler struct {
	where []string
}

func (f *filler) next(at string) string {
	f.where = append(f.where, at)
	return "zq" + strconv.Itoa(len(f.where)-1) + "zq"
}

func (f *filler) fill(v reflect.Value, at string, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("3")))
		return
	case metav1.Time, time.Time, metav1.MicroTime, intstr.IntOrString:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.next(at))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), at, depth)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), at, depth)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, at+" key", depth)
		f.fill(value, at+" value", depth)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.fill(v.Field(i), v.Type().Name()+"."+field.Name, depth-1)
			}
		}
	}
}

// TestNoNameIsLeft: every field of every kind of object, of the groups and of the memory is filled, and what
// is still there in the anonymous file are the fields that may be.
func TestNoNameIsLeft(t *testing.T) {
	f := &filler{}
	c := &Cluster{Time: time.Unix(1e9, 0).UTC(), Inventory: &provider.Inventory{},
		Unread: map[string]string{"x": f.next("unread")}}
	for _, k := range observe.Kinds() {
		obj := reflect.New(reflect.TypeOf(k.Example).Elem())
		f.fill(obj.Elem(), k.Resource, 12)
		if m, ok := obj.Interface().(*corev1.ConfigMap); ok {
			m.Name, m.Namespace = "cluster-autoscaler-priority-expander", "kube-system"
			m.Data = map[string]string{"priorities": "1: [zq]"}
		}
		if p, ok := obj.Interface().(*corev1.Pod); ok {
			for _, key := range []string{
				annotationVolumes, "cluster-autoscaler.kubernetes.io/pod-scale-up-delay", corev1.MirrorPodAnnotationKey,
			} {
				p.Annotations[key] = f.next("annotation " + key)
			}
		}
		if n, ok := obj.Interface().(*corev1.Node); ok {
			n.Labels[corev1.LabelTopologyZone] = f.next("zone")
			n.Labels[corev1.LabelInstanceTypeStable] = f.next("instance type")
			for _, key := range []string{model.AnnotationStays, "cluster-autoscaler.kwok.nodegroup/name"} {
				n.Annotations[key] = f.next("annotation " + key)
			}
		}
		cut := observe.Cut(obj.Interface().(runtime.Object))
		if cut == nil {
			t.Fatalf("%s is not kept", k.Resource)
		}
		c.Objects = append(c.Objects, cut)
	}
	f.fill(reflect.ValueOf(c.Inventory).Elem(), "inventory", 12)
	f.fill(reflect.ValueOf(&c.Memory).Elem(), "memory", 12)
	c.Memory.Written, c.Inventory.AsOf = c.Time, c.Time
	for i := range c.Inventory.Groups {
		for j := range c.Inventory.Groups[i].Instances {
			c.Inventory.Groups[i].Instances[j].State = provider.Running
		}
	}
	for i := range c.Memory.Asks {
		for j := range c.Memory.Asks[i].Units {
			c.Memory.Asks[i].Units[j].State = model.UnitMade
		}
	}
	hidden, err := c.Anonymize([32]byte{}, system)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := Write(&text, hidden, YAML); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, word := range sentinel.FindAllString(text.String(), -1) {
		n, _ := strconv.Atoi(strings.Trim(word, "zq"))
		left = append(left, strings.ReplaceAll(f.where[n], " ", "_"))
	}
	slices.Sort(left)
	left = slices.Compact(left)
	if diff := cmp.Diff(mayStay, left); diff != "" {
		t.Errorf("fields that are left (-may be +are):\n%s", diff)
	}
}

// mayStay are the fields whose texts are no names, or are known to many clusters. ObjectMeta.Name is that of
// a CSIDriver.
var mayStay = strings.Fields(`
	AzureDiskVolumeSource.CachingMode AzureDiskVolumeSource.Kind Brake.Reason CSIDriverSpec.FSGroupPolicy
	CSIDriverSpec.VolumeLifecycleModes CSINodeDriver.Name CSINodeDriver.TopologyKeys
	CSIPersistentVolumeSource.Driver CSIPersistentVolumeSource.VolumeAttributes_key Commitment.CapacityType
	Commitment.InstanceType Commitment.OS ContainerPort.HostIP ContainerPort.Protocol Drain.Code Drain.Stage
	Error.Code Error.Kind Error.Op Exit.Reason FlexPersistentVolumeSource.Options_key Group.CapacityType
	Group.Currency Group.OwnLabels Hold.Op Hold.Reason HostPathVolumeSource.Type LabelSelector.MatchLabels_key
	LabelSelectorRequirement.Key LabelSelectorRequirement.Operator Move.Reason NodeCondition.Reason
	NodeCondition.Status NodeCondition.Type NodeSelectorRequirement.Key NodeSelectorRequirement.Operator
	NodeStatus.Allocatable_key NodeStatus.Capacity_key NodeStatus.DeclaredFeatures NodeSystemInfo.Architecture
	NodeSystemInfo.KubeletVersion NodeSystemInfo.OperatingSystem Notice.Code ObjectMeta.Labels_key ObjectMeta.Name
	ObjectMeta.ResourceVersion OwnerReference.APIVersion OwnerReference.Kind PersistentVolumeClaimSpec.AccessModes
	PersistentVolumeClaimSpec.VolumeMode PersistentVolumeClaimStatus.Phase PersistentVolumeSpec.AccessModes
	PersistentVolumeSpec.Capacity_key PersistentVolumeSpec.PersistentVolumeReclaimPolicy
	PersistentVolumeSpec.VolumeMode PersistentVolumeStatus.Phase Place.Labels_key PodAffinityTerm.MatchLabelKeys
	PodAffinityTerm.MismatchLabelKeys PodAffinityTerm.TopologyKey PodOS.Name PodSpec.NodeSelector_key
	PodSpec.Overhead_key PodSpec.PreemptionPolicy PodSpec.SchedulerName PodStatus.AllocatedResources_key
	PodStatus.Phase Pool.Sizing Price.CapacityType Price.InstanceType ResourceRequirements.Limits_key
	ResourceRequirements.Requests_key Rest.Code
	Rest.Kind StorageClass.Provisioner StorageClass.VolumeBindingMode Taint.Effect Taint.Key Template.Varies_key
	Toleration.Effect Toleration.Key Toleration.Operator TopologySelectorLabelRequirement.Key
	VolumeAttachmentSpec.Attacher VolumeResourceRequirements.Limits_key VolumeResourceRequirements.Requests_key
	annotation_cluster-autoscaler.kubernetes.io/pod-scale-up-delay instance_type
`)

// TestAnonymize: what is equal stays equal, what is compared keeps its order, and another salt gives other
// words.
func TestAnonymize(t *testing.T) {
	node := func(name string, labels map[string]string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	at := time.Unix(1e9, 0).UTC()
	needs := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "size", Operator: corev1.NodeSelectorOpGt, Values: []string{"9"}},
			{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"eu-1b", "eu-1c"}},
		}}}}
	blue := provider.Group{ID: "blue", Instances: []provider.Instance{{ID: "b", Zone: "eu-1a", State: provider.Running}}}
	c := &Cluster{
		Time: at, Memory: model.Memory{Written: at, Unneeded: map[string]time.Time{"b": at}},
		Inventory: &provider.Inventory{AsOf: at, Groups: []provider.Group{blue}},
		Objects: []runtime.Object{
			node("a", map[string]string{"size": "9", "zone": "eu-1a"}),
			node("b", map[string]string{"size": "10", "zone": "eu-1b"}),
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "p"}, Spec: corev1.PodSpec{
				NodeName: "b", Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: needs,
				}}}},
			&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-priority-expander"},
				Data:       map[string]string{"priorities": "7: [bl.*]\n9: [green]\n"},
			},
		}}
	hidden, err := c.Anonymize([32]byte{1}, system)
	if err != nil {
		t.Fatal(err)
	}
	a, b, p := hidden.Objects[0].(*corev1.Node), hidden.Objects[1].(*corev1.Node), hidden.Objects[2].(*corev1.Pod)
	required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	want := required.NodeSelectorTerms[0].MatchExpressions
	size := func(s string) int { n, _ := strconv.Atoi(s); return n }
	g, document := hidden.Inventory.Groups[0], hidden.Objects[3].(*corev1.ConfigMap)
	for what, ok := range map[string]bool{
		"names differ from before":   a.Name != "a" && b.Name != "b" && p.Name != "p" && g.ID != "blue",
		"names keep their order":     a.Name < b.Name,
		"a namespace of Kubernetes":  p.Namespace == "kube-system",
		"equal names stay equal":     p.Spec.NodeName == b.Name && string(g.Instances[0].ID) == b.Name,
		"equal values stay equal":    b.Labels["zone"] == want[1].Values[0] && g.Instances[0].Zone == a.Labels["zone"],
		"numbers keep their order":   size(a.Labels["size"]) > 0 && size(a.Labels["size"]) < size(b.Labels["size"]),
		"numbers stay equal":         want[0].Values[0] == a.Labels["size"],
		"the memory":                 len(hidden.Memory.Unneeded) == 1 && !hidden.Memory.Unneeded[b.Name].IsZero(),
		"priorities name the groups": document.Data["priorities"] == fmt.Sprintf("\"7\":\n- ^%s$\n", g.ID),
		"the cluster itself is as it was": c.Objects[0].(*corev1.Node).Name == "a" && c.Inventory.Groups[0].ID == "blue" &&
			c.Objects[0].(*corev1.Node).Labels["size"] == "9" && len(c.Memory.Unneeded) == 1 && !c.Anonymized,
		"it says so": hidden.Anonymized,
	} {
		if !ok {
			t.Errorf("%s: %v %v %v %v", what, hidden.Objects, hidden.Inventory, hidden.Memory, want)
		}
	}
	other, err := c.Anonymize([32]byte{2}, system)
	if err != nil {
		t.Fatal(err)
	}
	if other.Objects[0].(*corev1.Node).Name == a.Name {
		t.Errorf("another salt gives the same name %s", a.Name)
	}
}

// TestBrakesStand: what the memory holds against a class and a template holds in the anonymous cluster, too.
func TestBrakesStand(t *testing.T) {
	w := testkit.New()
	w.Group("blue", 0, 5, testkit.Node("", "4", "16Gi", map[string]string{"pool": "blue"}))
	w.Pending(testkit.Pod("shop", "web", "1", "1Gi", map[string]string{"app": "web"}), 2)
	c, p := live(w), testkit.Policy()
	grows := func(c *Cluster) int {
		t.Helper()
		seen, err := c.Observation(system)
		if err != nil {
			t.Fatal(err)
		}
		cycle, err := ask.Decide(seen, c.Memory, p)
		if err != nil {
			t.Fatal(err)
		}
		return len(cycle.Plan.Grow)
	}
	if n := grows(c); n != 1 {
		t.Fatalf("without a brake, %d groups grow", n)
	}
	seen, err := c.Observation(system)
	if err != nil {
		t.Fatal(err)
	}
	s := snapshot.New(nil, seen, model.Standing{}, p.Rules)
	c.Memory = model.Memory{Written: c.Time, Brakes: []model.Brake{{
		Group: "blue", Class: s.Classes[s.Pending[0].Class].Digest(), Namespace: "shop", Node: "gone",
		Template: s.Contents.Shapes[s.Groups[0].Shape].Digest(), Reason: model.TemplateMismatch,
		Since: c.Time.Add(-time.Minute),
	}}}
	hidden, err := c.Anonymize([32]byte{3}, system)
	if err != nil {
		t.Fatal(err)
	}
	if was, is := grows(c), grows(hidden); was != 0 || is != 0 {
		t.Errorf("with a brake, %d groups grow, and %d of the anonymous cluster; brakes %+v", was, is, hidden.Memory.Brakes)
	}
}
