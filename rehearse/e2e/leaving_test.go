package e2e

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// What a removal writes on a node, as the Cluster Autoscaler does.
const (
	taintToBeDeleted = "ToBeDeletedByClusterAutoscaler"
	taintCandidate   = "DeletionCandidateOfClusterAutoscaler"
)

// cmdTainted counts by the watch and not by the API server: what is waited for may
// last a second.
func (w *world) cmdTainted(c *call) error {
	taint := corev1.Taint{Key: taintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}
	if _, soft := c.option("soft"); soft {
		taint = corev1.Taint{Key: taintCandidate, Effect: corev1.TaintEffectPreferNoSchedule}
	}
	return w.countNodes(c, "are tainted "+taint.Key, func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	})
}

func (w *world) cmdCordoned(c *call) error {
	return w.countNodes(c, "are cordoned", func(node *corev1.Node) bool { return node.Spec.Unschedulable })
}

func (w *world) cmdAnnotated(c *call) error {
	pattern, err := regexp.Compile(strings.Join(c.args[3:], " "))
	if err != nil {
		return err
	}
	key := c.args[2]
	return w.countNodes(c, fmt.Sprintf("have an annotation %s like %q", key, pattern), func(node *corev1.Node) bool {
		value, ok := node.Annotations[key]
		return ok && pattern.MatchString(value)
	})
}

// countNodes waits until a group has that many nodes of a kind.
func (w *world) countNodes(c *call, kind string, is func(*corev1.Node) bool) error {
	want, err := c.number(1)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		n := 0
		state := ""
		for _, node := range w.nodesOf(c.args[0]) {
			if is(node) {
				n++
			}
			state += fmt.Sprintf("; %s: taints %v, unschedulable %t, annotations %v",
				node.Name, node.Spec.Taints, node.Spec.Unschedulable, node.Annotations)
		}
		return n == want, fmt.Sprintf("%d nodes of %s %s, want %d%s", n, c.args[0], kind, want, state)
	})
}

// patchable are the resources that a script may patch.
var patchable = map[string]schema.GroupVersionResource{
	"nodes":                {Version: "v1", Resource: "nodes"},
	"pods":                 {Version: "v1", Resource: "pods"},
	"deployments":          {Group: "apps", Version: "v1", Resource: "deployments"},
	"poddisruptionbudgets": {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	"clusters":             {Group: "cluster.x-k8s.io", Version: newest, Resource: "clusters"},
	"machinedeployments":   {Group: "cluster.x-k8s.io", Version: newest, Resource: "machinedeployments"},
	"machinesets":          {Group: "cluster.x-k8s.io", Version: newest, Resource: "machinesets"},
	"machines":             {Group: "cluster.x-k8s.io", Version: newest, Resource: "machines"},
}

// cmdPatch waits until the controller of disruption budgets has looked at one that
// was patched: only then the API server holds to it.
func (w *world) cmdPatch(c *call) error {
	objects, name, err := w.object(c.args[0])
	if err != nil {
		return err
	}
	object, err := objects.Patch(c.ctx, name, types.MergePatchType, []byte(c.args[1]), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch %s: %w", c.args[0], err)
	}
	if object.GetKind() != "PodDisruptionBudget" {
		return nil
	}
	return w.budgetSeen(c.ctx, name)
}

func (w *world) cmdGone(c *call) error {
	objects, name, err := w.object(c.args[0])
	if err != nil {
		return err
	}
	return isGone(c.ctx, objects, name)
}

// object finds what RESOURCE/NAME means in this script.
func (w *world) object(text string) (dynamic.ResourceInterface, string, error) {
	resource, name, ok := strings.Cut(text, "/")
	kind, known := patchable[resource]
	if !ok || !known {
		return nil, "", fmt.Errorf("want RESOURCE/NAME of %v, not %q", slices.Sorted(maps.Keys(patchable)), text)
	}
	if resource == "nodes" {
		return w.dynamic.Resource(kind), name, nil
	}
	return w.dynamic.Resource(kind).Namespace(w.namespace), name, nil
}

func isGone(ctx context.Context, objects dynamic.ResourceInterface, name string) error {
	return poll(ctx, func() (bool, string) {
		_, err := objects.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprintf("%s is still there (%v)", name, err)
	})
}

// budgetSeen waits until what a disruption budget allows is what it says now.
func (w *world) budgetSeen(ctx context.Context, name string) error {
	return poll(ctx, func() (bool, string) {
		budget, err := w.plane.Client().PolicyV1().PodDisruptionBudgets(w.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return budget.Status.ObservedGeneration >= budget.Generation,
			fmt.Sprintf("generation %d of the budget %s is seen, want %d",
				budget.Status.ObservedGeneration, name, budget.Generation)
	})
}

func (w *world) cmdStatus(c *call) error {
	pattern, err := regexp.Compile(c.args[0])
	if err != nil {
		return err
	}
	state := ""
	return poll(c.ctx, func() (bool, string) {
		process := exec.CommandContext(c.ctx, binary, "status", "--kubeconfig="+w.plane.PlimsollKubeconfig())
		out, err := process.CombinedOutput()
		if c.ctx.Err() == nil {
			state = fmt.Sprintf("plimsoll status has nothing like %s (%v):\n%s", pattern, err, out)
		}
		return err == nil && pattern.Match(out), state
	})
}
