package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener"
	"github.com/plimsoll-dev/plimsoll/providers/kwok"
)

// providers are the names that --cloud-provider takes.
var providers = []string{"aws", "clusterapi", "kwok", "mcm"}

// configured reads the flags, and says what is odd about them. It is false when
// there is nothing more to do: help was asked for, or something is wrong.
func configured(cmd *cobra.Command, flags *config.Flags) (config.Config, *slog.Logger, bool, error) {
	if flags.HelpAll() {
		return config.Config{}, nil, false, cmd.Help()
	}
	c, warnings, err := flags.Config()
	if err != nil {
		return config.Config{}, nil, false, err
	}
	if c.Cloud.Provider == "mcm" {
		c.Cluster.Kubeconfig = mcm.TargetKubeconfig(c.Cluster.Kubeconfig, os.Getenv)
	}
	log := newLog(c.Logging, os.Stderr)
	for _, w := range warnings {
		log.Warn(w)
	}
	return c, log, true, nil
}

// newProvider makes the provider that was asked for.
// Its metrics go to the registerer.
func newProvider(ctx context.Context, c config.Config, rc *rest.Config, metrics prometheus.Registerer, log *slog.Logger) (provider.Provider, error) {
	switch c.Cloud.Provider {
	case "aws":
		a := c.Cloud.AWS
		return aws.New(ctx, aws.Config{
			Nodes: c.Cloud.Nodes, Discovery: c.Cloud.Discovery, Precedence: aws.Precedence(a.Precedence), NodegroupTTL: a.NodegroupTTL,
			DescribeAllNodegroups: a.DescribeAll, MaxPods: a.MaxPods, KubeReserved: a.KubeReserved, StaticInstanceTypes: a.StaticTypes, Version: version,
		}, log, metrics)
	case "clusterapi":
		return newClusterAPI(c, rc, log)
	case "mcm":
		return newGardener(c, rc, log)
	case "kwok":
		client, err := kubernetes.NewForConfig(rc)
		if err != nil {
			return nil, fmt.Errorf("make a client for the kwok provider: %w", err)
		}
		meta, err := metadata.NewForConfig(rc)
		if err != nil {
			return nil, fmt.Errorf("make a metadata client for the kwok provider: %w", err)
		}
		k := kwok.ConfigFromEnv(os.Getenv)
		if k.Namespace == "" {
			k.Namespace = c.Cluster.Namespace
		}
		k.KeepNodes = c.Cloud.KwokKeepNodes
		return kwok.New(ctx, client, meta, k, log)
	}
	// config has checked the name against providers.
	return nil, fmt.Errorf("provider %q is known and not wired", c.Cloud.Provider)
}

// newClusterAPI makes the provider whose management cluster may be another one than
// that of rc, which has the nodes.
func newClusterAPI(c config.Config, rc *rest.Config, log *slog.Logger) (provider.Provider, error) {
	path := clusterapi.ManagementKubeconfig(c.Cloud.ClusterAPI.CloudConfig, c.Cluster.Kubeconfig, c.Cloud.ClusterAPI.Authoritative)
	management, namespace := rc, ""
	if path != c.Cluster.Kubeconfig {
		var err error
		if management, namespace, err = managementConfig(path); err != nil {
			return nil, err
		}
		management.QPS, management.Burst, management.UserAgent = rc.QPS, rc.Burst, rc.UserAgent
	} else if _, own, err := managementConfig(path); err == nil {
		namespace = own // else rc was found otherwise, by a person's KUBECONFIG, and no namespace is its own
	}
	workload, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for the nodes of the clusterapi provider: %w", err)
	}
	cfg := clusterapi.ConfigFromEnv(os.Getenv)
	cfg.Discovery, cfg.Namespace = c.Cloud.Discovery, namespace
	return clusterapi.New(management, workload.CoreV1().Nodes(), cfg, log)
}

