package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	eksName      = fullName + "-eks-anywhere"
	gardenerName = fullName + "-gardener"
)

var (
	eksClusters = schema.GroupVersionResource{
		Group: "anywhere.eks.amazonaws.com", Version: "v1alpha1", Resource: "clusters",
	}
	workers = schema.GroupVersionResource{
		Group: "extensions.gardener.cloud", Version: "v1alpha1", Resource: "workers",
	}
	machineDeployments = schema.GroupVersionResource{
		Group: "machine.sapcloud.io", Version: "v1alpha1", Resource: "machinedeployments",
	}
	eksDeployments = schema.GroupVersionResource{
		Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machinedeployments",
	}
)

// countedUp is used for events that are alike and of one look at one state of an object: a
// write that fails again and again, for instance.
var countedUp = right{verb: "patch", group: "events.k8s.io", resource: "events"}

// TestControllersUnderExactlyTheirRights: EKS Anywhere's controller that writes conditions
// alone, and Gardener's that writes limits alone, live under exactly the rights that the
// chart gives them then; and so do both when they write everything.
func TestControllersUnderExactlyTheirRights(t *testing.T) {
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("run `make build` in the root first: %v", err)
	}
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	plane := startPlane(t)
	for _, file := range []string{"testdata/kinds.yaml", "testdata/controlled.yaml"} {
		objects, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := plane.Create(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
	}
	i := install(t, plane, map[string]any{"controllers": map[string]any{
		"eksAnywhere": map[string]any{"enabled": true, "statusOnly": true},
		"gardener":    map[string]any{"enabled": true, "writes": "limits-only"},
	}})
	objects, err := dynamic.NewForConfig(plane.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}

	clusters := objects.Resource(eksClusters).Namespace("default")
	deploymentsOfEKS := objects.Resource(eksDeployments).Namespace("eksa-system")
	const shoot = "shoot--p--limits"
	deployments := objects.Resource(machineDeployments).Namespace(shoot)

	// Only clusters on Nutanix are asked for this.
	splits := right{verb: "get", group: eksClusters.Group, resource: "nutanixdatacenterconfigs"}
	t.Run("EKS Anywhere's, status only", func(t *testing.T) {
		uses := i.control(t, eksName, program)
		waitObject(t, clusters, "prod", "worker node count must be zero or greater")
		patch(t, clusters, "prod", `{"spec":{"workerNodeGroupConfigurations":[{"name":"a"},{"name":"a"}]}}`)
		waitObject(t, clusters, "prod", "worker node group names must be unique")
		i.end(t, eksName)
		compare(t, rightsOf(t, plane.Client(), namespace, eksName), uses, countedUp, splits)
	})
	t.Run("Gardener's, limits only", func(t *testing.T) {
		uses := i.control(t, gardenerName, program)
		waitObject(t, deployments, shoot+"-a-z1", `pool-maximum:5`)
		waitReleased(t, objects.Resource(workers).Namespace(shoot), "w", "autoscaler.plimsoll.dev/worker-pools")
		waitUse(t, uses, "patch", "workers/status") // written last
		i.end(t, gardenerName)
		compare(t, rightsOf(t, plane.Client(), namespace, gardenerName), uses, countedUp)
	})

	// From now on they write everything. Their Leases are new once more.
	for _, lease := range []string{"plimsoll-eks-anywhere", "plimsoll-gardener"} {
		if err := plane.Client().CoordinationV1().Leases(namespace).
			Delete(t.Context(), lease, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	i.upgrade(t, map[string]any{"controllers": map[string]any{
		"eksAnywhere": map[string]any{"statusOnly": false}, "gardener": map[string]any{"writes": "everything"}}})
	t.Run("EKS Anywhere's", func(t *testing.T) {
		uses := i.control(t, eksName, program)
		patch(t, clusters, "prod", `{"status":{"conditions":[{"type":"ControlPlaneInitialized","status":"True"}]}}`, "status")
		patch(t, clusters, "prod", `{"spec":{"workerNodeGroupConfigurations":[
			{"name":"a","count":1,"machineGroupRef":{"kind":"KwokMachineTemplate","name":"t"}},{"name":"b","count":1,"machineGroupRef":{"kind":"KwokMachineTemplate","name":"t"}}]}}`)
		waitObject(t, deploymentsOfEKS, "prod-a", "replicas:1")
		waitObject(t, deploymentsOfEKS, "prod-b", "replicas:1")
		// The other one goes once this one is available.
		patch(t, deploymentsOfEKS, "prod-a",
			`{"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"availableReplicas":1}}`, "status")
		patch(t, clusters, "prod",
			`{"spec":{"workerNodeGroupConfigurations":[{"name":"a","count":1,"machineGroupRef":{"kind":"KwokMachineTemplate","name":"t"}}]}}`)
		waitGone(t, deploymentsOfEKS, "prod-b")
		i.end(t, eksName)
		// To apply what is not there is a patch, for which the API server wants this one, too.
		creates := right{
			namespace: "eksa-system", verb: "create", group: eksDeployments.Group, resource: eksDeployments.Resource,
		}
		compare(t, rightsOf(t, plane.Client(), namespace, eksName), uses, countedUp, creates, splits)
	})
	t.Run("Gardener's", func(t *testing.T) {
		uses := i.control(t, gardenerName, program)
		patch(t, objects.Resource(workers).Namespace(shoot), "w", `{"spec":{"pools":[
			{"name":"a","minimum":1,"maximum":7,"maxSurge":1,"maxUnavailable":0,"machineType":"small","zones":["za"]},
			{"name":"b","minimum":0,"maximum":2,"maxSurge":1,"maxUnavailable":0,"machineType":"small","zones":["za"]}]}}`)
		waitObject(t, deployments, shoot+"-a-z1", `pool-maximum:7`)
		waitObject(t, deployments, shoot+"-b-z1", `pool-maximum:2`)
		patch(t, objects.Resource(workers).Namespace(shoot), "w",
			`{"spec":{"pools":[{"name":"a","minimum":1,"maximum":7,"maxSurge":1,"maxUnavailable":0,"machineType":"small","zones":["za"]}]}}`)
		waitGone(t, deployments, shoot+"-b-z1")
		i.end(t, gardenerName)
		compare(t, rightsOf(t, plane.Client(), namespace, gardenerName), uses, countedUp)
	})
}

// control runs one of the chart's controllers, and returns what it asks of the API server.
func (i *installed) control(t *testing.T, name, program string) *recorder {
	t.Helper()
	health := freeAddress(t)
	return i.live(t, name, program, nil, []string{"--health-address=" + health, "--metrics-address="},
		"http://"+health+"/readyz")
}

// waitObject waits until an object has some words in it.
func waitObject(t *testing.T, objects dynamic.ResourceInterface, name, words string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		object, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "there is no " + name, nil
		}
		if err != nil || strings.Contains(fmt.Sprint(object.Object), words) {
			return "", err
		}
		return fmt.Sprintf("%s never had %q: %v", name, words, object.Object), nil
	})
}

