package schedsim

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

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

// class is what the simulation keeps of a model.Class: one pod, and its
// pre-computed PodInfo, shared by all pods of the class (rule C1).
type class struct {
	pod         *corev1.Pod
	info        *framework.PodInfo
	request     amounts
	zero        bool // requests nothing but a place
	terminating bool
	unsupported string

	coupling coupling
	// keys are the topology keys, other than the hostname, that the class's
	// verdict depends on; sorted.
	keys []string
	// spreadKeys are those of its spread constraints; spreadOver is the one key
	// if there is just one and no minDomains, so that counts may be shifted.
	spreadKeys []string
	spreadOver string
	// conflicts are the classes that it cannot share a host with, itself
	// perhaps included; by anti-affinity, which is asked of each pair of classes
	// as the plugin asks it, or by ports. For ports it is a reason to say no: a yes
	// comes from the plugins.
	conflicts []bool
	// relevant are the classes whose pods the domain verdict depends on.
	relevant []relevance
	// plain: without ports, volumes and anything that reads a hostname, so that
	// domainPlugins alone have a say where its static verdict and the amounts allow
	// it.
	plain bool
	// readsHost: its node affinity reads the hostname or the node's name, so
	// that nodes of one shape differ for it; required is what it asks of them.
	readsHost bool
	required  nodeaffinity.RequiredNodeAffinity
}

// relevance is how another class's pods matter to this class's domains.
type relevance struct {
	class   model.ClassID
	counted bool // by number, for a spread constraint; else by presence
	matched bool // some term or constraint matches it, or its own matches us
}

// amounts are resources as a fixed vector: CPU in thousandths, memory and
// ephemeral storage in bytes, pods, then the world's extended resources.
type amounts struct {
	cpu, memory, ephemeral, pods int64
	ext                          []int64
}

// classes prepares every class of the snapshot, and computes how each is
// coupled from the terms of all of them, since anti-affinity is symmetric.
func prepareClasses(s *model.Snapshot, ext map[corev1.ResourceName]int) []class {
	list := make([]class, len(s.Classes))
	for i := range s.Classes {
		list[i] = newClass(&s.Classes[i], i, ext)
	}
	// Only classes with terms, ports, constraints or claims couple anything.
	var antis []int
	for i := range list {
		if len(list[i].info.RequiredAntiAffinityTerms) > 0 {
			antis = append(antis, i)
		}
	}
	apart := host
	if sharedHostname(s) {
		apart = single
	}
	for i := range list {
		couple(list, i, antis, s.Namespaces, apart)
	}
	return list
}

// sharedHostname tells whether two nodes carry the same hostname label. What is
// said of a hostname is then said of more than one node.
func sharedHostname(s *model.Snapshot) bool {
	seen := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		if s.Nodes[i].Object == nil {
			continue
		}
		name, ok := s.Nodes[i].Object.Labels[corev1.LabelHostname]
		if ok && seen[name] {
			return true
		}
		seen[name] = ok
	}
	return false
}

func newClass(m *model.Class, i int, ext map[corev1.ResourceName]int) class {
	// The plugins never change a pod: the spec is shared, not copied.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace(), Name: fmt.Sprintf("class-%d", i), UID: "", Labels: m.Labels,
	}, Spec: m.Spec.Pod.Spec}
	if m.Terminating {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	c := class{pod: pod, terminating: m.Terminating, unsupported: m.Spec.Unsupported}
	info, err := framework.NewPodInfo(pod)
	if err != nil && c.unsupported == "" {
		c.unsupported = "its affinity cannot be parsed: " + err.Error()
	}
	if info == nil {
		info = &framework.PodInfo{Pod: pod}
	}
	c.info = info
	r := info.CalculateResource().Resource
	c.request = amounts{cpu: r.GetMilliCPU(), memory: r.GetMemory(), ephemeral: r.GetEphemeralStorage(), pods: 1}
	for name, v := range r.GetScalarResources() {
		if v == 0 {
			continue
		}
		c.request.ext = grown(c.request.ext, len(ext))
		c.request.ext[ext[name]] = v
	}
	c.zero = c.request.cpu == 0 && c.request.memory == 0 && c.request.ephemeral == 0 && c.request.ext == nil
	return c
}

func grown(v []int64, n int) []int64 {
	for len(v) < n {
		v = append(v, 0)
	}
	return v
}

