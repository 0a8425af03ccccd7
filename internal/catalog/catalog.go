// Package catalog folds the contents of pods and nodes: what is equal for the scheduler is stored
// once and from then on named by a small number. What decides whether a pod may be moved, its
// facts, is stored the same way.
//
// What flows in: pods, pod templates and nodes as the API server has them.
// What flows out: model.Content, model.FactsID and model.ShapeID, and the frozen
// tables (model.Contents) behind them. Keys are hashes of content, so that order
// and identity are the same in every process.
//
// A Catalog may be used by many goroutines. It only grows; its owner starts a
// new one when too much of it is stale.
//
// Who may import it: observe, sim, testkit and benchmarks. It imports model.
package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Catalog is the table of contents seen so far.
type Catalog struct {
	mu       sync.Mutex
	specs    []*model.Spec
	labels   []*model.LabelSet
	shapes   []*model.Shape
	facts    []*model.Facts
	specOf   map[string]model.SpecID
	labelsOf map[string]model.LabelsID
	shapeOf  map[string]model.ShapeID
	factsOf  map[model.Facts]model.FactsID // by facts without their key
	buf      []byte
	keys     []string
}

// New makes an empty catalog.
func New() *Catalog {
	return &Catalog{
		specOf:   map[string]model.SpecID{},
		labelsOf: map[string]model.LabelsID{},
		shapeOf:  map[string]model.ShapeID{},
		factsOf:  map[model.Facts]model.FactsID{},
	}
}

// Contents is the frozen view of all that was interned until now.
func (c *Catalog) Contents() model.Contents {
	c.mu.Lock()
	defer c.mu.Unlock()
	return model.Contents{
		Specs:  slices.Clip(c.specs),
		Labels: slices.Clip(c.labels),
		Shapes: slices.Clip(c.shapes),
		Facts:  slices.Clip(c.facts),
	}
}

// Pod interns a pod's content.
func (c *Catalog) Pod(pod *corev1.Pod) model.Content {
	return c.content(pod)
}

// Template interns a pod template's content as that of a pod in a namespace.
func (c *Catalog) Template(namespace string, t *corev1.PodTemplateSpec) model.Content {
	return c.content(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: t.Labels},
		Spec:       t.Spec,
	})
}

func (c *Catalog) content(pod *corev1.Pod) model.Content {
	requests := requestsOf(pod)
	spec := schedulingSpec(pod, requests)
	c.mu.Lock()
	defer c.mu.Unlock()
	return model.Content{Spec: c.spec(pod, &spec, requests), Labels: c.labelSet(pod.Labels)}
}

func (c *Catalog) spec(pod *corev1.Pod, spec *corev1.PodSpec, requests corev1.ResourceList) model.SpecID {
	c.buf = append(c.buf[:0], pod.Namespace...)
	c.buf = append(c.buf, 0)
	size := spec.Size()
	c.buf = slices.Grow(c.buf, size)
	head := len(c.buf)
	c.buf = c.buf[:head+size]
	if _, err := spec.MarshalToSizedBuffer(c.buf[head:]); err != nil {
		// The buffer has the size that the message needs; nothing else can fail.
		panic("catalog: marshal a pod spec: " + err.Error())
	}
	// Owner names of claims made for ephemeral volumes are content too.
	claims := claimNames(pod)
	for _, name := range claims {
		c.buf = append(append(c.buf, 0), name...)
	}
	if id, ok := c.specOf[string(c.buf)]; ok {
		return id
	}
	id := model.SpecID(len(c.specs))
	raw := string(c.buf)
	c.specOf[raw] = id
	s := &model.Spec{
		Key:      digest(raw),
		Pod:      &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace}, Spec: *spec.DeepCopy()},
		Requests: model.ResourcesOf(requests),
		Claims:   claims,
	}
	s.Requests.Pods = 1
	if pod.Spec.Priority != nil {
		s.Priority = *pod.Spec.Priority
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		s.Unsupported = "resource claims (dynamic resource allocation)"
	}
	c.specs = append(c.specs, s)
	return id
}

