package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Whether KWOK's controller manages a simulated node.
	kwokAnnotation = "kwok.x-k8s.io/node"
	attended       = "fake"
	unattended     = "unattended"

	// What outlives a Plimsoll, in its namespace.
	machinesConfigMap = "kwok-provider-machines"
	statusConfigMap   = "cluster-autoscaler-status"
)

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (w *world) cmdReady(c *call) error { return w.countNodes(c, "are ready", ready) }

// cmdUnready takes nodes out of KWOK's hands and says of them what a kubelet says
// that cannot work.
func (w *world) cmdUnready(c *call) error {
	groups := c.args[1:]
	if len(groups) == 0 {
		all := map[string]bool{}
		for _, node := range w.nodesOf("") {
			all[groupOf(node)] = true
		}
		groups = slices.Sorted(maps.Keys(all))
	}
	var names []string
	for _, group := range groups {
		nodes := slices.DeleteFunc(w.nodesOf(group), func(n *corev1.Node) bool { return !ready(n) })
		slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
		n, err := shareOf(c.args[0], len(nodes))
		if err != nil {
			return err
		}
		for _, node := range nodes[:n] {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("there is no ready node to take")
	}
	for _, name := range names {
		if err := w.attend(c.ctx, name, unattended); err != nil {
			return err
		}
		w.unattended = append(w.unattended, name)
	}
	// A heartbeat that was under way may come after ours.
	return poll(c.ctx, func() (bool, string) {
		var left []string
		for _, name := range names {
			node, err := w.nodes.Get(name)
			if err != nil || !ready(node) {
				continue
			}
			left = append(left, name)
			if err := w.sayNotReady(c.ctx, node); err != nil {
				return false, err.Error()
			}
		}
		return len(left) == 0, fmt.Sprintf("still ready: %s", strings.Join(left, ", "))
	})
}

// shareOf reads a number of nodes, or a share of them in percent, rounded up.
func shareOf(text string, of int) (int, error) {
	percent, isShare := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(percent)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("want a number of nodes or a share such as 60%%, not %q", text)
	}
	if isShare {
		n = (of*n + 99) / 100
	}
	if n > of {
		return 0, fmt.Errorf("%s of %d ready nodes cannot be taken", text, of)
	}
	return n, nil
}

// cmdRecover gives back to KWOK what `unready` took, as far as it is still there.
func (w *world) cmdRecover(c *call) error {
	names := w.unattended
	w.unattended = nil
	for _, name := range names {
		if err := w.attend(c.ctx, name, attended); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return poll(c.ctx, func() (bool, string) {
		left := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			node, err := w.nodes.Get(name)
			return apierrors.IsNotFound(err) || err == nil && ready(node)
		})
		return len(left) == 0, fmt.Sprintf("not ready again: %s", strings.Join(left, ", "))
	})
}

func (w *world) attend(ctx context.Context, name, by string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, kwokAnnotation, by)
	_, err := w.plane.Client().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("leave the node %q to %q: %w", name, by, err)
	}
	return nil
}

// breaksAfter is the age at which a node breaks, as far as its status tells. One
// that breaks within its first minute is taken for one that still boots, and no
// script waits for a minute.
const breaksAfter = 2 * time.Minute

func (w *world) sayNotReady(ctx context.Context, node *corev1.Node) error {
	name, now := node.Name, metav1.NewTime(time.Now())
	broke := now
	if aged := metav1.NewTime(node.CreationTimestamp.Add(breaksAfter)); aged.After(now.Time) {
		broke = aged
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		Message: "the script wants it so", LastHeartbeatTime: now, LastTransitionTime: broke,
	}}}})
	if err != nil {
		return err
	}
	_, err = w.plane.Client().CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("say that the node %q is not ready: %w", name, err)
	}
	return nil
}

// cmdMachines counts the machines of a group that have no node, as the kwok
// provider remembers them.
func (w *world) cmdMachines(c *call) error {
	want, err := c.number(1)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		object, err := w.configMap(c.ctx, machinesConfigMap)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err.Error()
		}
		n := 0
		for _, text := range object.Data {
			var machine struct{ Group string }
			if err := json.Unmarshal([]byte(text), &machine); err != nil {
				return false, fmt.Sprintf("a machine is told as %q: %v", text, err)
			}
			if machine.Group == c.args[0] {
				n++
			}
		}
		return n == want, w.state(fmt.Sprintf("%s has %d machines without a node, want %d", c.args[0], n, want))
	})
}

// cmdConfigMap reads one entry of a ConfigMap of Plimsoll's namespace, of its
// annotations if it has no such data.
func (w *world) cmdConfigMap(c *call) error {
	keep, keeps := c.option("keep")
	if len(c.args) == 0 {
		return errors.New("want a ConfigMap's name")
	}
	name := c.args[0]
	if len(c.args) == 1 {
		return poll(c.ctx, func() (bool, string) {
			_, err := w.configMap(c.ctx, name)
			return apierrors.IsNotFound(err), fmt.Sprintf("the ConfigMap %s is there (%v)", name, err)
		})
	}
	if len(c.args) != 3 {
		return errors.New("want NAME, or NAME KEY REGEXP")
	}
	key := c.args[1]
	pattern, err := regexp.Compile(c.args[2])
	if err != nil {
		return err
	}
	if keeps && pattern.NumSubexp() != 1 {
		return fmt.Errorf("%s: to keep something, put it in parentheses", pattern)
	}
	return poll(c.ctx, func() (bool, string) {
		object, err := w.configMap(c.ctx, name)
		if err != nil {
			return false, err.Error()
		}
		text, ok := object.Data[key]
		if !ok {
			text, ok = object.Annotations[key]
		}
		found := pattern.FindStringSubmatch(text)
		if keeps && found != nil {
			c.script.Setenv(keep, found[1])
		}
		return ok && found != nil, fmt.Sprintf("%s of the ConfigMap %s (there: %t) has nothing like %s:\n%s",
			key, name, ok, pattern, text)
	})
}

func (w *world) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	object, err := w.plane.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return &corev1.ConfigMap{}, fmt.Errorf("read the ConfigMap %s: %w", name, err)
	}
	return object, nil
}

// forget deletes what a Plimsoll keeps for the next one, lest another test's
// remembers it, and the events about that, lest another test finds them.
func (r *rig) forget(ctx context.Context) error {
	var errs []error
	// those about nodes are in the former
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		err := r.plane.Client().CoreV1().Events(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("source", eventSource).String()})
		if err != nil {
			errs = append(errs, fmt.Errorf("delete Plimsoll's events: %w", err))
		}
	}
	for _, name := range []string{machinesConfigMap, statusConfigMap} {
		err := r.plane.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(ctx, name, metav1.DeleteOptions{})
		if ignoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete the ConfigMap %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
