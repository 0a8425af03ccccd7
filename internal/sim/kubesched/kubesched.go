package kubesched

import (
	"context"
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Scheduler is one kube-scheduler. It serves one goroutine. Close it in the end.
type Scheduler struct {
	dice       *rand.Rand
	cache      cache.Cache
	seen       *cache.Snapshot
	profile    framework.Framework
	preemption *defaultpreemption.DefaultPreemption
	informers  informers.SharedInformerFactory
	nominated  nominated
	next       int // the node that it looks at first, as kube-scheduler's nextStartNodeIndex
	ctx        context.Context
	end        context.CancelFunc

	// Budgets are those that preemption spares, as far as others can make the room.
	Budgets []*policyv1.PodDisruptionBudget
	// Mind is where it differs from kube-scheduler as it ships.
	Mind Mind
}

// Mind is what people put into a scheduler. The zero value is kube-scheduler as it ships.
type Mind struct {
	// Avoids is a filter beside the others: nodes that no pod may go to. Nil: none.
	Avoids func(node string) bool
	// Contrary: of the nodes that fit it takes the one with the lowest score.
	Contrary bool
}

// New makes a scheduler of an empty cluster, which draws from the dice between nodes of equal score.
func New(dice *rand.Rand) (*Scheduler, error) {
	schedsim.InitMetrics()
	s := &Scheduler{dice: dice, informers: informers.NewSharedInformerFactory(nil, 0), nominated: nominated{},
		seen: cache.NewEmptySnapshot()}
	ctx, end := context.WithCancel(context.Background())
	s.ctx, s.end = klog.NewContext(ctx, klog.Background()), end
	s.cache = cache.New(s.ctx, nil, false, false)
	conf, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read the scheduler's default configuration: %w", err)
	}
	profile := conf.Profiles[0]
	profile.Plugins = profile.Plugins.DeepCopy()
	all := &profile.Plugins.MultiPoint
	all.Enabled = without(all.Enabled, names.DynamicResources) // no pod of a world claims any
	registry := plugins.NewInTreeRegistry()
	preemption := registry[names.DefaultPreemption]
	registry[names.DefaultPreemption] = func(c context.Context, args apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
		made, err := preemption(c, args, h)
		s.preemption, _ = made.(*defaultpreemption.DefaultPreemption)
		return made, err
	}
	s.profile, err = runtime.NewFramework(s.ctx, registry, &profile,
		runtime.WithInformerFactory(s.informers), runtime.WithParallelism(1), runtime.WithPodNominator(s.nominated),
		runtime.WithSnapshotSharedLister(s.seen), runtime.WithMutableSnapshotLister(s.seen),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(s.informers.Storage().V1().CSINodes().Lister())),
		runtime.WithLogger(klog.Background()),
	)
	if err != nil {
		return nil, fmt.Errorf("build the scheduler's default profile: %w", err)
	}
	return s, nil
}

func without(all []config.Plugin, name string) (left []config.Plugin) {
	for _, p := range all {
		if p.Name != name {
			left = append(left, p)
		}
	}
	return left
}

// Close ends what the plugins run in the background.
func (s *Scheduler) Close() { s.end() }

// PutNode takes in a node; old is what it was, nil for a new one.
func (s *Scheduler) PutNode(old, node *corev1.Node) {
	if old == nil {
		s.cache.AddNode(klog.Background(), node)
		return
	}
	s.cache.UpdateNode(klog.Background(), old, node)
}

// DropNode takes in that a node is gone.
func (s *Scheduler) DropNode(node *corev1.Node) error {
	return s.cache.RemoveNode(klog.Background(), node)
}

// PutPod takes in a pod that has a node; old is what it was there, nil if it had none.
func (s *Scheduler) PutPod(old, pod *corev1.Pod) error {
	if old == nil {
		return s.cache.AddPod(klog.Background(), pod)
	}
	return s.cache.UpdatePod(klog.Background(), old, pod)
}

// DropPod takes in that a pod which had a node is gone.
func (s *Scheduler) DropPod(pod *corev1.Pod) error { return s.cache.RemovePod(klog.Background(), pod) }

// PutNamespace takes in a namespace's labels.
func (s *Scheduler) PutNamespace(name string, labels map[string]string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	return s.informers.Core().V1().Namespaces().Informer().GetIndexer().Add(ns)
}

// PutReplicaSet takes in a controller whose pods have these labels. The scheduler spreads its pods if
// nothing else says where they are to be.
func (s *Scheduler) PutReplicaSet(namespace, name string, labels map[string]string) error {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	return s.informers.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(set)
}

// nominated are the pods that room is being made for, by node.
type nominated map[string][]fwk.PodInfo

func (n nominated) NominatedPodsForNode(node string) []fwk.PodInfo { return n[node] }

func (n nominated) AddNominatedPod(_ klog.Logger, pod fwk.PodInfo, to *fwk.NominatingInfo) {
	n.DeleteNominatedPodIfExists(pod.GetPod())
	n[to.NominatedNodeName] = append(n[to.NominatedNodeName], pod)
}

func (n nominated) DeleteNominatedPodIfExists(pod *corev1.Pod) {
	for node, pods := range n {
		for i, p := range pods {
			if p.GetPod().UID == pod.UID {
				n[node] = append(pods[:i:i], pods[i+1:]...)
				return
			}
		}
	}
}

func (n nominated) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo) {}