func (c *Catalog) labelSet(labels map[string]string) model.LabelsID {
	c.keys = c.keys[:0]
	for k := range labels {
		c.keys = append(c.keys, k)
	}
	slices.Sort(c.keys)
	c.buf = c.buf[:0]
	for _, k := range c.keys {
		c.buf = append(append(c.buf, k...), 0)
		c.buf = append(append(c.buf, labels[k]...), 0)
	}
	if id, ok := c.labelsOf[string(c.buf)]; ok {
		return id
	}
	id := model.LabelsID(len(c.labels))
	key := string(c.buf)
	c.labelsOf[key] = id
	own := make(map[string]string, len(labels))
	for k, v := range labels {
		own[k] = v
	}
	c.labels = append(c.labels, &model.LabelSet{Key: key, Labels: own})
	return id
}

// schedulingSpec keeps of a pod's spec what the scheduler's filters read.
// Requests, summed as the scheduler sums them, go into one container, so that
// init containers and sidecars need not be kept.
func schedulingSpec(pod *corev1.Pod, requests corev1.ResourceList) corev1.PodSpec {
	in := &pod.Spec
	out := corev1.PodSpec{
		NodeSelector:      in.NodeSelector,
		Tolerations:       in.Tolerations,
		SchedulerName:     in.SchedulerName,
		Priority:          in.Priority,
		PreemptionPolicy:  in.PreemptionPolicy,
		HostNetwork:       in.HostNetwork,
		ResourceClaims:    in.ResourceClaims,
		OS:                in.OS,
		PriorityClassName: "",
	}
	if a := in.Affinity; a != nil {
		out.Affinity = requiredAffinity(a)
	}
	for _, s := range in.TopologySpreadConstraints {
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			out.TopologySpreadConstraints = append(out.TopologySpreadConstraints, s)
		}
	}
	if in.HostNetwork && in.HostUsers != nil && !*in.HostUsers {
		out.HostUsers = in.HostUsers // only the two together restrict nodes
	}
	out.Overhead = model.Counted(in.Overhead)
	out.Containers = []corev1.Container{oneContainer(in, exceptOverhead(pod, requests))}
	for i := range in.Volumes {
		v := &in.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			out.Volumes = append(out.Volumes, corev1.Volume{
				Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim},
			})
		case v.Ephemeral != nil:
			// Its claim has the pod's name in it; naming it makes it an
			// ordinary claim here.
			out.Volumes = append(out.Volumes, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pod.Name + "-" + v.Name}}})
		case v.CSI != nil, v.GCEPersistentDisk != nil, v.AWSElasticBlockStore != nil, v.RBD != nil, v.ISCSI != nil,
			// These count against a driver's limit as claims do.
			v.AzureDisk != nil, v.AzureFile != nil, v.Cinder != nil, v.VsphereVolume != nil, v.PortworxVolume != nil:
			out.Volumes = append(out.Volumes, *v)
		}
	}
	return out
}

// oneContainer stands for all containers of a pod, with what the filters read of any of them. Ports
// count while a pod runs, so that those of an ordinary init container do not; a kubelet feature is
// required if any container requires it.
func oneContainer(in *corev1.PodSpec, requests corev1.ResourceList) corev1.Container {
	out := corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}
	restarts, mounts := false, false
	features := func(rules []corev1.ContainerRestartRule, volumes []corev1.VolumeMount) {
		restarts = restarts || slices.ContainsFunc(rules, func(r corev1.ContainerRestartRule) bool {
			return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		})
		mounts = mounts ||
			slices.ContainsFunc(volumes, func(m corev1.VolumeMount) bool { return len(m.BindMountOptions) > 0 })
	}
	ports := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				out.Ports = append(out.Ports, corev1.ContainerPort{
					HostPort: p.HostPort, HostIP: p.HostIP, Protocol: p.Protocol, ContainerPort: p.HostPort,
				})
			}
		}
	}
	for i := range in.Containers {
		c := &in.Containers[i]
		ports(c)
		features(c.RestartPolicyRules, c.VolumeMounts)
	}
	for i := range in.InitContainers {
		c := &in.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports(c)
		}
		features(c.RestartPolicyRules, c.VolumeMounts)
	}
	for i := range in.EphemeralContainers {
		features(nil, in.EphemeralContainers[i].VolumeMounts)
	}
	if restarts {
		out.RestartPolicyRules = []corev1.ContainerRestartRule{
			{Action: corev1.ContainerRestartRuleActionRestartAllContainers},
		}
	}
	if mounts {
		out.VolumeMounts = []corev1.VolumeMount{{BindMountOptions: []string{"noexec"}}}
	}
	return out
}

