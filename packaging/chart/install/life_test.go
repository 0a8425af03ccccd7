package install

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// groupLabel is on the templates, and so on the nodes.
const groupLabel = "test/group"

// fakeTaint keeps the release's own pods off these nodes, as that of the chart's templates
// does. Here they have no other ones, and so are pods that nothing helps.
const fakeTaint = "kwok.x-k8s.io/node"

// manyNodes is so many that events about them are counted in one, which patches it: that
// begins after the tenth that is like others. Some go by drains, whose events are others.
const manyNodes = 20

// template is a node of 8 CPUs. Of a fault come machines that are paid for and never
// register.
func template(group, fault string) map[string]any {
	annotations := map[string]any{"cluster-autoscaler.kwok.nodegroup/name": group}
	if fault != "" {
		annotations["cluster-autoscaler.kwok.nodegroup/fault"] = fault
	}
	return map[string]any{
		"metadata": map[string]any{"name": group, "annotations": annotations, "labels": map[string]any{groupLabel: group}},
		"spec":     map[string]any{"taints": []any{map[string]any{"key": fakeTaint, "value": "fake", "effect": "NoSchedule"}}},
		"status":   map[string]any{"allocatable": map[string]any{"cpu": "8", "memory": "32Gi", "pods": "110"}},
	}
}

// quick are the values of a release whose Plimsoll does in seconds what otherwise takes it
// minutes. It is told of no cloud but kwok's.
func quick() map[string]any {
	return map[string]any{
		"cloudProvider": "kwok",
		"kwok": map[string]any{
			"templates":  []any{template("general", ""), template("lost", "never-registers"), template("late", "never-registers")},
			"controller": map[string]any{"enabled": true},
		},
		"prometheusRule": map[string]any{"enabled": false},
		"extraArgs": map[string]any{
			"scan-interval": "1s", "scale-down-unneeded-time": "1s", "scale-down-delay-after-add": "1s",
			"scale-down-delay-after-failure": "1s",
			"node-delete-delay-after-taint":  "0s", "max-node-provision-time": "5s", "emit-per-nodegroup-metrics": nil,
		},
	}
}

// TestALifeUnderExactlyItsRights installs the chart and lets its Plimsoll and its kwok
// controller live: pods wait, nodes come for them; fewer pods, some are moved, and nodes
// go; machines that never register are given up; the end. Each must have used every right
// that the chart gives it, and no other.
func TestALifeUnderExactlyItsRights(t *testing.T) {
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("run `make build` in the root first: %v", err)
	}
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plane := startPlane(t)
	i := install(t, plane, quick())
	i.waitAdmitted(t, 3)

	// 1. The two processes, as their pods would run.
	kwokName := fullName + "-kwok-controller"
	kwokAddress := freeAddress(t)
	kwokUses := i.live(t, kwokName, self, []string{kwokWord}, []string{"--server-address=" + kwokAddress},
		"http://"+kwokAddress+"/healthz")
	address := freeAddress(t)
	plimsollUses := i.live(t, fullName, program, nil, []string{"--address=" + address}, "http://"+address+"/readyz")

	// 2. It grows for pods that wait, and they run.
	i.run(t, "shop", manyNodes, "6", "general")
	i.waitPods(t, "shop", manyNodes)
	i.waitNodes(t, manyNodes)
	i.run(t, "helpers", 2, "1", "general")
	i.waitPods(t, "helpers", 2)
	i.runJob(t, "batch", "general")

	// 3. It shrinks: most nodes are empty, the helpers of the others are moved.
	i.scale(t, "shop", 1)
	i.waitNodes(t, 1)
	i.waitPods(t, "helpers", 2)

	// 4. Machines that never come are remembered until they are given up. Those of another
	// group join them, so that there is something to clean up at the end.
	i.run(t, "unlucky", 1, "6", "lost")
	i.waitMachines(t, "lost-")
	i.run(t, "patient", 2, "6", "late")
	i.waitMachines(t, "late-")
	i.waitLog(t, plane.LogFile(fullName), "did not arrive in time")

	// 5. It is asked to end, and leaves none of its nodes behind.
	i.end(t, fullName)
	i.waitNodes(t, 0)
	i.end(t, kwokName)
	compare(t, rightsOf(t, plane.Client(), namespace, fullName), plimsollUses)
	compare(t, rightsOf(t, plane.Client(), namespace, kwokName), kwokUses)

	// 6. Told to observe, it has no right left to write to nodes, and needs none.
	i.upgrade(t, map[string]any{"mode": "observe"})
	address = freeAddress(t)
	observerUses := i.live(t, fullName, program, nil, []string{"--address=" + address}, "http://"+address+"/readyz")
	i.waitLog(t, plane.LogFile(fullName), "would begin")
	i.waitConfigMap(t, "plimsoll-observe-status")
	i.end(t, fullName)
	observes := rightsOf(t, plane.Client(), namespace, fullName)
	compare(t, observes, observerUses)
	for _, r := range observes {
		if r.namespace == "" && r.verb != "list" && r.verb != "watch" {
			t.Errorf("an observer may %s", r)
		}
	}

	// 7. Helm takes away what it has made.
	i.uninstall(t)
	i.nothingLeft(t)
}

// live runs the container of a Deployment as a process, under a token of its account, and
// returns what it asks of the API server. On this machine it listens where flags say.
func (i *installed) live(t *testing.T, name, program string, first, flags []string, health string) *recorder {
	t.Helper()
	r := record(t, i.plane.AdminConfig())
	d := i.deployment(t, name)
	kubeconfig := i.kubeconfig(t, d.Spec.Template.Spec.ServiceAccountName, r)
	p := i.process(t, d, program, first, flags, []string{"KUBECONFIG=" + kubeconfig})
	p.Ready = func(ctx context.Context) error { return healthy(ctx, health) }
	if err := i.plane.Launch(p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { showLog(t, i.plane.LogFile(name)) })
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := i.plane.Processes().WaitReady(ctx, name); err != nil {
		t.Fatal(err)
	}
	return r
}

func (i *installed) end(t *testing.T, name string) {
	t.Helper()
	if _, err := i.plane.Processes().End(name); err != nil {
		t.Fatal(err)
	}
}
