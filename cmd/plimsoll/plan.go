package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what would be bought, removed and moved now, and why the rest would not; changes nothing",
		Example: `  plimsoll plan -f docs/examples/shop
  plimsoll plan --cloud-provider=aws --nodes=0:10:workers
  plimsoll plan -f cluster.yaml --set group=general,max=20 --add-pods 100=pod.yaml -o wide
  plimsoll plan -f docs/examples/shop --until=rest`,
		Args: onlyFlags,
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, wide, json or yaml")
	until := cmd.Flags().String("until", "now",
		"how far to go: now, one plan; rest, each plan carried out in memory and the next made, until nothing changes")
	q := bindQuestion(cmd, "output", "until")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch *until {
		case "now":
			return planNow(cmd, q, format)
		case "rest":
			return planUntilRest(cmd, q, format)
		}
		return misusef("--until=%s: want now or rest", *until)
	}
	return cmd
}

func planNow(cmd *cobra.Command, q *question, format cli.Format) error {
	c, s, err := q.gather(cmd)
	if c == nil || err != nil {
		return err
	}
	cycle, err := decided(c, s)
	if err != nil {
		return err
	}
	plan := explain.PlanOf(cycle, s.config.Policy)
	plan.GuessedFrom = c.GuessedFrom
	plan.Try(cycle, s.config.Policy)
	if err := cli.Plan(cmd.OutOrStdout(), plan, format); err != nil {
		return err
	}
	return planned(plan.InventoryError, plan.Changes, c)
}

// withoutGroups is the error of an answer without node groups: what is missing of it is not known. The answer has said
// why they are missing.
func withoutGroups(what string, c *clusterfile.Cluster) error {
	if c.InventoryErr != "" {
		return fmt.Errorf("%s without the node groups: the answer says why they could not be read", what)
	}
	return fmt.Errorf("%s without the node groups: no label of a node names one; %s", what, groupsFrom(c))
}

// planned makes the exit code of what a plan says.
func planned(inventoryError string, changes bool, c *clusterfile.Cluster) error {
	switch {
	case inventoryError != "": // that nothing would change is not known
		return withoutGroups("plan", c)
	case changes:
		return errChanges
	}
	return nil
}

func planUntilRest(cmd *cobra.Command, q *question, format cli.Format) error {
	c, s, err := q.gather(cmd)
	if c == nil || err != nil {
		return err
	}
	start := ask.Cluster{Objects: c.Objects, Settings: s.observing(), Memory: c.Remembered(), Now: c.Time}
	start.Groups, start.GroupsErr = c.Groups()
	var course explain.Course
	var last model.Cycle
	limit, err := ask.UntilRest(cmd.Context(), start, s.config.Policy, func(cycle model.Cycle) {
		course.Add(cycle, s.config.Policy)
		last = cycle
	})
	if err != nil {
		return err
	}
	course.AtRest, course.Limit, course.Last.GuessedFrom = limit == "", limit, c.GuessedFrom
	course.Last.Try(last, s.config.Policy)
	if err := cli.Course(cmd.OutOrStdout(), course, format); err != nil {
		return err
	}
	return planned(course.Last.InventoryError, course.Changes(), c)
}
