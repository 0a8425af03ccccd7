package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

func budgetsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budgets",
		Short: "Show what each budget leaves now, and its windows of the next seven days",
		Example: `  plimsoll budgets --config=plimsoll.yaml
  plimsoll budgets --config=plimsoll.yaml --cloud-provider=aws --nodes=0:10:workers
  plimsoll budgets --config=plimsoll.yaml -f cluster.yaml -o json`,
		Args: onlyFlags,
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, wide, json or yaml")
	q := bindQuestion(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, s, err := q.gather(cmd)
		if c == nil || err != nil {
			return err
		}
		tellNoGroups(c, cmd.ErrOrStderr())
		cycle, err := decided(c, s)
		if err != nil {
			return err
		}
		return cli.Budgets(cmd.OutOrStdout(), explain.BudgetsOf(cycle.Snapshot, s.config.Policy.Budgets), format)
	}
	return cmd
}
