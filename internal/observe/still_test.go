package observe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// everything is one object of each kind with all that is read of it, and much that is not.
func everything() []runtime.Object {
	yes, priority, grace, mode := true, int32(7), int64(90), storagev1.VolumeBindingWaitForFirstConsumer
	always := corev1.ContainerRestartPolicyAlways
	named := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: "uid-1", Labels: map[string]string{"app": name},
			Annotations: map[string]string{
				"kubectl.kubernetes.io/last-applied-configuration": "{}", "pv.kubernetes.io/bind-completed": "yes",
				"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", corev1.MirrorPodAnnotationKey: "m",
				"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "a",
				annotationScaleUpDelay: "3m",
			},
			CreationTimestamp: metav1.Unix(1e9, 0), Finalizers: []string{"f"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
			OwnerReferences: []metav1.OwnerReference{
				{Kind: "Other", Name: "o"}, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: &yes},
			},
		}
	}
	amounts := corev1.ResourceList{
		"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi"), "a.b/gpu": resource.MustParse("1"),
	}
	needs := corev1.ResourceRequirements{Requests: amounts}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", Image: "i", Env: []corev1.EnvVar{{Name: "SECRET", Value: "s"}},
			Resources: needs, Ports: []corev1.ContainerPort{{HostPort: 80}}}},
		InitContainers: []corev1.Container{{Name: "b", RestartPolicy: &always, Resources: needs}},
		Priority:       &priority, TerminationGracePeriodSeconds: &grace, Overhead: amounts,
		Volumes: []corev1.Volume{
			{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "b", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/p"}}},
			{Name: "c", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "d", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
		},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n"}}},
			}}},
		}},
	}
	refused := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no"},
	}
	waiting := &corev1.Pod{ObjectMeta: named("ns", "waiting"), Spec: spec,
		Status: corev1.PodStatus{Conditions: refused, NominatedNodeName: "n"}}
	gates := []corev1.PodSchedulingGate{{Name: "g"}}
	gated := &corev1.Pod{ObjectMeta: named("ns", "gated"), Spec: corev1.PodSpec{SchedulingGates: gates}}
	bound := &corev1.Pod{ObjectMeta: named("ns", "bound"), Spec: *spec.DeepCopy()}
	bound.Spec.NodeName, bound.DeletionTimestamp = "n", &metav1.Time{Time: time.Unix(2e9, 0)}
	daemon := &corev1.Pod{ObjectMeta: named("ns", "daemon"), Spec: *spec.DeepCopy()}
	daemon.Spec.NodeName = "n"
	daemon.OwnerReferences[1].Kind = "DaemonSet"
	ready := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return []runtime.Object{
		waiting, gated, bound, daemon,
		&corev1.Node{ObjectMeta: named("", "n"), Spec: corev1.NodeSpec{ProviderID: "p:n", PodCIDR: "10.0.0.0/8"},
			Status: corev1.NodeStatus{
				Allocatable: amounts, Capacity: amounts, Conditions: ready, Images: make([]corev1.ContainerImage, 3),
			}},
		&corev1.Namespace{ObjectMeta: named("", "ns")},
		&appsv1.DaemonSet{ObjectMeta: named("ns", "ds"), Spec: appsv1.DaemonSetSpec{
			Template: corev1.PodTemplateSpec{ObjectMeta: named("", ""), Spec: spec}},
			Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, CurrentNumberScheduled: 1}},
		&policyv1.PodDisruptionBudget{ObjectMeta: named("ns", "pdb"), Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "bound"}}},
			Status: policyv1.PodDisruptionBudgetStatus{
				DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 3, ExpectedPods: 4,
			}},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: named("ns", "waiting-c"), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
		},
		&corev1.PersistentVolume{ObjectMeta: named("", "pv"), Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "d", VolumeHandle: "h", VolumeAttributes: map[string]string{"secret": "s"}}}}},
		&storagev1.StorageClass{ObjectMeta: named("", "sc"), Provisioner: "d", VolumeBindingMode: &mode,
			Parameters: map[string]string{"kmsKeyId": "secret"}},
		&storagev1.CSINode{
			ObjectMeta: named("", "n"), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d"}}},
		},
		&storagev1.CSIDriver{ObjectMeta: named("", "d")},
		&storagev1.CSIStorageCapacity{ObjectMeta: named("ns", "cap"), StorageClassName: "sc"},
		&storagev1.VolumeAttachment{ObjectMeta: named("", "va"), Spec: storagev1.VolumeAttachmentSpec{NodeName: "n"}},
		&corev1.ConfigMap{
			ObjectMeta: named("kube-system", priorityConfigMap),
			Data:       map[string]string{priorityKey: "1: [a]", "x": "secret"},
		},
	}
}

