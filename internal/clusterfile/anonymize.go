package clusterfile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Anonymize gives the cluster with other names: those of objects, namespaces and groups, the values of
// labels and taints, ids of machines, volumes and accounts. Messages are left out. Equal words stay equal
// and keep their order, so that the plan is the same but for names: a new word says nothing of the old one
// but where it stands among the others. The salt draws the words: another one gives others.
//
// Kept are keys of labels, taints and annotations, names of resources, drivers and schedulers, the
// namespaces of Kubernetes itself, and values of labels that many clusters share: architecture, operating
// system, instance type, spot or not.
func (c *Cluster) Anonymize(salt [32]byte, s observe.Settings) (*Cluster, error) {
	out, _, err := c.anonymize(salt, s)
	return out, err
}

func (c *Cluster) anonymize(salt [32]byte, s observe.Settings) (*Cluster, *renamer, error) {
	out, err := c.copied()
	if err != nil {
		return nil, nil, err
	}
	r := &renamer{found: map[string]bool{}, values: map[string]map[string]bool{}, compared: map[string]bool{},
		keep: map[string]bool{"": true}, preferred: map[*corev1.ConfigMap][]preference{}}
	for _, name := range sharedNamespaces {
		r.keep[name] = true
	}
	r.cluster(out) // finds all words
	r.draw(salt)
	r.cluster(out)
	// The memory names classes and templates by what they consist of, which is another thing now.
	if r.digests, err = digests(c, out, r, s); err != nil {
		return nil, nil, err
	}
	r.walk(reflect.ValueOf(&out.Memory))
	out.Anonymized = true
	return out, r, nil
}

