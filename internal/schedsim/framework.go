package schedsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// staticPlugins look at nothing but the pod and the node's own labels, taints
// and features: their verdict is the same for every node of a shape.
var staticPlugins = []string{names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity,
	names.NodeDeclaredFeatures}

// plugins in the order of the default profile, filters only. The scheduler's
// own default configuration says which they are; what it enables beyond these
// has no part in filtering.
var filterPlugins = []string{
	names.NodeName, names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity, names.NodePorts,
	names.NodeResourcesFit, names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone,
	names.PodTopologySpread, names.InterPodAffinity, names.NodeDeclaredFeatures,
}

// localPlugins are those that look at no node but the one in question, and count no amounts; what the others say is
// found by counting.
var localPlugins = slices.DeleteFunc(slices.Clone(filterPlugins), func(name string) bool {
	return name == names.PodTopologySpread || name == names.InterPodAffinity || name == names.NodeResourcesFit
})

// filters is one set of plugins and what they read from. It serves one goroutine
// at a time.
type filters struct {
	full, static, local framework.Framework
	stage               *stage
	factory             informers.SharedInformerFactory
	volumes             model.Volumes              // those that the indexers hold
	shown               []*corev1.PersistentVolume // as they hold them
	kinds               *claimKinds                // nil until asked for
	namespaces          map[string]map[string]string
	ctx                 context.Context
	end                 context.CancelFunc // ends what the plugins run in the background
}

// idle are the sets that no World uses now. Building one takes milliseconds and starts goroutines
// that live on, so a few are kept for the next World.
var idle struct {
	sync.Mutex
	sets []*filters
}

const maxIdle = 8

var initMetrics = sync.OnceFunc(metrics.InitMetrics)

// InitMetrics makes the metrics that plugins write to and that no component reads. They are one set for the
// whole process, so that every door to the scheduler makes them here.
func InitMetrics() { initMetrics() }

func newFilters() (*filters, error) {
	idle.Lock()
	if n := len(idle.sets); n > 0 {
		f := idle.sets[n-1]
		idle.sets = idle.sets[:n-1]
		idle.Unlock()
		return f, nil
	}
	idle.Unlock()
	initMetrics()
	conf, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read the scheduler's default configuration: %w", err)
	}
	f := &filters{stage: &stage{}, factory: informers.NewSharedInformerFactory(nil, 0)}
	ctx, end := context.WithCancel(context.Background())
	f.ctx, f.end = klog.NewContext(ctx, klog.Background()), end
	if f.full, err = f.framework(conf.Profiles[0], filterPlugins); err != nil {
		return nil, err
	}
	if f.static, err = f.framework(conf.Profiles[0], staticPlugins); err != nil {
		return nil, err
	}
	if f.local, err = f.framework(conf.Profiles[0], localPlugins); err != nil {
		return nil, err
	}
	return f, nil
}

// release hands the set back for the next World.
func (f *filters) release() {
	f.stage.show(nil)
	idle.Lock()
	defer idle.Unlock()
	if len(idle.sets) == maxIdle {
		f.end()
		return
	}
	idle.sets = append(idle.sets, f)
}

func (f *filters) framework(profile config.KubeSchedulerProfile, only []string) (framework.Framework, error) {
	enabled := []config.Plugin{{Name: names.PrioritySort}, {Name: names.DefaultBinder}}
	for _, p := range profile.Plugins.MultiPoint.Enabled {
		if slices.Contains(only, p.Name) {
			enabled = append(enabled, p)
		}
	}
	profile.Plugins = &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabled}}
	built, err := runtime.NewFramework(f.ctx, inline(plugins.NewInTreeRegistry()), &profile,
		runtime.WithInformerFactory(f.factory),
		runtime.WithSnapshotSharedLister(f.stage),
		runtime.WithSharedDRAManager(noDRA{}),
		runtime.WithSharedCSIManager(f.stage),
		runtime.WithLogger(klog.Background()),
	)
	if err != nil {
		return nil, fmt.Errorf("build the scheduler's plugins: %w", err)
	}
	return built, nil
}

// inline has the plugins of a registry do in the caller's goroutine what they would spread over
// others. A panic in another goroutine cannot be recovered from, and the questions are too small to
// be worth one.
func inline(all runtime.Registry) runtime.Registry {
	out := make(runtime.Registry, len(all))
	for name, factory := range all {
		out[name] = func(ctx context.Context, args apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
			return factory(ctx, args, inlineHandle{h})
		}
	}
	return out
}

type inlineHandle struct{ fwk.Handle }

func (inlineHandle) Parallelizer() fwk.Parallelizer { return inlineParallelizer{} }

type inlineParallelizer struct{}

// Until does the pieces one by one until the context ends: plugins end it at the first error.
func (inlineParallelizer) Until(ctx context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := 0; i < pieces && ctx.Err() == nil; i++ {
		do(i)
	}
}

