package main

import (
	"time"

	"github.com/spf13/cobra"

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
	set.VarP(&format, "output", "o", "text, json or yaml")
	bindCluster(set, &c.Cluster)
	set.StringVar(&c.Report.StatusConfigMap, "status-config-map-name", c.Report.StatusConfigMap,
		"the ConfigMap with the status")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, _, err := clientFor(c)
		if err != nil {
			return err
		}
		ctx, end := patient(cmd.Context(), c.Cluster)
		defer end()
		m, err := report.StatusMap(ctx, client, c.Cluster.Namespace, c.Report.StatusConfigMap)
		if err != nil {
			return err
		}
		return cli.Status(cmd.OutOrStdout(), m, time.Now(), format)
	}
	return cmd
}
