package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// question is what the commands have in common that ask about a cluster: where it comes from, what is
// supposed of it, and the flags by which it is decided on.
type question struct {
	from    clusterSource
	suppose supposition
	flags   *config.Flags
	own     []string // the command's own flags, for its help
}

// bindQuestion binds the flags of a command that asks about a cluster. own are those that it has already.
func bindQuestion(cmd *cobra.Command, own ...string) *question {
	q := &question{}
	q.from.bind(cmd.Flags())
	q.suppose.bind(cmd.Flags())
	q.flags = config.Bind(cmd.Flags(), providers.All())
	q.flags.WithoutProvider()
	q.flags.HideServing()
	q.flags.BindRequestTimeout()
	q.own = append(own, "request-timeout", "filename", "groups", "set", "add-pods", "remove-node")
	help(cmd, func() string {
		if q.flags.HelpAll() {
			return ownHelp(cmd, q.own) + q.flags.AllHelp()
		}
		return ownHelp(cmd, q.own) + q.flags.Help()
	})
	return q
}

// ownHelp is the help of a command's own flags.
func ownHelp(cmd *cobra.Command, names []string) string {
	text := "\nFlags:\n"
	for _, name := range names {
		text += config.Line(cmd.Flags().Lookup(name))
	}
	return text
}

// decided is the decision on a cluster that was gathered.
func decided(c *clusterfile.Cluster, s *start) (model.Cycle, error) {
	seen, err := c.Observation(s.observing())
	if err != nil {
		return model.Cycle{}, err
	}
	return ask.Decide(seen, c.Remembered(), s.config.Policy)
}

// gather reads the cluster. Flags that a file says are taken where the command line does not say them. The
// cluster is nil where the help was asked for.
func (q *question) gather(cmd *cobra.Command) (*clusterfile.Cluster, *start, error) {
	ctx, told := cmd.Context(), cmd.ErrOrStderr()
	if err := q.suppose.misused(slices.Contains(q.from.files, "-")); err != nil {
		return nil, nil, err
	}
	c, err := q.from.read(ctx, cmd.InOrStdin())
	if err != nil {
		return nil, nil, err
	}
	if err := restored(q.flags, c); err != nil {
		return nil, nil, err
	}
	s, err := configured(cmd, q.flags)
	if s == nil {
		return nil, nil, err
	}
	if c != nil {
		tellIdle(q.flags, told)
	}
	if c, err = q.from.complete(ctx, s, c, told); err != nil {
		return nil, nil, err
	}
	return c, s, q.suppose.apply(c, &s.config.Prices.First, cmd.InOrStdin(), told)
}

// restored takes the flags and the time that a cluster's file says, if there is one.
func restored(flags *config.Flags, c *clusterfile.Cluster) error {
	if c == nil {
		return nil
	}
	flags.At(c.Time)
	return flags.Restore(c.Flags, c.FlagsAt)
}

// tellIdle names the flags that were given and have no effect, since the cluster is read from files.
func tellIdle(flags *config.Flags, told io.Writer) {
	if idle := flags.Reaching(); len(idle) > 0 {
		cli.Tell(told, "note", "without effect beside --filename (-f): "+strings.Join(idle, ", "))
	}
}
