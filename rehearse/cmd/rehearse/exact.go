package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/exact"
)

var errRoundsCutShort = errors.New("interrupted before the last round")

// exactFlags are the flags of `rehearse exact`.
type exactFlags struct {
	rounds   int
	seed     uint64
	plimsoll string
}

func exactCommand() *cobra.Command {
	var flags exactFlags
	command := &cobra.Command{
		Use:   "exact",
		Short: "Play rounds of random workloads, and hold Plimsoll to what the real scheduler says",
		Long: `Play rounds of random workloads and node groups, each on a control plane of its own,
and hold Plimsoll to what the real scheduler says:

  - every pod that can run runs
  - no plan had room for a pod that the scheduler's filters do not allow
  - the nodes that come are those of the plans, and no plan's bound is above them
  - what stays pending does so for the reason that is told: a new node of each group is
    put up, and the scheduler is asked about a copy of the pod
  - while the workloads shrink and grow, no pod that ran waits for long
  - when all is deleted, each group goes back to its minimum

A round has a line, and takes about a minute. The exit code is 0 only if no round found
a fault. A fault names its seed: --rounds 1 --seed N plays that round again.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if flags.rounds < 1 {
				return fmt.Errorf("--rounds: %d is less than 1", flags.rounds)
			}
			return playExact(flags, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	set := command.Flags()
	set.IntVar(&flags.rounds, "rounds", exact.Rounds, "how many rounds to play")
	set.Uint64Var(&flags.seed, "seed", exact.Seed, "the first round's seed; each next round has the next number")
	set.StringVar(&flags.plimsoll, "plimsoll", "", "plimsoll's binary (default: the one beside this program)")
	return command
}

func playExact(flags exactFlags, out, progress io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	binary, err := autoscaler.Find(flags.plimsoll)
	if err != nil {
		return err
	}
	ctrllog.SetLogger(logr.Discard()) // of the client here; each component has a log of its own
	log := slog.New(slog.NewTextHandler(progress, nil))
	faults := 0
	for round := range flags.rounds {
		seed := flags.seed + uint64(round)
		fmt.Fprintf(progress, "playing seed %d ...\n", seed)
		result, err := exact.Play(ctx, binary, seed, log)
		if ctx.Err() != nil {
			return errRoundsCutShort
		}
		fmt.Fprintln(out, result)
		if err != nil {
			faults++
			fmt.Fprintf(out, "FAULT in seed %d: %v\nplay it again: rehearse exact --rounds 1 --seed %d\n",
				result.Seed, err, result.Seed)
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d of %d rounds found a fault", faults, flags.rounds)
	}
	fmt.Fprintf(out, "%d of %d rounds are as they must be\n", flags.rounds, flags.rounds)
	return nil
}
