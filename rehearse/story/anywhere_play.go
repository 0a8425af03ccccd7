package story

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
)

// write replaces the Cluster's spec, in one update, as its user.
func (a *anywhere) write(ctx context.Context, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return fmt.Errorf("write the spec of Cluster %s: %w", anywhereCluster, err)
	}
	cluster := eksanywhere.Cluster(eksanywhere.Namespace, anywhereCluster)
	if err := a.admin.Patch(
		ctx, cluster, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(user),
	); err != nil {
		return fmt.Errorf("write the spec of Cluster %s: %w", anywhereCluster, err)
	}
	return nil
}

// kubelets wants every node to be of a version.
func (a *anywhere) kubelets(ctx context.Context, version string) error {
	nodes, err := a.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("look at the versions of the nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if got := node.Status.NodeInfo.KubeletVersion; got != version {
			return fmt.Errorf("after the upgrade node %s has %q, want %s", node.Name, got, version)
		}
	}
	return nil
}

// asWanted says whether both groups have what they should, the second one so many
// machines, and WorkersReady says so.
func asWanted(w workerState, version string, auto int) bool {
	return w.settled(deploymentOf(anywhereFixed), anywhereFixedCount, machineVersion(version)) &&
		w.settled(deploymentOf(anywhereAuto), auto, machineVersion(version)) &&
		w.ready.Status == v1alpha1.True
}

// wantReplicas wants a group to have asked for these numbers and no other ones, in
// this order.
func wantReplicas(p passage, group string, want ...int) error {
	if got := p.replicas[deploymentOf(group)]; !slices.Equal(got, want) {
		return fmt.Errorf("the replicas of %s were %s, want %s", group, numbers(got), numbers(want))
	}
	return nil
}

// wantGrowth wants a group to have grown from its minimum to its maximum, in one step
// or more, and never to have shrunk.
func wantGrowth(got []int) error {
	if len(got) < 2 || got[0] != anywhereMin || got[len(got)-1] != anywhereMax || !slices.IsSorted(got) {
		return fmt.Errorf("the replicas of %s were %s, want them to grow from %d to %d",
			anywhereAuto, numbers(got), anywhereMin, anywhereMax)
	}
	return nil
}

// wantReady wants WorkersReady to have been nothing else.
func wantReady(p passage, allowed func(v1alpha1.Condition) bool) error {
	for _, c := range p.conditions {
		if !allowed(c) {
			return fmt.Errorf("WorkersReady was %s, which it must not have been", conditionText(c))
		}
	}
	return nil
}

func numbers(all []int) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, " → ")
}
