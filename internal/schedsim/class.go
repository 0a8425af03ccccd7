package schedsim

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// coupling says how far a class's verdict on a node reaches beyond that node's
// shape and free amounts (rule C2).
type coupling uint8

const (
	free coupling = iota
	host
	domain
	single
)

// traits are what the simulation keeps of a model.Class by itself, whatever other
// classes there are. They are made once and carried from world to world.
type traits struct {
	pod         *corev1.Pod // namespace and spec, without labels
	labels      map[string]string
	spec        *corev1.PodSpec
	request     amounts
	zero        bool // requests nothing but a place
	terminating bool
	// unsupported says why no verdict can be given for the class, if none can; refused is the
	// reason for it.
	unsupported string
	refused     model.Reason

	// The terms of its required affinity and anti-affinity, and the selectors of
	// its spread constraints.
	affine, anti, spread []selection
	// reach is the coupling that the class's own spec asks for, anti-affinity over
	// hostnames apart; topology are the keys, other than the hostname, that it reads.
	reach    coupling
	topology []string
	// broken: a spread constraint cannot be parsed, which the plugin says on every node.
	broken bool
	// plain: without ports, volumes and anything that reads a hostname, so that other pods alone
	// decide where its static verdict and the amounts allow it.
	plain bool
	// carries: its volumes alone keep it from being plain. inline: some of them are not claims.
	carries, inline bool
	// readsHost: its node affinity reads the hostname or the node's name, so
	// that nodes of one shape differ for it; required is what it asks of them.
	readsHost bool
	required  nodeaffinity.RequiredNodeAffinity

	shown  *framework.PodInfo // once the plugins had to see it
	family *family
}

// amounts are resources as they are counted: CPU in thousandths, memory and ephemeral storage in
// bytes, pods, then extended resources, sorted by name. Only those that the pod or the node has are
// listed.
type amounts struct {
	cpu, memory, ephemeral, pods int64
	ext                          []model.Amount
}

func newTraits(m *model.Class, f *family) *traits {
	t := &traits{
		pod: m.Spec.Pod, labels: m.Labels, spec: &m.Spec.Pod.Spec, family: f,
		terminating: m.Terminating, unsupported: m.Spec.Unsupported, refused: model.Unsupported,
	}
	t.request = amountsOf(m.Spec.Requests)
	t.request.pods = 1
	t.zero = t.request.cpu == 0 && t.request.memory == 0 && t.request.ephemeral == 0 && t.request.ext == nil
	defer func() {
		if p := recover(); p != nil {
			t.unsupported, t.refused = panicked(p), model.FilterPanicked
		}
	}()
	t.readTerms()
	t.readTopology()
	ports, volumes := len(t.spec.Containers[0].Ports) > 0, len(t.spec.Volumes) > 0
	t.readVolumes()
	if readsHostname(t.spec) {
		t.readsHost, t.required = true, nodeaffinity.GetRequiredNodeAffinity(t.pod)
	}
	if ports || volumes || t.readsHost {
		t.reach = max(t.reach, host)
	}
	t.plain = !ports && !volumes && !t.readsHost
	t.carries = !ports && volumes && !t.readsHost
	return t
}

// readVolumes is what no other of the family need have.
func (t *traits) readVolumes() {
	t.inline = slices.ContainsFunc(t.spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim == nil })
}

// readTerms parses what the class selects other pods by.
func (t *traits) readTerms() {
	parse := func(raw []corev1.PodAffinityTerm) []selection {
		terms, err := fwk.GetAffinityTerms(t.pod, raw)
		if err != nil && t.unsupported == "" {
			t.unsupported = "its affinity cannot be parsed: " + err.Error()
		}
		out := make([]selection, len(terms))
		for i := range terms {
			out[i] = selectionOf(terms[i])
		}
		return out
	}
	if t.spec.Affinity != nil {
		t.affine = parse(fwk.GetPodAffinityTerms(t.spec.Affinity))
		t.anti = parse(fwk.GetPodAntiAffinityTerms(t.spec.Affinity))
	}
	for i := range t.spec.TopologySpreadConstraints {
		s, err := spreadSelector(t.labels, &t.spec.TopologySpreadConstraints[i])
		if err != nil {
			t.broken = true
			continue
		}
		t.spread = append(t.spread, selectionOf(fwk.AffinityTerm{
			Namespaces: sets.New(t.pod.Namespace), NamespaceSelector: labels.Nothing(), Selector: s,
		}))
	}
}

// readTopology finds which topology keys the class reads, and how far that
// reaches.
func (t *traits) readTopology() {
	read := func(key string, overHosts coupling) {
		if key == corev1.LabelHostname {
			t.reach = max(t.reach, overHosts)
			return
		}
		t.reach = max(t.reach, domain)
		t.topology = append(t.topology, key)
	}
	for i := range t.spec.TopologySpreadConstraints {
		read(t.spec.TopologySpreadConstraints[i].TopologyKey, single)
	}
	for i := range t.affine {
		read(t.affine[i].TopologyKey, single)
	}
	for i := range t.anti {
		read(t.anti[i].TopologyKey, host)
	}
}

// statics names what the plugins that look at a node's shape alone may read of the class: all of its spec but what
// only others read.
func (t *traits) statics() string {
	if t.family.static != "" {
		return t.family.static
	}
	spec := *t.spec
	spec.Volumes, spec.TopologySpreadConstraints, spec.Overhead = nil, nil, nil
	spec.SchedulerName, spec.Priority, spec.PreemptionPolicy = "", nil, nil
	if a := spec.Affinity; a != nil {
		if spec.Affinity = nil; a.NodeAffinity != nil {
			spec.Affinity = &corev1.Affinity{NodeAffinity: a.NodeAffinity}
		}
	}
	c := spec.Containers[0]
	c.Resources, c.Ports = corev1.ResourceRequirements{}, nil
	spec.Containers = append([]corev1.Container{c}, spec.Containers[1:]...)
	t.family.static = string(marshalled(nil, &spec))
	return t.family.static
}

