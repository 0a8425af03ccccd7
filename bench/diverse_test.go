package bench

import (
	"fmt"
	"math/rand"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestDiverse holds plans for many kinds of pods at once to their cost. A fifth of the pods go one a node, so that the
// first is near the least that there can be. 5,000 pods are so many that they are not bound in the order of the
// scheduler's queue when plans are compared, the dearer of them as little as the cheaper one.
func TestDiverse(t *testing.T) {
	for _, c := range []struct {
		pods, nodes int
		price       float64
	}{{1000, 205, 226.1}, {5000, 1076, 1179.5}} {
		p := testkit.Policy()
		plan := decide.Decide(snapshot.New(nil, diverse(c.pods).Observation(), model.Standing{}, p.Rules), p)
		if plan.Nodes > c.nodes || plan.Price > c.price || served(plan) < c.pods {
			t.Errorf("%d of %d pods are served by %d nodes for %.1f, where %d for %.1f do for all",
				served(plan), c.pods, plan.Nodes, plan.Price, c.nodes, c.price)
		}
	}
}

// diverse is an empty cluster of 400 groups, each of one type in one of three
// zones, from 1 to 400 cores, and pods of five kinds, a fifth each: plain ones;
// spread over zones; spread over hostnames; with an affinity to their own kind in
// a zone; and one a node. Requests and labels are drawn, so that most pods are a
// class of their own.
func diverse(pods int) *testkit.Cluster {
	c := testkit.New()
	for i := range 400 {
		price := 0.1*float64(i+1) + 0.1*float64(int64(2*(i+1))<<30)/1e9
		c.Group(fmt.Sprintf("type-%03d", i), 0, 10000, machine(i)).PricePerHour = &price
	}
	d := drawn{rand.New(rand.NewSource(42)), map[string]int{}, nil, nil}
	for _, kind := range []func(*drawn) *corev1.Pod{
		func(d *drawn) *corev1.Pod { p, _ := d.pod("any", "any"); return p },
		func(d *drawn) *corev1.Pod {
			p, about := d.pod("my-label", "my-label")
			testkit.SpreadOver(p, zone, 1, about)
			return p
		},
		func(d *drawn) *corev1.Pod {
			p, about := d.pod("my-label", "my-label")
			testkit.SpreadOver(p, corev1.LabelHostname, 1, about)
			return p
		},
		func(d *drawn) *corev1.Pod {
			p, _ := d.pod("my-affinity", "my-affinity")
			testkit.Together(p, zone, p.Labels)
			return p
		},
		func(d *drawn) *corev1.Pod {
			p, _ := d.pod("any", "any")
			p.Labels = map[string]string{"app": "lone"}
			testkit.Apart(p, corev1.LabelHostname, p.Labels)
			return p
		},
	} {
		for range pods / 5 {
			d.add(kind(&d))
		}
	}
	for i, p := range d.pods {
		c.Pending(p, d.counts[i])
	}
	return c
}

// machine is a node of the type i, less what the kubelet keeps.
func machine(i int) *corev1.Node {
	n := testkit.Node("", fmt.Sprintf("%dm", 1000*(i+1)-100), fmt.Sprintf("%dMi", 2048*(i+1)-10), map[string]string{
		zone: string(rune('a' + i%3)), corev1.LabelInstanceTypeStable: fmt.Sprintf("type-%03d", i),
	})
	pods := *resource.NewQuantity(int64(10*(i+1)), resource.DecimalSI)
	n.Status.Allocatable[corev1.ResourcePods] = pods
	n.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(i+1), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(2*(i+1))<<30, resource.BinarySI),
		corev1.ResourcePods:   pods,
	}
	return n
}

// drawn are pods, each kind once, with how many there are of it.
type drawn struct {
	*rand.Rand
	at     map[string]int
	pods   []*corev1.Pod
	counts []int
}

// pod draws requests, a label, and a selector of its own that need not match it.
func (d *drawn) pod(label, selector string) (p *corev1.Pod, about map[string]string) {
	cpu := []int{100, 250, 500, 1000, 1500}[d.Intn(5)]
	memory := []int{100, 256, 512, 1024, 2048, 4096}[d.Intn(6)]
	own := map[string]string{label: string(rune('a' + d.Intn(7)))}
	about = map[string]string{selector: string(rune('a' + d.Intn(7)))}
	return testkit.Pod("default", fmt.Sprintf("p%05d", len(d.pods)), fmt.Sprintf("%dm", cpu),
		fmt.Sprintf("%dMi", memory), own), about
}

func (d *drawn) add(p *corev1.Pod) {
	spec, _ := p.Spec.Marshal()
	key := fmt.Sprint(p.Labels, spec)
	i, ok := d.at[key]
	if !ok {
		i = len(d.pods)
		d.at[key] = i
		d.pods, d.counts = append(d.pods, p), append(d.counts, 0)
	}
	d.counts[i]++
}
