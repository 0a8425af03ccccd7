package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
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
