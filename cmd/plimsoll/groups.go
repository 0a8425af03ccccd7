package main

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
)

func groupsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "List the node groups as the provider reads them; changes nothing",
		Example: `  plimsoll groups --cloud-provider=kwok
  plimsoll groups --cloud-provider=kwok -o yaml    # with each template's node, and where its parts come from`,
		Args: cobra.NoArgs,
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "table, json or yaml")
	flags := config.Bind(cmd.Flags(), providers)
	help(cmd, flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, log, ok, err := configured(cmd, flags)
		if !ok {
			return err
		}
		var rc *rest.Config
		if c.Cloud.Provider != "aws" { // it asks AWS alone
			if rc, err = restConfig(c.Cluster); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), c.Cloud.InventoryDeadline,
			fmt.Errorf("no answer within %s (--inventory-deadline)", c.Cloud.InventoryDeadline))
		defer cancel()
		p, err := newProvider(ctx, c, rc, prometheus.NewRegistry(), log)
		if err != nil {
			return err
		}
		inv, err := p.Inventory(ctx)
		if err != nil {
			return fmt.Errorf("read the node groups: %w", err)
		}
		return cli.Groups(cmd.OutOrStdout(), inv, pool.Read(inv), format)
	}
	return cmd
}

// help shows the main flags, grouped; --help-all shows every one.
func help(cmd *cobra.Command, flags *config.Flags) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\nExamples:\n%s\n\n", cmd.Short, cmd.Example)
		if flags.HelpAll() {
			fmt.Fprint(out, flags.AllHelp())
			return
		}
		fmt.Fprint(out, flags.Help())
	})
}
