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
	"golang.org/x/term"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/story"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// defaultWidth is that of a terminal that does not tell.
const defaultWidth = 100

var errCutShort = errors.New("interrupted before the end of the story")

// demoFlags are the flags of `rehearse demo`.
type demoFlags struct {
	story    string
	once     bool
	plimsoll string
}

func demoCommand() *cobra.Command {
	var flags demoFlags
	command := &cobra.Command{
		Use:   "demo",
		Short: "Play a story of nodes coming and going, and keep its cluster until Ctrl-C",
		Long: `Start a cluster with Plimsoll and play a story on it, live:

  growth        Deployments grow, pods wait, nodes come and every pod runs; then
                the Deployments shrink and the nodes go
  affinity      a workload of 1 core : 7 GiB arrives among nodes of 1:1, 1:2, 1:8
                and 1:16, as it is and with a required node affinity to the 1:8
                nodes
  eks           on a simulated AWS, a managed node group with 60 labels, more than
                there may be tags, grows from zero for pods that select the 60th,
                and goes back to zero
  eks-anywhere  with the real Cluster API, a worker group of EKS Anywhere grows
                from 1 to 10 machines, is upgraded, and is sized by its count
                again; WorkersReady is watched all the time
  explain       pods fit nowhere for five reasons; each is explained, the fix that is
                named is applied, and all run
  money         a fleet that was bought for a peak sits half idle on dear nodes; it
                shrinks, and in a second run also moves to cheaper nodes, within
                budgets
  gardener      three worker pools of Gardener of 3 to 4 machines over three zones,
                one of which has no quota, each spread by another sizing; what they
                ask for is watched all the time

At its end the cluster stays until Ctrl-C. With --once everything is stopped and
removed; the exit code is 0 only if all that should happen did.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return demo(flags, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	set := command.Flags()
	set.StringVar(&flags.story, "story", story.Stories[0].Name,
		"growth, affinity, eks, eks-anywhere, explain, money or gardener")
	set.BoolVar(&flags.once, "once", false, "end when the story ends; needs no terminal")
	set.StringVar(&flags.plimsoll, "plimsoll", "", "plimsoll's binary (default: the one beside this program)")
	return command
}

// theatre opens a stage for each act of a story.
type theatre struct {
	plimsoll string
	once     bool
	screen   *story.Screen
	progress io.Writer
	try      string // what the reader may do with kubectl afterwards
}

func demo(flags demoFlags, out, progress io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	binary, err := autoscaler.Find(flags.plimsoll)
	if err != nil {
		return err
	}
	t := theatre{plimsoll: binary, once: flags.once, screen: story.NewScreen(out, terminalWidth(out)), progress: progress}
	i := slices.IndexFunc(story.Stories, func(s story.Story) bool { return s.Name == flags.story })
	if i < 0 {
		var names []string
		for _, s := range story.Stories {
			names = append(names, s.Name)
		}
		last := len(names) - 1
		return fmt.Errorf("--story: there is no story %q; there are %s and %s",
			flags.story, strings.Join(names[:last], ", "), names[last])
	}
	t.try = story.Stories[i].Try
	acts := story.Stories[i].Acts()
	for n, play := range acts {
		if err := t.act(ctx, n == len(acts)-1, play); err != nil {
			return err
		}
	}
	return nil
}

// act opens a stage, plays on it, keeps the last one until Ctrl-C unless the
// story is played once, and closes it.
func (t theatre) act(ctx context.Context, last bool, play story.Act) (err error) {
	began := time.Now()
	fmt.Fprintln(t.progress, "starting a control plane ...")
	startCtx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	s, err := stage.Open(startCtx, slog.New(slog.NewTextHandler(t.progress, nil)))
	if err != nil {
		return orInterrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(t.progress, "a Kubernetes control plane is ready after %.1f s\n", time.Since(began).Seconds())
	forget, err := remember(s.Cluster.AdminKubeconfig())
	if err != nil {
		fmt.Fprintln(t.progress, "`rehearse kubectl` will need --kubeconfig:", err)
	} else {
		defer func() { err = errors.Join(err, forget()) }()
	}

	guarded, release := s.Guard(ctx)
	defer release()
	counted, err := play(guarded, s, t.plimsoll, t.screen)
	if err != nil {
		if ctx.Err() != nil {
			return errCutShort
		}
		return s.WithLog(err)
	}
	if counted != "" {
		t.screen.Say("\n" + counted)
	}
	if t.once || !last {
		return nil
	}
	t.screen.Say(t.howToUse(s))
	<-guarded.Done()
	if ctx.Err() == nil {
		return context.Cause(guarded)
	}
	fmt.Fprintln(t.progress, "ending ...")
	return nil
}

func (t theatre) howToUse(s *stage.Stage) string {
	program := os.Args[0]
	return fmt.Sprintf(`
The cluster stays, with Plimsoll, until Ctrl-C. From another terminal:
  %s kubectl get nodes
  %s kubectl %s
or, with a kubectl of your own:
  export KUBECONFIG=%s
Plimsoll's page: %s
Plimsoll's log: %s`, program, program, t.try, s.Cluster.AdminKubeconfig(), s.PageURL(),
		s.Cluster.LogFile(autoscaler.Name))
}

// terminalWidth returns how to learn the width of out; nil if it is no terminal
// on which a frame can be redrawn.
func terminalWidth(out io.Writer) func() int {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width < 20 {
			return defaultWidth
		}
		return width
	}
}
