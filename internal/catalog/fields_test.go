package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// fields says of every field of a type whether it is part of content. The scheduler's
// filters read what is kept; a field that is in neither list is one that Kubernetes
// has added, and a developer must check whether a filter reads it.
type fields struct {
	kept, unread string
	// in is the struct within a pod or a node, made ready so that each field of it is
	// told apart from all others.
	in func(*corev1.Pod, *corev1.Node) any
	// sample sets fields whose meaning is in certain values only.
	sample map[string]func(any)
}

var always = corev1.ContainerRestartPolicyAlways

var contentFields = []fields{
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.HostNetwork = true
			return &p.Spec
		},
		kept: `Volumes InitContainers Containers EphemeralContainers NodeSelector HostNetwork Affinity SchedulerName Tolerations Priority
			PreemptionPolicy Overhead TopologySpreadConstraints OS HostUsers ResourceClaims Resources`,
		// NodeName says where a pod is, SchedulingGates are a flag. The rest is for the
		// kubelet, for controllers and for admission; SchedulingGroup for plugins that
		// decide when a pod is looked at, and not where it fits.
		unread: `NodeName SchedulingGates SchedulingGroup RestartPolicy TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy ServiceAccountName
			DeprecatedServiceAccount AutomountServiceAccountToken HostPID HostIPC ShareProcessNamespace SecurityContext ImagePullSecrets Hostname
			Subdomain HostAliases PriorityClassName DNSConfig ReadinessGates RuntimeClassName EnableServiceLinks SetHostnameAsFQDN HostnameOverride
			EvictionResponders`,
		sample: map[string]func(any){
			"HostNetwork": func(s any) { s.(*corev1.PodSpec).HostNetwork = false },
			"HostUsers":   func(s any) { s.(*corev1.PodSpec).HostUsers = ptr.To(false) },
			"Affinity": func(s any) {
				s.(*corev1.PodSpec).Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: make([]corev1.PodAffinityTerm, 1),
				}}
			},
			"TopologySpreadConstraints": func(s any) {
				s.(*corev1.PodSpec).TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
					{WhenUnsatisfiable: corev1.DoNotSchedule},
				}
			},
			"EphemeralContainers": func(s any) {
				s.(*corev1.PodSpec).EphemeralContainers = []corev1.EphemeralContainer{
					{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
						VolumeMounts: []corev1.VolumeMount{{BindMountOptions: []string{"noexec"}}}}},
				}
			},
			"Overhead": func(s any) { s.(*corev1.PodSpec).Overhead = one },
			"Resources": func(s any) {
				s.(*corev1.PodSpec).Resources = &corev1.ResourceRequirements{Requests: one}
			},
		},
	},
	{
		in:     func(p *corev1.Pod, _ *corev1.Node) any { return &p.Spec.Containers[0] },
		kept:   `Ports Resources RestartPolicyRules VolumeMounts`,
		unread: ofContainers + ` RestartPolicy`,
		sample: containerSamples,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.InitContainers = []corev1.Container{{
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
				Ports:     []corev1.ContainerPort{{HostPort: 7}},
			}}
			return &p.Spec.InitContainers[0]
		},
		kept:   `Resources RestartPolicy RestartPolicyRules VolumeMounts`,
		unread: ofContainers + ` Ports`,
		sample: containerSamples,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always}}
			return &p.Spec.InitContainers[0]
		},
		kept:   `Ports Resources RestartPolicyRules VolumeMounts`,
		unread: ofContainers + ` RestartPolicy`,
		sample: containerSamples,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.EphemeralContainers = make([]corev1.EphemeralContainer, 1)
			return &p.Spec.EphemeralContainers[0].EphemeralContainerCommon
		},
		kept:   `VolumeMounts`,
		unread: ofContainers + ` Ports Resources RestartPolicy RestartPolicyRules`,
		// validation lets them have none
		sample: map[string]func(any){"Resources": func(any) {}, "RestartPolicyRules": func(any) {}},
	},
	{
		in:     func(p *corev1.Pod, _ *corev1.Node) any { return &p.Spec.Containers[0].Resources },
		kept:   `Requests Limits`,
		unread: `Claims`,
		sample: map[string]func(any){
			"Requests": func(r any) { r.(*corev1.ResourceRequirements).Requests = one },
			"Limits":   func(r any) { r.(*corev1.ResourceRequirements).Limits = one },
		},
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 7}}
			return &p.Spec.Containers[0].Ports[0]
		},
		kept:   `HostPort Protocol HostIP`,
		unread: `Name ContainerPort`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Containers[0].VolumeMounts = make([]corev1.VolumeMount, 1)
			return &p.Spec.Containers[0].VolumeMounts[0]
		},
		kept:   `BindMountOptions`,
		unread: `Name ReadOnly RecursiveReadOnly MountPath SubPath MountPropagation SubPathExpr`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Volumes = make([]corev1.Volume, 1)
			return &p.Spec.Volumes[0].VolumeSource
		},
		kept: `GCEPersistentDisk AWSElasticBlockStore ISCSI PersistentVolumeClaim RBD CSI Ephemeral Cinder AzureDisk AzureFile VsphereVolume PortworxVolume`,
		unread: `HostPath EmptyDir GitRepo Secret NFS Glusterfs FlexVolume CephFS Flocker DownwardAPI FC ConfigMap Quobyte PhotonPersistentDisk
			Projected ScaleIO StorageOS Image`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
			return p.Spec.Affinity.NodeAffinity
		},
		kept:   `RequiredDuringSchedulingIgnoredDuringExecution`,
		unread: `PreferredDuringSchedulingIgnoredDuringExecution`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}
			return p.Spec.Affinity.PodAffinity
		},
		kept:   `RequiredDuringSchedulingIgnoredDuringExecution`,
		unread: `PreferredDuringSchedulingIgnoredDuringExecution`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
			return p.Spec.Affinity.PodAntiAffinity
		},
		kept:   `RequiredDuringSchedulingIgnoredDuringExecution`,
		unread: `PreferredDuringSchedulingIgnoredDuringExecution`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: make([]corev1.PodAffinityTerm, 1)},
			}
			return &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		},
		kept: `LabelSelector Namespaces TopologyKey NamespaceSelector MatchLabelKeys MismatchLabelKeys`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
			return &p.Spec.TopologySpreadConstraints[0]
		},
		kept: `MaxSkew TopologyKey WhenUnsatisfiable LabelSelector MinDomains NodeAffinityPolicy NodeTaintsPolicy MatchLabelKeys`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Tolerations = make([]corev1.Toleration, 1)
			return &p.Spec.Tolerations[0]
		},
		kept: `Key Operator Value Effect TolerationSeconds`,
	},
	{
		in: func(p *corev1.Pod, _ *corev1.Node) any {
			p.Spec.Containers[0].Name = "main"
			p.Spec.Resources = &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			}
			return &p.Status
		},
		// Amounts of a pod that runs may be changed: the status has what it has now.
		kept: `ContainerStatuses Resources`,
		// AllocatedResources and conditions count together with those; NominatedNodeName
		// and Phase are kept beside content. Claims for devices are not simulated.
		unread: `ObservedGeneration Phase Conditions Message Reason NominatedNodeName HostIP HostIPs PodIP PodIPs StartTime InitContainerStatuses QOSClass
			EphemeralContainerStatuses Resize ResourceClaimStatuses ExtendedResourceClaimStatus AllocatedResources
			NodeAllocatableResourceClaimStatuses VolumeHealth`,
		sample: map[string]func(any){
			"ContainerStatuses": func(s any) {
				s.(*corev1.PodStatus).ContainerStatuses = []corev1.ContainerStatus{{
					Name: "main", Resources: &corev1.ResourceRequirements{Requests: memory}, AllocatedResources: memory,
				}}
			},
			"Resources":          func(s any) { s.(*corev1.PodStatus).Resources = &corev1.ResourceRequirements{Requests: one} },
			"AllocatedResources": func(any) {},
		},
	},
	{
		in:   func(p *corev1.Pod, _ *corev1.Node) any { return &p.ObjectMeta },
		kept: `Namespace Labels`,
		// DeletionTimestamp is a flag.
		unread: `Name GenerateName SelfLink UID ResourceVersion Generation CreationTimestamp DeletionTimestamp DeletionGracePeriodSeconds Annotations
			OwnerReferences Finalizers ManagedFields`,
	},
	{
		in:     func(_ *corev1.Pod, n *corev1.Node) any { return &n.Spec },
		kept:   `Unschedulable Taints`,
		unread: `PodCIDR PodCIDRs ProviderID ConfigSource DoNotUseExternalID PodPreemptionPolicy`,
	},
	{
		in:   func(_ *corev1.Pod, n *corev1.Node) any { return &n.Status },
		kept: `Capacity Allocatable DeclaredFeatures`,
		unread: `Phase Conditions Addresses DaemonEndpoints NodeInfo Images VolumesInUse VolumesAttached Config
			RuntimeHandlers Features`,
		sample: map[string]func(any){
			"Capacity":    func(s any) { s.(*corev1.NodeStatus).Capacity = one },
			"Allocatable": func(s any) { s.(*corev1.NodeStatus).Allocatable = one },
		},
	},
	{
		in: func(_ *corev1.Pod, n *corev1.Node) any {
			n.Spec.Taints = make([]corev1.Taint, 1)
			return &n.Spec.Taints[0]
		},
		kept:   `Key Value Effect`,
		unread: `TimeAdded`,
	},
	{
		in:   func(_ *corev1.Pod, n *corev1.Node) any { return &n.ObjectMeta },
		kept: `Labels`,
		unread: `Name Namespace GenerateName SelfLink UID ResourceVersion Generation CreationTimestamp DeletionTimestamp DeletionGracePeriodSeconds Annotations
			OwnerReferences Finalizers ManagedFields`,
	},
}

