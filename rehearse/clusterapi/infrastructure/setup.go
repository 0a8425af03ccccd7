package infrastructure

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// SetUp adds the four controllers to a manager whose scheme knows our kinds and
// Cluster API's.
func SetUp(
	ctx context.Context, mgr ctrl.Manager, clusters clustercache.ClusterCache, options controller.Options,
) error {
	if err := (&machines{client: mgr.GetClient(), clusters: clusters}).setUp(mgr, options); err != nil {
		return err
	}
	if err := (&pools{client: mgr.GetClient(), live: mgr.GetAPIReader()}).setUp(ctx, mgr, options); err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(mgr).
		Named("kwokmachinetemplate").
		WithOptions(options).
		For(&kwokapi.KwokMachineTemplate{}).
		Complete(&templates{client: mgr.GetClient()}); err != nil {
		return fmt.Errorf("set up the controller of KwokMachineTemplates: %w", err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).
		Named("kwokcontrolplane").
		WithOptions(options).
		For(&kwokapi.KwokControlPlane{}).
		Complete(&controlPlanes{client: mgr.GetClient()}); err != nil {
		return fmt.Errorf("set up the controller of KwokControlPlanes: %w", err)
	}
	return nil
}

// templates tells of every KwokMachineTemplate what its machines offer.
type templates struct{ client client.Client }

// Reconcile brings one template's status in line with its spec.
func (r *templates) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	template := &kwokapi.KwokMachineTemplate{}
	if err := r.client.Get(ctx, request.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	status := templateStatus(template.Spec.Template.Spec.Node)
	if equality.Semantic.DeepEqual(status, template.Status) {
		return ctrl.Result{}, nil
	}
	before := template.DeepCopy()
	template.Status = status
	if err := r.client.Status().Patch(ctx, template, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, fmt.Errorf("write the status of the KwokMachineTemplate %s: %w", request, err)
	}
	return ctrl.Result{}, nil
}

// templateStatus is what Cluster API's contract has for an autoscaler. It knows of
// no allocatable resources apart from the capacity.
func templateStatus(node kwokapi.NodeSpec) kwokapi.KwokMachineTemplateStatus {
	architecture, operatingSystem := platform(node)
	return kwokapi.KwokMachineTemplateStatus{
		Capacity: node.Capacity.DeepCopy(),
		NodeInfo: &kwokapi.TemplateNodeInfo{Architecture: architecture, OperatingSystem: operatingSystem},
	}
}

// controlPlanes tells Cluster API that a control plane runs, and that no Machines
// stand for it. Without the first no Machine would look for its Node, and without
// the second none would be drained, or its Node deleted.
type controlPlanes struct{ client client.Client }

// Reconcile brings one control plane's status in line.
func (r *controlPlanes) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	plane := &kwokapi.KwokControlPlane{}
	if err := r.client.Get(ctx, request.NamespacedName, plane); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	status := kwokapi.KwokControlPlaneStatus{
		Initialization:              &kwokapi.ControlPlaneInitialization{ControlPlaneInitialized: true},
		ExternalManagedControlPlane: ptr.To(true),
	}
	if equality.Semantic.DeepEqual(status, plane.Status) {
		return ctrl.Result{}, nil
	}
	before := plane.DeepCopy()
	plane.Status = status
	if err := r.client.Status().Patch(ctx, plane, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, fmt.Errorf("write the status of the KwokControlPlane %s: %w", request, err)
	}
	return ctrl.Result{}, nil
}
