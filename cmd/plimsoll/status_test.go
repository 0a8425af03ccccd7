package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
)

// serving answers every request with one object, and gives a kubeconfig for it
// and the paths that were asked for.
func serving(t *testing.T, code int, object any) (kubeconfig string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL), asked
}

// kubeconfigOf leads to a server that asks for no credentials.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: %q}}]}", url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestStatusCommand(t *testing.T) {
	m := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Data: map[string]string{status.Key: "autoscalerStatus: Running\nclusterWide: {health: {status: Healthy}}\n"}}
	kubeconfig, asked := serving(t, http.StatusOK, m)
	out, err := command(t, "status", "--kubeconfig", kubeconfig)
	if err != nil || !strings.HasPrefix(out, "Cluster: Healthy") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = command(t, "status", "--kubeconfig="+kubeconfig, "--namespace=ns", "--status-config-map-name=other",
		"-o", "yaml")
	if err != nil || out != m.Data[status.Key] {
		t.Errorf("%v\n%s", err, out)
	}
	want := []string{"GET /api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status",
		"GET /api/v1/namespaces/ns/configmaps/other"}
	if fmt.Sprint(*asked) != fmt.Sprint(want) {
		t.Errorf("asked for %v", *asked)
	}
}

func TestStatusCommandSaysWhatIsWrong(t *testing.T) {
	resource := corev1.Resource("configmaps")
	for _, c := range []struct {
		err  *apierrors.StatusError
		want []string
	}{
		{apierrors.NewNotFound(resource, "cluster-autoscaler-status"), []string{"there is no ConfigMap kube-system/cluster-autoscaler-status", "--write-status-configmap"}},
		{apierrors.NewForbidden(resource, "cluster-autoscaler-status", fmt.Errorf("no")), []string{"kube-system/cluster-autoscaler-status", "the permission to get it is missing"}},
	} {
		kubeconfig, _ := serving(t, int(c.err.ErrStatus.Code), c.err.ErrStatus)
		out, err := command(t, "status", "--kubeconfig", kubeconfig)
		if err == nil || out != "" {
			t.Fatalf("%v, %q", err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: does not say %q", err, want)
			}
		}
	}
}

// leader is a whole leading process: real parts, a cloud in memory. (The
// scheduler's plugins start goroutines that never end, so that it cannot live in
// a synctest bubble.) cycled waits for its first cycle.
func leader(t *testing.T, client *fake.Clientset, cloud provider.Provider, write bool) (cycled, stop func()) {
	t.Helper()
	c := config.Defaults()
	c.Report.WriteStatus = write
	log := slog.New(slog.DiscardHandler)
	recorder, stopEvents := report.NewRecorder(client)
	reporter := report.New(recorder, report.Settings{Namespace: c.Cluster.Namespace,
		StatusConfigMap: c.Report.StatusConfigMap, StatusInterval: c.Loop.ScanInterval}, log)
	ctx, cancel := context.WithCancelCause(t.Context())
	observer := observe.New(client, cloud, observe.Settings{Namespace: c.Cluster.Namespace,
		ScanInterval: c.Loop.ScanInterval, InventoryDeadline: c.Cloud.InventoryDeadline}, log)
	observed, led := make(chan struct{}), make(chan error, 1)
	go func() { defer close(observed); observer.Run(ctx) }()
	if err := observer.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	go func() {
		all := parts{c, &settled{policy: c.Policy}, client, cloud, observer, reporter, log, nil}
		led <- all.lead(ctx, func() error { return nil })
	}()
	cycled = func() {
		t.Helper()
		eventually(t, "a cycle", func() bool {
			w := httptest.NewRecorder()
			reporter.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			return strings.Contains(w.Body.String(), `cluster_autoscaler_last_activity{activity="mainSuccessful"}`)
		})
	}
	return cycled, func() {
		t.Helper()
		cancel(context.Canceled)
		if err := <-led; err != nil {
			t.Error(err)
		}
		<-observed
		stopEvents()
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// updates counts the updates of ConfigMaps, and tells what the last one says.
func updates(client *fake.Clientset) (n int, says status.State) {
	for _, a := range client.Actions() {
		if u, ok := a.(clienttesting.UpdateAction); ok && a.Matches("update", "configmaps") {
			n++
			if d, _, err := status.DocumentIn(u.GetObject().(*corev1.ConfigMap)); err == nil {
				says = d.AutoscalerStatus
			}
		}
	}
	return n, says
}

func memoryIn(t *testing.T, client *fake.Clientset) model.Memory {
	t.Helper()
	m, err := report.StatusMap(t.Context(), client, "kube-system", "cluster-autoscaler-status")
	if err != nil {
		t.Fatal(err)
	}
	if d, _, err := status.DocumentIn(m); err != nil || d.AutoscalerStatus != status.Running {
		t.Errorf("%+v, %v", d, err)
	}
	memory, err := status.MemoryIn(m)
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

// What a leader remembers, the next one goes on with, and the one after it; the
// ConfigMap outlives them.
func TestMemoryGoesFromLeaderToLeader(t *testing.T) {
	cloud := providertest.NewCloud(time.Now)
	if err := cloud.AddGroup(providertest.GroupSpec{Group: provider.Group{ID: "g", Max: 5}}); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	since := time.Now().Add(-time.Minute).UTC()
	text, _, err := status.EncodeMemory(model.Memory{Backoffs: map[provider.GroupID]model.Rest{
		"g": {Until: since.Add(time.Hour), Length: time.Hour, Since: since, Kind: provider.Quota, Message: "from before"}}})
	if err != nil {
		t.Fatal(err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-status"}}
	status.Put(m, "", "", text)
	if _, err := client.CoreV1().ConfigMaps("kube-system").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before, _ := updates(client)
		_, stop := leader(t, client, cloud, true)
		running := 0
		eventually(t, "the write of a cycle", func() bool {
			n, says := updates(client)
			running = n
			return n > before && says == status.Running
		})
		stop()
		if n, _ := updates(client); n <= running {
			t.Error("nothing was written at the end")
		}
		if got := memoryIn(t, client).Backoffs["g"]; !got.Since.Equal(since) || got.Message != "from before" {
			t.Errorf("%+v", got)
		}
	}
}

func TestStatusMapIsSwitchedOff(t *testing.T) {
	client := fake.NewClientset()
	cycled, stop := leader(t, client, providertest.NewCloud(time.Now), false)
	cycled()
	stop()
	_, err := report.StatusMap(t.Context(), client, "kube-system", "cluster-autoscaler-status")
	if !apierrors.IsNotFound(err) {
		t.Errorf("there is one: %v", err)
	}
}