const ofContainers = `Name Image Command Args WorkingDir EnvFrom Env ResizePolicy VolumeDevices LivenessProbe ReadinessProbe StartupProbe
	Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext Stdin StdinOnce TTY`

var (
	one    = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	memory = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}

	containerSamples = map[string]func(any){
		"Resources": func(c any) { c.(*corev1.Container).Resources.Requests = one },
		"RestartPolicyRules": func(c any) {
			c.(*corev1.Container).RestartPolicyRules = []corev1.ContainerRestartRule{
				{Action: corev1.ContainerRestartRuleActionRestartAllContainers},
			}
		},
		"RestartPolicy": func(c any) { c.(*corev1.Container).RestartPolicy = &always },
	}
)

// TestEveryFieldIsKeptOrUnread: a field that Kubernetes adds to an object is in
// neither list, and fails here. Those that are kept make another content, those that
// are unread do not.
func TestEveryFieldIsKeptOrUnread(t *testing.T) {
	for _, f := range contentFields {
		kept, unread := strings.Fields(f.kept), strings.Fields(f.unread)
		made := func(change func(any)) [3]string {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)},
			}
			node := &corev1.Node{}
			change(f.in(pod, node))
			// What Cut keeps has the same content, and cutting twice is cutting once.
			c, whole := New(), *pod
			if a, b := c.Pod(pod), c.Pod(Cut(Cut(pod))); a != b || c.Facts(pod) != c.Facts(Cut(Cut(pod))) {
				t.Errorf("cut, %+v becomes %+v", whole.Spec, Cut(pod).Spec)
			}
			content, shape := c.Pod(pod), c.Shape(node)
			all := c.Contents()
			return [3]string{all.Specs[content.Spec].Key, all.Labels[content.Labels].Key, all.Shapes[shape].Key}
		}
		plain := made(func(any) {})
		kind := reflect.TypeOf(
			f.in(&corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}, &corev1.Node{}),
		).Elem()
		for i := range kind.NumField() {
			name := kind.Field(i).Name
			keeps, drops := slices.Contains(kept, name), slices.Contains(unread, name)
			if keeps == drops {
				t.Errorf("%s.%s: kept %t, unread %t: does a filter of the scheduler read it?", kind.Name(), name, keeps, drops)
				continue
			}
			got := made(func(in any) {
				if set := f.sample[name]; set != nil {
					set(in)
					return
				}
				fill(reflect.ValueOf(in).Elem().Field(i), 4)
			})
			if differs := got != plain; differs != keeps {
				t.Errorf("%s.%s: kept %t, and another content %t", kind.Name(), name, keeps, differs)
			}
		}
		for _, name := range append(kept, unread...) {
			if _, ok := kind.FieldByName(name); !ok {
				t.Errorf("%s.%s is no field", kind.Name(), name)
			}
		}
	}
}

// fill gives a value, and what is in it so deep, something that is not empty.
func fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("3")))
		return
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(5, 0)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth)
		fill(value, depth)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth-1)
		}
	}
}
