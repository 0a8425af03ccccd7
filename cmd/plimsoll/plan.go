package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

func planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what would be bought, removed and moved now, and why the rest would not; changes nothing",
		Example: `  plimsoll plan -f docs/examples/shop
  plimsoll plan --cloud-provider=aws --nodes=0:10:workers
  plimsoll plan -f cluster.yaml --set group=general,max=20 --add-pods 100=pod.yaml -o wide`,
		Args: onlyFlags,
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, wide, json or yaml")
	q := bindQuestion(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cycle, s, err := q.answer(cmd)
		if cycle == nil || err != nil {
			return err
		}
		plan := explain.PlanOf(*cycle, s.config.Policy)
		if err := cli.Plan(cmd.OutOrStdout(), plan, format); err != nil {
			return err
		}
		switch {
		case plan.InventoryError != "": // that nothing would change is not known
			return fmt.Errorf("plan without the node groups: %s", plan.InventoryError)
		case plan.Changes:
			return errChanges
		}
		return nil
	}
	return cmd
}