// waitUse waits until an answer to such a request has come: that what it writes is there says less, and a
// process that ends before the answer has not used its right as far as the recorder knows.
func waitUse(t *testing.T, r *recorder, verb, resource string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		uses, _ := r.all()
		if slices.ContainsFunc(uses, func(u use) bool { return u.verb == verb && u.resource == resource }) {
			return "", nil
		}
		return fmt.Sprintf("%s %s was never asked for: %v", verb, resource, uses), nil
	})
}

// waitGone waits until an object is there no more.
func waitGone(t *testing.T, objects dynamic.ResourceInterface, name string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		_, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return name + " is still there", err
	})
}

func patch(t *testing.T, objects dynamic.ResourceInterface, name, with string, subresources ...string) {
	t.Helper()
	if _, err := objects.Patch(
		t.Context(), name, types.MergePatchType, []byte(with), metav1.PatchOptions{}, subresources...,
	); err != nil {
		t.Fatal(err)
	}
}

// waitReleased waits until one finalizer alone is off an object: others hold it on.
func waitReleased(t *testing.T, objects dynamic.ResourceInterface, name, finalizer string) {
	t.Helper()
	eventually(t, soon, func() (string, error) {
		object, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		all := object.GetFinalizers()
		if len(all) > 0 && !slices.Contains(all, finalizer) {
			return "", nil
		}
		return fmt.Sprintf("%s has the finalizers %v: only %s should be gone", name, all, finalizer), nil
	})
}
