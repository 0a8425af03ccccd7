// Package stage is where stories are played and figures are taken: a control
// plane, a world and Plimsoll beside it as processes of their own, and a watch that
// counts pods by workload and nodes by group.
//
// What flows in: node groups, workloads and Plimsoll's flags, as values. What
// flows out: tallies of the cluster, and the end of waiting for one. It decides
// nothing and prints nothing. Packages story and measure use it.
package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

const (
	protobuf  = runtime.ContentTypeProtobuf
	accepted  = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	tailLines = 15
)

// Stage is a running control plane with an audience. It is over after Close.
type Stage struct {
	Cluster *controlplane.ControlPlane
	Client  kubernetes.Interface // the administrator's
	Watch   *Watch

	address  string // host:port of Plimsoll's metrics; empty before Autoscale
	page     string // host:port of its page
	plimsoll autoscaler.Setting
	launched []string // the processes of Plimsoll's, in the order of their start
}

// Open starts a control plane and begins to watch it. When it fails it leaves
// nothing behind.
func Open(ctx context.Context, log *slog.Logger) (_ *Stage, err error) {
	cluster, err := controlplane.Start(ctx, controlplane.Config{Log: log})
	if err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, cluster.Stop())
		}
	}()
	config := cluster.AdminConfig()
	config.ContentType, config.AcceptContentTypes = protobuf, accepted
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of the stage: %w", err)
	}
	watch, err := newWatch(ctx, client)
	if err != nil {
		return nil, err
	}
	return &Stage{Cluster: cluster, Client: client, Watch: watch}, nil
}

// Close ends the watch and every process, and removes every file.
func (s *Stage) Close() error {
	s.Watch.close()
	return s.Cluster.Stop()
}

// Autoscale starts Plimsoll with these node groups in the world of kwok, and returns
// once it is ready.
func (s *Stage) Autoscale(ctx context.Context, binary string, groups []Group, flags ...string) error {
	templates, err := templates(groups)
	if err != nil {
		return err
	}
	path := filepath.Join(s.Cluster.DataDir(), "templates.yaml")
	if err := os.WriteFile(path, templates, 0o600); err != nil {
		return fmt.Errorf("write the templates: %w", err)
	}
	return s.AutoscaleIn(ctx, binary, world.Kwok(path), flags...)
}

// AutoscaleIn starts a world, and Plimsoll in it, and returns once it is ready.
func (s *Stage) AutoscaleIn(ctx context.Context, binary string, where world.World, flags ...string) error {
	if err := where.Enter(ctx, s.Cluster); err != nil {
		return err
	}
	taken := map[int]bool{}
	for _, address := range []*string{&s.address, &s.page} {
		port, err := controlplane.FreePort(taken)
		if err != nil {
			return err
		}
		taken[port] = true
		*address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	s.plimsoll = autoscaler.Setting{
		Binary:     binary,
		Kubeconfig: s.Cluster.PlimsollKubeconfig(),
		Cloud:      where.Cloud,
		Address:    s.address,
		Page:       s.page,
	}
	return s.launchPlimsoll(ctx, flags)
}

// Restart ends Plimsoll, starts it with other flags in the same world, and returns once it is ready.
func (s *Stage) Restart(ctx context.Context, flags ...string) error {
	state, err := s.Cluster.Processes().End(autoscaler.Name)
	if err != nil {
		return err
	}
	if code := state.ExitCode(); code != 0 {
		return fmt.Errorf("Plimsoll ended with exit code %d when it was asked to end", code)
	}
	return s.launchPlimsoll(ctx, flags)
}

func (s *Stage) launchPlimsoll(ctx context.Context, flags []string) error {
	setting := s.plimsoll
	setting.Flags = append([]string{"--logging-format=json"}, flags...)
	return s.Launch(ctx, setting.Process())
}

// Launch starts a process of Plimsoll's, and returns once it is ready.
func (s *Stage) Launch(ctx context.Context, process supervise.Process) error {
	if err := s.Cluster.Launch(process); err != nil {
		return err
	}
	if !slices.Contains(s.launched, process.Name) {
		s.launched = append(s.launched, process.Name)
	}
	return s.Cluster.Processes().WaitReady(ctx, process.Name)
}

// PageURL is where Plimsoll serves its page.
func (s *Stage) PageURL() string { return "http://" + s.page + "/" }

// PID is the process id of a component or of Plimsoll.
func (s *Stage) PID(name string) (int, error) {
	for _, status := range s.Cluster.Processes().Processes() {
		if status.Name == name && status.Running {
			return status.PID, nil
		}
	}
	return 0, fmt.Errorf("no process named %s is running", name)
}

// Guard returns a context that ends, with its cause, when a process of the stage
// dies. It takes over the reading of Failed.
func (s *Stage) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	guarded, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case err := <-s.Cluster.Processes().Failed():
			cancel(err)
		case <-guarded.Done():
		}
	}()
	return guarded, func() { cancel(nil) }
}

// WithLog adds the ends of the logs of Plimsoll's processes to an error, for the
// reader who must find out why. A death brings the end of its log already.
func (s *Stage) WithLog(err error) error {
	var death *supervise.DeathError
	if err == nil || errors.As(err, &death) {
		return err
	}
	for _, name := range s.launched {
		data, errRead := os.ReadFile(s.Cluster.LogFile(name))
		if errRead != nil {
			err = fmt.Errorf("%w\n(%s left no log: %v)", err, name, errRead)
			continue
		}
		lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
		lines = lines[max(0, len(lines)-tailLines):]
		err = fmt.Errorf("%w\nthe end of the log of %s:\n  %s", err, name, strings.Join(lines, "\n  "))
	}
	return err
}
