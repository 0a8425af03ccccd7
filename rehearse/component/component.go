// Package component is the child's side of a rehearsal: one binary that can act
// as etcd, kube-apiserver, kube-controller-manager, kube-scheduler or the kwok
// controller, each linked from its Go module, or as what a world has beside them,
// and run as a process of its own.
//
// A program that starts a control plane calls MaybeRun first of all in its main
// function (a test binary: in TestMain). The parent starts the same binary again
// with the arguments that Args returns, and MaybeRun then never comes back.
//
// Of this module it imports only what a world's components do. Only packages
// controlplane and world import it; it is heavy.
package component

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
)

// The components, by the names that their logs and errors use.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok-controller"

	// Of the world of AWS.
	AWS      = "aws"
	EKSNodes = "eks-nodes"

	// Of the world of Cluster API.
	ClusterAPI = clusterapi.Name

	// Of the world of Gardener.
	MachineControllerManager = gardener.Name
)

// marker is the first argument of a process that acts as a component.
const marker = "run-component"

var components = map[string]func(args []string) int{
	Etcd:              runEtcd,
	APIServer:         runAPIServer,
	ControllerManager: runControllerManager,
	Scheduler:         runScheduler,
	Kwok:              runKwok,
	AWS:               runAWS,
	EKSNodes:          runEKSNodes,
	ClusterAPI:        runClusterAPI,

	MachineControllerManager: runMachineControllerManager,
}

// Args are the arguments with which this binary acts as the named component.
func Args(name string, args ...string) []string {
	return append([]string{marker, name}, args...)
}

// MaybeRun runs a component and exits, if the process was started as one.
// Otherwise it returns at once.
func MaybeRun() {
	if len(os.Args) < 2 || os.Args[1] != marker {
		return
	}
	if len(os.Args) < 3 || components[os.Args[2]] == nil {
		fmt.Fprintf(os.Stderr, "%s wants the name of a component, not %q\n", marker, slices.Concat(os.Args[2:]))
		os.Exit(2)
	}
	name, args := os.Args[2], os.Args[3:]
	go endWithParent()
	// What the component's own code reads from os.Args is its name and its flags.
	os.Args = append([]string{name}, args...)
	os.Exit(components[name](args))
}

// endWithParent ends this process when its parent is gone: the parent holds the
// other end of standard input open for as long as it lives, and writes nothing.
func endWithParent() {
	_, err := io.Copy(io.Discard, os.Stdin)
	fmt.Fprintln(os.Stderr, "the parent process is gone, ending:", err)
	os.Exit(3)
}

// untilSignal returns a context that ends when the process is asked to end.
func untilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
