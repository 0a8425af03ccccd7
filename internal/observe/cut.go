package observe

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
)

// Cut keeps of an object what an Observation is made of. It is nil for an object that the observer
// does not see: one of another kind, a pod that has ended, a ConfigMap that is not the priority
// expander's. An Observation of cut objects is that of the whole ones.
func Cut(obj runtime.Object) runtime.Object {
	switch o := obj.(type) {
	case *corev1.Pod:
		if o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
			return nil // the server leaves these out of what is watched
		}
		return cutWholePod(o)
	case *corev1.Node:
		return trimNode(o)
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: cutMeta(&o.ObjectMeta)}
	case *appsv1.DaemonSet:
		return cutDaemonSet(o)
	case *policyv1.PodDisruptionBudget:
		out := &policyv1.PodDisruptionBudget{ObjectMeta: cutMeta(&o.ObjectMeta)}
		out.Generation = o.Generation
		out.Spec.Selector = o.Spec.Selector
		st := &o.Status
		out.Status = policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: st.ObservedGeneration, DisruptionsAllowed: st.DisruptionsAllowed,
			CurrentHealthy: st.CurrentHealthy, DesiredHealthy: st.DesiredHealthy, ExpectedPods: st.ExpectedPods,
		}
		return out
	case *corev1.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: cutMeta(&o.ObjectMeta), Spec: o.Spec,
			Status: corev1.PersistentVolumeClaimStatus{Phase: o.Status.Phase}}
	case *corev1.PersistentVolume:
		return cutVolume(o)
	case *storagev1.StorageClass:
		// Parameters may name keys and accounts, and only the driver reads them.
		return &storagev1.StorageClass{ObjectMeta: cutMeta(&o.ObjectMeta), Provisioner: o.Provisioner,
			VolumeBindingMode: o.VolumeBindingMode, AllowedTopologies: o.AllowedTopologies}
	case *storagev1.CSINode:
		return &storagev1.CSINode{ObjectMeta: cutMeta(&o.ObjectMeta), Spec: o.Spec}
	case *storagev1.CSIDriver:
		return &storagev1.CSIDriver{ObjectMeta: cutMeta(&o.ObjectMeta), Spec: o.Spec}
	case *storagev1.CSIStorageCapacity:
		return &storagev1.CSIStorageCapacity{ObjectMeta: cutMeta(&o.ObjectMeta), NodeTopology: o.NodeTopology,
			StorageClassName: o.StorageClassName, Capacity: o.Capacity, MaximumVolumeSize: o.MaximumVolumeSize}
	case *storagev1.VolumeAttachment:
		return &storagev1.VolumeAttachment{ObjectMeta: cutMeta(&o.ObjectMeta), Spec: o.Spec}
	case *corev1.ConfigMap:
		key, ok := map[string]string{priorityConfigMap: priorityKey, PauseConfigMap: PauseKey}[o.Name]
		if !ok {
			return nil
		}
		out := &corev1.ConfigMap{ObjectMeta: cutMeta(&o.ObjectMeta)}
		if text, ok := o.Data[key]; ok {
			out.Data = map[string]string{key: text}
		}
		return out
	}
	return nil
}

// cutWholePod keeps what a row is made of (cutPod), as a pod.
func cutWholePod(pod *corev1.Pod) *corev1.Pod {
	out := catalog.Cut(pod)
	out.UID, out.CreationTimestamp, out.DeletionTimestamp = pod.UID, pod.CreationTimestamp, pod.DeletionTimestamp
	for _, key := range []string{annotationDaemonSetPod, annotationScaleUpDelay, corev1.MirrorPodAnnotationKey} {
		if value, ok := pod.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value)
		}
	}
	out.Spec.NodeName, out.Spec.SchedulingGates = pod.Spec.NodeName, pod.Spec.SchedulingGates
	out.Status.Phase, out.Status.NominatedNodeName = pod.Status.Phase, pod.Status.NominatedNodeName
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
			})
		}
	}
	return out
}

// cutDaemonSet keeps the pods that a DaemonSet makes, and whether it gets them; its rollout does not
// matter here.
func cutDaemonSet(ds *appsv1.DaemonSet) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: cutMeta(&ds.ObjectMeta),
		Spec:       appsv1.DaemonSetSpec{Template: catalog.CutTemplate(&ds.Spec.Template)},
		Status: appsv1.DaemonSetStatus{
			DesiredNumberScheduled: ds.Status.DesiredNumberScheduled, CurrentNumberScheduled: ds.Status.CurrentNumberScheduled,
		},
	}
}

// cutVolume leaves out what only the driver reads: attributes and references to secrets.
func cutVolume(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{
		ObjectMeta: cutMeta(&pv.ObjectMeta), Spec: pv.Spec, Status: corev1.PersistentVolumeStatus{Phase: pv.Status.Phase},
	}
	out.Spec.MountOptions = nil
	if csi := pv.Spec.CSI; csi != nil {
		out.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: csi.Driver, VolumeHandle: csi.VolumeHandle}
	}
	return out
}

// cutMeta keeps names, labels and times, and those annotations that the scheduler's volume plugins read.
func cutMeta(in *metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: in.Namespace, Name: in.Name, UID: in.UID, ResourceVersion: in.ResourceVersion,
		CreationTimestamp: in.CreationTimestamp, DeletionTimestamp: in.DeletionTimestamp, Labels: in.Labels,
	}
	for key, value := range in.Annotations {
		switch prefix, _, _ := strings.Cut(key, "/"); prefix {
		case "pv.kubernetes.io", "volume.kubernetes.io", "volume.beta.kubernetes.io", "storage.alpha.kubernetes.io":
			metav1.SetMetaDataAnnotation(&out, key, value)
		}
	}
	return out
}
