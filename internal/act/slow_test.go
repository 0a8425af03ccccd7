package act

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// slowCluster takes its time before each read of a node and each eviction. The
// fake clientset itself answers one request at a time.
type slowCluster struct {
	kubernetes.Interface
	wait func(ctx context.Context, what string) error
}

func (c slowCluster) CoreV1() typedcorev1.CoreV1Interface {
	return slowCore{c.Interface.CoreV1(), c.wait}
}

type slowCore struct {
	typedcorev1.CoreV1Interface
	wait func(context.Context, string) error
}

func (c slowCore) Nodes() typedcorev1.NodeInterface {
	return slowNodes{c.CoreV1Interface.Nodes(), c.wait}
}

func (c slowCore) Pods(namespace string) typedcorev1.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace), c.wait}
}

type slowNodes struct {
	typedcorev1.NodeInterface
	wait func(context.Context, string) error
}

func (n slowNodes) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Node, error) {
	if err := n.wait(ctx, "node "+name); err != nil {
		return nil, err
	}
	return n.NodeInterface.Get(ctx, name, o)
}

type slowPods struct {
	typedcorev1.PodInterface
	wait func(context.Context, string) error
}

func (p slowPods) EvictV1(ctx context.Context, e *policyv1.Eviction) error {
	if err := p.wait(ctx, "pod "+e.Name); err != nil {
		return err
	}
	return p.PodInterface.EvictV1(ctx, e)
}

// gauge counts how many requests of a kind are under way; each takes a second.
type gauge struct {
	mu         sync.Mutex
	open, most map[string]int
	order      []string
}

func newGauge() *gauge { return &gauge{open: map[string]int{}, most: map[string]int{}} }

func (g *gauge) wait(ctx context.Context, what string) error {
	kind, _, _ := strings.Cut(what, " ")
	count := func(by int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open[kind] += by
		g.most[kind] = max(g.most[kind], g.open[kind])
		if by > 0 {
			g.order = append(g.order, what)
		}
	}
	count(1)
	defer count(-1)
	select {
	case <-time.After(time.Second): // virtual
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nodesAndPods is a cluster with count nodes and count pods.
func nodesAndPods(count int) *fake.Clientset {
	client := answering(nil)
	for i := range count {
		if err := client.Tracker().Add(node(fmt.Sprint("n", i))); err != nil {
			panic(err)
		}
	}
	return client
}

func marks(count int) []model.Call {
	var calls []model.Call
	for i := range count {
		calls = append(calls, model.Call{ID: fmt.Sprint("mark n", i), Verb: model.Mark, Node: fmt.Sprint("n", i)})
	}
	return calls
}

func evictions(count int) []model.Call {
	var calls []model.Call
	for i := range count {
		calls = append(calls, evictCall(fmt.Sprint("p", i)))
	}
	return calls
}
