package component

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	"sigs.k8s.io/kwok/kustomize/stage/node/heartbeat"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/config/resources"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/informer"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"
)

// again is how often kwok is shown what is not as it should be.
const again = 5 * time.Second

const (
	fakeNodeAnnotation = "kwok.x-k8s.io/node"
	fakeNodeValue      = "fake"

	// Pod addresses that never collide with the service range, and enough of them:
	// kwok draws those of all nodes from this one range.
	podCIDR = "10.128.0.0/9"

	// A kubelet reports an unchanged node every five minutes; so does kwok here,
	// spread over one more minute so that a thousand nodes of one age do not report
	// at once. The controller manager's grace period fits this pace (NodeHeartbeat).
	// There are no node leases: with them, kwok skips a pod that is bound before it
	// sees itself hold the node's lease, and may never look at it again.
	heartbeatMillis    = 5 * 60 * 1000
	heartbeatMaxMillis = 6 * 60 * 1000

	// NodeHeartbeat is the longest time between two heartbeats of a fake node.
	NodeHeartbeat = heartbeatMaxMillis * time.Millisecond

	nodeParallelism = 8
	podParallelism  = 16

	byNode = "node" // the index of pods
)

// simulate runs kwok's node and pod controllers until ctx ends. It returns at
// once; the returned func reports whether everything is listed.
//
// The controllers are fed by our own informers. Those that kwok's whole program
// uses begin every watch at version zero, so that a broken watch sends all pods
// again; and under load the API server breaks watches dozens of times a minute.
// Ours resume where they were, and queue without bound before the work.
//
// What could not be written, since the API server or its store was away, kwok
// tries no further: nodes that are not ready and pods that do not run are shown
// to it again and again.
func simulate(ctx context.Context, client kubernetes.Interface) (synced func() bool, err error) {
	nodes := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(dropManagedFields)).
		Core().V1().Nodes().Informer()
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(dropManagedFields),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		})).Core().V1().Pods().Informer()
	if err := pods.AddIndexers(cache.Indexers{byNode: nodeOfPod}); err != nil {
		return nil, fmt.Errorf("index pods by node: %w", err)
	}

	nodeEvents := make(chan informer.Event[*corev1.Node])
	podEvents := make(chan informer.Event[*corev1.Pod])
	nodeController, podController, err := newControllers(client, nodes.GetIndexer(), func(node string) {
		// A pod that was bound before its node was known has been passed over.
		bound, err := pods.GetIndexer().ByIndex(byNode, node)
		if err != nil {
			slog.Error("cannot find the pods of a new node", "node", node, "error", err)
			return
		}
		for _, pod := range bound {
			send(ctx, podEvents, informer.Sync, pod)
		}
	})
	if err != nil {
		return nil, err
	}

	nodesHandled, err := nodes.AddEventHandlerWithResyncPeriod(newNodes(ctx, nodeEvents), again)
	if err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	podsHandled, err := pods.AddEventHandlerWithResyncPeriod(newPods(ctx, podEvents), again)
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	if err := collectOrphans(ctx, client, nodes); err != nil {
		return nil, err
	}
	if err := nodeController.Start(ctx, nodeEvents); err != nil {
		return nil, fmt.Errorf("start the node controller: %w", err)
	}
	if err := podController.Start(ctx, podEvents); err != nil {
		return nil, fmt.Errorf("start the pod controller: %w", err)
	}
	go nodes.RunWithContext(ctx)
	go pods.RunWithContext(ctx)
	return func() bool { return nodesHandled.HasSynced() && podsHandled.HasSynced() }, nil
}

// newControllers makes kwok's controllers; known is called with every node that
// they begin to care for.
func newControllers(
	client kubernetes.Interface, nodes cache.Indexer, known func(node string),
) (*controllers.NodeController, *controllers.PodController, error) {
	nodeStages, err := newLifecycle(nodefast.DefaultNodeInit, heartbeat.DefaultNodeHeartbeat)
	if err != nil {
		return nil, nil, err
	}
	podStages, err := newLifecycle(podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete)
	if err != nil {
		return nil, nil, err
	}
	nodeController, err := controllers.NewNodeController(controllers.NodeControllerConfig{
		Clock:                clock.RealClock{},
		TypedClient:          client,
		OnNodeManagedFunc:    known,
		Lifecycle:            nodeStages,
		PlayStageParallelism: nodeParallelism,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make the node controller: %w", err)
	}
	podController, err := controllers.NewPodController(controllers.PodControllerConfig{
		Clock:                clock.RealClock{},
		TypedClient:          client,
		NodeCacheGetter:      nodeGetter{nodes},
		NodeGetFunc:          nodeController.Get,
		CIDR:                 podCIDR,
		Lifecycle:            podStages,
		PlayStageParallelism: podParallelism,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make the pod controller: %w", err)
	}
	return nodeController, podController, nil
}

// newLifecycle reads kwok's own stages, with our pace of heartbeats.
func newLifecycle(texts ...string) (resources.Getter[lifecycle.Lifecycle], error) {
	var stages []*internalversion.Stage
	for _, text := range texts {
		var external v1alpha1.Stage
		if err := yaml.Unmarshal([]byte(text), &external); err != nil {
			return nil, fmt.Errorf("decode a stage of kwok: %w", err)
		}
		stage, err := internalversion.ConvertToInternalStage(&external)
		if err != nil {
			return nil, fmt.Errorf("convert kwok's stage %s: %w", external.Name, err)
		}
		if text == heartbeat.DefaultNodeHeartbeat {
			stage.Spec.Delay = &internalversion.StageDelay{
				DurationMilliseconds:       ptr.To[int64](heartbeatMillis),
				JitterDurationMilliseconds: ptr.To[int64](heartbeatMaxMillis),
			}
		}
		stages = append(stages, stage)
	}
	all, err := lifecycle.NewLifecycle(stages)
	if err != nil {
		return nil, fmt.Errorf("compile kwok's stages: %w", err)
	}
	return resources.NewStaticGetter(all), nil
}
