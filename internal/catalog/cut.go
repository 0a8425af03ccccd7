package catalog

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Cut keeps of a pod what its content and its facts are made of, and its name: the cut pod has
// the same content and the same facts, and cutting it again changes nothing. Its requests are summed
// into one container, beside its overhead; there are no images, commands or environments.
func Cut(pod *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels},
		Spec:       schedulingSpec(pod, requestsOf(pod)),
	}
	out.Spec.TerminationGracePeriodSeconds = pod.Spec.TerminationGracePeriodSeconds
	for _, key := range []string{annotationSafeToEvict, annotationSafeVolumes, annotationEvictDaemons,
		model.AnnotationDoNotDisrupt, corev1.PodDeletionCost} {
		if value, ok := pod.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value)
		}
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	// Of volumes on the node, only that they are there matters.
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.HostPath != nil:
			out.Spec.Volumes = append(out.Spec.Volumes, corev1.Volume{
				Name: v.Name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}},
			})
		case v.EmptyDir != nil:
			out.Spec.Volumes = append(out.Spec.Volumes, corev1.Volume{
				Name: v.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: v.EmptyDir.Medium}},
			})
		}
	}
	return out
}

// CutTemplate is Cut for a pod template.
func CutTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	cut := Cut(&corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec})
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: cut.Labels}, Spec: cut.Spec}
}

// requestsOf sums a pod's requests as the scheduler does; model.Countless stands for what no node has. It must not be
// changed: those of one container are the container's own.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	in, is := &pod.Spec, &pod.Status
	if len(in.Containers) == 1 && len(in.InitContainers) == 0 && len(in.Overhead) == 0 && in.Resources == nil &&
		len(is.ContainerStatuses) == 0 && is.Resources == nil && len(is.AllocatedResources) == 0 {
		return model.Counted(requested(&in.Containers[0]))
	}
	return summed(pod, false)
}

// exceptOverhead are a pod's requests without its overhead, which no author of a pod sets.
func exceptOverhead(pod *corev1.Pod, requests corev1.ResourceList) corev1.ResourceList {
	if len(pod.Spec.Overhead) == 0 {
		return requests
	}
	return summed(pod, true)
}

func summed(pod *corev1.Pod, withoutOverhead bool) corev1.ResourceList {
	return model.Counted(resourcehelper.PodRequests(summable(pod), resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
		ExcludeOverhead: withoutOverhead,
	}))
}

// requested is what a container requests. Of what it only limits it is that limit, as the API server has it in a pod.
// A pod template has not been there yet.
func requested(c *corev1.Container) corev1.ResourceList {
	if !onlyLimits(c) {
		return c.Resources.Requests
	}
	out := maps.Clone(c.Resources.Limits)
	maps.Copy(out, c.Resources.Requests)
	return out
}

func onlyLimits(c *corev1.Container) bool {
	for name := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			return true
		}
	}
	return false
}

// summable is the pod, or a copy whose containers say all that they request, and nothing that has too many digits to be
// summed.
func summable(pod *corev1.Pod) *corev1.Pod {
	copied := false
	for _, of := range []func(*corev1.PodSpec) []corev1.Container{
		func(s *corev1.PodSpec) []corev1.Container { return s.Containers },
		func(s *corev1.PodSpec) []corev1.Container { return s.InitContainers },
	} {
		for i := range of(&pod.Spec) {
			c := &of(&pod.Spec)[i]
			if !model.AnyCountless(c.Resources.Requests) && !onlyLimits(c) {
				continue
			}
			list := requested(c)
			if !copied {
				pod, copied = pod.DeepCopy(), true
			}
			of(&pod.Spec)[i].Resources.Requests = model.Counted(list)
		}
	}
	return pod
}
