package catalog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Annotations by which a pod says whether, and how, it may be moved.
const (
	annotationSafeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationSafeVolumes  = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	annotationEvictDaemons = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
)

// Facts interns what decides whether and how a pod may be moved. All of it comes from the pod's
// template, so the pods of one controller share it.
func (c *Catalog) Facts(pod *corev1.Pod) model.FactsID {
	return c.InternFacts(factsOf(pod))
}

// InternFacts interns facts that another catalog has: its keys mean the same
// here.
func (c *Catalog) InternFacts(f model.Facts) model.FactsID {
	f.Key = "" // it follows from the rest
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := c.factsOf[f]; ok {
		return id
	}
	id := model.FactsID(len(c.facts))
	c.factsOf[f] = id
	f.Key = factsKey(f)
	c.facts = append(c.facts, &f)
	return id
}

// factsKey names facts by content; the words in it are quoted, so that no two
// facts have one key.
func factsKey(f model.Facts) string {
	return digest(fmt.Sprintf(
		"%q %q %q %d %d %q %d %d %d",
		f.Controller, f.Group, f.Maker, f.Safe, f.Alone, f.Local, f.Daemon, f.DeletionCost, f.Grace,
	))
}

func factsOf(pod *corev1.Pod) model.Facts {
	f := model.Facts{
		Safe:  safeToEvict(pod.Annotations[annotationSafeToEvict]),
		Alone: model.DoNotDisrupt(pod.Annotations[model.AnnotationDoNotDisrupt]),
		Local: localVolume(pod),

		DeletionCost: deletionCost(pod.Annotations[corev1.PodDeletionCost]),
		Daemon:       wish(pod.Annotations[annotationEvictDaemons]),
		Grace:        grace(pod.Spec.TerminationGracePeriodSeconds),
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		f.Controller = owner.Kind
		// A version that cannot be parsed has no known group: the kind alone does not make a
		// controller one that is known to replace pods.
		f.Group = owner.APIVersion
		if gv, err := schema.ParseGroupVersion(owner.APIVersion); err == nil {
			f.Group = gv.Group
		}
		if f.Controller != "Node" || f.Group != "" { // static pods would have facts of their own on each node
			f.Maker = owner.Name
		}
	}
	return f
}

// safeToEvict reads a pod's annotation on its eviction. Unknown values count as none.
func safeToEvict(word string) model.SafeToEvict {
	switch word {
	case "true":
		return model.EvictYes
	case "false":
		return model.EvictNo
	case "on-completion":
		return model.EvictOnCompletion
	}
	return model.EvictUnsaid
}

// deletionCost reads the annotation by which controllers choose which pod goes first. What the API server would refuse
// is none.
func deletionCost(word string) int32 {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func wish(word string) model.Wish {
	switch word {
	case "true":
		return model.Yes
	case "false":
		return model.No
	}
	return model.Unsaid
}

// localVolume is the first volume, by name, whose content would be lost with the node and that the
// pod does not say may be; empty if there is none. A volume in memory is not meant to outlive the
// pod.
func localVolume(pod *corev1.Pod) string {
	var may []string
	if list := pod.Annotations[annotationSafeVolumes]; list != "" {
		may = strings.Split(list, ",")
		for i := range may {
			may[i] = strings.TrimSpace(may[i])
		}
	}
	first := ""
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		local := v.HostPath != nil || v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory
		if local && (first == "" || v.Name < first) && !slices.Contains(may, v.Name) {
			first = v.Name
		}
	}
	return first
}

// grace is how long a pod may take to end. Below 0 it is a second, as it is for
// the API server; nothing is longer than a duration can be.
func grace(seconds *int64) time.Duration {
	switch {
	case seconds == nil:
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	case *seconds < 0:
		return time.Second
	case *seconds > math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	}
	return time.Duration(*seconds) * time.Second
}
