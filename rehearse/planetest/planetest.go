// Package planetest is what tests on a real control plane share: to start one for all tests of a
// package (Main), to wait for what must happen (Eventually), and to see whether a controller runs as
// a process of its own (Serves).
//
// What flows in: a configuration, and conditions with how things stand. What flows out: a control
// plane, and failures of tests. Only tests import it. It imports controlplane and controllers/host.
package planetest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/host"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

const (
	startTimeout = 5 * time.Minute
	pollEvery    = 50 * time.Millisecond
	logEnd       = 16 << 10
)

// Plane is the one control plane of a package's tests.
type Plane struct {
	Config controlplane.Config
	// Log is the component the end of whose log is shown when a test fails; empty: none.
	Log string
	// Parallel is how many tests run at once, since they wait most of the time; 0: as many as usual.
	Parallel int
	// Prepare makes what all tests have, once the control plane is there.
	Prepare func(context.Context, *controlplane.ControlPlane) error
}

// Main is what TestMain calls. It does not return.
func (p Plane) Main(m *testing.M) {
	controlplane.MaybeRunComponent()
	code, err := p.run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func (p Plane) run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if p.Config.Log == nil {
		p.Config.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	plane, err := controlplane.Start(ctx, p.Config)
	if err != nil {
		return 1, fmt.Errorf("start the control plane of the tests: %w", err)
	}
	defer func() {
		if log, errLog := os.ReadFile(plane.LogFile(p.Log)); code != 0 && p.Log != "" && errLog == nil {
			fmt.Fprintf(os.Stderr, "the end of the log of %s:\n%s\n", p.Log, log[max(0, len(log)-logEnd):])
		}
		if errStop := plane.Stop(); errStop != nil && err == nil {
			err = fmt.Errorf("stop the control plane of the tests: %w", errStop)
		}
	}()
	if err := p.Prepare(ctx, plane); err != nil {
		return 1, fmt.Errorf("prepare the control plane of the tests: %w", err)
	}
	if p.Parallel > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(p.Parallel)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// Eventually waits for a condition, which also says how things stand.
func Eventually(t testing.TB, within time.Duration, what string, condition func() (done bool, state string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	state := ""
	if err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (done bool, err error) {
		done, state = condition()
		return done, nil
	}); err != nil {
		t.Fatalf("never happened: %s; in the end: %s", what, state)
	}
}

// Established waits until the API server serves a kind by its definition.
func Established(ctx context.Context, c client.Reader, name string) error {
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, live); err != nil {
			return false, err
		}
		for _, c := range live.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", name, err)
	}
	return nil
}

// Serves runs a controller as a process of its own would, and wants it to lead by a Lease, to answer
// probes, to show a metric, and to end without an error.
func Serves(t *testing.T, c client.Reader, lease client.ObjectKey, within time.Duration, metric string,
	run func(context.Context, host.Host) error) {
	t.Helper()
	taken := map[int]bool{}
	address := func() string {
		port, err := controlplane.FreePort(taken)
		if err != nil {
			t.Fatal(err)
		}
		taken[port] = true
		return fmt.Sprintf("127.0.0.1:%d", port)
	}
	h := host.Host{LeaderElectionNamespace: lease.Namespace, MetricsAddress: address(), HealthAddress: address(),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, h) }()
	for url, want := range map[string]string{
		"http://" + h.HealthAddress + "/healthz":  "ok",
		"http://" + h.HealthAddress + "/readyz":   "ok",
		"http://" + h.MetricsAddress + "/metrics": metric,
	} {
		Eventually(t, within, url+" answers "+want, func() (bool, string) {
			response, err := http.Get(url)
			if err != nil {
				return false, err.Error()
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return false, err.Error()
			}
			return response.StatusCode == http.StatusOK && strings.Contains(string(body), want), response.Status
		})
	}
	held := &coordinationv1.Lease{}
	if err := c.Get(t.Context(), lease, held); err != nil {
		t.Fatal(err)
	}
	if held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity == "" {
		t.Error("no process leads")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