// told is an Observation without the numbers of contents, which depend on the order of arrival.
func told(o model.Observation) string {
	var b strings.Builder
	tell := func(where string, p model.Pod) {
		facts, spec, labels := o.Contents.Facts[p.Facts], o.Contents.Specs[p.Spec], o.Contents.Labels[p.Labels]
		p.Facts, p.Content = 0, model.Content{}
		fmt.Fprintf(&b, "%s %+v %s %q %+v\n", where, p, spec.Key, labels.Key, *facts)
	}
	for _, n := range o.Nodes {
		fmt.Fprintf(&b, "node %s %v %v %v %s\n",
			n.Object.Name, n.Object.Labels, n.Object.Spec, n.Object.Status, o.Contents.Shapes[n.Shape].Key)
		for _, p := range n.Pods {
			tell("bound", p)
		}
	}
	for _, p := range o.Unbound {
		tell("unbound", p)
	}
	for _, ds := range o.DaemonSets {
		fmt.Fprintf(&b, "daemonset %s %s\n", ds.Name, o.Contents.Specs[ds.Content.Spec].Key)
	}
	first, ok := o.Priorities.Of("a")
	fmt.Fprintf(&b, "%v %v %t %v\n", o.Namespaces, first, ok, o.Inventory)
	for _, p := range o.Budgets {
		fmt.Fprintf(&b, "budget %s %s %d %s\n", p.Name, p.Selector, p.Allowed, p.Detail)
	}
	return b.String()
}

func unbounded(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

// TestStillIsLive: the observation of objects that are at hand is that of the same objects when they are
// watched, and what is kept of them has nothing that is not read.
func TestStillIsLive(t *testing.T) {
	group := provider.Group{
		ID: "g", Target: 1, Instances: []provider.Instance{{ID: "n", ProviderID: "p:n", State: provider.Running}},
	}
	with := settings
	with.Priorities = true
	world(t, &sky{read: says(group)}, everything(), func(t *testing.T, client *fake.Clientset, o *Observer) {
		live := mustSync(t, o)
		listed, unread, err := List(t.Context(), client, with, unbounded)
		if err != nil || len(unread) > 0 || len(listed) != len(everything()) {
			t.Fatalf("%d objects listed of %d, unread %v", len(listed), len(everything()), unread)
		}
		var cut []runtime.Object
		for _, obj := range everything() {
			once := Cut(obj)
			cut = append(cut, once)
			if diff := cmp.Diff(once, Cut(once)); diff != "" {
				t.Errorf("cut twice, %T changes (-once +twice):\n%s", obj, diff)
			}
			if text := fmt.Sprintf("%+v", once); strings.Contains(text, "SECRET") || strings.Contains(text, "secret") ||
				strings.Contains(text, "last-applied") {
				t.Errorf("cut, %T still has what nothing reads: %s", obj, text)
			}
		}
		for name, objects := range map[string][]runtime.Object{"listed": listed, "cut": cut} {
			scene, err := NewScene(objects, with)
			if err != nil {
				t.Fatal(err)
			}
			still, err := scene.Observe(live.Inventory, nil, live.Now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(told(live), told(still)); diff != "" {
				t.Errorf("%s (-live +still):\n%s", name, diff)
			}
			if diff := cmp.Diff(live.Volumes, still.Volumes, cmp.FilterPath(func(p cmp.Path) bool {
				return p.Last().String() == ".Generation"
			}, cmp.Ignore())); diff != "" {
				t.Errorf("volumes of %s (-live +still):\n%s", name, diff)
			}
		}
	})
}

// TestListSaysWhatIsUnread: a kind that may not be read is reported, and the rest is there.
func TestListSaysWhatIsUnread(t *testing.T) {
	client := fake.NewClientset(everything()...)
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	})
	listed, unread, err := List(t.Context(), client, settings, unbounded)
	if err != nil || len(unread) != 1 || unread["pods"] == nil {
		t.Errorf("unread %v, want pods; %v", unread, err)
	}
	if len(listed) != len(everything())-4 {
		t.Errorf("%d objects listed", len(listed))
	}
}
