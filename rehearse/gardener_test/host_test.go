package gardener_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// TestRun: as a process of its own the controller leads, answers probes and shows
// its metrics, with the rights of the documentation, for all shoots of the seed and
// the Workers of a type.
func TestRun(t *testing.T) {
	s := newShoot(t, "host", newPool("a", 1, 5, "za"))
	s.mustPatch(s.object("extensions.gardener.cloud", "Worker", "w"), `{"spec":{"type":"host"}}`)
	taken := map[int]bool{}
	address := func() string {
		port, err := controlplane.FreePort(taken)
		if err != nil {
			t.Fatal(err)
		}
		taken[port] = true
		return fmt.Sprintf("127.0.0.1:%d", port)
	}
	host := gardener.Host{LeaderElectionNamespace: "garden", MetricsAddress: address(), HealthAddress: address(),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- gardener.Run(ctx, asController(), gardener.Settings{Extent: gardener.Everything, Types: []string{"host"}}, host)
	}()
	s.deploymentsAre("a-z1:1")
	for url, want := range map[string]string{
		"http://" + host.HealthAddress + "/healthz":  "ok",
		"http://" + host.HealthAddress + "/readyz":   "ok",
		"http://" + host.MetricsAddress + "/metrics": `plimsoll_gardener_worker_condition{condition="PlimsollPoolsApplied",namespace="shoot--p--host",worker="w"} 1`,
	} {
		s.eventually(url+" answers", func() (bool, string) {
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
	lease := &coordinationv1.Lease{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "garden", Name: gardener.Name}, lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Error("nobody leads")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
