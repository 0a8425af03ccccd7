package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// TestNoKubeconfigAnywhere says what to set, and no variable that Plimsoll does not read.
func TestNoKubeconfigAnywhere(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	empty := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", empty) // else the home folder's counts
	_, err := restConfig(config.Defaults().Cluster)
	if err == nil || !strings.Contains(err.Error(), "set KUBECONFIG, or give --kubeconfig=FILE") ||
		strings.Contains(err.Error(), "KUBERNETES_MASTER") {
		t.Error(err)
	}
}

// TestABurstOfNoneIsTheDefault: client-go refuses it where there is a rate.
func TestABurstOfNoneIsTheDefault(t *testing.T) {
	c := config.Defaults().Cluster
	c.Server, c.Burst = "http://127.0.0.1:1", 0
	rc, err := restConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfig(rc); err != nil || rc.Burst != 10 {
		t.Errorf("burst %d, %v", rc.Burst, err)
	}
}
