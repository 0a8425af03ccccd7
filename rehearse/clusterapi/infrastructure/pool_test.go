package infrastructure

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
)

// testMember is a machine that is that many hours old, with a Machine or without.
func testMember(name string, hours int, machine *clusterv1.Machine) member {
	infra := testMachine()
	infra.Name = name
	infra.CreationTimestamp = metav1.NewTime(created.Add(-time.Duration(hours) * time.Hour))
	return member{infra: infra, machine: machine}
}

func TestDifferenceOfAPool(t *testing.T) {
	gone := &metav1.Time{Time: created}
	marked := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1.DeleteMachineAnnotation: ""}},
	}
	leaving := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: gone}}
	ended := testMember("ended", 9, nil)
	ended.infra.DeletionTimestamp = gone
	for _, test := range []struct {
		name    string
		members []member
		want    int
		missing int
		doomed  []string
	}{
		{"empty", nil, 2, 2, nil},
		{"as many as asked for", []member{testMember("a", 1, nil), testMember("b", 2, nil)}, 2, 0, nil},
		{"what leaves is replaced", []member{testMember("a", 1, leaving), ended, testMember("b", 2, nil)}, 2, 1, nil},
		{"what leaves is not ended twice", []member{testMember("a", 1, leaving), ended, testMember("b", 2, nil)}, 1, 0, nil},
		{"the oldest go", []member{testMember("a", 1, nil), testMember("c", 3, nil), testMember("b", 3, nil)}, 1, 0, []string{"b", "c"}},
		{"what is marked goes first", []member{testMember("old", 3, nil), testMember("new", 1, marked)}, 1, 0, []string{"new"}},
		{"a mark alone ends nothing", []member{testMember("new", 1, marked)}, 1, 0, nil},
	} {
		missing, doomed := difference(test.members, test.want)
		var names []string
		for _, m := range doomed {
			names = append(names, m.infra.Name)
		}
		if missing != test.missing || !slices.Equal(names, test.doomed) {
			t.Errorf("%s: %d are missing and %v go, want %d and %v", test.name, missing, names, test.missing, test.doomed)
		}
	}
}

// A machine that was made or ended by the last step counts in the next one.
func TestPoolHasAsManyMachinesAsItsMachinePool(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "west"}}
	owner := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
		Spec: clusterv1.MachinePoolSpec{ClusterName: "west", Replicas: ptr.To[int32](2)}}
	pool := &kwokapi.KwokMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "behind", UID: "u"}}
	pool.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "web",
	}}
	pool.Spec.Template.Spec = testMachine().Spec
	pool.Spec.Template.Spec.ProviderID = "unknown"
	c := fake.NewClientBuilder().WithScheme(objects.Scheme()).WithObjects(cluster, owner, pool).
		WithStatusSubresource(pool).Build()
	r := &pools{client: c, live: c}
	machines := func() []kwokapi.KwokMachine {
		t.Helper()
		for range 3 { // the first one writes that the pool is not paused
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
				t.Fatal(err)
			}
		}
		var list kwokapi.KwokMachineList
		if err := c.List(t.Context(), &list, client.MatchingLabels{
			clusterv1.MachinePoolNameLabel: "web", clusterv1.ClusterNameLabel: "west",
		}); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	made := machines()
	if len(made) != 2 {
		t.Fatalf("there are %d machines, want 2", len(made))
	}
	if one := made[0]; one.Spec.ProviderID != "" || one.OwnerReferences[0].UID != "u" ||
		metav1.GetControllerOf(&one) != nil {
		t.Errorf("a machine is %+v", one)
	}
	for i := range made {
		made[i].Spec.ProviderID = fmt.Sprintf("kwok://%d", 9-i)
		if err := c.Update(t.Context(), &made[i]); err != nil {
			t.Fatal(err)
		}
	}
	machines()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	if got := pool.Status; !slices.Equal(pool.Spec.ProviderIDList, []string{"kwok://8", "kwok://9"}) ||
		got.Replicas != 2 || !got.Ready ||
		got.InfrastructureMachineKind != "KwokMachine" || got.Capacity.Cpu().Value() != 4 {
		t.Errorf("the pool tells %v, %+v", pool.Spec.ProviderIDList, got)
	}
	owner.Spec.Replicas = ptr.To[int32](0)
	if err := c.Update(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if left := machines(); len(left) != 0 {
		t.Errorf("%d machines are left", len(left))
	}
}