// requiredAffinity drops preferences, which no filter reads.
func requiredAffinity(a *corev1.Affinity) *corev1.Affinity {
	var out corev1.Affinity
	any := false
	if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		out.NodeAffinity = &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: n.RequiredDuringSchedulingIgnoredDuringExecution,
		}
		any = true
	}
	if p := a.PodAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		out.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: p.RequiredDuringSchedulingIgnoredDuringExecution,
		}
		any = true
	}
	if p := a.PodAntiAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		out.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: p.RequiredDuringSchedulingIgnoredDuringExecution,
		}
		any = true
	}
	if !any {
		return nil
	}
	return &out
}

func claimNames(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Name+"-"+v.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Shape interns a node's content: labels but the hostname, taints, what it can hold, the features
// it declares. Of our own taints it has only that the node is being deleted, without the time, and
// not the candidates' taint: else every such node would be a shape of its own.
func (c *Catalog) Shape(node *corev1.Node) model.ShapeID {
	labels := make(map[string]string, len(node.Labels))
	for k, v := range node.Labels {
		if k != corev1.LabelHostname {
			labels[k] = v
		}
	}
	own := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.NodeSpec{Taints: shapeTaints(node.Spec.Taints), Unschedulable: node.Spec.Unschedulable},
		Status: corev1.NodeStatus{
			Allocatable:      node.Status.Allocatable,
			Capacity:         node.Status.Capacity,
			DeclaredFeatures: node.Status.DeclaredFeatures,
		},
	}
	raw := string(shapeKey(own))
	c.mu.Lock()
	id, ok := c.shapeOf[raw]
	c.mu.Unlock()
	if ok {
		return id
	}
	// After a rollback, a node of this shape has that shape again.
	kept, back, marked := model.ShapeID(0), model.ShapeID(0), model.HasTaint(node, model.TaintToBeDeleted)
	if marked {
		kept, back = c.Shape(model.WithoutTaint(node, model.TaintToBeDeleted)), c.Shape(model.RolledBack(node))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok = c.shapeOf[raw]; ok {
		return id
	}
	id = model.ShapeID(len(c.shapes))
	c.shapeOf[raw] = id
	if !marked {
		kept, back = id, id
	}
	own = own.DeepCopy()
	c.shapes = append(c.shapes, &model.Shape{
		Key:         digest(raw),
		Kept:        kept,
		Back:        back,
		Node:        own,
		Allocatable: model.ResourcesOf(own.Status.Allocatable),
		Capacity:    model.ResourcesOf(own.Status.Capacity),
	})
	return id
}

// shapeTaints are the taints as a shape has them; the list that is given stays as
// it is.
func shapeTaints(taints []corev1.Taint) []corev1.Taint {
	ours := func(t corev1.Taint) bool { return t.Key == model.TaintCandidate || t.Key == model.TaintToBeDeleted }
	if !slices.ContainsFunc(taints, ours) {
		return taints
	}
	out := make([]corev1.Taint, 0, len(taints))
	for _, t := range taints {
		switch {
		case t.Key == model.TaintCandidate && t.Effect == corev1.TaintEffectPreferNoSchedule:
			continue // no filter reads it
		case t.Key == model.TaintToBeDeleted:
			t.Value = ""
		}
		out = append(out, t)
	}
	return out
}

// shapeKey writes a node's content so that equal contents give equal bytes:
// amounts by value ("1" and "1000m" are one), taints without their times.
func shapeKey(n *corev1.Node) []byte {
	var b []byte
	word := func(s string) { b = append(append(b, s...), 0) }
	keys := make([]string, 0, len(n.Labels))
	for k := range n.Labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		word(k)
		word(n.Labels[k])
	}
	word("taints")
	for _, t := range n.Spec.Taints {
		word(t.Key)
		word(t.Value)
		word(string(t.Effect))
	}
	if n.Spec.Unschedulable {
		word("unschedulable")
	}
	for _, list := range []corev1.ResourceList{n.Status.Allocatable, n.Status.Capacity} {
		word("amounts")
		r := model.ResourcesOf(list)
		for _, v := range []int64{r.MilliCPU, r.Memory, r.Ephemeral, r.Pods} {
			b = binary.AppendVarint(b, v)
		}
		for _, a := range r.Extended {
			word(string(a.Name))
			b = binary.AppendVarint(b, a.Value)
		}
	}
	word("features")
	for _, f := range n.Status.DeclaredFeatures {
		word(f)
	}
	return b
}

// digest shortens content to a name of it: 16 bytes of its SHA-256.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
