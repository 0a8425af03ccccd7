// Command plimsoll is a node autoscaler for Kubernetes.
//
//	plimsoll run         observes the cluster and the cloud, decides, acts, explains
//	plimsoll groups      lists the node groups as the provider reads them
//	plimsoll plan        shows what would be bought and removed now; changes nothing
//	plimsoll explain     says why a pod waits, why a node stays, how a group stands
//	plimsoll dump        writes a cluster into a file, as deciding reads it
//	plimsoll status      shows how the cluster and its groups stand, as last written
//	plimsoll ui          opens the leader's page in a browser
//	plimsoll decisions   lists the last decisions
//	plimsoll budgets     shows what budgets leave now, and their windows
//	plimsoll controller  runs what stands beside the loop: eks-anywhere, gardener
//	plimsoll gardener    looks at the worker pools of a Gardener shoot in a file
//	plimsoll config      looks at the configuration file: print, validate, explain, diff, from-flags
//	plimsoll pause       buys and removes nothing in a group; resume ends it
//	plimsoll migrate     translates a Cluster Autoscaler's Deployment or Helm values
//	plimsoll version     tells version, commit and libraries
//	plimsoll completion  prints what completes command lines in a shell
//
// With flags alone, or called cluster-autoscaler, it is plimsoll run: manifests
// made for the Cluster Autoscaler start it as they are.
//
// This is the host of the live loop: everything is wired here (wire.go), and
// nowhere else.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
)

// version is stamped at link time.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args, os.Stdout, os.Stderr))
}

// quick is how long a command that was asked to end has for that, before the process ends without it: it may
// wait for standard input, or count.
const quick = 500 * time.Millisecond

// longLived is the annotation of commands that end what they began when they are asked to end.
const longLived = "long-lived"

// execute does what a command line says, and gives the process's exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := root()
	stdout, stderr = cli.Terminal(stdout), cli.Terminal(stderr)
	out := &remembering{to: stdout}
	cmd.SetOut(out)
	cmd.SetErr(stderr)
	line := arguments(args)
	cmd.SetArgs(line)
	found, _, unknown := cmd.Find(line)
	endsItself := unknown == nil && found.Annotations[longLived] != ""
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	var err error
	select {
	case err = <-ended:
		if err == nil && out.err != nil {
			err = fmt.Errorf("write the output: %w", out.err) // such as of a help
		}
	case <-ctx.Done():
		soon := time.After(quick)
		if endsItself {
			soon = nil
		}
		select {
		case err = <-ended:
		case <-soon:
			err = errInterrupted
		}
	}
	switch {
	case ctx.Err() == nil || err == nil || errors.Is(err, errChanges):
	case !endsItself:
		err = errInterrupted // whatever else it says, it is for this
	case forTheEnd(err):
		err = nil // it was still starting
	}
	return exitCode(err, stderr)
}

// forTheEnd reports whether an error says only that something was ended: each of several does.
func forTheEnd(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(e error) bool { return !forTheEnd(e) })
	}
	if below := errors.Unwrap(err); below != nil {
		return forTheEnd(below)
	}
	return errors.Is(err, context.Canceled)
}

// remembering writes, and keeps the first error, for what does not look at it.
type remembering struct {
	to  io.Writer
	err error
}

func (r *remembering) Write(text []byte) (int, error) {
	n, err := r.to.Write(text)
	r.err = cmp.Or(r.err, err)
	return n, err
}

// standIn is the name under which the binary is plimsoll run.
const standIn = "cluster-autoscaler"

// arguments is the command line without the program's name. Where no command is
// named, it is run: for a process that is called cluster-autoscaler, and where
// flags are given that are not the root's own.
func arguments(args []string) []string {
	name, rest := filepath.Base(args[0]), args[1:]
	if len(rest) == 0 {
		if name == standIn {
			return []string{"run"}
		}
		return rest
	}
	switch first := rest[0]; {
	case !strings.HasPrefix(first, "-"):
		return rest // a command
	case first == "--version", first == "-v" && len(rest) == 1:
		return rest
	case (first == "--help" || first == "-h") && name != standIn:
		return rest
	}
	return append([]string{"run"}, rest...)
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plimsoll",
		Short: "A node autoscaler for Kubernetes that loads a cluster exactly to its line",
		Example: `  plimsoll run --cloud-provider=kwok --kubeconfig=$HOME/.kube/config
  plimsoll plan -f cluster.yaml
  plimsoll status`,
		Version:       version,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetFlagErrorFunc(flagMistake)
	cmd.AddCommand(runCommand(), groupsCommand(), planCommand(), explainCommand(), dumpCommand(), statusCommand(),
		controllerCommand(), gardenerCommand(), migrateCommand(), configCommand(), versionCommand(), uiCommand(),
		decisionsCommand(), budgetsCommand(), pauseCommand(), resumeCommand(), completionCommand())
	cmd.InitDefaultHelpCmd()
	if help, _, err := cmd.Find([]string{"help"}); err == nil {
		help.Args = func(help *cobra.Command, args []string) error {
			about, rest, err := help.Root().Find(args)
			if err != nil {
				return err
			}
			return unknownCommand(about, rest)
		}
	}
	return cmd
}
