// Package controlplane runs a whole real Kubernetes control plane on this
// machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and the
// kwok controller, with real TLS and RBAC, on loopback alone, in a data folder
// that it removes at the end.
//
// Each component is a child process of the same binary, with a log file, memory
// and a process id of its own, so that one can be killed and come back over the
// same data. The program that imports this package must therefore begin with
// MaybeRunComponent, in its main function or, for tests, in TestMain.
//
// Start's steps are the story: a data folder, secrets, ports, etcd and the API
// server, rights, then everything else. Package supervise keeps the processes;
// package component is the children's side.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"

	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

// Config says what to start.
type Config struct {
	// DataDir is the folder to keep everything in. It must be absent or empty, and
	// is removed at the end. Empty: a new one in the system's folder for temporary
	// files.
	DataDir string
	// WithoutKwok leaves the kwok controller out: nodes stay as they are written.
	WithoutKwok bool
	// KeepGoing starts a component that dies again. Otherwise Failed tells of it.
	KeepGoing bool
	// AuditPolicy, a Policy of audit.k8s.io/v1 in YAML, makes the API server keep an
	// audit log; empty: it keeps none.
	AuditPolicy []byte
	// Log records crashes and restarts; nil: no log.
	Log *slog.Logger
}

// ControlPlane is a running control plane. It is over after Stop.
type ControlPlane struct {
	folders    folders
	processes  *supervise.Group
	components []string // the components' names, in the order of their start
	keepGoing  bool
	secrets    secrets
	admin      *rest.Config
	client     kubernetes.Interface
}

// adminRequestsPerSecond is the rate of the clients made from AdminConfig: high,
// as tests and demos write thousands of objects at once.
const adminRequestsPerSecond = 2000

// The version of component-base that an unstamped build carries.
const unstampedVersion = "v0.0.0-"

// errUnstamped is returned by Start in a binary that was linked without the
// version of Kubernetes: its clients could not parse the API server's version.
var errUnstamped = errors.New("this binary was linked without a Kubernetes version; build it through the Makefile, " +
	"or with -ldflags '-X k8s.io/component-base/version.gitVersion=v1.37.0 -X k8s.io/component-base/version.gitMajor=1 " +
	"-X k8s.io/component-base/version.gitMinor=37'")

// MaybeRunComponent runs a component and exits, if this process was started as
// one of a control plane. Otherwise it returns at once.
func MaybeRunComponent() { component.MaybeRun() }

// Start starts a control plane and returns once it serves: nodes can be made,
// pods are scheduled and run. When it fails, or ctx ends before, it leaves
// nothing behind. A control plane that has started outlives ctx.
func Start(ctx context.Context, config Config) (_ *ControlPlane, err error) {
	if strings.HasPrefix(version.Get().GitVersion, unstampedVersion) {
		return nil, errUnstamped
	}
	log := config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}

	// 1. A folder for everything, and what the components need in it.
	folders, err := makeFolders(config.DataDir)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{folders: folders, processes: supervise.NewGroup(log), keepGoing: config.KeepGoing}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	ports, err := freePorts()
	if err != nil {
		return nil, err
	}
	secrets, err := makeSecrets(folders, ports)
	if err != nil {
		return nil, err
	}
	c.secrets = secrets
	if c.admin, err = clientcmd.BuildConfigFromFlags("", secrets.adminKubeconfig); err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	c.admin.QPS, c.admin.Burst = adminRequestsPerSecond, 2*adminRequestsPerSecond
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return nil, fmt.Errorf("make the administrator's client: %w", err)
	}
	probes, err := newProber(secrets)
	if err != nil {
		return nil, err
	}

	// 2. The store and the API server. They start at the same time: the API server
	// waits for etcd by itself.
	auditFlags, err := audit(folders, config.AuditPolicy)
	if err != nil {
		return nil, err
	}
	first := []supervise.Process{etcd(folders, ports, secrets, probes), apiServer(ports, secrets, probes, auditFlags...)}
	if err := c.launch(first...); err != nil {
		return nil, err
	}
	if err := c.processes.WaitReady(ctx, component.Etcd, component.APIServer); err != nil {
		return nil, err
	}

	// 3. The rights of those who are no part of Kubernetes, and what acts on them.
	if err := c.grant(ctx); err != nil {
		return nil, err
	}
	schedulerProcess, err := scheduler(folders, ports, secrets, probes)
	if err != nil {
		return nil, err
	}
	rest := []supervise.Process{controllerManager(ports, secrets, probes), schedulerProcess}
	if !config.WithoutKwok {
		rest = append(rest, kwok(ports, secrets, probes))
	}
	if err := c.launch(rest...); err != nil {
		return nil, err
	}
	if err := c.WaitReady(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *ControlPlane) launch(processes ...supervise.Process) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary, which the components are: %w", err)
	}
	for _, p := range processes {
		p.Path = executable
		p.Args = component.Args(p.Name, p.Args...)
		p.Env = componentEnv()
		p.Log = c.LogFile(p.Name)
		p.EndsWithParent = true
		p.Revive = c.keepGoing
		if err := c.processes.Launch(p); err != nil {
			return err
		}
		c.components = append(c.components, p.Name)
	}
	return nil
}