// copied is a cluster that may be changed, cut down, without what cannot be made anonymous.
func (c *Cluster) copied() (*Cluster, error) {
	var text bytes.Buffer
	lone := Cluster{Time: c.Time, Version: c.Version, Inventory: c.Inventory, Memory: c.Memory, Listed: c.Listed}
	if err := Write(&text, &lone, JSON); err != nil {
		return nil, fmt.Errorf("copy the cluster: %w", err)
	}
	b := newBuilder()
	err := split("the cluster", &text, func(p piece) error {
		all, err := p.parse()
		for _, each := range all {
			if err == nil {
				err = b.add(each)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copy the cluster: %w", err)
	}
	out, err := b.built(nil)
	if err != nil {
		return nil, fmt.Errorf("copy the cluster: %w", err)
	}
	for resource := range c.Unread {
		if out.Unread == nil {
			out.Unread = map[string]string{}
		}
		out.Unread[resource] = leftOut
	}
	if c.InventoryErr != "" {
		out.InventoryErr = leftOut
	}
	for _, obj := range c.Objects {
		out.Objects = append(out.Objects, obj.DeepCopyObject())
	}
	out.Skipped = maps.Clone(c.Skipped)
	return out, nil
}

// leftOut stands for a message.
const leftOut = "left out"

// sharedNamespaces are those that every cluster has.
var sharedNamespaces = []string{
	metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease,
}

// sharedValues are the labels whose values are kept.
var sharedValues = []string{
	corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable, corev1.LabelInstanceType,
	"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType",
	"cloud.google.com/gke-spot", "kubernetes.azure.com/scalesetpriority",
	model.TaintToBeDeleted, model.TaintCandidate, // times
}

// meantValues are the annotations whose values say something to Plimsoll or to the scheduler.
var meantValues = []string{
	"cluster-autoscaler.kubernetes.io/safe-to-evict", "cluster-autoscaler.kubernetes.io/enable-ds-eviction",
	"cluster-autoscaler.kubernetes.io/pod-scale-up-delay", "cluster-autoscaler.kubernetes.io/daemonset-pod",
	model.AnnotationScaleDownDisabled, model.AnnotationDoNotDisrupt,
	model.AnnotationRemoval, corev1.PodDeletionCost, "kwok.x-k8s.io/node",
	"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
	corev1.MigratedPluginsAnnotationKey,
}

// annotationVolumes lists names of volumes.
const annotationVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

// keptFields are the fields with text that is no name, as Type.Field.
var keptFields = strings.Fields(`
	TypeMeta.Kind TypeMeta.APIVersion ObjectMeta.ResourceVersion OwnerReference.APIVersion OwnerReference.Kind
	LabelSelectorRequirement.Key TopologySelectorLabelRequirement.Key TopologySpreadConstraint.TopologyKey
	TopologySpreadConstraint.MatchLabelKeys PodAffinityTerm.TopologyKey PodAffinityTerm.MatchLabelKeys
	PodAffinityTerm.MismatchLabelKeys Container.Name ContainerPort.HostIP VolumeMount.BindMountOptions
	NodeCondition.Reason PodCondition.Reason NodeStatus.DeclaredFeatures NodeSystemInfo.KubeletVersion
	NodeSystemInfo.OperatingSystem NodeSystemInfo.Architecture PodSpec.SchedulerName
	StorageClass.Provisioner CSINodeDriver.Name CSINodeDriver.TopologyKeys CSIPersistentVolumeSource.Driver
	CSIVolumeSource.Driver VolumeAttachmentSpec.Attacher
	Group.CapacityType Group.Currency Price.InstanceType Price.CapacityType
	Commitment.InstanceType Commitment.CapacityType Commitment.OS
	Group.OwnLabels Hold.Reason Error.Code Notice.Code Pool.Sizing Rest.Code
`)

// droppedFields are those with sentences, and what deciding does not read of a template.
var droppedFields = []string{"Message", "Detail", "Why", "Sources", "Hold", "ResourceSlices"}

// renamer replaces words. Until words are drawn it collects them, and changes nothing.
type renamer struct {
	words   map[string]string
	digests map[string]string
	found   map[string]bool
	keep    map[string]bool
	// values are those of labels and taints, by key; compared are the keys whose values are compared as
	// numbers.
	values   map[string]map[string]bool
	compared map[string]bool
	// preferred are the groups that each document of the priority expander matches.
	preferred map[*corev1.ConfigMap][]preference
}

func (r *renamer) word(s string) string {
	if r.words == nil {
		r.found[s] = true
		return s
	}
	if to, ok := r.words[s]; ok {
		return to
	}
	return leftOut
}

// value is that of a label or a taint.
func (r *renamer) value(key, s string) string {
	switch {
	case slices.Contains(sharedValues, key):
		r.keep[s] = true
		return s
	case slices.Contains(zoneLabels, key) && strings.Contains(s, "__"): // a volume's, in several zones
		parts := strings.Split(s, "__")
		for i := range parts {
			parts[i] = r.value(key, parts[i])
		}
		return strings.Join(parts, "__")
	}
	if r.words == nil {
		if r.values[key] == nil {
			r.values[key] = map[string]bool{}
		}
		r.values[key][s] = true
	}
	return r.word(s)
}

func (r *renamer) labels(m map[string]string) {
	for key, value := range m {
		m[key] = r.value(key, value)
	}
}

func (r *renamer) strings(list []string, rename func(string) string) {
	for i := range list {
		list[i] = rename(list[i])
	}
}

// draw gives each word that was found another one, in the same order.
func (r *renamer) draw(salt [32]byte) {
	var names, numbers []string
	number := map[string]int64{}
	for key := range r.compared {
		for value := range r.values[key] {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				number[value] = n
			}
		}
	}
	for s := range r.found {
		if _, is := number[s]; is {
			numbers = append(numbers, s)
		} else if !r.keep[s] {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	slices.SortFunc(numbers, func(a, b string) int { return cmp.Or(cmp.Compare(number[a], number[b]), cmp.Compare(a, b)) })
	r.words = map[string]string{}
	for s := range r.keep {
		r.words[s] = s
	}
	chance := rand.New(rand.NewChaCha8(salt))
	const gap = 1 << 10
	width := len(strconv.FormatInt(int64(len(names)+1)*gap, 32))
	for i, s := range names {
		text := strconv.FormatInt(int64(i+1)*gap+chance.Int64N(gap), 32)
		r.words[s] = "x" + strings.Repeat("0", width-len(text)) + text
	}
	last, at := int64(0), int64(0)
	for i, s := range numbers {
		if i == 0 || number[s] != last {
			at, last = at+1+chance.Int64N(9), number[s]
		}
		r.words[s] = strconv.FormatInt(at, 10)
	}
}

func (r *renamer) cluster(c *Cluster) {
	drivers(c, r.keep)
	for _, obj := range c.Objects {
		if m, ok := obj.(*corev1.ConfigMap); ok {
			r.priorities(m, cmp.Or(c.Inventory, &provider.Inventory{}))
			continue
		}
		r.walk(reflect.ValueOf(obj))
	}
	if c.Inventory != nil {
		r.walk(reflect.ValueOf(c.Inventory))
	}
	if r.words == nil {
		r.walk(reflect.ValueOf(&c.Memory))
	}
}

// drivers keeps the names of drivers, which are named in many places.
func drivers(c *Cluster, keep map[string]bool) {
	for _, obj := range c.Objects {
		switch o := obj.(type) {
		case *storagev1.CSIDriver:
			keep[o.Name] = true
		case *storagev1.StorageClass:
			keep[o.Provisioner] = true
		}
	}
}

// priorities replaces the patterns of the priority expander by the names of the groups that they match.
func (r *renamer) priorities(m *corev1.ConfigMap, groups *provider.Inventory) {
	r.keep[m.Name], r.keep[m.Namespace] = true, true
	for key, text := range m.Data {
		if r.words != nil {
			byNumber := map[int][]string{}
			for _, p := range r.preferred[m] {
				byNumber[p.number] = append(byNumber[p.number], "^"+r.word(string(p.group))+"$")
			}
			fresh, _ := yaml.Marshal(byNumber) // numbers and texts
			m.Data[key] = string(fresh)
			continue
		}
		known := model.ParsePriorities(text)
		for i := range groups.Groups {
			if n, ok := known.Of(groups.Groups[i].ID); ok {
				r.preferred[m] = append(r.preferred[m], preference{groups.Groups[i].ID, n})
			}
		}
	}
	r.walk(reflect.ValueOf(&m.ObjectMeta))
}

// preference is a group's number in the priority expander's document.
type preference struct {
	group  provider.GroupID
	number int
}

// walk replaces all words below a value.
func (r *renamer) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			r.walk(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			r.walk(v.Index(i))
		}
	case reflect.Map:
		r.walkMap(v)
	case reflect.Struct:
		r.walkStruct(v)
	case reflect.String:
		if named(v.Type()) {
			v.SetString(r.word(v.String()))
		}
	}
}

// named reports whether texts of a type are names. Types of their own that are not in the list are words
// of a fixed set.
func named(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[types.UID](), reflect.TypeFor[types.NodeName](),
		reflect.TypeFor[provider.GroupID](), reflect.TypeFor[provider.PoolID](), reflect.TypeFor[provider.InstanceID]():
		return true
	}
	return false
}

// walkMap replaces the keys of maps by name. Maps of text are labels, or what labels may be.
func (r *renamer) walkMap(v reflect.Value) {
	switch m := v.Interface().(type) {
	case map[string]string:
		r.labels(m)
		return
	case corev1.ResourceList:
		return
	case map[string][]string:
		for key, values := range m {
			r.strings(values, func(s string) string { return r.value(key, s) })
		}
		return
	}
	byKey := map[any]reflect.Value{}
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		r.walk(value)
		fresh := reflect.New(key.Type()).Elem()
		fresh.Set(key)
		r.walk(fresh)
		byKey[fresh.Interface()] = value
		v.SetMapIndex(key, reflect.Value{})
	}
	for key, value := range byKey {
		v.SetMapIndex(reflect.ValueOf(key), value)
	}
}

