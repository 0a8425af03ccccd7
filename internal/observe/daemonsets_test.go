package observe

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// A DaemonSet whose controller wants pods and makes none says so in its status. It
// is behind from the moment in which that is first seen, until a pod is made.
func TestADaemonSetThatMakesNoPods(t *testing.T) {
	ds := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "batch", UID: "u"},
		Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: testPod("", "", "").Spec}},
	}
	world(t, &sky{read: says()}, []runtime.Object{ds}, func(t *testing.T, client *fake.Clientset, o *Observer) {
		unmade := func() time.Time {
			t.Helper()
			synctest.Wait()
			seen := mustObserve(t, o)
			if len(seen.DaemonSets) != 1 {
				t.Fatalf("%d DaemonSets", len(seen.DaemonSets))
			}
			return seen.DaemonSets[0].Unmade
		}
		says := func(wants, has int32) {
			t.Helper()
			ds := ds.DeepCopy()
			ds.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: wants, CurrentNumberScheduled: has}
			if _, err := client.AppsV1().DaemonSets("tenant").UpdateStatus(t.Context(), ds, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		mustSync(t, o)
		if at := unmade(); !at.IsZero() {
			t.Errorf("one that wants no pods: behind since %s", at)
		}
		says(3, 1)
		began := time.Now()
		for _, wants := range []int32{3, 5, 4} {
			says(wants, 1)
			if at := unmade(); !at.Equal(began) {
				t.Errorf("%d wanted, 1 there: behind since %s, want %s", wants, at, began)
			}
			time.Sleep(time.Minute)
		}
		says(4, 2)
		if at := unmade(); !at.Equal(time.Now()) {
			t.Errorf("a pod was made: behind since %s, want now", at)
		}
		time.Sleep(time.Minute)
		says(4, 4)
		if at := unmade(); !at.IsZero() {
			t.Errorf("all pods are there: behind since %s", at)
		}
	})
}
