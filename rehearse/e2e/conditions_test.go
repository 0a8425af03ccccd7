package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

func (w *world) cmdBound(c *call) error {
	allowed := 0
	if text, ok := c.option("diverged"); ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-diverged: %w", err)
		}
		allowed = n
	}
	// Whether KWOK starts what was bound is no concern of a script that has killed
	// what KWOK lives on.
	_, placed := c.option("placed")
	want, selector, err := countAndSelector(c, 0)
	if err != nil {
		return err
	}
	counts := func(pods []*corev1.Pod) (good int, state string) {
		phases := map[corev1.PodPhase]int{}
		for _, pod := range pods {
			if pod.Spec.NodeName == "" {
				continue
			}
			phases[pod.Status.Phase]++
			if placed || pod.Status.Phase == corev1.PodRunning {
				good++
			}
		}
		return good, fmt.Sprintf("of %d pods %d are bound, by phase %v, want %d", len(pods), sum(phases), phases, want)
	}
	asked := time.Now()
	err = poll(c.ctx, func() (bool, string) {
		pods := w.podsIn(w.namespace, selector)
		good, state := counts(pods)
		// A watch that lived through a crash is not the last word.
		if good != want && time.Since(asked) > askAgain {
			asked = time.Now()
			if there, err := w.podsThere(c.ctx, selector); err == nil {
				pods = there
				good, state = counts(pods)
				state += ", by the API server"
			}
		}
		return len(pods) == want && good == want, w.state(state)
	})
	if err != nil {
		return err
	}
	diverged, err := w.diverged()
	if err != nil {
		return err
	}
	if diverged > float64(allowed) {
		return fmt.Errorf("every pod is bound, and plimsoll_plan_divergence_total is %v, want at most %d: a plan was not "+
			"what the scheduler did", diverged, allowed)
	}
	if allowed > 0 {
		c.script.Logf("plimsoll_plan_divergence_total is %v; up to %d are in the nature of this script", diverged, allowed)
	}
	return nil
}

func sum[K comparable](counts map[K]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// podsThere are the script's pods as the API server has them.
func (w *world) podsThere(ctx context.Context, selector labels.Selector) ([]*corev1.Pod, error) {
	list, err := w.plane.Client().CoreV1().Pods(w.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

// state adds to how a condition stands what a person would look at next.
func (w *world) state(text string) string {
	byGroup := map[string]int{}
	for _, node := range w.nodesOf("") {
		byGroup[groupOf(node)]++
	}
	text += fmt.Sprintf("; nodes by group: %v", byGroup)
	for _, pod := range w.podsIn(w.namespace, labels.Everything()) {
		if message, refused := refusal(pod); refused {
			return text + fmt.Sprintf("; %s is pending: %s", pod.Name, message)
		}
	}
	return text
}

// refusal is what the scheduler said when it found no node for a pod.
func refusal(pod *corev1.Pod) (string, bool) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && pod.Spec.NodeName == "" {
			return condition.Message, true
		}
	}
	return "", false
}

func (w *world) cmdPending(c *call) error {
	want, selector, err := countAndSelector(c, 0)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		refused := 0
		for _, pod := range w.podsIn(w.namespace, selector) {
			if _, ok := refusal(pod); ok {
				refused++
			}
		}
		return refused == want, w.state(fmt.Sprintf("%d pods are refused, want %d", refused, want))
	})
}