func (r *renamer) walkStruct(v reflect.Value) {
	switch o := v.Addr().Interface().(type) {
	case *time.Time, *metav1.Time, *metav1.MicroTime, *resource.Quantity:
		return
	case *metav1.ObjectMeta:
		r.annotations(o.Annotations)
		was := o.Annotations
		o.Annotations = nil
		r.fields(v)
		o.Annotations = was
		return
	case *corev1.NodeSelectorRequirement:
		if o.Operator == corev1.NodeSelectorOpGt || o.Operator == corev1.NodeSelectorOpLt {
			r.compared[o.Key] = true
		}
		r.strings(o.Values, func(s string) string { return r.value(o.Key, s) })
		return
	case *metav1.LabelSelectorRequirement:
		r.strings(o.Values, func(s string) string { return r.value(o.Key, s) })
		return
	case *corev1.TopologySelectorLabelRequirement:
		r.strings(o.Values, func(s string) string { return r.value(o.Key, s) })
		return
	case *corev1.Taint:
		o.Value = r.value(o.Key, o.Value)
		return
	case *corev1.Toleration:
		if o.Operator != corev1.TolerationOpEqual && o.Operator != corev1.TolerationOpExists && o.Operator != "" {
			r.compared[o.Key] = true
		}
		o.Value = r.value(o.Key, o.Value)
		return
	}
	r.fields(v)
}

