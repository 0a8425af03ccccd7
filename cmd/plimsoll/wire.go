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
	"github.com/plimsoll-dev/plimsoll/providers/kwok"
)

// providers are the names that --cloud-provider takes.
var providers = []string{"aws", "kwok"}

// configured reads the flags, and says what is odd about them. It is false when
// there is nothing more to do: help was asked for, or something is wrong.
func configured(cmd *cobra.Command, flags *config.Flags) (config.Config, *slog.Logger, bool, error) {
	if flags.HelpAll() {
		fmt.Fprint(cmd.OutOrStdout(), flags.AllHelp())
		return config.Config{}, nil, false, nil
	}
	c, warnings, err := flags.Config()
	if err != nil {
		return config.Config{}, nil, false, err
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
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
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
