package eksanywhere_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// TestRun: as a process of its own the controller leads, answers probes and shows
// its metrics, with the rights of the documentation.
func TestRun(t *testing.T) {
	w := bare.newWorld(t, "host")
	w.want(scaled("a", 0, 5).kwok("small"))
	taken := map[int]bool{}
	address := func() string {
		port, err := controlplane.FreePort(taken)
		if err != nil {
			t.Fatal(err)
		}
		taken[port] = true
		return fmt.Sprintf("127.0.0.1:%d", port)
	}
	host := eksanywhere.Host{
		LeaderElectionNamespace: machinesNamespace, MetricsAddress: address(), HealthAddress: address(), Log: logTo(t),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- eksanywhere.Run(ctx, w.asController(), eksanywhere.Settings{}, host) }()

	for url, want := range map[string]string{
		"http://" + host.HealthAddress + "/healthz":  "ok",
		"http://" + host.HealthAddress + "/readyz":   "ok",
		"http://" + host.MetricsAddress + "/metrics": `plimsoll_eks_anywhere_workers_ready{cluster="host",namespace="default"}`,
	} {
		w.eventually(url+" answers", func() (bool, string) {
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
	if err := w.admin.Get(
		t.Context(), client.ObjectKey{Namespace: machinesNamespace, Name: eksanywhere.Name}, lease,
	); err != nil {
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
