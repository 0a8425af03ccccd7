package main

import (
	"cmp"
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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// start is what a command that asks a provider begins with.
type start struct {
	config   config.Config
	provider wiring.Maker
	log      *slog.Logger
	// file is the configuration file, nil if there is none.
	file *config.Reread
}

// configured reads the flags, and says what is odd about them. It is nil when
// there is nothing more to do: help was asked for, or something is wrong.
func configured(cmd *cobra.Command, flags *config.Flags) (*start, error) {
	if flags.HelpAll() {
		return nil, cmd.Help()
	}
	c, warnings, err := flags.Config()
	if err != nil {
		return nil, wrongConfig(err)
	}
	var maker wiring.Maker
	if c.Cloud.Provider != "" {
		var entry wiring.Entry
		if entry, maker = flags.Provider(c); entry.Kubeconfig != nil {
			c.Cluster.Kubeconfig = entry.Kubeconfig(c.Cluster.Kubeconfig, os.Getenv)
		}
	}
	log := newLog(c.Logging, os.Stderr)
	for _, w := range warnings {
		log.Warn(w)
	}
	return &start{c, maker, log, flags.Reread()}, nil
}

// wrongConfig is an error of the flags. Only those that are wrong themselves are a misuse, not files that cannot be
// read or are wrong.
func wrongConfig(err error) error {
	if config.Misused(err) {
		return misuse{err}
	}
	return err
}

// newProvider makes the provider that was asked for. Its metrics go to the registerer.
func (s *start) newProvider(
	ctx context.Context, metrics prometheus.Registerer, log *slog.Logger,
) (provider.Provider, error) {
	host := wiring.Host{
		Nodes: s.config.Cloud.Nodes, Discovery: s.config.Cloud.Discovery,
		Namespace: s.config.Cluster.Namespace, Kubeconfig: s.config.Cluster.Kubeconfig,
		Cluster: func() (*rest.Config, error) { return restConfig(s.config.Cluster) },
		Version: version, Getenv: os.Getenv, Metrics: metrics, Log: log,
	}
	// What the provider lacks is reported before it looks like a missing cluster. It is a misuse, as a wrong flag is:
	// nothing was tried.
	if err := s.provider.Check(host); err != nil {
		return nil, misusef("%s provider: %w", s.config.Cloud.Provider, err)
	}
	return s.provider.Make(ctx, host)
}

// restConfig says how the API server is reached: by --kubeconfig or
// --kubernetes; else from inside of the cluster; else, on a person's machine,
// as kubectl would find it.
func restConfig(c config.Cluster) (*rest.Config, error) {
	rc, err := find(c)
	if err != nil {
		return nil, fmt.Errorf("find the API server (--kubeconfig, --kubernetes, the pod's own service account, or "+
			"KUBECONFIG): %w", err)
	}
	rc.QPS, rc.Burst = c.QPS, cmp.Or(c.Burst, rest.DefaultBurst) // client-go refuses 0
	rc.ContentType = c.ContentType
	rc.AcceptContentTypes = c.ContentType + ",application/json"
	rc.UserAgent = c.UserAgent
	return rc, nil
}

func find(c config.Cluster) (*rest.Config, error) {
	if c.Kubeconfig != "" || c.Server != "" {
		rc, err := clientcmd.BuildConfigFromFlags(c.Server, c.Kubeconfig)
		if clientcmd.IsEmptyConfig(err) {
			return nil, fmt.Errorf("--kubeconfig: %s names no cluster", c.Kubeconfig)
		}
		return rc, err
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
		// client-go names a variable that Plimsoll does not read.
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
