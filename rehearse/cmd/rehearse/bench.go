package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/measure"
)

var (
	errMeasuringCutShort = errors.New("interrupted before the last figure")
	measurements         = []string{"growth", "motive", "idle"}
)

func benchCommand() *cobra.Command {
	var plimsoll string
	var only []string
	command := &cobra.Command{
		Use:   "bench",
		Short: "Take the figures that need a control plane, and print them",
		Long: `Take the figures that need a control plane, each on a cluster of its own, and
print them beside what is aimed at:

  growth  2,000 pending pods onto 8-core nodes, and the control plane alone
  motive  1 to 5,000 pods beside 30 apps with three groups each
  idle    what 1,000 nodes cost on which nothing happens

It takes about ten minutes, most of them for idle. The machine should have nothing else to do.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			for _, name := range only {
				if !slices.Contains(measurements, name) {
					return fmt.Errorf("--only: there is no measurement %q; there are %s", name, strings.Join(measurements, ", "))
				}
			}
			return bench(plimsoll, only, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	set := command.Flags()
	set.StringVar(&plimsoll, "plimsoll", "", "plimsoll's binary (default: the one beside this program)")
	set.StringSliceVar(&only, "only", measurements, "which figures to take")
	return command
}

func bench(plimsoll string, only []string, out, progress io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	binary, err := autoscaler.Find(plimsoll)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(progress, nil))
	for _, name := range only {
		machine, err := measure.ThisMachine(time.Now())
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "measuring %s ...\n", name)
		var figures fmt.Stringer
		switch name {
		case "growth":
			figures, err = measure.Growth(ctx, binary, log)
		case "motive":
			figures, err = measure.Motive(ctx, binary, log)
		case "idle":
			figures, err = measure.Idle(ctx, binary, log)
		}
		if ctx.Err() != nil {
			return errMeasuringCutShort
		}
		if err != nil {
			return fmt.Errorf("measure %s: %w", name, err)
		}
		fmt.Fprintf(out, "%s\n  (%s)\n\n", figures, machine)
	}
	return nil
}
