package testkit

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Annotations by which pods say whether they may be evicted.
const (
	annotationSafeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationEvictDaemons = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
)

func (s *Scenario) pods(a args) {
	p := s.pod(a)
	node, count := a.get("node", ""), a.number("count", 1)
	flags := s.life(p, node, a)
	s.fate(p, a)
	if _, ok := s.Namespaces[p.Namespace]; !ok {
		s.Namespaces[p.Namespace] = map[string]string{corev1.LabelMetadataName: p.Namespace}
	}
	switch {
	case a.has("gated"):
		flags |= model.Gated
	case node == "" && !a.has("unseen"):
		flags |= model.Refused
	}
	at := len(s.unbound)
	s.add(p, count, flags, node)
	for i := at; i < len(s.unbound); i++ {
		s.unbound[i].Said = strings.ReplaceAll(a.get("said", ""), "_", " ")
		s.unbound[i].Nominated = a.get("nominated", "")
	}
}

// life reads the state of pods: their controller, when they were made, and whether they have ended
// or soon will.
func (s *Scenario) life(p *corev1.Pod, node string, a args) (flags model.Flags) {
	if a.has("daemon") {
		flags |= model.FromDaemonSet
		p.OwnerReferences = controlledBy("apps/v1", "DaemonSet", p.Name, daemonSet(p.Name))
	}
	if a.has("mirror") {
		flags |= model.Mirror
		p.OwnerReferences = controlledBy("v1", "Node", node, types.UID("node-"+node))
	}
	if a.has("finished") {
		flags |= model.Finished
	}
	switch kind := a.get("controller", ""); kind {
	case "":
	case "none":
		p.OwnerReferences = nil
	default:
		p.OwnerReferences = madeBy(kind, p.Namespace, p.Name)
	}
	if a.has("age") {
		p.CreationTimestamp = metav1.NewTime(s.ago(a, "age"))
	}
	if a.has("ends") {
		at := metav1.NewTime(s.Now.Add(a.duration("ends")))
		p.DeletionTimestamp = &at
	}
	return flags
}

// madeBy are the owner references of pods that a controller of some kind made; Kind.group is a kind
// of another API group.
func madeBy(kind, namespace, name string) []metav1.OwnerReference {
	kind, group, foreign := strings.Cut(kind, ".")
	version := group + "/v1"
	if !foreign {
		known := map[string]string{"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
			"Job": "batch/v1", "ReplicationController": "v1"}
		if version = known[kind]; version == "" {
			panic(fmt.Errorf("controller: %q is not known; write Kind.group", kind))
		}
	}
	return controlledBy(version, kind, name, owner(namespace, name))
}

// fate reads what decides whether pods may be moved, and how.
func (s *Scenario) fate(p *corev1.Pod, a args) {
	if v := a.oneOf("evict", "", "true", "false", "on-completion"); v != "" {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotationSafeToEvict, v)
	}
	if v := a.get("alone", ""); v != "" {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, model.AnnotationDoNotDisrupt, v)
	}
	if v := a.oneOf("dsevict", "", "true", "false"); v != "" {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotationEvictDaemons, v)
	}
	if v := a.get("local", ""); v != "" {
		p.Spec.Volumes = append(p.Spec.Volumes, scratch(v))
	}
	if a.has("grace") {
		seconds := int64(a.duration("grace").Seconds())
		p.Spec.TerminationGracePeriodSeconds = &seconds
	}
}

// scratch is a volume on the node.
func scratch(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// budget reads a PodDisruptionBudget about the pods of an app.
func (s *Scenario) budget(a args) {
	b := model.Budget{
		Namespace: a.get("namespace", metav1.NamespaceDefault), Name: a.name, Allowed: a.number("allowed", 0),
		Selector: labels.SelectorFromSet(labels.Set{"app": a.get("app", a.name)}),
	}
	if a.has("healthy") || a.has("wanted") {
		healthy, all, _ := strings.Cut(a.get("healthy", ""), "/")
		b.Detail = fmt.Sprintf("%d of %d healthy, %d wanted",
			must(strconv.Atoi(healthy)), must(strconv.Atoi(all)), a.number("wanted", 0))
	}
	s.Budgets = append(s.Budgets, b)
}

// nodeSelector reads terms with a semicolon between them, each of requirements with
// commas between them.
func nodeSelector(text string) *corev1.NodeSelector {
	var out corev1.NodeSelector
	for _, t := range strings.Split(text, ";") {
		var term corev1.NodeSelectorTerm
		for _, r := range strings.Split(t, ",") {
			k, values := pair(r)
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: k, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(values, "|"),
			})
		}
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, term)
	}
	return &out
}

func (s *Scenario) pod(a args) *corev1.Pod {
	own := map[string]string{"app": a.name}
	if l := a.get("labels", ""); l != "" {
		k, v := pair(l)
		own[k] = v
	}
	namespace := a.get("namespace", metav1.NamespaceDefault)
	if a.has("kubesystem") {
		namespace = metav1.NamespaceSystem
	}
	p := Pod(namespace, a.name, a.get("cpu", ""), a.get("memory", ""), own)
	about := map[string]string{"app": a.get("with", a.name)}
	if over := a.get("spread", ""); over != "" {
		for v := range strings.SplitSeq(over, "|") {
			key, skew := pair(v)
			n := 1
			if skew != "" {
				n = must(strconv.Atoi(skew))
			}
			SpreadOver(p, key, int32(n), about)
		}
	}
	if v := a.get("apart", ""); v != "" {
		Apart(p, long(v), about)
	}
	if v := a.get("together", ""); v != "" {
		Together(p, long(v), about)
	}
	if v := a.get("select", ""); v != "" {
		k, value := pair(v)
		p.Spec.NodeSelector = map[string]string{k: value}
	}
	if v := a.get("affinity", ""); v != "" {
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: nodeSelector(v)},
		}
	}
	if v := a.get("tolerate", ""); v != "" {
		p.Spec.Tolerations = []corev1.Toleration{{Key: v, Operator: corev1.TolerationOpExists}}
	}
	if v := a.get("gpu", ""); v != "" {
		p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse(v)
	}
	if a.has("priority") {
		n := int32(a.number("priority", 0))
		p.Spec.Priority = &n
	}
	if a.has("calm") {
		never := corev1.PreemptNever
		p.Spec.PreemptionPolicy = &never
	}
	if a.has("port") {
		n := int32(a.number("port", 0))
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: n, ContainerPort: n, Protocol: corev1.ProtocolTCP}}
	}
	if a.has("claim") {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
	}
	p.Spec.SchedulerName = a.get("scheduler", corev1.DefaultSchedulerName)
	return p
}
