// Command rehearse runs a whole real Kubernetes control plane on this machine,
// with simulated nodes, and Plimsoll beside it: to try out what an autoscaler
// would do before it does.
//
// It only reads flags and prints; package controlplane does the work. The same
// binary is also every component of the control plane.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

func main() {
	controlplane.MaybeRunComponent()
	root := &cobra.Command{
		Use:   "rehearse",
		Short: "A real Kubernetes control plane with simulated nodes, on this machine",
		Long: `A real Kubernetes control plane with simulated nodes, on this machine: etcd,
kube-apiserver, kube-controller-manager, kube-scheduler and the kwok controller
from their Go modules, and Plimsoll beside them. Nothing else need be installed.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(upCommand(), demoCommand(), benchCommand(), exactCommand(), kubectlCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}