// refusal is the answer of all nodes to a class for which no verdict can be given,
// nil if one can.
func (t *traits) refusal() *rejection {
	if t.unsupported == "" {
		return nil
	}
	return &rejection{reason: t.refused, said: t.unsupported}
}

// info is what the plugins see of the class's pods. All of them share it (rule C1).
func (t *traits) info() *framework.PodInfo {
	if t.shown != nil {
		return t.shown
	}
	// The plugins never change a pod: the spec is shared, not copied.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.pod.Namespace, Name: "class", Labels: t.labels},
		Spec: *t.spec}
	if t.terminating {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	info, _ := framework.NewPodInfo(pod) // the error is that of readTerms
	if info == nil {
		info = &framework.PodInfo{Pod: pod}
	}
	t.shown = info
	return info
}

// spreadSelector is the selector of one of the pod's spread constraints, with
// matchLabelKeys resolved against its labels as the scheduler does.
func spreadSelector(own map[string]string, s *corev1.TopologySpreadConstraint) (labels.Selector, error) {
	sel, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	if err != nil {
		return nil, err
	}
	for _, k := range s.MatchLabelKeys {
		if v, ok := own[k]; ok {
			if req, err := labels.NewRequirement(k, "in", []string{v}); err == nil {
				sel = sel.Add(*req)
			}
		}
	}
	return sel, nil
}

// readsHostname reports whether the pod's node selector or required node
// affinity reads what differs between nodes of one shape.
func readsHostname(spec *corev1.PodSpec) bool {
	if _, ok := spec.NodeSelector[corev1.LabelHostname]; ok {
		return true
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return false
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return false
	}
	for _, term := range required.NodeSelectorTerms {
		if len(term.MatchFields) > 0 {
			return true
		}
		for _, e := range term.MatchExpressions {
			if e.Key == corev1.LabelHostname {
				return true
			}
		}
	}
	return false
}

func portsConflict(a, b *corev1.PodSpec) bool {
	for _, p := range a.Containers[0].Ports {
		for _, q := range b.Containers[0].Ports {
			if p.HostPort != q.HostPort || protocol(p) != protocol(q) {
				continue
			}
			if p.HostIP == q.HostIP || anyIP(p.HostIP) || anyIP(q.HostIP) {
				return true
			}
		}
	}
	return false
}

func protocol(p corev1.ContainerPort) corev1.Protocol {
	if p.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return p.Protocol
}

func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" }

// count is how many pods of the class the free amounts have room for. It is
// the arithmetic of the scheduler's resource filter, divided instead of
// repeated: a pod that requests nothing needs only a place, even on a node
// that is over-committed.
func (t *traits) count(f *amounts) int {
	n := f.pods
	if !t.zero {
		n = fit(n, f.cpu, t.request.cpu)
		n = fit(n, f.memory, t.request.memory)
		n = fit(n, f.ephemeral, t.request.ephemeral)
		have := f.ext
		for _, want := range t.request.ext {
			if n <= 0 {
				break
			}
			for len(have) > 0 && have[0].Name < want.Name {
				have = have[1:]
			}
			if len(have) == 0 || have[0].Name != want.Name {
				return 0
			}
			n = fit(n, have[0].Value, want.Value)
		}
	}
	return int(max(0, min(n, math.MaxInt32)))
}

// fits reports whether the free amounts have room for one pod of the class: whether count is above zero, without
// its divisions.
func (t *traits) fits(f *amounts) bool {
	want := &t.request
	switch {
	case f.pods < 1, t.zero:
		return f.pods > 0
	case want.cpu != 0 && f.cpu < want.cpu, want.memory != 0 && f.memory < want.memory,
		want.ephemeral != 0 && f.ephemeral < want.ephemeral:
		return false
	}
	return len(want.ext) == 0 || t.count(f) > 0
}

func fit(n, have, want int64) int64 {
	if want == 0 {
		return n
	}
	if have < want {
		return 0
	}
	return min(n, have/want)
}

// take lowers the free amounts by n pods of the class; extended amounts are
// copied, since copies of the list share them.
func (f *amounts) take(c *class, n int64) {
	f.cpu -= n * c.request.cpu
	f.memory -= n * c.request.memory
	f.ephemeral -= n * c.request.ephemeral
	f.pods -= n
	if c.request.ext != nil {
		f.ext = model.Resources{Extended: f.ext}.Plus(model.Resources{Extended: c.request.ext}, -n).Extended
	}
}

// of is the amount of one extended resource.
func (f *amounts) of(name corev1.ResourceName) int64 {
	return model.Resources{Extended: f.ext}.Value(name)
}

// amountsOf counts resources the way the scheduler does, which ignores names that are neither
// native nor extended resources.
func amountsOf(r model.Resources) amounts {
	a := amounts{cpu: r.MilliCPU, memory: r.Memory, ephemeral: r.Ephemeral, pods: r.Pods, ext: r.Extended}
	if slices.ContainsFunc(a.ext, passedOver) {
		a.ext = slices.DeleteFunc(slices.Clone(a.ext), passedOver)
	}
	if len(a.ext) == 0 {
		a.ext = nil
	}
	return a
}

func passedOver(a model.Amount) bool {
	name := string(a.Name)
	if len(name) < 200 && strings.Contains(name, "/") &&
		!strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) {
		return false // an ordinary extended resource: thousands are told apart in no time
	}
	return !util.IsScalarResourceName(a.Name)
}
