package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
