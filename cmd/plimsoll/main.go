// Command plimsoll is a node autoscaler for Kubernetes.
//
//	plimsoll run         observes the cluster and the cloud, decides, acts, explains
//	plimsoll groups      lists the node groups as the provider reads them
//	plimsoll status      tells how the cluster and its groups stand, as last written
//	plimsoll controller  runs what stands beside the loop: eks-anywhere
//
// This is the host of the live loop: everything is wired here (wire.go), and
// nowhere else.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is stamped at link time.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "plimsoll:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plimsoll",
		Short: "A node autoscaler for Kubernetes that loads a cluster exactly to its line",
		Example: `  plimsoll run --cloud-provider=kwok --kubeconfig=$HOME/.kube/config
  plimsoll groups --cloud-provider=kwok -o yaml
  plimsoll status`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.AddCommand(runCommand(), groupsCommand(), statusCommand(), controllerCommand())
	return cmd
}
