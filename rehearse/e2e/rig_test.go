package e2e

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	worlds "github.com/plimsoll-dev/plimsoll/rehearse/world"
)

const (
	startTimeout = 5 * time.Minute

	// groupAnnotation names the node group of a simulated node of kwok's.
	groupAnnotation = "cluster-autoscaler.kwok.nodegroup/name"
	// faultAnnotation, on a template, is what goes wrong with the group's machines.
	faultAnnotation = "cluster-autoscaler.kwok.nodegroup/fault"
)

// rig is a control plane, and what the tests watch of it. Counts come from the
// watch, so that waiting for a thousand pods costs the API server nothing.
type rig struct {
	plane   *controlplane.ControlPlane
	dynamic dynamic.Interface
	nodes   corelisters.NodeLister
	pods    corelisters.PodLister
	unwatch context.CancelFunc
	aws     *simulatedAWS // nil where it is not the cloud
	capi    *clusterAPI   // nil where it makes no nodes

	mu sync.Mutex
	// created holds the name of every node that was ever seen, by group. A node
	// that was bought twice and given back at once is in it, too.
	created map[string]map[string]bool
	// health is every pod's, and guards what it is held against.
	health map[types.UID]healthyPod
	guards []*guard
}

// makesWorld makes what a rig's nodes come from.
type makesWorld func(*rig) (worlds.World, error)

func kwokWorld(*rig) (worlds.World, error) { return worlds.Kwok(""), nil }

// reviving is a control plane that revives what is killed.
var reviving = controlplane.Config{KeepGoing: true}

// ownRig starts a control plane for a test, which ends with it.
func ownRig(t *testing.T, config controlplane.Config, world makesWorld) *rig {
	t.Helper()
	r := startRig(t, config, world)
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error("stop the control plane:", err)
		}
	})
	return r
}

// startRig starts a control plane in a world. The caller stops it.
func startRig(t *testing.T, config controlplane.Config, world makesWorld) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	plane, err := controlplane.Start(ctx, config)
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	r := &rig{plane: plane, created: map[string]map[string]bool{}, health: map[types.UID]healthyPod{}}
	made, err := world(r)
	if err == nil {
		err = made.Enter(ctx, plane)
	}
	if err == nil {
		err = r.watch(ctx)
	}
	if err != nil {
		t.Fatal(errors.Join(err, r.stop()))
	}
	return r
}

func (r *rig) watch(ctx context.Context) error {
	var err error
	if r.dynamic, err = dynamic.NewForConfig(r.plane.AdminConfig()); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(r.plane.Client(), 0)
	nodes, pods := factory.Core().V1().Nodes(), factory.Core().V1().Pods()
	r.nodes, r.pods = nodes.Lister(), pods.Lister()
	if _, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: r.sawNode}); err != nil {
		return err
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: r.sawPod, UpdateFunc: func(_, after any) { r.sawPod(after) }, DeleteFunc: r.lostPod,
	}); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(context.Background())
	r.unwatch = func() { cancel(); factory.Shutdown() }
	factory.StartWithContext(watching)
	return factory.WaitForCacheSyncWithContext(ctx).AsError()
}

// kubeconfigOf writes a kubeconfig with a token of a service account of Plimsoll's namespace.
func (r *rig) kubeconfigOf(t *testing.T, account string) string {
	t.Helper()
	token, err := r.plane.Client().CoreV1().ServiceAccounts(metav1.NamespaceSystem).
		CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin := r.plane.AdminConfig()
	config := clientcmdapi.NewConfig()
	config.Clusters["rig"] = &clientcmdapi.Cluster{
		Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
	}
	config.AuthInfos["account"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["rig"] = &clientcmdapi.Context{Cluster: "rig", AuthInfo: "account"}
	config.CurrentContext = "rig"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *rig) stop() error {
	if r.unwatch != nil {
		r.unwatch()
	}
	return r.plane.Stop()
}

func (r *rig) sawNode(object any) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	group := groupOf(node)
	if r.created[group] == nil {
		r.created[group] = map[string]bool{}
	}
	r.created[group][node.Name] = true
}

// createdIn is how many nodes of a group there have ever been in this script.
func (r *rig) createdIn(group string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.created[group])
}

func (r *rig) forgetCreated() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.created)
}

// nodesOf are the nodes of a group that are not being deleted; all groups for an
// empty name.
func (r *rig) nodesOf(group string) []*corev1.Node {
	all, err := r.nodes.List(labels.Everything())
	if err != nil {
		panic(err) // a lister of a cache never fails
	}
	return slices.DeleteFunc(slices.Clone(all), func(n *corev1.Node) bool {
		return n.DeletionTimestamp != nil || group != "" && groupOf(n) != group
	})
}

// podsIn are the pods of a namespace that are not being deleted.
func (r *rig) podsIn(namespace string, selector labels.Selector) []*corev1.Pod {
	all, err := r.pods.Pods(namespace).List(selector)
	if err != nil {
		panic(err) // as above
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

func groupOf(node *corev1.Node) string {
	// Scripts have groups of Cluster API of one name in several namespaces.
	return cmp.Or(node.Labels[workersLabel], worlds.GroupOf(node))
}