func (w *world) cmdNodes(c *call) error {
	_, atLeast := c.option("atleast")
	_, atMost := c.option("atmost")
	keep, keeps := c.option("keep")
	want, err := c.number(1)
	if err != nil {
		return err
	}
	asked := time.Now()
	err = poll(c.ctx, func() (bool, string) {
		n, by := len(w.nodesOf(c.args[0])), "by the watch"
		// A watch that lived through a crash is not the last word.
		if n != want && time.Since(asked) > askAgain {
			asked = time.Now()
			if there, err := w.nodesThere(c.ctx, c.args[0]); err == nil {
				n, by = there, "by the API server"
			}
		}
		return n == want || atLeast && n > want ||
			atMost && n < want, w.state(fmt.Sprintf("%s has %d nodes %s, want %d", c.args[0], n, by, want))
	})
	if err != nil || !keeps {
		return err
	}
	var names []string
	for _, node := range w.nodesOf(c.args[0]) {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	c.script.Setenv(keep, strings.Join(names, "|"))
	return nil
}

// askAgain is how often the API server itself is asked where the watch shows
// something else than what is waited for.
const askAgain = 2 * time.Second

// nodesThere counts a group's nodes by asking the API server, and takes note of
// those that the watch has not shown.
func (w *world) nodesThere(ctx context.Context, group string) (int, error) {
	list, err := w.plane.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range list.Items {
		w.sawNode(&list.Items[i])
		if node := &list.Items[i]; node.DeletionTimestamp == nil && groupOf(node) == group {
			n++
		}
	}
	return n, nil
}

func (w *world) cmdCreated(c *call) error {
	_, atMost := c.option("atmost")
	want, err := c.number(1)
	if err != nil {
		return err
	}
	if _, err := w.nodesThere(c.ctx, c.args[0]); err != nil {
		return err
	}
	if n := w.createdIn(c.args[0]); n != want && !(atMost && n < want) {
		return fmt.Errorf("%s has had %d nodes since the script began, want %d", c.args[0], n, want)
	}
	return nil
}

func (w *world) cmdPodsOn(c *call) error {
	_, atLeast := c.option("atleast")
	_, atMost := c.option("atmost")
	want, selector, err := countAndSelector(c, 1)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		on := map[string]bool{}
		for _, node := range w.nodesOf(c.args[0]) {
			on[node.Name] = true
		}
		n := 0
		for _, pod := range w.podsIn(w.namespace, selector) {
			if on[pod.Spec.NodeName] {
				n++
			}
		}
		return n == want || atLeast && n > want ||
			atMost && n < want, w.state(fmt.Sprintf("%d pods are on nodes of %s, want %d", n, c.args[0], want))
	})
}

func (w *world) cmdDaemons(c *call) error {
	selector, err := labels.Parse(c.args[0])
	if err != nil {
		return err
	}
	group := strings.Join(c.args[1:], "")
	return poll(c.ctx, func() (bool, string) {
		on := map[string]bool{}
		for _, pod := range w.podsIn(w.namespace, selector) {
			if pod.Status.Phase == corev1.PodRunning {
				on[pod.Spec.NodeName] = true
			}
		}
		nodes := w.nodesOf(group)
		without := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return !on[n.Name] })
		return len(nodes) > 0 &&
			without < 0, w.state(fmt.Sprintf("%d of %d nodes have a pod of %s", len(on), len(nodes), selector))
	})
}

func (w *world) cmdSpread(c *call) error {
	want := map[string]int{}
	for i, arg := range c.args[1:] {
		value, count, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(count)
		if err != nil {
			return fmt.Errorf("argument %d: want VALUE=N: %w", i+2, err)
		}
		want[value] = n
	}
	return poll(c.ctx, func() (bool, string) {
		valueOf := map[string]string{}
		for _, node := range w.nodesOf("") {
			valueOf[node.Name] = node.Labels[c.args[0]]
		}
		have := map[string]int{}
		for _, pod := range w.podsIn(w.namespace, labels.Everything()) {
			if pod.Spec.NodeName != "" {
				have[valueOf[pod.Spec.NodeName]]++
			}
		}
		return maps.Equal(have, want), w.state(fmt.Sprintf("pods by %s: %v, want %v", c.args[0], have, want))
	})
}

func countAndSelector(c *call, at int) (int, labels.Selector, error) {
	n, err := c.number(at)
	if err != nil || len(c.args) < at+2 {
		return n, labels.Everything(), err
	}
	selector, err := labels.Parse(c.args[at+1])
	return n, selector, err
}

func (w *world) cmdLog(c *call) error {
	p, err := w.plimsollNamed(w.plimsollName(c))
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(c.args[0])
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		data, err := os.ReadFile(p.log)
		return err == nil && pattern.Match(data), fmt.Sprintf("the log of %s has nothing like %s", p.name, pattern)
	})
}