// feed puts a snapshot's namespaces and storage objects where the plugins look
// for them: into informers that were never started.
func (f *filters) feed(s *model.Snapshot) error {
	core, storage := f.factory.Core().V1(), f.factory.Storage().V1()
	if !sameNamespaces(f.namespaces, s.Namespaces) {
		list := make([]any, 0, len(s.Namespaces))
		for name, labels := range s.Namespaces {
			ns := &corev1.Namespace{}
			ns.Name, ns.Labels = name, labels
			list = append(list, ns)
		}
		if err := core.Namespaces().Informer().GetIndexer().Replace(list, ""); err != nil {
			return fmt.Errorf("load namespaces: %w", err)
		}
		f.namespaces = s.Namespaces
	}
	if sameVolumes(&f.volumes, &s.Volumes) {
		return nil
	}
	v := &s.Volumes
	f.kinds, f.shown = nil, taken(v)
	err := errors.Join(
		replace(core.PersistentVolumeClaims().Informer(), v.Claims),
		replace(core.PersistentVolumes().Informer(), f.shown),
		replace(storage.StorageClasses().Informer(), v.Classes),
		replace(storage.CSINodes().Informer(), v.CSINodes),
		replace(storage.CSIDrivers().Informer(), v.CSIDrivers),
		replace(storage.CSIStorageCapacities().Informer(), v.Capacities),
		replace(storage.VolumeAttachments().Informer(), v.Attachments),
	)
	if err != nil {
		return fmt.Errorf("load storage objects: %w", err)
	}
	f.volumes = *v
	f.stage.csiNodes = map[string]*storagev1.CSINode{}
	for _, n := range v.CSINodes {
		f.stage.csiNodes[n.Name] = n
	}
	return nil
}

// takenClass is the storage class under which the plugins find volumes that are
// taken: no claim can name it.
const takenClass = "(taken)"

// taken lists the volumes, with those that are bound to their claim in a storage
// class of their own. For each claim that waits, the plugin goes through all
// volumes of the claim's class, and passes over those that are another claim's:
// with thousands of volumes that is most of what a decision costs. A claim that is
// bound finds its volume by name.
func taken(v *model.Volumes) []*corev1.PersistentVolume {
	boundTo := make(map[string]string, len(v.Claims))
	for _, c := range v.Claims {
		if c.Spec.VolumeName != "" && metav1.HasAnnotation(c.ObjectMeta, storagehelpers.AnnBindCompleted) {
			boundTo[c.Namespace+"/"+c.Name] = c.Spec.VolumeName
		}
	}
	out := slices.Clone(v.Persistent)
	for i, pv := range out {
		ref := pv.Spec.ClaimRef
		if ref == nil || boundTo[ref.Namespace+"/"+ref.Name] != pv.Name ||
			metav1.HasAnnotation(pv.ObjectMeta, corev1.BetaStorageClassAnnotation) {
			continue
		}
		own := *pv
		own.Spec.StorageClassName = takenClass
		out[i] = &own
	}
	return out
}

// sameVolumes reports whether nothing has changed between two observations. Observers count each on their own, so
// that one generation may mean two things; the lists are the same ones only if one observer has made them.
func sameVolumes(a, b *model.Volumes) bool {
	return a.Generation != 0 && a.Generation == b.Generation &&
		same(a.Claims, b.Claims) && same(a.Persistent, b.Persistent) && same(a.Classes, b.Classes) &&
		same(a.CSINodes, b.CSINodes) && same(a.CSIDrivers, b.CSIDrivers) && same(a.Capacities, b.Capacities) &&
		same(a.Attachments, b.Attachments)
}

// same reports whether two slices are one.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func sameNamespaces(a, b map[string]map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, labels := range a {
		other, ok := b[name]
		if !ok || len(labels) != len(other) {
			return false
		}
		for k, v := range labels {
			if other[k] != v {
				return false
			}
		}
	}
	return true
}

func replace[T any](informer cache.SharedIndexInformer, list []T) error {
	items := make([]any, len(list))
	for i, x := range list {
		items[i] = x
	}
	return informer.GetIndexer().Replace(items, "")
}

// noDRA has no dynamic resources. Pods with resource claims never get here: their verdict is
// Unsupported.
type noDRA struct{}

func (noDRA) ResourceClaims() fwk.ResourceClaimTracker     { return noClaims{} }
func (noDRA) ResourceSlices() fwk.ResourceSliceLister      { return noSlices{} }
func (noDRA) DeviceClasses() fwk.DeviceClassLister         { return noClasses{} }
func (noDRA) DeviceClassResolver() fwk.DeviceClassResolver { return noClasses{} }

type noSlices struct{}

func (noSlices) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) { return nil, nil }

type noClasses struct{}

func (noClasses) List() ([]*resourcev1.DeviceClass, error)                   { return nil, nil }
func (noClasses) GetDeviceClass(corev1.ResourceName) *resourcev1.DeviceClass { return nil }
func (noClasses) Get(name string) (*resourcev1.DeviceClass, error) {
	return nil, fmt.Errorf("device class %q: dynamic resources are not simulated", name)
}

type noClaims struct{}

func (noClaims) List() ([]*resourcev1.ResourceClaim, error) { return nil, nil }
func (noClaims) Get(ns, name string) (*resourcev1.ResourceClaim, error) {
	return nil, fmt.Errorf("resource claim %s/%s: dynamic resources are not simulated", ns, name)
}
func (noClaims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) { return nil, nil }
func (noClaims) GatherAllocatedState() (*structured.AllocatedState, error) {
	return &structured.AllocatedState{}, nil
}
func (noClaims) SignalClaimPendingAllocation(types.UID, *resourcev1.ResourceClaim) error { return nil }
func (noClaims) GetPendingAllocation(types.UID) *resourcev1.AllocationResult             { return nil }
func (noClaims) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool                  { return false }
func (noClaims) AssumeClaimAfterAPICall(*resourcev1.ResourceClaim) error                 { return nil }
func (noClaims) AssumedClaimRestore(string, string)                                      {}
