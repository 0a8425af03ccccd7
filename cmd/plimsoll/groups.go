package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

func groupsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "List the node groups as the provider reads them, or as a file has them; changes nothing",
		Example: `  plimsoll groups --cloud-provider=kwok
  plimsoll groups --cloud-provider=aws --nodes=0:10:workers
  plimsoll groups --cloud-provider=kwok -o yaml    # with each template's node, and where its parts come from
  plimsoll groups -f cluster.yaml                  # those of a dump, or guessed from the nodes' labels`,
		Args: onlyFlags,
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, json or yaml")
	var from clusterSource
	from.bind(cmd.Flags())
	flags := config.Bind(cmd.Flags(), providers.All())
	help(cmd, func() string {
		return ownHelp(cmd, []string{"output", "filename", "groups"}) + flags.ProviderHelp()
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(from.files) > 0 {
			return groupsOfFiles(cmd, &from, flags, format)
		}
		if from.groups != "" {
			return misusef("--groups has no effect without --filename (-f)")
		}
		s, err := configured(cmd, flags)
		if s == nil {
			return err
		}
		deadline, log := s.config.Cloud.InventoryDeadline, s.log
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), deadline,
			fmt.Errorf("no answer within %s (--inventory-deadline)", deadline))
		defer cancel()
		if s.config.Logging.Verbosity < 4 {
			log = slog.New(slog.DiscardHandler) // what a person should know is in the answer
		}
		p, err := s.newProvider(ctx, prometheus.NewRegistry(), log)
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

// groupsOfFiles lists the node groups of a cluster in files.
func groupsOfFiles(cmd *cobra.Command, from *clusterSource, flags *config.Flags, format cli.Format) error {
	flags.WithoutProvider()
	s, err := configured(cmd, flags)
	if s == nil {
		return err
	}
	tellIdle(flags, cmd.ErrOrStderr())
	c, err := from.read(cmd.Context(), cmd.InOrStdin())
	if err == nil {
		c, err = from.complete(cmd.Context(), s, c, cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	inv, err := c.Groups()
	if err != nil {
		return fmt.Errorf("list the node groups: %w", err)
	}
	return cli.Groups(cmd.OutOrStdout(), inv, pool.Read(inv), format)
}

// help shows a command with flags in sections: flagged is the text of these.
func help(cmd *cobra.Command, flagged func() string) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n%s",
			cmd.Short, cmd.UseLine(), cmd.Example, flagged())
	})
}
