package controlplane_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/component"
)

// Every component is killed without warning, one after the other, and comes back
// over the same data: what was written is there, and what is asked next is done.
func TestComponentsComeBackAfterKill(t *testing.T) {
	w := newWorld(t, "crash", 4)
	replicas := int32(2)
	w.deploy("web", replicas)
	for _, name := range []string{
		component.Etcd, component.APIServer, component.ControllerManager, component.Scheduler, component.Kwok,
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			before := starts(name)
			if err := shared.Processes().Kill(name); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := shared.WaitReady(ctx); err != nil {
				t.Fatal(err)
			}
			if after := starts(name); after != before+1 {
				t.Errorf("%s was started %d times, want %d", name, after, before+1)
			}
			w.deploymentReady("web", replicas)
			replicas += 2
			w.scale("web", replicas)
			w.deploymentReady("web", replicas)
		})
	}
}

func (w world) scale(name string, replicas int32) {
	w.t.Helper()
	// The last leader's caches may be a step behind after a restart: try on conflict.
	w.eventually("the deployment is scaled", func() (bool, error) {
		scale, err := shared.Client().AppsV1().Deployments(w.group).GetScale(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		scale.Spec.Replicas = replicas
		_, err = shared.Client().AppsV1().Deployments(w.group).UpdateScale(w.t.Context(), name, scale, metav1.UpdateOptions{})
		return err == nil, err
	})
}

func starts(name string) int {
	for _, process := range shared.Processes().Processes() {
		if process.Name == name {
			return process.Starts
		}
	}
	return 0
}