// couple works out one class's coupling. apart is that of anti-affinity over
// hostnames.
func couple(list []class, i int, antis []int, namespaces map[string]map[string]string, apart coupling) {
	c := &list[i]
	spec := &c.pod.Spec
	level := free
	keys := map[string]bool{}
	raise := func(to coupling) { level = max(level, to) }

	// 1. What the class itself reads.
	for _, s := range spec.TopologySpreadConstraints {
		if s.TopologyKey == corev1.LabelHostname {
			raise(single)
			continue
		}
		raise(domain)
		keys[s.TopologyKey] = true
		c.spreadKeys = append(c.spreadKeys, s.TopologyKey)
	}
	for _, t := range c.info.RequiredAffinityTerms {
		if t.TopologyKey == corev1.LabelHostname {
			raise(single)
			continue
		}
		raise(domain)
		keys[t.TopologyKey] = true
	}
	for _, t := range c.info.RequiredAntiAffinityTerms {
		if t.TopologyKey == corev1.LabelHostname {
			raise(apart)
			continue
		}
		raise(domain)
		keys[t.TopologyKey] = true
	}
	if len(spec.Containers[0].Ports) > 0 || len(spec.Volumes) > 0 {
		raise(host)
	}
	if readsHostname(spec) {
		c.readsHost, c.required = true, nodeaffinity.GetRequiredNodeAffinity(c.pod)
		raise(host)
	}
	c.plain = len(spec.Containers[0].Ports) == 0 && len(spec.Volumes) == 0 && !c.readsHost
	c.spreadOver = soleSpreadKey(spec)

	// 2. What others have against it.
	for _, j := range antis {
		for _, t := range list[j].info.RequiredAntiAffinityTerms {
			if !t.Matches(c.pod, namespaces[c.pod.Namespace]) {
				continue
			}
			if t.TopologyKey == corev1.LabelHostname {
				raise(apart)
				c.conflict(len(list), j)
				continue
			}
			raise(domain)
			keys[t.TopologyKey] = true
		}
	}

	// 3. Which other classes' pods matter.
	c.coupling = level
	if level == free {
		return
	}
	for key := range keys {
		c.keys = append(c.keys, key)
	}
	slices.Sort(c.keys)
	if level < domain && len(spec.Containers[0].Ports) == 0 && len(c.info.RequiredAntiAffinityTerms) == 0 {
		return // a pod with volumes, say: each may be a class of its own
	}
	spread := spreadSelectors(c.pod)
	for j := range list {
		d := &list[j]
		for _, t := range c.info.RequiredAntiAffinityTerms {
			if t.TopologyKey == corev1.LabelHostname && t.Matches(d.pod, namespaces[d.pod.Namespace]) {
				c.conflict(len(list), j)
			}
		}
		if portsConflict(spec, &d.pod.Spec) {
			c.conflict(len(list), j)
		}
		if level < domain {
			continue
		}
		r := relevance{class: model.ClassID(j)}
		if d.pod.Namespace == c.pod.Namespace && !d.terminating {
			for _, sel := range spread {
				if sel.Matches(labels.Set(d.pod.Labels)) {
					r.counted, r.matched = true, true
				}
			}
		}
		for _, terms := range [][]fwk.AffinityTerm{c.info.RequiredAffinityTerms, c.info.RequiredAntiAffinityTerms} {
			for _, t := range terms {
				r.matched = r.matched || t.Matches(d.pod, namespaces[d.pod.Namespace])
			}
		}
		for _, t := range d.info.RequiredAntiAffinityTerms {
			r.matched = r.matched || t.Matches(c.pod, namespaces[c.pod.Namespace])
		}
		if r.matched {
			c.relevant = append(c.relevant, r)
		}
	}
}

func (c *class) conflict(n, with int) {
	if c.conflicts == nil {
		c.conflicts = make([]bool, n)
	}
	c.conflicts[with] = true
}

// soleSpreadKey is the one topology key that all spread constraints share, if
// shifting all domains' counts by one number can change no verdict: with
// minDomains the global minimum may be taken for zero, which a shift breaks.
func soleSpreadKey(spec *corev1.PodSpec) string {
	key := ""
	for _, s := range spec.TopologySpreadConstraints {
		if s.MinDomains != nil && *s.MinDomains > 1 {
			return ""
		}
		if key != "" && key != s.TopologyKey {
			return ""
		}
		key = s.TopologyKey
	}
	return key
}

// spreadSelectors are the selectors of the pod's spread constraints.
func spreadSelectors(pod *corev1.Pod) []labels.Selector {
	var out []labels.Selector
	for i := range pod.Spec.TopologySpreadConstraints {
		if sel, err := spreadSelector(pod, &pod.Spec.TopologySpreadConstraints[i]); err == nil {
			out = append(out, sel)
		} // else the plugin rejects the pod for it
	}
	return out
}

// spreadSelector is the selector of one of the pod's spread constraints, with
// matchLabelKeys resolved against its labels as the scheduler does.
func spreadSelector(pod *corev1.Pod, s *corev1.TopologySpreadConstraint) (labels.Selector, error) {
	sel, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	if err != nil {
		return nil, err
	}
	for _, k := range s.MatchLabelKeys {
		if v, ok := pod.Labels[k]; ok {
			if req, err := labels.NewRequirement(k, "in", []string{v}); err == nil {
				sel = sel.Add(*req)
			}
		}
	}
	return sel, nil
}

// readsHostname tells whether the pod's node selector or required node
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
func (c *class) count(f *amounts) int {
	n := f.pods
	if !c.zero {
		n = fit(n, f.cpu, c.request.cpu)
		n = fit(n, f.memory, c.request.memory)
		n = fit(n, f.ephemeral, c.request.ephemeral)
		for i, want := range c.request.ext {
			if want == 0 {
				continue
			}
			have := int64(0)
			if i < len(f.ext) {
				have = f.ext[i]
			}
			n = fit(n, have, want)
		}
	}
	return int(max(0, min(n, math.MaxInt32)))
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
// copied, since copies of the vector share them.
func (f *amounts) take(c *class, n int64) {
	f.cpu -= n * c.request.cpu
	f.memory -= n * c.request.memory
	f.ephemeral -= n * c.request.ephemeral
	f.pods -= n
	if c.request.ext != nil {
		f.ext = grown(slices.Clone(f.ext), len(c.request.ext))
		for i, v := range c.request.ext {
			f.ext[i] -= n * v
		}
	}
}

// amountsOf reads what a node can hold the way the scheduler does.
func amountsOf(list corev1.ResourceList, ext map[corev1.ResourceName]int) amounts {
	r := framework.NewResource(list)
	a := amounts{cpu: r.MilliCPU, memory: r.Memory, ephemeral: r.EphemeralStorage, pods: int64(r.AllowedPodNumber)}
	for name, v := range r.ScalarResources {
		if i, ok := ext[name]; ok {
			a.ext = grown(a.ext, len(ext))
			a.ext[i] = v
		}
	}
	return a
}