// newGardener makes the provider whose control cluster is another one than the shoot,
// which rc leads to.
func newGardener(c config.Config, rc *rest.Config, log *slog.Logger) (provider.Provider, error) {
	m := c.Cloud.MCM
	cfg := mcm.Config{
		Nodes: c.Cloud.Nodes, Discovery: c.Cloud.Discovery, Namespace: mcm.ControlNamespace(os.Getenv),
		Sizing: m.Sizing, DeletionMarker: m.DeletionMarker, RequireAvailable: m.RequireAvailable,
	}
	if err := cfg.Validate(); err != nil { // before a wrong flag looks like a missing cluster
		return nil, err
	}
	control, err := controlConfig(mcm.ControlKubeconfig(os.Getenv))
	if err != nil {
		return nil, err
	}
	control.QPS, control.Burst, control.UserAgent = rc.QPS, rc.Burst, rc.UserAgent
	if m.QPS > 0 {
		control.QPS = m.QPS
	}
	if m.Burst > 0 {
		control.Burst = m.Burst
	}
	shoot, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for the nodes of the mcm provider: %w", err)
	}
	return mcm.New(control, shoot.CoreV1().Nodes(), cfg, log)
}

// controlConfig reads a kubeconfig, or the pod's own account if there is none.
func controlConfig(path string) (*rest.Config, error) {
	read := rest.InClusterConfig
	if path != "" {
		read = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", path) }
	}
	rc, err := read()
	if err != nil {
		return nil, fmt.Errorf("find the control cluster of the shoot (CONTROL_KUBECONFIG, or the pod's own service account): %w", err)
	}
	return rc, nil
}

// managementConfig reads a kubeconfig, or the pod's own account if there is none, and
// its own namespace.
func managementConfig(path string) (*rest.Config, string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, nil)
	if path == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, "", fmt.Errorf("find the management cluster (--cloud-config, or the pod's own service account): %w", err)
		}
		namespace, _, err := loader.Namespace() // that of the pod's account
		return rc, namespace, err
	}
	rc, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig of the management cluster (--cloud-config): %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("read the namespace of the management cluster's kubeconfig (--cloud-config): %w", err)
	}
	return rc, namespace, nil
}

// restConfig says how the API server is reached: by --kubeconfig or
// --kubernetes; else from inside of the cluster; else, on a person's machine,
// as kubectl would find it.
func restConfig(c config.Cluster) (*rest.Config, error) {
	rc, err := find(c)
	if err != nil {
		return nil, fmt.Errorf("find the API server (--kubeconfig, --kubernetes, the pod's own service account, or KUBECONFIG): %w", err)
	}
	rc.QPS, rc.Burst = c.QPS, c.Burst
	rc.ContentType = c.ContentType
	rc.AcceptContentTypes = c.ContentType + ",application/json"
	rc.UserAgent = c.UserAgent
	return rc, nil
}

func find(c config.Cluster) (*rest.Config, error) {
	if c.Kubeconfig != "" || c.Server != "" {
		return clientcmd.BuildConfigFromFlags(c.Server, c.Kubeconfig)
	}
	rc, err := rest.InClusterConfig()
	if !errors.Is(err, rest.ErrNotInCluster) {
		return rc, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" && !slices.ContainsFunc(rules.Precedence, exists) {
		// client-go says nothing of files that are not there.
		return nil, fmt.Errorf("KUBECONFIG names %s, and no such file is there", strings.Join(rules.Precedence, ", "))
	}
	rc, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		// client-go names a variable of its own there.
		return nil, errors.New("none of these is there; set KUBECONFIG, or give --kubeconfig=FILE")
	}
	return rc, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// newLog makes the one logger, which client-go's lines go through as well.
func newLog(c config.Logging, w io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if c.Verbosity >= 4 {
		level = slog.LevelDebug
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if c.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	log := slog.New(h)
	klog.SetLogger(logr.FromSlogHandler(h))
	return log
}
