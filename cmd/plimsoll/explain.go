package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say why a pod waits, why a node stays or how a group stands, and what would change it; changes nothing",
		Example: `  plimsoll explain pod shop/api-7d9f-x2k4p -f cluster.yaml
  plimsoll explain node ip-10-0-4-91 --cloud-provider=aws --nodes=0:10:workers
  plimsoll explain group general -f cluster.yaml -o json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		explainSubject("pod NAMESPACE/NAME", "Say why a pod has no node and what would give it one, or what would move it",
			`  plimsoll explain pod shop/api-7d9f-x2k4p -f cluster.yaml
  plimsoll explain pod shop/api-7d9f-x2k4p --cloud-provider=aws --nodes=0:10:workers
  plimsoll explain pod shop/api-7d9f-x2k4p -f cluster.yaml --set group=general,max=20 -o json`,
			asked(explain.PodOf, cli.Pod)),
		explainSubject("node NAME", "Say what keeps a node, or how far its removal is",
			`  plimsoll explain node ip-10-0-4-91 -f cluster.yaml
  plimsoll explain node ip-10-0-4-91 --cloud-provider=aws --nodes=0:10:workers
  plimsoll explain node ip-10-0-4-91 -f cluster.yaml --skip-nodes-with-system-pods=false -o json`,
			asked(explain.NodeOf, cli.Node)),
		explainSubject("group NAME", "Say how a node group stands: limits, scale-ups, holds, answers to pods, template",
			`  plimsoll explain group general -f cluster.yaml
  plimsoll explain group general --cloud-provider=aws --nodes=0:10:general
  plimsoll explain group general -f cluster.yaml -o json`,
			asked(explain.GroupOf, cli.Group)),
		explainPlanCommand(),
	)
	return cmd
}

// answerer answers about one thing of a name.
type answerer func(w io.Writer, c model.Cycle, p model.Policy, name string, format cli.Format) error

// asked makes an answerer of what explains and what prints.
func asked[T any](
	of func(model.Cycle, model.Policy, string) (T, error), show func(io.Writer, T, cli.Format) error,
) answerer {
	return func(w io.Writer, c model.Cycle, p model.Policy, name string, format cli.Format) error {
		answer, err := of(c, p, name)
		if err != nil {
			return err
		}
		return show(w, answer, format)
	}
}

func explainSubject(use, short, example string, say answerer) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Example: example}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return misuse{errors.New("give one name: plimsoll explain " + use)}
		}
		return nil
	}
	format := cli.Table
	cmd.Flags().VarP(&format, "output", "o", "text, wide, json or yaml")
	q := bindQuestion(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cycle, s, err := q.answer(cmd)
		if cycle == nil || err != nil {
			return err
		}
		return say(cmd.OutOrStdout(), *cycle, s.config.Policy, args[0], format)
	}
	return cmd
}
