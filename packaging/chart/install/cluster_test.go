package install

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// waitAdmitted waits until all pods of the release were let into the namespace.
func (i *installed) waitAdmitted(t *testing.T, want int) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		pods, err := i.plane.Client().CoreV1().Pods(namespace).List(t.Context(),
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + releaseName})
		if err != nil || len(pods.Items) == want {
			return "", err
		}
		events, err := i.plane.Client().CoreV1().Events(namespace).List(t.Context(),
			metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
		if err != nil {
			return "", err
		}
		why := ""
		for _, e := range events.Items {
			why += "\n" + e.Message
		}
		return fmt.Sprintf("%d pods of %d were let in%s", len(pods.Items), want, why), nil
	})
}

// run makes a Deployment of pods for a group.
func (i *installed) run(t *testing.T, name string, replicas int32, cpu, group string) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := i.plane.Client().AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					NodeSelector:                  map[string]string{groupLabel: group},
					Tolerations:                   []corev1.Toleration{{Key: fakeTaint, Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{Name: "main", Image: "none",
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
						}}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// runJob makes a Job whose pod has what pods of Deployments here have not, and waits for its
// end.
func (i *installed) runJob(t *testing.T, name, group string) {
	t.Helper()
	jobs := i.plane.Client().BatchV1().Jobs("default")
	_, err := jobs.Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			NodeSelector:   map[string]string{groupLabel: group},
			Tolerations:    []corev1.Toleration{{Key: fakeTaint, Operator: corev1.TolerationOpExists}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "test/gate"}},
			InitContainers: []corev1.Container{
				{Name: "first", Image: "none"},
				{Name: "beside", Image: "none", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
			},
			Containers: []corev1.Container{{Name: "main", Image: "none"}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, func() (string, error) {
		job, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || job.Status.Succeeded == 1 {
			return "", err
		}
		return fmt.Sprintf("the Job %s has not succeeded: %+v", name, job.Status), nil
	})
}

func (i *installed) scale(t *testing.T, name string, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := i.plane.Client().AppsV1().Deployments("default").
		Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitPods waits until all pods of a Deployment, and no more, run.
func (i *installed) waitPods(t *testing.T, name string, want int) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		pods, err := i.plane.Client().CoreV1().Pods("default").List(t.Context(),
			metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return "", err
		}
		running := 0
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				running++
			}
		}
		if running == want && len(pods.Items) == want {
			return "", nil
		}
		return fmt.Sprintf("of %s %d pods run, and there are %d; want %d", name, running, len(pods.Items), want), nil
	})
}

func (i *installed) waitNodes(t *testing.T, want int) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		nodes, err := i.plane.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for _, n := range nodes.Items {
			at := slices.IndexFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName })
			if at >= 0 && n.Status.Addresses[at].Address != n.Name {
				return "", fmt.Errorf("the host of %s is called %q", n.Name, n.Status.Addresses[at].Address)
			}
		}
		if len(nodes.Items) == want {
			return "", nil
		}
		return fmt.Sprintf("there are %d nodes, want %d", len(nodes.Items), want), nil
	})
}

// waitMachines waits until a machine of this name is remembered, which has no node.
func (i *installed) waitMachines(t *testing.T, prefix string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		maps, err := i.plane.Client().CoreV1().ConfigMaps(namespace).List(t.Context(),
			metav1.ListOptions{FieldSelector: "metadata.name=kwok-provider-machines"})
		if err != nil {
			return "", err
		}
		for _, m := range maps.Items {
			for name := range m.Data {
				if strings.HasPrefix(name, prefix) {
					return "", nil
				}
			}
		}
		return "no machine " + prefix + " is remembered", nil
	})
}

func (i *installed) waitLog(t *testing.T, file, words string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		data, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(data), words) {
			return "", err
		}
		return "it never said: " + words, nil
	})
}

// nothingLeft wants no object of the release to be there. ConfigMaps and Leases that
// Plimsoll wrote stay: what it remembers is in them.
func (i *installed) nothingLeft(t *testing.T) {
	t.Helper()
	client, options := i.plane.Client(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + releaseName}
	eventually(t, soon, func() (string, error) {
		deployments, err1 := client.AppsV1().Deployments("").List(t.Context(), options)
		roles, err2 := client.RbacV1().ClusterRoles().List(t.Context(), options)
		bindings, err3 := client.RbacV1().ClusterRoleBindings().List(t.Context(), options)
		narrow, err4 := client.RbacV1().Roles("").List(t.Context(), options)
		accounts, err5 := client.CoreV1().ServiceAccounts("").List(t.Context(), options)
		for _, err := range []error{err1, err2, err3, err4, err5} {
			if err != nil {
				return "", err
			}
		}
		if n := len(deployments.Items) + len(roles.Items) + len(bindings.Items) + len(narrow.Items) +
			len(accounts.Items); n > 0 {
			return fmt.Sprintf("%d objects of the release are still there", n), nil
		}
		return "", nil
	})
}

func showLog(t *testing.T, file string) {
	if !t.Failed() {
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Log(err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	t.Logf("the end of %s:\n%s", file, strings.Join(lines[max(0, len(lines)-40):], "\n"))
}

func (i *installed) waitConfigMap(t *testing.T, name string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		_, err := i.plane.Client().CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "there is no ConfigMap " + name, nil
		}
		return "", err
	})
}
