package controlplane_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

const groupLabel = "test-group"

// Every test has its own namespace, and nodes that no other test's pods may use:
// they carry a taint of the group's name.
type world struct {
	t     *testing.T
	group string
}

func newWorld(t *testing.T, group string, nodes int) world {
	t.Helper()
	w := world{t: t, group: group}
	ctx := t.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: group}}
	if _, err := shared.Client().CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		w.addNode(fmt.Sprintf("%s-%d", group, i))
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		if err := shared.Client().CoreV1().Namespaces().Delete(ctx, group, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		err := shared.Client().CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: groupLabel + "=" + group})
		if err != nil {
			t.Error(err)
		}
	})
	w.eventually("the default service account is there", func() (bool, error) {
		_, err := shared.Client().CoreV1().ServiceAccounts(group).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	return w
}

func (w world) addNode(name string) {
	w.t.Helper()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("8"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{groupLabel: w.group, corev1.LabelHostname: name},
		},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: groupLabel, Value: w.group, Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	if _, err := shared.Client().CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// template is a pod of a tenth of a node for this world's nodes alone.
func (w world) template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{groupLabel: w.group},
			Tolerations:  []corev1.Toleration{{Key: groupLabel, Value: w.group}},
			Containers: []corev1.Container{{
				Name:  "main",
				Image: "none",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("800m")},
				},
			}},
		},
	}
}

func (w world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: w.group}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func (w world) deploy(name string, replicas int32) {
	w.t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: w.meta(name),
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: w.template(name)},
	}
	if _, err := shared.Client().AppsV1().Deployments(w.group).
		Create(w.t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.deploymentReady(name, replicas)
}

func (w world) deploymentReady(name string, replicas int32) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d pods of %s are ready", replicas, name), func() (bool, error) {
		d, err := shared.Client().AppsV1().Deployments(w.group).Get(w.t.Context(), name, metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == replicas &&
			d.Status.Replicas == replicas, err
	})
}

func (w world) podsOn(node string) []corev1.Pod {
	w.t.Helper()
	pods, err := shared.Client().CoreV1().Pods(w.group).List(w.t.Context(), metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return pods.Items
}

// eventually waits for a condition of the cluster.
func (w world) eventually(what string, condition func() (bool, error)) {
	w.t.Helper()
	planetest.Eventually(w.t, 90*time.Second, what, func() (bool, string) {
		done, err := condition()
		return done, fmt.Sprint(err)
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func TestDeploymentRunsOnFakeNodes(t *testing.T) {
	w := newWorld(t, "deployment", 3)
	w.deploy("web", 20)
	addresses := map[string]bool{}
	all := 0
	for _, node := range []string{"deployment-0", "deployment-1", "deployment-2"} {
		pods := w.podsOn(node)
		// How they are spread is the scheduler's affair: two nodes hold them all,
		// and the third may come to its notice too late.
		all += len(pods)
		if len(pods) > 10 {
			t.Errorf("%s carries %d pods and has room for 10", node, len(pods))
		}
		for _, pod := range pods {
			addresses[pod.Status.PodIP] = true
		}
	}
	if all != 20 {
		t.Errorf("%d of 20 pods are on the nodes", all)
	}
	if len(addresses) != 20 || addresses[""] {
		t.Errorf("20 pods have %d addresses: %v", len(addresses), addresses)
	}
}

func TestDaemonSetFollowsNodes(t *testing.T) {
	w := newWorld(t, "daemonset", 2)
	daemonSet := &appsv1.DaemonSet{
		ObjectMeta: w.meta("agent"),
		Spec:       appsv1.DaemonSetSpec{Selector: selector("agent"), Template: w.template("agent")},
	}
	if _, err := shared.Client().AppsV1().DaemonSets(w.group).
		Create(t.Context(), daemonSet, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ready := func(want int32) func() (bool, error) {
		return func() (bool, error) {
			d, err := shared.Client().AppsV1().DaemonSets(w.group).Get(t.Context(), "agent", metav1.GetOptions{})
			return err == nil && d.Status.NumberReady == want && d.Status.DesiredNumberScheduled == want, err
		}
	}
	w.eventually("a pod on each of two nodes", ready(2))
	// These pods are bound while their node is new: none may be passed over.
	for i := range 10 {
		w.addNode(fmt.Sprintf("daemonset-more-%d", i))
	}
	w.eventually("a pod on each of twelve nodes", ready(12))
}

func TestJobCompletes(t *testing.T) {
	w := newWorld(t, "job", 1)
	template := w.template("task")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: w.meta("task"),
		Spec:       batchv1.JobSpec{Template: template, Completions: ptr.To[int32](5), Parallelism: ptr.To[int32](2)},
	}
	if _, err := shared.Client().BatchV1().Jobs(w.group).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("five completions", func() (bool, error) {
		j, err := shared.Client().BatchV1().Jobs(w.group).Get(t.Context(), "task", metav1.GetOptions{})
		return err == nil && j.Status.Succeeded == 5 && j.Status.CompletionTime != nil, err
	})
}

func TestPodsOfDeletedNodeAreGoneAndReplaced(t *testing.T) {
	w := newWorld(t, "removal", 2)
	w.deploy("web", 10)
	// The scheduler does not promise that both nodes carry some of them.
	leaves, stays := "removal-0", "removal-1"
	if len(w.podsOn(leaves)) == 0 {
		leaves, stays = stays, leaves
	}
	began := time.Now()
	if err := shared.Client().CoreV1().Nodes().Delete(t.Context(), leaves, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the node's pods are gone", func() (bool, error) { return len(w.podsOn(leaves)) == 0, nil })
	w.deploymentReady("web", 10)
	if n := len(w.podsOn(stays)); n != 10 {
		t.Errorf("the other node carries %d pods, want 10", n)
	}
	// The controller manager's own collector would have needed 40 s at least.
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestDisruptionBudgetIsKept(t *testing.T) {
	w := newWorld(t, "disruption", 1)
	w.deploy("web", 2)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: w.meta("web"),
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector("web"), MinAvailable: ptr.To(intstr.FromInt32(2))},
	}
	budgets := shared.Client().PolicyV1().PodDisruptionBudgets(w.group)
	if _, err := budgets.Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the budget is computed", func() (bool, error) {
		b, err := budgets.Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && b.Status.ObservedGeneration == b.Generation && b.Status.CurrentHealthy == 2, err
	})
	pod := w.podsOn("disruption-0")[0]
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
	if err := shared.Client().PolicyV1().Evictions(w.group).Evict(
		t.Context(), eviction,
	); !apierrors.IsTooManyRequests(err) {
		t.Errorf("an eviction beyond the budget got %v", err)
	}
	if err := budgets.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("an eviction is allowed, and the pod is replaced", func() (bool, error) {
		if err := shared.Client().PolicyV1().Evictions(w.group).Evict(t.Context(), eviction); ignoreNotFound(err) != nil {
			return false, err
		}
		_, err := shared.Client().CoreV1().Pods(w.group).Get(t.Context(), pod.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
	w.deploymentReady("web", 2)
}

func TestOwnedObjectsAreCollected(t *testing.T) {
	w := newWorld(t, "collection", 1)
	w.deploy("web", 3)
	background := metav1.DeletePropagationBackground
	if err := shared.Client().AppsV1().Deployments(w.group).Delete(t.Context(), "web", metav1.DeleteOptions{
		PropagationPolicy: &background,
	}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pods of the deleted deployment are gone", func() (bool, error) {
		return len(w.podsOn("collection-0")) == 0, nil
	})
}
