package observe

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watches lists every kind that is read, and where it goes. Older manifests of the Cluster
// Autoscaler lack the permissions for some of them, which are optional.
func (o *Observer) watches(client kubernetes.Interface) []*source {
	core, apps, storage := client.CoreV1(), client.AppsV1(), client.StorageV1()
	// Pods that have ended take no room: the server leaves them out.
	running := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	).String()
	priority := fields.OneTermEqualSelector("metadata.name", priorityConfigMap).String()
	pods, nodes, namespaces, daemonSets := core.Pods(""), core.Nodes(), core.Namespaces(), apps.DaemonSets("")
	claims, persistent := core.PersistentVolumeClaims(""), core.PersistentVolumes()
	classes, csiNodes, csiDrivers := storage.StorageClasses(), storage.CSINodes(), storage.CSIDrivers()
	capacities, attachments := storage.CSIStorageCapacities(""), storage.VolumeAttachments()
	configMaps, budgets := core.ConfigMaps(o.settings.Namespace), client.PolicyV1().PodDisruptionBudgets("")
	v := &o.volumes
	priorities := newSource("configmaps "+priorityConfigMap, api[*corev1.ConfigMapList]{
		client, configMaps.List, configMaps.Watch, priority,
	}, &corev1.ConfigMap{}, o.priorities.store(), o.log)
	if !o.settings.Priorities {
		priorities = priorities.or("no expander asks for it")
	}
	return []*source{
		newSource("pods", api[*corev1.PodList]{client, pods.List, pods.Watch, running},
			&corev1.Pod{}, o.podStore(), o.log),
		newSource("nodes", api[*corev1.NodeList]{client, nodes.List, nodes.Watch, ""},
			&corev1.Node{}, o.nodeStore(), o.log),
		newSource("namespaces", api[*corev1.NamespaceList]{client, namespaces.List, namespaces.Watch, ""},
			&corev1.Namespace{}, o.namespaces.store(), o.log),
		newSource("daemonsets", api[*appsv1.DaemonSetList]{client, daemonSets.List, daemonSets.Watch, ""},
			&appsv1.DaemonSet{}, o.daemonSets.store(), o.log),
		newSource("poddisruptionbudgets", api[*policyv1.PodDisruptionBudgetList]{client, budgets.List, budgets.Watch, ""},
			&policyv1.PodDisruptionBudget{}, o.budgetStore(), o.log),
		newSource("persistentvolumeclaims", api[*corev1.PersistentVolumeClaimList]{client, claims.List, claims.Watch, ""},
			&corev1.PersistentVolumeClaim{}, v.claims.store(), o.log),
		newSource("persistentvolumes", api[*corev1.PersistentVolumeList]{client, persistent.List, persistent.Watch, ""},
			&corev1.PersistentVolume{}, v.persistent.store(), o.log),
		newSource("storageclasses", api[*storagev1.StorageClassList]{client, classes.List, classes.Watch, ""},
			&storagev1.StorageClass{}, v.classes.store(), o.log),
		newSource("csinodes", api[*storagev1.CSINodeList]{client, csiNodes.List, csiNodes.Watch, ""},
			&storagev1.CSINode{}, v.csiNodes.store(), o.log),
		newSource("csidrivers", api[*storagev1.CSIDriverList]{client, csiDrivers.List, csiDrivers.Watch, ""},
			&storagev1.CSIDriver{}, v.csiDrivers.store(), o.log),
		newSource("csistoragecapacities",
			api[*storagev1.CSIStorageCapacityList]{client, capacities.List, capacities.Watch, ""},
			&storagev1.CSIStorageCapacity{}, v.capacities.store(), o.log),
		newSource("volumeattachments", api[*storagev1.VolumeAttachmentList]{client, attachments.List, attachments.Watch, ""},
			&storagev1.VolumeAttachment{}, v.attachments.store(), o.log).
			or("volumes are counted by the pods that use them; others that are still attached to a node are not"),
		newSource(pauseResource, api[*corev1.ConfigMapList]{
			client, configMaps.List, configMaps.Watch,
			fields.OneTermEqualSelector("metadata.name", PauseConfigMap).String(),
		}, &corev1.ConfigMap{}, o.pauseMap.store(), o.log).or("plimsoll pause has no effect"),
		priorities,
	}
}

func (o *Observer) podStore() cache.ReflectorStore {
	return intake[*corev1.Pod, *podRow]{
		cut: func(pod *corev1.Pod) *podRow {
			o.mu.Lock()
			c := o.cluster.catalog
			o.mu.Unlock()
			return cutPod(c, pod, time.Now())
		},
		put:     func(r *podRow) { o.locked(func() { o.cluster.putPod(r) }) },
		drop:    func(name cache.ObjectName) { o.locked(func() { o.cluster.dropPod(name) }) },
		replace: func(rows []*podRow) { o.locked(func() { o.cluster.replacePods(rows) }) },
	}
}

func (o *Observer) nodeStore() cache.ReflectorStore {
	return intake[*corev1.Node, *corev1.Node]{
		cut:     trimNode,
		put:     func(n *corev1.Node) { o.locked(func() { o.cluster.putNode(n) }) },
		drop:    func(name cache.ObjectName) { o.locked(func() { o.cluster.dropNode(name.Name) }) },
		replace: func(all []*corev1.Node) { o.locked(func() { o.cluster.replaceNodes(all) }) },
	}
}