func (r *renamer) fields(v reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		f, at := t.Field(i), v.Field(i)
		switch {
		case !f.IsExported() || slices.Contains(keptFields, t.Name()+"."+f.Name):
		case slices.Contains(droppedFields, f.Name):
			r.drop(at)
		case slices.Contains([]string{"Ask.For", "Arrival.For", "Brake.Class", "Brake.Template"}, t.Name()+"."+f.Name):
			r.digest(at)
		default:
			r.walk(at)
		}
	}
}

// drop leaves a sentence out, and that there is one in.
func (r *renamer) drop(v reflect.Value) {
	if v.Kind() == reflect.String && v.Len() > 0 {
		v.SetString(leftOut)
	} else if v.Kind() != reflect.String {
		v.SetZero()
	}
}

// digest replaces names of classes and templates. One that no pod and no group has any more becomes a word
// that names nothing.
func (r *renamer) digest(v reflect.Value) {
	if r.digests == nil {
		return
	}
	if v.Kind() == reflect.String {
		v.SetString(r.digests[v.String()])
		return
	}
	for i := range v.Len() {
		r.digest(v.Index(i))
	}
}

func (r *renamer) annotations(m map[string]string) {
	for key, value := range m {
		switch {
		case key == model.AnnotationStays:
			delete(m, key)
		case key == annotationVolumes:
			parts := strings.Split(value, ",")
			r.strings(parts, func(s string) string { return r.word(strings.TrimSpace(s)) })
			m[key] = strings.Join(parts, ",")
		case !slices.Contains(meantValues, key):
			m[key] = r.word(value)
		}
	}
}

// digests says what classes and templates are called after the names were replaced.
func digests(before, after *Cluster, r *renamer, s observe.Settings) (map[string]string, error) {
	out := map[string]string{}
	if m := &before.Memory; len(m.Asks)+len(m.Arrivals)+len(m.Brakes) == 0 {
		return out, nil
	}
	var of [2]*model.Snapshot
	for i, c := range []*Cluster{before, after} {
		seen, err := c.Observation(s)
		if err != nil {
			return nil, err
		}
		of[i] = snapshot.New(nil, seen, model.Standing{}, model.Rules{ExpendableBelow: math.MinInt32})
	}
	now := map[string]string{}
	eachPod(of[1], func(pod, digest string) { now[pod] = digest })
	eachPod(of[0], func(pod, digest string) {
		namespace, name, _ := strings.Cut(pod, "/")
		out[digest] = now[r.word(namespace)+"/"+r.word(name)]
	})
	// Groups stay in their order.
	for i := range of[0].Groups {
		was, is := of[0].Groups[i], of[1].Groups[i]
		if !was.HasTemplate {
			continue
		}
		shape := func(s *model.Snapshot, id model.ShapeID) string { return s.Contents.Shapes[id].Digest() }
		out[shape(of[0], was.Shape)] = shape(of[1], is.Shape)
		for j := range min(len(was.Variants), len(is.Variants)) {
			out[shape(of[0], was.Variants[j].Shape)] = shape(of[1], is.Variants[j].Shape)
		}
	}
	return out, nil
}

// eachPod yields all pods of a snapshot, with the digests of their classes.
func eachPod(s *model.Snapshot, yield func(pod, digest string)) {
	tell := func(p *model.Pod) {
		if id, ok := s.ClassOf(p); ok {
			c := &s.Classes[id]
			yield(c.Namespace()+"/"+p.Name, c.Digest())
		}
	}
	for i := range s.Pending {
		for _, p := range s.Pending[i].Pods {
			tell(p)
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Bound {
			tell(&s.Nodes[i].Bound[j])
		}
	}
}
