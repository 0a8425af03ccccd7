package eks

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

var dawn = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// scene is a keeper of the nodes of a served cloud, with a clock of its own.
type scene struct {
	*testing.T
	clock  *awstest.Clock
	cloud  *awstest.Cloud
	server *awstest.Server
	client *fake.Clientset
	store  cache.Indexer // what the keeper has seen of the nodes
	keeper keeper
}

func newScene(t *testing.T, desired int) *scene {
	t.Helper()
	s := &scene{T: t, clock: awstest.NewClock(dawn), client: fake.NewClientset()}
	account := Cluster{
		BootDelay:  metav1.Duration{Duration: time.Minute},
		Nodegroups: []Nodegroup{{Name: "w", InstanceTypes: []string{"m5.large"}, Max: 9, Desired: desired}},
	}.Account()
	var err error
	if s.cloud, err = awstest.New(account, s.clock.Now); err != nil {
		t.Fatal(err)
	}
	if s.server, err = awstest.Listen("127.0.0.1:0", s.cloud); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.server.Close() })
	nodes := informers.NewSharedInformerFactory(s.client, 0).Core().V1().Nodes()
	s.store = nodes.Informer().GetIndexer()
	s.keeper = keeper{
		aws: awstest.Remote{URL: s.server.URL()}, client: s.client, nodes: nodes.Lister(), log: slog.New(slog.DiscardHandler),
	}
	return s
}

// nodes are those of the API server.
func (s *scene) nodes() []corev1.Node {
	s.Helper()
	list, err := s.client.CoreV1().Nodes().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// see shows the keeper what there is.
func (s *scene) see() {
	s.Helper()
	var all []any
	for _, node := range s.nodes() {
		all = append(all, &node)
	}
	if err := s.store.Replace(all, ""); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) look(want int) {
	s.Helper()
	if err := s.keeper.look(s.Context()); err != nil {
		s.Fatal(err)
	}
	if n := len(s.nodes()); n != want {
		s.Fatalf("there are %d nodes, want %d", n, want)
	}
}

func TestAnInstanceIsANodeForAsLongAsItLives(t *testing.T) {
	s := newScene(t, 1)
	s.look(1)
	s.see()
	s.look(1)
	// It boots before it is a node.
	if err := s.cloud.SetDesired("eks-w", 2); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(30 * time.Second)
	s.look(1)
	s.clock.Advance(time.Minute)
	s.look(2)
	// The watch has not shown it yet: no second one is made.
	s.look(2)
	s.see()
	// One that ends is a node to its end.
	if err := s.cloud.SetDesired("eks-w", 1); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(decideAfter)
	if g, _ := s.cloud.Group("eks-w"); len(g.Live()) != 1 || len(g.Instances) != 2 {
		t.Fatalf("the group is %+v", g)
	}
	s.look(2)
	s.clock.Advance(time.Minute)
	s.look(1)
}

// Two instances that draw one address are two nodes.
func TestAnAddressThatIsTaken(t *testing.T) {
	s := newScene(t, 1)
	g, _ := s.cloud.Group("eks-w")
	taken := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName("eu-west-1", g.Instances[0], 0)},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-other"},
	}
	if _, err := s.client.CoreV1().Nodes().Create(t.Context(), taken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.look(2)
	if _, err := s.client.CoreV1().Nodes().
		Get(t.Context(), nodeName("eu-west-1", g.Instances[0], 1), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// Nodes of others are left alone, and so is everything when AWS is away.
func TestNothingIsTakenForGone(t *testing.T) {
	s := newScene(t, 2)
	s.look(2)
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: corev1.NodeSpec{ProviderID: "kwok://other"}}
	if _, err := s.client.CoreV1().Nodes().Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.see()
	s.look(3)
	if err := s.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.keeper.look(t.Context()); err == nil {
		t.Error("it sees no trouble")
	}
	if n := len(s.nodes()); n != 3 {
		t.Errorf("%d nodes are left", n)
	}
}

// No fault of AWS's API keeps a machine from booting.
func TestMachinesDoNotLiveByTheAPI(t *testing.T) {
	s := newScene(t, 2)
	s.cloud.Arm(awstest.Fault{Mishap: awstest.Unavailable})
	s.look(2)
}

func TestRunNodesKeepsOn(t *testing.T) {
	s := newScene(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- RunNodes(ctx, s.server.URL(), s.client, slog.New(slog.DiscardHandler)) }()
	watch, err := s.client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if len(s.nodes()) == 0 {
		select {
		case <-watch.ResultChan():
		case <-time.After(time.Minute):
			t.Fatal(fmt.Errorf("no node came"))
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
