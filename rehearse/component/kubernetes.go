package component

import (
	_ "time/tzdata" // CronJobs name time zones; the machine may know none

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// The three run as upstream's own main functions run them. Each handles SIGTERM
// itself, and the feature gates and metrics that they share through package
// variables are no trouble: one process is one component.

func runAPIServer(args []string) int { return runCommand(apiserver.NewAPIServerCommand(), args) }

func runControllerManager(args []string) int {
	return runCommand(controllermanager.NewControllerManagerCommand(), args)
}

func runScheduler(args []string) int { return runCommand(scheduler.NewSchedulerCommand(), args) }

func runCommand(command *cobra.Command, args []string) int {
	command.SetArgs(args)
	return cli.Run(command)
}