func (w *world) cmdMetric(c *call) error {
	p, err := w.plimsollNamed(w.plimsollName(c))
	if err != nil {
		return err
	}
	want, err := strconv.ParseFloat(c.args[1], 64)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		samples, err := p.metrics()
		value, ok := samples[c.args[0]]
		return ok && value == want, fmt.Sprintf("%s of %s is %v (there: %t), want %v (%v)",
			c.args[0], p.name, value, ok, want, err)
	})
}

// idleCycles is how many cycles in a row must have had nothing to do.
const idleCycles = 2

func (w *world) cmdIdle(c *call) error {
	p, err := w.plimsollNamed(w.plimsollName(c))
	if err != nil {
		return err
	}
	since := -1.0
	return poll(c.ctx, func() (bool, string) {
		samples, err := p.metrics()
		if err != nil {
			return false, err.Error()
		}
		cycles := samples[cyclesMetric]
		var busy []string
		for _, name := range []string{
			"plimsoll_plan_nodes", `plimsoll_upcoming_nodes{state="coming"}`, `plimsoll_upcoming_nodes{state="booting"}`,
		} {
			if value, ok := samples[name]; !ok || value > 0 {
				busy = append(busy, fmt.Sprintf("%s %v", name, value))
			}
		}
		if len(busy) > 0 || since < 0 {
			since = cycles
		}
		return cycles >= since+idleCycles, fmt.Sprintf("%v cycles without work; %s", cycles-since, strings.Join(busy, ", "))
	})
}

// eventSource is who Plimsoll's events are from.
const eventSource = "cluster-autoscaler"

// cmdEvent looks at events about objects of the script's namespace, about nodes and
// about Plimsoll's own ConfigMap, as far as they happened in this script.
func (w *world) cmdEvent(c *call) error {
	pattern, err := regexp.Compile(c.args[1])
	if err != nil {
		return err
	}
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("reason", c.args[0]).String()}
	state := ""
	return poll(c.ctx, func() (bool, string) {
		var said []string
		for _, namespace := range []string{w.namespace, metav1.NamespaceDefault, metav1.NamespaceSystem} {
			events, err := w.plane.Client().CoreV1().Events(namespace).List(c.ctx, options)
			if err != nil {
				return false, cmp.Or(state, err.Error()) // time may be over: what was read before tells more
			}
			for _, event := range events.Items {
				if event.Source.Component == eventSource {
					said = append(said, event.InvolvedObject.Kind+" "+event.InvolvedObject.Name+": "+event.Message)
				}
			}
		}
		state = fmt.Sprintf("%d events %s, none like %s; the last: %q",
			len(said), c.args[0], pattern, said[max(0, len(said)-1):])
		return slices.ContainsFunc(said, pattern.MatchString), state
	})
}

func (w *world) cmdLease(c *call) error {
	leases := w.plane.Client().CoordinationV1().Leases(metav1.NamespaceSystem)
	holder := func() (*coordinationv1.Lease, string, error) {
		lease, err := leases.Get(c.ctx, leaseName, metav1.GetOptions{})
		if err != nil {
			return nil, "", err
		}
		return lease, ptr.Deref(lease.Spec.HolderIdentity, ""), nil
	}
	switch c.args[0] {
	case "absent":
		return poll(c.ctx, func() (bool, string) {
			_, name, err := holder()
			return apierrors.IsNotFound(err), fmt.Sprintf("the lease is there, held by %q (%v)", name, err)
		})
	case "free", "held":
		return poll(c.ctx, func() (bool, string) {
			_, name, err := holder()
			return err == nil && (name == "") == (c.args[0] == "free"), fmt.Sprintf("the lease is held by %q (%v)", name, err)
		})
	case "steal":
		return poll(c.ctx, func() (bool, string) {
			lease, _, err := holder()
			if err != nil {
				return false, err.Error()
			}
			lease.Spec.HolderIdentity = ptr.To("another-process")
			lease.Spec.LeaseDurationSeconds = ptr.To[int32](600)
			lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
			_, err = leases.Update(c.ctx, lease, metav1.UpdateOptions{})
			return err == nil, fmt.Sprint(err) // the leader may have renewed it meanwhile
		})
	}
	return fmt.Errorf("lease %s: want absent, free, held or steal", c.args[0])
}
