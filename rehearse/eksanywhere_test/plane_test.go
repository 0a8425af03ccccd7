package eksanywhere_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/crds"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
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
	if p.control, err = controlplane.Start(ctx, controlplane.Config{WithoutKwok: !p.clusterAPI, Log: toStderr}); err != nil {
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
	if err := p.define(ctx); err != nil {
		return err
	}
	if err := p.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: machinesNamespace}}); err != nil {
		return err
	}
	if err := grant(ctx, p.admin); err != nil {
		return err
	}
	if !p.clusterAPI {
		return nil
	}
	kubelets, err := os.ReadFile("testdata/kubelet.yaml")
	if err != nil {
		return err
	}
	if err := createAll(ctx, p.admin, kubelets); err != nil {
		return err
	}
	process, err := clusterAPI(p.control)
	if err != nil {
		return err
	}
	if err := p.control.Launch(process); err != nil {
		return err
	}
	return p.control.Processes().WaitReady(ctx, clusterapi.Name)
}

// define registers EKS Anywhere's kind and, where Cluster API does not do it
// itself, machine deployments: in one version, as nothing converts them.
func (p *plane) define(ctx context.Context) error {
	text, err := os.ReadFile("testdata/clusters.yaml")
	if err != nil {
		return err
	}
	clusters := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, clusters); err != nil {
		return err
	}
	definitions := []*apiextensionsv1.CustomResourceDefinition{clusters}
	if !p.clusterAPI {
		mds, err := crds.Definition("machinedeployments.cluster.x-k8s.io")
		if err != nil {
			return err
		}
		mds.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		for i := range mds.Spec.Versions {
			v := &mds.Spec.Versions[i]
			v.Served, v.Storage = v.Name == p.version, v.Name == p.version
		}
		definitions = append(definitions, mds)
	}
	for _, d := range definitions {
		if err := p.admin.Create(ctx, d); err != nil {
			return fmt.Errorf("define %s: %w", d.Name, err)
		}
		if err := p.served(ctx, d.Name); err != nil {
			return fmt.Errorf("wait for %s: %w", d.Name, err)
		}
	}
	return nil
}

func (p *plane) served(ctx context.Context, name string) error {
	return poll(ctx, func() (bool, error) {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := p.admin.Get(ctx, client.ObjectKey{Name: name}, live); err != nil {
			return false, err
		}
		for _, c := range live.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

// poll asks until the answer is yes, an error, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// clusterAPI is Cluster API as a process beside a control plane.
func clusterAPI(control *controlplane.ControlPlane) (supervise.Process, error) {
	executable, err := os.Executable()
	if err != nil {
		return supervise.Process{}, err
	}
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return supervise.Process{}, err
	}
	authority, err := pki.NewAuthority("cluster-api test authority")
	if err != nil {
		return supervise.Process{}, err
	}
	loopback := net.IPv4(127, 0, 0, 1)
	pair, err := authority.Server(clusterapi.Name, nil, []net.IP{loopback})
	if err != nil {
		return supervise.Process{}, err
	}
	files, err := pair.Write(control.DataDir(), clusterapi.Name)
	if err != nil {
		return supervise.Process{}, err
	}
	caFile := files.Cert + ".authority"
	if err := pki.WriteSecret(caFile, authority.PEM()); err != nil {
		return supervise.Process{}, err
	}
	settings := clusterapi.Settings{
		Kubeconfig: control.AdminKubeconfig(),
		Address:    net.JoinHostPort(loopback.String(), strconv.Itoa(port)),
		CertFile:   files.Cert, KeyFile: files.Key, CAFile: caFile,
	}
	prober := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS13},
		DisableKeepAlives: true,
	}}
	return supervise.Process{
		Name: clusterapi.Name, Path: executable, Args: append([]string{clusterAPIMarker}, settings.Args()...),
		EndsWithParent: true, Revive: true,
		Ready: func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+settings.Address+"/healthz", nil)
			if err != nil {
				return err
			}
			response, err := prober.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("healthz: %s", response.Status)
			}
			return nil
		},
	}, nil
}
