package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// unknownCommand is the error for a name that is no command of the program.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	did := ";"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		did = fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q%s %s --help lists the commands", args[0], did, cmd.CommandPath())
}

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
	return fmt.Errorf("%q is not read: %s", args[0], write)
}

// flagMistake adds to an error about flags what the person may have meant.
func flagMistake(cmd *cobra.Command, err error) error {
	if meant := config.DurationMeant(err); meant != err {
		return meant
	}
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return err
	}
	all := "--help"
	if cmd.Flags().Lookup("help-all") != nil {
		all = "--help-all"
	}
	did := ";"
	if near := nearest(cmd.Flags(), unknown.GetSpecifiedName()); near != "" {
		did = fmt.Sprintf(": did you mean --%s?", near)
	}
	return fmt.Errorf("%w%s %s %s lists the flags", err, did, cmd.CommandPath(), all)
}

// nearest is the flag whose name differs least from one that is none; empty if none is
// near.
func nearest(set *pflag.FlagSet, name string) string {
	best, least := "", min(3, len(name)/2)+1
	set.VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least {
			best, least = f.Name, d
		}
	})
	return best
}

// distance counts the letters to be put in, taken out or exchanged to make one text of
// the other; two neighbours that have changed places count as one.
func distance(a, b string) int {
	before, last, row := []int(nil), []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
