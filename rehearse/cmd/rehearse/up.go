package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/story"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// On a busy machine a start takes several times the few seconds that it should.
const startTimeout = 4 * time.Minute

var errInterrupted = errors.New("interrupted before the cluster was ready")

// upFlags are the flags of `rehearse up`.
type upFlags struct {
	kubeconfig        string
	world             string
	templates         string
	dataDir           string
	plimsoll          string
	withoutAutoscaler bool
	withoutKwok       bool
	keepGoing         bool
	plimsollFlags     []string
}

func upCommand() *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up [flags] [-- PLIMSOLL FLAGS]",
		Short: "Start a cluster, and keep it until Ctrl-C",
		Long: `Start a cluster, print one line with its kubeconfig's path when it is ready, and
keep it until SIGINT or SIGTERM; then end every process and remove every file.
If a component dies, up names it, prints the end of its log, and fails.

A world is where the nodes come from:

  kwok        Plimsoll makes them itself; --templates is a file of node templates
  aws         they are instances of a simulated AWS, in EKS managed node groups;
              --templates is a file that describes these (docs/aws.md shows one)
  clusterapi  they are machines of the real Cluster API controllers, simulated; there
              is no file
  gardener    they are machines of Gardener's worker pools, over a stand-in for
              machine-controller-manager; --templates is a file that describes the
              pools`,
		Example: `  rehearse up
  rehearse up --templates groups.yaml -- --expander=price --v=4
  rehearse up --world aws
  rehearse up --without-autoscaler --kubeconfig /tmp/rehearsal.kubeconfig`,
		Args: func(command *cobra.Command, args []string) error {
			if dash := command.ArgsLenAtDash(); dash > 0 || (dash < 0 && len(args) > 0) {
				return fmt.Errorf("unexpected argument %q; flags for plimsoll go after --", args[0])
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			flags.plimsollFlags = args
			return up(flags, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	set := command.Flags()
	set.StringVar(&flags.kubeconfig, "kubeconfig", "",
		"also write the administrator's kubeconfig to this new `FILE`; removed at the end")
	set.StringVar(&flags.world, "world", world.Default, "where nodes come from: "+strings.Join(world.Names(), " or "))
	set.StringVar(&flags.templates, "templates", "",
		"`FILE` of the world's node groups, in the world's own form (default: a few of our own)")
	set.StringVar(&flags.dataDir, "data-dir", "",
		"new or empty `FOLDER` for all data, removed at the end (default: a temporary one)")
	set.StringVar(&flags.plimsoll, "plimsoll", "", "plimsoll's binary (default: the one beside this program)")
	set.BoolVar(&flags.withoutAutoscaler, "without-autoscaler", false,
		"do not start Plimsoll: leave the cluster to another autoscaler")
	set.BoolVar(&flags.withoutKwok, "without-kwok", false,
		"do not start the kwok controller: nodes stay as they are written")
	set.BoolVar(&flags.keepGoing, "keep-going", false, "start a component that dies again, over the same data")
	return command
}

// binary is Plimsoll's; empty: it is not started.
func (f upFlags) binary() (string, error) {
	switch {
	case !f.withoutAutoscaler:
		return autoscaler.Find(f.plimsoll)
	case len(f.plimsollFlags) > 0:
		return "", fmt.Errorf("flags for plimsoll (%q) and --without-autoscaler contradict each other", f.plimsollFlags)
	}
	return "", nil
}

// makeWorld reads what shall be there beside the control plane.
func (f upFlags) makeWorld() (world.Maker, error) {
	read, err := world.ByName(f.world)
	if err != nil {
		return nil, fmt.Errorf("--world: %w", err)
	}
	maker, err := read(f.templates)
	if err != nil {
		return nil, fmt.Errorf("--templates: %w", err)
	}
	return maker, nil
}

// up is the life of one rehearsal: prepare, start, tell, wait, end.
func up(flags upFlags, out, progress io.Writer) (err error) {
	began := time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	log := slog.New(slog.NewTextHandler(progress, nil))

	// 1. What can be wrong is found before anything is started.
	binary, err := flags.binary()
	if err != nil {
		return err
	}
	makeWorld, err := flags.makeWorld()
	if err != nil {
		return err
	}
	var published []string
	defer func() { err = errors.Join(err, removeAll(published)) }()
	if flags.kubeconfig != "" {
		if flags.kubeconfig, err = filepath.Abs(flags.kubeconfig); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
		if err := reserve(flags.kubeconfig); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
		published = append(published, flags.kubeconfig)
	}

	// 2. The control plane, the world, then Plimsoll.
	fmt.Fprintln(progress, "starting a control plane ...")
	startCtx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	cluster, err := controlplane.Start(startCtx, controlplane.Config{
		DataDir:     flags.dataDir,
		WithoutKwok: flags.withoutKwok,
		KeepGoing:   flags.keepGoing,
		Log:         log,
	})
	if err != nil {
		return orInterrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	made, err := makeWorld(cluster)
	if err != nil {
		return err
	}
	if err := made.Enter(startCtx, cluster); err != nil {
		return orInterrupted(ctx, err)
	}
	page := ""
	if binary != "" {
		if page, err = startPlimsoll(startCtx, cluster, binary, made.Cloud, flags); err != nil {
			return orInterrupted(ctx, err)
		}
	}

	// 3. Tell the caller, and `rehearse kubectl`, where it is.
	if flags.kubeconfig != "" {
		if err := copyFile(cluster.AdminKubeconfig(), flags.kubeconfig); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	forget, err := remember(cluster.AdminKubeconfig())
	if err != nil {
		fmt.Fprintln(progress, "`rehearse kubectl` will need --kubeconfig:", err)
	} else {
		defer func() { err = errors.Join(err, forget()) }()
	}
	fmt.Fprintf(progress, "ready after %.1f s; Ctrl-C ends it and removes everything\n", time.Since(began).Seconds())
	if made.Notes != "" {
		fmt.Fprintln(progress, made.Notes)
	}
	fmt.Fprintln(progress, "as Plimsoll sees them:", groupsCommand(cluster, binary, made.Cloud, flags))
	fmt.Fprint(progress, page)
	fmt.Fprintf(out, "export KUBECONFIG=%s\n", cmp.Or(flags.kubeconfig, cluster.AdminKubeconfig()))

	// 4. Until a signal, or a death.
	select {
	case <-ctx.Done():
		fmt.Fprintln(progress, "ending ...")
		return nil
	case err := <-cluster.Processes().Failed():
		return err
	}
}

// startPlimsoll also gives what a person is told of the page.
func startPlimsoll(
	ctx context.Context, cluster *controlplane.ControlPlane, binary string, cloud autoscaler.Cloud, flags upFlags,
) (page string, err error) {
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return "", err
	}
	pagePort, err := controlplane.FreePort(map[int]bool{port: true})
	if err != nil {
		return "", err
	}
	setting := autoscaler.Setting{
		Binary:     binary,
		Kubeconfig: cluster.PlimsollKubeconfig(),
		Cloud:      cloud,
		Address:    net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Page:       net.JoinHostPort("127.0.0.1", strconv.Itoa(pagePort)),
		Flags:      flags.plimsollFlags,
	}
	process := setting.Process()
	process.Revive = flags.keepGoing
	if err := cluster.Launch(process); err != nil {
		return "", err
	}
	if url := setting.PageURL(); url != "" {
		page = fmt.Sprintf("Plimsoll's page: %s\n%s\n", url, story.HowToOpen(url))
	}
	return page, cluster.Processes().WaitReady(ctx, process.Name)
}

// groupsCommand is how a person lists the node groups, with the program that runs, or
// would run if another autoscaler did not.
func groupsCommand(cluster *controlplane.ControlPlane, binary string, cloud autoscaler.Cloud, flags upFlags) string {
	if binary == "" {
		var err error
		if binary, err = autoscaler.Find(flags.plimsoll); err != nil {
			binary = autoscaler.Name // it is not where we look: the shell may know
		}
	}
	return autoscaler.Setting{Binary: binary, Kubeconfig: cluster.PlimsollKubeconfig(), Cloud: cloud}.Groups()
}

// orInterrupted replaces an error that a signal caused by what happened.
func orInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// reserve makes the file, so that only its owner can read it, or takes over an
// empty one. It never overwrites a user's kubeconfig.
func reserve(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > 0 {
		return fmt.Errorf("%s is there already, and rehearse writes over no file", path)
	}
	return file.Chmod(0o600)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

func removeAll(paths []string) error {
	var errs []error
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("clean up: %w", err))
		}
	}
	return errors.Join(errs...)
}
