package clusterapi_test

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

// The one control plane of all tests, and its administrator's client and kubeconfig.
var (
	shared     *controlplane.ControlPlane
	admin      client.Client
	kubeconfig []byte
)

const (
	startTimeout = 3 * time.Minute

	// childMarker is the first argument of this binary when it is Cluster API.
	childMarker = "run-cluster-api"
)

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	if len(os.Args) > 1 && os.Args[1] == childMarker {
		os.Exit(runChild(os.Args[2:]))
	}
	os.Exit(run(m))
}

func runChild(args []string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the parent is gone
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings, err := clusterapi.Flags(args)
	if err == nil {
		err = clusterapi.Run(ctx, settings)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	shared, err = controlplane.Start(ctx, controlplane.Config{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the shared control plane:", err)
		return 1
	}
	defer func() {
		if code != 0 {
			if log, err := os.ReadFile(shared.LogFile(clusterapi.Name)); err == nil {
				fmt.Fprintf(os.Stderr, "the end of Cluster API's log:\n%s\n", log[max(0, len(log)-16<<10):])
			}
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the shared control plane:", err)
			code = 1
		}
	}()
	if err := prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The tests wait most of the time: for each other they need not.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare starts Cluster API as a process beside the control plane.
func prepare(ctx context.Context) error {
	var err error
	if kubeconfig, err = os.ReadFile(shared.AdminKubeconfig()); err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	config := shared.AdminConfig()
	config.WarningHandler = rest.NoWarnings{} // v1beta1 is deprecated, as is known
	if admin, err = client.New(config, client.Options{Scheme: objects.Scheme()}); err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	process, err := clusterAPI()
	if err != nil {
		return err
	}
	if err := shared.Launch(process); err != nil {
		return err
	}
	return shared.Processes().WaitReady(ctx, clusterapi.Name)
}

func clusterAPI() (supervise.Process, error) {
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
	files, err := pair.Write(shared.DataDir(), clusterapi.Name)
	if err != nil {
		return supervise.Process{}, err
	}
	caFile := files.Cert + ".authority"
	if err := pki.WriteSecret(caFile, authority.PEM()); err != nil {
		return supervise.Process{}, err
	}
	settings := clusterapi.Settings{
		Kubeconfig: shared.AdminKubeconfig(),
		Address:    net.JoinHostPort(loopback.String(), strconv.Itoa(port)),
		CertFile:   files.Cert,
		KeyFile:    files.Key,
		CAFile:     caFile,
	}
	prober := &http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS13},
			DisableKeepAlives: true,
		},
	}
	return supervise.Process{
		Name:           clusterapi.Name,
		Path:           executable,
		Args:           append([]string{childMarker}, settings.Args()...),
		EndsWithParent: true,
		Revive:         true,
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
