package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// cmdLinger takes nodes out of KWOK's hands, which ends every pod at once. The
// nodes stay as ready as they are.
func (w *world) cmdLinger(c *call) error {
	for _, group := range c.args {
		nodes := w.nodesOf(group)
		if len(nodes) == 0 {
			return fmt.Errorf("%s has no node", group)
		}
		for _, node := range nodes {
			if err := w.attend(c.ctx, node.Name, unattended); err != nil {
				return err
			}
		}
	}
	return nil
}

// endingPods are the script's pods that are being deleted and are still there.
func (w *world) endingPods(selector labels.Selector) []*corev1.Pod {
	all, err := w.pods.Pods(w.namespace).List(selector)
	if err != nil {
		panic(err) // a lister of a cache never fails
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil })
}

func (w *world) cmdEnding(c *call) error {
	want, selector, err := countAndSelector(c, 0)
	if err != nil {
		return err
	}
	grace, err := c.number(2)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		n, state := 0, ""
		for _, pod := range w.endingPods(selector) {
			has := ptr.Deref(pod.DeletionGracePeriodSeconds, -1)
			if has == int64(grace) {
				n++
			}
			state += fmt.Sprintf("; %s has %d s", pod.Name, has)
		}
		return n == want, fmt.Sprintf("%d pods have %d s to end, want %d%s", n, grace, want, state)
	})
}

// cmdFinish does what a kubelet does when all containers of a pod have ended.
func (w *world) cmdFinish(c *call) error {
	want, selector, err := countAndSelector(c, 0)
	if err != nil {
		return err
	}
	var ending []*corev1.Pod
	err = poll(c.ctx, func() (bool, string) {
		ending = w.endingPods(selector)
		return len(ending) == want, fmt.Sprintf("%d pods are being deleted, want %d", len(ending), want)
	})
	if err != nil {
		return err
	}
	for _, pod := range ending {
		err := w.plane.Client().CoreV1().Pods(pod.Namespace).Delete(c.ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("end the pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// cmdWaited looks at the pods that are there now. Times are reported in whole seconds,
// so that one may be lost in rounding.
func (w *world) cmdWaited(c *call) error {
	most, selector, err := countAndSelector(c, 0)
	if err != nil {
		return err
	}
	longest, which := time.Duration(0), ""
	for _, pod := range w.podsIn(w.namespace, selector) {
		at := slices.IndexFunc(pod.Status.Conditions, func(x corev1.PodCondition) bool {
			return x.Type == corev1.PodScheduled && x.Status == corev1.ConditionTrue
		})
		if at < 0 {
			return fmt.Errorf("%s has no node yet", pod.Name)
		}
		if waited := pod.Status.Conditions[at].LastTransitionTime.Sub(pod.CreationTimestamp.Time); waited >= longest {
			longest, which = waited, pod.Name
		}
	}
	if which == "" {
		return fmt.Errorf("no pod is like %s", selector)
	}
	if longest > time.Duration(most)*time.Second {
		return fmt.Errorf("%s waited %s for its node, want at most %d s", which, longest, most)
	}
	c.script.Logf("the longest wait for a node was %s, of %s", longest, which)
	return nil
}

// healthyPod is what a disruption budget counts of a pod.
type healthyPod struct {
	namespace string
	labels    labels.Set
	healthy   bool
}

func healthOf(pod *corev1.Pod) healthyPod {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return healthyPod{pod.Namespace, pod.Labels, ready && pod.DeletionTimestamp == nil}
}

// guard is a number of healthy pods that must be there at every instant.
type guard struct {
	namespace string
	selector  labels.Selector
	least     int
	lowest    int
	at        time.Time // when it was that low
}

func (g *guard) String() string {
	return fmt.Sprintf("%d healthy pods like %s at %s, want at least %d at any time",
		g.lowest, g.selector, g.at.Format(time.TimeOnly), g.least)
}

// sawPod keeps every pod's health as the watch tells it, and holds it against the
// guards.
func (r *rig) sawPod(object any) {
	if pod, ok := object.(*corev1.Pod); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.health[pod.UID] = healthOf(pod)
		r.look()
	}
}

func (r *rig) lostPod(object any) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.health, pod.UID)
		r.look()
	}
}

// look counts for every guard. The caller holds the lock.
func (r *rig) look() {
	for _, g := range r.guards {
		n := 0
		for _, pod := range r.health {
			if pod.healthy && pod.namespace == g.namespace && g.selector.Matches(pod.labels) {
				n++
			}
		}
		if n < g.lowest {
			g.lowest, g.at = n, time.Now()
		}
	}
}

// cmdGuard waits until that many are there, and begins then. A later guard of the
// same pods takes the place of an earlier one that has held.
func (w *world) cmdGuard(c *call) error {
	least, selector, err := countAndSelector(c, 0)
	if err != nil {
		return err
	}
	g := &guard{namespace: w.namespace, selector: selector, least: least}
	return poll(c.ctx, func() (bool, string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		g.lowest = len(w.health)
		w.rig.guards = append(w.rig.guards, g)
		w.look()
		if g.lowest < least {
			w.rig.guards = w.rig.guards[:len(w.rig.guards)-1]
			return false, g.String()
		}
		w.rig.guards = slices.DeleteFunc(w.rig.guards, func(o *guard) bool {
			return o != g && o.selector.String() == selector.String() && o.lowest >= o.least
		})
		return true, ""
	})
}

// endGuards fails the test for every guard that has not held.
func (w *world) endGuards(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.rig.guards {
		if g.lowest < g.least {
			t.Error(g)
		} else {
			t.Logf("never fewer than %d healthy pods like %s", g.lowest, g.selector)
		}
	}
	w.rig.guards = nil
}
