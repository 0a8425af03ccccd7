package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// kubeconfig writes a file that leads to a server.
func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: " +
		"u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: '" + url + "'}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGroupsOfAShoot: the control cluster is found by the environment that Gardener
// gives, the shoot by --kubeconfig; by either name of the provider.
func TestGroupsOfAShoot(t *testing.T) {
	shoot, namespace := shootOfTwoZones(t)
	for _, args := range [][]string{
		{"groups", "--cloud-provider=mcm", "--kubeconfig=" + shoot, "--node-group-auto-discovery=mcm:namespace=" + namespace},
		{"groups", "--cloud-provider=gardener", "--kubeconfig=" + shoot, "--nodes=1:2:" + namespace + ".web-z1", "--nodes=0:2:" + namespace + ".web-z2"},
	} {
		var out bytes.Buffer
		cmd := root()
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"web-z1", "web-z2"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%v: no %s in\n%s", args, part, out.String())
			}
		}
	}
	// What is wrong with the flags is reported before anything is looked for, and what is missing after that.
	for flag, want := range map[string]string{"fair": "--mcm-sizing", "Equitable": "CONTROL_NAMESPACE"} {
		cmd := root()
		cmd.SetArgs([]string{"groups", "--cloud-provider=mcm", "--kubeconfig=" + shoot, "--mcm-sizing=" + flag})
		if err := cmd.Execute(); !errors.As(err, new(misuse)) || !strings.Contains(err.Error(), want) {
			t.Errorf("--mcm-sizing=%s: %v, want a misuse with %s", flag, err, want)
		}
	}
}

// shootOfTwoZones is a kubeconfig of a shoot with a pool over two zones, and the namespace of the pool in the control
// cluster.
func shootOfTwoZones(t *testing.T) (shoot, namespace string) {
	t.Helper()
	namespace = "shoot--core--prod"
	w := gardenertest.New(time.Now, namespace)
	for _, zone := range []string{"z1", "z2"} {
		w.Add(gardenertest.NewClass(namespace, "web-"+zone, zone),
			gardenertest.NewDeployment(namespace, "web-"+zone, "web", zone, 1, v1alpha1.PoolMinimumAnnotation, "1",
				v1alpha1.PoolMaximumAnnotation, "4"))
	}
	w.Settle()
	t.Setenv("CONTROL_KUBECONFIG", kubeconfig(t, kubetest.Serve(t, w)))
	// No API server answers there, and there is no node to learn from.
	return kubeconfig(t, "http://127.0.0.1:1"), namespace
}
