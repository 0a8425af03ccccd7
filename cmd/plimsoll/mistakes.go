package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// The exit codes other than 0; docs/cli.md has them.
const (
	exitError       = 1
	exitUsage       = 2
	exitChanges     = 3
	exitInterrupted = 130
)

// errChanges ends a command that has found something that would change, which is no error.
var errChanges = errors.New("something would change")

// errInterrupted ends a command that was asked to end before it was done.
var errInterrupted = errors.New("interrupted")

// misuse is an error in the command line itself: nothing was tried.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// exitCode tells a person what went wrong, and gives the process's exit code.
func exitCode(err error, stderr io.Writer) int {
	wrong := misuse{}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errChanges):
		return exitChanges
	}
	fmt.Fprintln(stderr, "plimsoll:", cli.ErrorText(err))
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return exitError
}

// unknownCommand is the error for a name that is no command of the program.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	did := ";"
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		did = fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
	}
	return misusef("unknown command %q%s %s --help lists the commands", args[0], did, cmd.CommandPath())
}

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// onlyFlags is the error for what follows a command that reads flags alone: often the
// value of a boolean flag, which wants a =.
func onlyFlags(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	write := cmd.CommandPath() + " --help lists what it takes"
	if value := strings.ToLower(args[0]); value == "true" || value == "false" {
		var meant []string
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.NoOptDefVal == "true" && f.Value.String() == "true" {
				meant = append(meant, "--"+f.Name+"="+value)
			}
		})
		if len(meant) > 0 {
			write = "write " + strings.Join(meant, " or ")
		}
	}
	return misusef("%q is not read: %s", args[0], write)
}

// flagMistake adds to an error about flags what the person may have meant.
func flagMistake(cmd *cobra.Command, err error) error {
	if meant := config.ValueMeant(err); meant != err {
		return misuse{meant}
	}
	if before := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(before) > 0 {
		return unknownCommand(cmd, before) // which is the first mistake
	}
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return misuse{err}
	}
	all := "--help"
	if cmd.Flags().Lookup("help-all") != nil {
		all = "--help-all"
	}
	did := ";"
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	if name == "f" || name == "filename" {
		did = ": a cluster in a file is read by plan, by explain pod, node and group, by budgets, groups and dump;"
	} else if near := spelling.Nearest(name, names); near != "" {
		did = fmt.Sprintf(": did you mean --%s?", near)
	}
	return misusef("%w%s %s %s lists the flags", err, did, cmd.CommandPath(), all)
}
