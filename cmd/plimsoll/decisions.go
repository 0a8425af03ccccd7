package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
)

// watchPace is how often a watch asks for more.
const watchPace = time.Second

// decisionsCommand lists the decisions that the leader keeps.
func decisionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decisions",
		Short: "List the last decisions that did or changed something, the oldest first",
		Example: `  plimsoll decisions
  plimsoll decisions -w                   # and those to come
  plimsoll decisions --limit=1 -o json`,
		Args: onlyFlags,
	}
	var leader toLeader
	leader.bind(cmd.Flags())
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, json or yaml")
	watch := cmd.Flags().BoolP("watch", "w", false, "go on with those to come")
	limit := cmd.Flags().Int("limit", 100, "how many to list")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 {
			return misusef("--limit=%d: want 1 or more", *limit)
		}
		ctx := cmd.Context()
		page, err := leader.reach(ctx)
		if err != nil {
			return err
		}
		defer page.end()
		answer, err := page.askLeader(ctx, fmt.Sprintf("/api/v1/decisions?limit=%d", *limit))
		// A list has the newest first, what is new the oldest.
		slices.Reverse(answer.Decisions)
		last := ""
		for {
			if err != nil {
				return err
			}
			list := answer.Decisions
			if len(list) > 0 || last == "" && !*watch {
				if err := cli.Decisions(cmd.OutOrStdout(), list, format); err != nil {
					return err
				}
			}
			if len(list) > 0 {
				last = list[len(list)-1].ID
			}
			if !*watch {
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(watchPace):
			}
			answer, err = page.askLeader(ctx, "/api/v1/decisions?after="+url.QueryEscape(last))
			if ctx.Err() != nil {
				return nil
			}
		}
	}
	return cmd
}

// explainPlanCommand tells all of one decision.
func explainPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan [ID|last]",
		Short: "Tell all of one decision that the leader keeps: plan, verdicts, calls, and the new nodes",
		Example: `  plimsoll explain plan last
  plimsoll explain plan 20260102T150405.000Z
  plimsoll explain plan --at=2026-01-02T15:04:05Z -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misusef("name one decision: plimsoll explain plan [ID|last]")
			}
			return nil
		},
	}
	var leader toLeader
	leader.bind(cmd.Flags())
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, json or yaml")
	at := cmd.Flags().String("at", "", "the decision that stood at this time, as 2026-01-02T15:04:05Z")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := "/api/v1/decisions/" + decisions.Last
		switch {
		case *at != "" && len(args) > 0:
			return misusef("name a decision or give --at, not both")
		case *at != "":
			if _, err := time.Parse(time.RFC3339, *at); err != nil {
				return misusef("--at=%s: want a time as 2026-01-02T15:04:05Z", *at)
			}
			path = "/api/v1/decisions?at=" + url.QueryEscape(*at)
		case len(args) > 0:
			path = "/api/v1/decisions/" + url.PathEscape(args[0])
		}
		page, err := leader.reach(cmd.Context())
		if err != nil {
			return err
		}
		defer page.end()
		answer, err := page.askLeader(cmd.Context(), path)
		if err != nil {
			return err
		}
		if len(answer.Decisions) == 0 {
			return errors.New("the leader keeps no decision yet")
		}
		return cli.Decision(cmd.OutOrStdout(), answer.Decisions[0], format)
	}
	return cmd
}
