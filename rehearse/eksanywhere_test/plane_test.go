package eksanywhere_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/crds"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	rehearsed "github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
	worlds "github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// plane is a control plane with EKS Anywhere's kinds. The zero value is one that
// has not been started.
type plane struct {
	clusterAPI bool
	version    string // in which it serves machine deployments

	once       sync.Once
	err        error
	control    *controlplane.ControlPlane
	admin      client.WithWatch
	kubeconfig []byte
}

var (
	bare = &plane{version: "v1beta2"}
	old  = &plane{version: "v1beta1"}
	real = &plane{version: "v1beta2", clusterAPI: true}
)

// start starts the control plane, if no test did before.
func (p *plane) start(t *testing.T) *plane {
	t.Helper()
	p.once.Do(func() { p.err = p.bringUp() })
	if p.err != nil {
		t.Fatalf("start a control plane: %v", p.err)
	}
	return p
}

func (p *plane) stop() error {
	if p.control == nil {
		return nil
	}
	return p.control.Stop()
}

func (p *plane) bringUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if p.control, err = controlplane.Start(ctx, controlplane.Config{
		WithoutKwok: !p.clusterAPI, Log: toStderr,
	}); err != nil {
		return err
	}
	if p.kubeconfig, err = os.ReadFile(p.control.AdminKubeconfig()); err != nil {
		return err
	}
	scheme := objects.Scheme()
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	if p.admin, err = client.NewWithWatch(p.control.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	w := worlds.World{Objects: rehearsed.Objects()}
	if p.clusterAPI {
		if w, err = rehearsed.EmptyWorld(p.control); err != nil {
			return err
		}
	}
	if err := w.Enter(ctx, p.control); err != nil {
		return err
	}
	if !p.clusterAPI {
		if err := p.defineMachineDeployments(ctx); err != nil {
			return err
		}
	}
	return planetest.Established(ctx, p.admin, "clusters."+rehearsed.ClusterKind.Group)
}

// defineMachineDeployments registers their kind where Cluster API does not do it
// itself: in one version, as nothing converts them.
func (p *plane) defineMachineDeployments(ctx context.Context) error {
	mds, err := crds.Definition("machinedeployments.cluster.x-k8s.io")
	if err != nil {
		return err
	}
	mds.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	for i := range mds.Spec.Versions {
		v := &mds.Spec.Versions[i]
		v.Served, v.Storage = v.Name == p.version, v.Name == p.version
	}
	if err := p.admin.Create(ctx, mds); err != nil {
		return fmt.Errorf("define %s: %w", mds.Name, err)
	}
	return planetest.Established(ctx, p.admin, mds.Name)
}
