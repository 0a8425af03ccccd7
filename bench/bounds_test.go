package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// budget is the steps of a cycle where none are measured: two seconds of an ordinary machine.
const budget = 400_000

// TestHostile holds what many tenants, or one who means harm, can write into pods to one cycle's
// budget: steps, and a gigabyte of memory. Where the steps suffice for all, all pods are to have a place.
func TestHostile(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  func() *testkit.Cluster
		served int // at least so many of the pods that wait have a place, or a node to come
	}{
		{"a namespace each", func() *testkit.Cluster { return tenants(10000, host, false) }, 10000},
		{"a namespace each, by its label", func() *testkit.Cluster { return tenants(10000, host, true) }, 10000},
		{"a namespace each, over zones", func() *testkit.Cluster { return tenants(10000, zone, false) }, 1},
		{"selectors that match everything", func() *testkit.Cluster { return alone(apps(500), 1000) }, 1000},
		{"1,000 terms in a pod", func() *testkit.Cluster { return wordy(20, 1000) }, 20},
		{"100,000 sets of labels", func() *testkit.Cluster { return labelled(100_000) }, 1},
		{"selectors that match them all", func() *testkit.Cluster { return alone(labelled(100_000), 1000) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := testkit.Policy()
			p.Share(budget)
			seen := c.world().Observation()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			s := snapshot.New(nil, seen, model.Standing{}, p.Rules)
			plan := decide.Decide(s, p)
			runtime.ReadMemStats(&after)
			bytes := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d steps, %d MB, %d of %d pods, %v", plan.Work.Steps, bytes>>20, served(plan), len(seen.Unbound),
				time.Since(began))
			if plan.Work.Steps > budget {
				t.Errorf("%d steps, where a cycle has %d", plan.Work.Steps, budget)
			}
			if bytes > 1<<30 {
				t.Errorf("%d MB were allocated, where a process may have 1,024", bytes>>20)
			}
			if n := served(plan); n < c.served {
				t.Errorf("%d pods are served, %d can be", n, c.served)
			}
		})
	}
}

// served is how many of the pods that wait have a place, or will have.
func served(p model.Plan) (n int) {
	for i := range p.Pending {
		n += p.Pending[i].Pods - p.Pending[i].Left - p.Pending[i].Delayed
	}
	return n
}

// tenants is as many namespaces, with one app in each that will not share a domain with itself: one
// pod runs, and one waits. All of them call their app the same, and say which namespace is theirs by
// being in it, or by its label.
func tenants(n int, key string, byLabel bool) *testkit.Cluster {
	c := occupied(n / 20)
	for i := range n {
		space := fmt.Sprintf("tenant-%05d", i)
		c.Namespaces[space] = map[string]string{corev1.LabelMetadataName: space, "team": fmt.Sprint(i % 100)}
		p := testkit.Pod(space, "web", "100m", "128Mi", map[string]string{"app": "web"})
		testkit.Apart(p, key, p.Labels)
		if byLabel {
			onlyTerm(p).NamespaceSelector = &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: space},
			}
		}
		c.Bound(p, 1, fmt.Sprintf("n%05d", i/20))
		c.Pending(p, 1)
	}
	return c
}

func onlyTerm(p *corev1.Pod) *corev1.PodAffinityTerm {
	return &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
}

// apps is running pods of as many apps.
func apps(n int) *testkit.Cluster {
	c := occupied(n)
	for i := range n {
		c.Bound(appPod(fmt.Sprintf("app%03d", i), "500m", "2Gi"), 20, fmt.Sprintf("n%05d", i))
	}
	return c
}

// alone adds pods that want a node to themselves, without any other: each says so in a selector
// of its own that matches everything.
func alone(c *testkit.Cluster, pods int) *testkit.Cluster {
	for i := range pods {
		p := testkit.Pod("tenant", fmt.Sprintf("alone%04d", i), "100m", "128Mi", map[string]string{"app": "alone"})
		testkit.Apart(p, host, nil)
		term := onlyTerm(p)
		term.NamespaceSelector = &metav1.LabelSelector{}
		term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{fmt.Sprint("none-", i)}},
		}}
		c.Pending(p, 1)
	}
	return c
}

// wordy is pods with many terms each, none of which matches them, beside 2,000 apps that some of the
// terms match.
func wordy(pods, terms int) *testkit.Cluster {
	c := occupied(500)
	for i := range 2000 {
		c.Bound(appPod(fmt.Sprintf("app%04d", i), "500m", "2Gi"), 5, fmt.Sprintf("n%05d", i/4))
	}
	for i := range pods {
		p := appPod(fmt.Sprintf("wordy%03d", i), "100m", "128Mi")
		for k := range terms {
			key := host
			if k%2 == 1 {
				key = zone
			}
			testkit.Apart(p, key, map[string]string{"app": fmt.Sprintf("other%03d-%04d", i, k)})
		}
		c.Pending(p, 1)
	}
	return c
}

// labelled is running pods of which each has a label of its own, which one pod that waits reads.
func labelled(n int) *testkit.Cluster {
	c := occupied(n / 20)
	for i := range n {
		app := fmt.Sprintf("job%02d", i%20)
		c.Bound(testkit.Pod("default", app, fmt.Sprintf("%dm", 520+i%20), "2Gi", map[string]string{
			"app": app, "id": fmt.Sprintf("%08x", i),
		}), 1, fmt.Sprintf("n%05d", i/20))
	}
	p := appPod("reader", "100m", "128Mi")
	testkit.SpreadOver(p, zone, 1, nil)
	p.Spec.TopologySpreadConstraints[0].LabelSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "id", Operator: metav1.LabelSelectorOpDoesNotExist},
		},
	}
	c.Pending(p, 1)
	return c
}
