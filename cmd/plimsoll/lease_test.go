package main

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// TestAForbiddenLease: whoever may not have its Lease is told what to grant; other errors
// stay as they are, and all can be told apart as before.
func TestAForbiddenLease(t *testing.T) {
	for _, c := range []struct {
		name     string
		observes bool
		says     []string
	}{
		{"plimsoll-observe", true, []string{"observer", "kube-system", "plimsoll-observe", "docs/observe.md#rights"}},
		{"mine-observe", true, []string{"observer", "mine-observe", "docs/observe.md#rights"}},
		{"cluster-autoscaler", false, []string{"kube-system", "cluster-autoscaler", "docs/install.md#rights"}},
		{"team-observe", false, []string{"team-observe", "docs/install.md#rights"}}, // its name is no matter
	} {
		client := fake.NewClientset()
		lock := &resourcelock.LeaseLock{Client: client.CoordinationV1()}
		lock.LeaseMeta.Namespace, lock.LeaseMeta.Name = "kube-system", c.name
		l := lease{lock, "kube-system", c.name, c.observes}
		if _, _, err := l.Get(t.Context()); !apierrors.IsNotFound(err) || strings.Contains(err.Error(), "docs/") {
			t.Errorf("of a Lease that is not there: %v", err)
		}
		if err := l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); err != nil {
			t.Fatal(err)
		}
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), c.name, nil)
		})
		_, _, got := l.Get(t.Context())
		for verb, err := range map[string]error{"get": got, "create": l.Create(t.Context(), resourcelock.LeaderElectionRecord{}),
			"update": l.Update(t.Context(), resourcelock.LeaderElectionRecord{})} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v", verb, err)
			}
			for _, words := range c.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%s of %s: got %v, want it to say %q", verb, c.name, err, words)
				}
			}
		}
	}
}