// componentEnv makes the components collect garbage half as often as Go does by
// default: some hundred megabytes more, for a tenth of their processor time. Who
// sets GOGC for the whole program knows better.
func componentEnv() []string {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return []string{"GOGC=200"}
}

// WaitReady returns once every component serves and a pod can be made in the
// default namespace. After a component was killed it tells when it is back.
func (c *ControlPlane) WaitReady(ctx context.Context) error {
	if err := c.processes.WaitReady(ctx, c.components...); err != nil {
		return err
	}
	// The controller manager says that it is healthy before its controllers have
	// begun. Without this account the API server refuses every pod.
	return poll(ctx, "wait for the default service account", func() (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return true, err
	})
}

// Stop ends every process, the newest first, and removes the data folder. The
// error names what did not end by itself, or what could not be removed.
func (c *ControlPlane) Stop() error {
	errEnd := c.processes.Stop()
	if err := os.RemoveAll(c.folders.root); err != nil {
		return errors.Join(errEnd, fmt.Errorf("remove the data folder: %w", err))
	}
	return errEnd
}

// Launch starts a process beside the components, Plimsoll for instance. It ends
// before them on Stop. An empty Log is a file among the components' logs.
func (c *ControlPlane) Launch(p supervise.Process) error {
	if p.Log == "" {
		p.Log = c.LogFile(p.Name)
	}
	return c.processes.Launch(p)
}

// Processes are the components and whatever was launched beside them.
func (c *ControlPlane) Processes() *supervise.Group { return c.processes }

// DataDir is the folder of everything that this control plane keeps.
func (c *ControlPlane) DataDir() string { return c.folders.root }

// LogFile is where the named process writes its log.
func (c *ControlPlane) LogFile(name string) string { return c.folders.log(name) }

// AdminKubeconfig is the path of a kubeconfig that may do everything.
func (c *ControlPlane) AdminKubeconfig() string { return c.folders.kubeconfig("admin") }

// PlimsollKubeconfig is the path of the kubeconfig of Plimsoll's own service
// account.
func (c *ControlPlane) PlimsollKubeconfig() string { return c.folders.kubeconfig(plimsollAccount) }

// AdminConfig is the client configuration of the administrator; a copy.
func (c *ControlPlane) AdminConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// Client is the administrator's client.
func (c *ControlPlane) Client() kubernetes.Interface { return c.client }

// poll calls try until it returns nil, or an error that is not worth another try,
// or ctx ends.
func poll(ctx context.Context, what string, try func() (again bool, err error)) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		again, err := try()
		if err == nil {
			return nil
		}
		if !again {
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (the last try said: %v)", what, context.Cause(ctx), err)
		}
	}
}
