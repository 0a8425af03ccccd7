package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/report"
)

// statusCommand needs no provider: all that it tells is in one ConfigMap.
func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how the cluster and its node groups stand, as the autoscaler last wrote it; changes nothing",
		Example: `  plimsoll status
  plimsoll status --namespace=autoscaling -o json
  plimsoll status --status-config-map-name=plimsoll-observe-status    # of an observer`,
		Args: onlyFlags,
	}
	c := config.Defaults()
	set := cmd.Flags()
	format := cli.Table
	set.VarP(&format, "output", "o", "table, json or yaml")
	set.StringVar(&c.Cluster.Kubeconfig, "kubeconfig", c.Cluster.Kubeconfig,
		"the kubeconfig file; none: the pod's own account, else as kubectl finds it")
	set.StringVar(&c.Cluster.Server, "kubernetes", c.Cluster.Server, "the API server's address, if not the kubeconfig's")
	set.StringVarP(&c.Cluster.Namespace, "namespace", "n", c.Cluster.Namespace,
		"the namespace that the autoscaler runs in")
	set.StringVar(&c.Report.StatusConfigMap, "status-config-map-name", c.Report.StatusConfigMap,
		"the ConfigMap with the status")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := clientFor(c)
		if err != nil {
			return err
		}
		m, err := report.StatusMap(cmd.Context(), client, c.Cluster.Namespace, c.Report.StatusConfigMap)
		if err != nil {
			return err
		}
		return cli.Status(cmd.OutOrStdout(), m, time.Now(), format)
	}
	return cmd
}

// clientFor is a client of the cluster that the flags name. Wrong names are a misuse, and nothing is asked then.
func clientFor(c config.Config) (kubernetes.Interface, error) {
	if err := config.CheckNames(c); err != nil {
		return nil, misuse{err}
	}
	rc, err := restConfig(c.Cluster)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}
