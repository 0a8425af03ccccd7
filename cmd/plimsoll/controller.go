package main

import (
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// controllerCommand is for what runs beside the autoscaler, each as a process of its
// own.
func controllerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run a controller beside the autoscaler",
	}
	cmd.AddCommand(eksAnywhereCommand(), gardenerControllerCommand())
	return cmd
}

// eksAnywhereCommand runs the controller of EKS Anywhere's worker node groups.
func eksAnywhereCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eks-anywhere",
		Short: "Keep the worker node groups of EKS Anywhere clusters, without overwriting the autoscaler's counts",
		Long: `Keep the machine deployments and the condition WorkersReady of EKS Anywhere clusters
whose worker counts an autoscaler owns. Runs in the management cluster; docs/eks-anywhere.md
has the rights that it needs, and how it gets on with EKS Anywhere's own controller.`,
		Example: `  plimsoll controller eks-anywhere --status-only
  plimsoll controller eks-anywhere --kubeconfig=management.kubeconfig --leader-elect=false`,
		Args: cobra.NoArgs,
	}
	c := config.Defaults()
	var settings eksanywhere.Settings
	host := eksanywhere.Host{LeaderElectionNamespace: eksanywhere.DefaultNamespace, MetricsAddress: ":8080", HealthAddress: ":8081"}
	set := cmd.Flags()
	set.StringVar(&c.Cluster.Kubeconfig, "kubeconfig", c.Cluster.Kubeconfig, "kubeconfig file of the management cluster; none: the pod's own account, else as kubectl finds it")
	set.BoolVar(&settings.StatusOnly, "status-only", false, "keep the condition alone, and leave machine deployments to EKS Anywhere")
	set.StringVar(&settings.Namespace, "machine-deployment-namespace", eksanywhere.DefaultNamespace, "where the machine deployments are")
	elect := set.Bool("leader-elect", true, "take a Lease before anything is written; without it, nobody else may run")
	set.StringVar(&host.LeaderElectionNamespace, "leader-elect-resource-namespace", host.LeaderElectionNamespace, "where the Lease is")
	set.StringVar(&host.MetricsAddress, "metrics-address", host.MetricsAddress, "where to serve /metrics; empty: nowhere")
	set.StringVar(&host.HealthAddress, "health-address", host.HealthAddress, "where to serve /healthz and /readyz; empty: nowhere")
	set.IntVar(&c.Logging.Verbosity, "v", c.Logging.Verbosity, "how much to log; 4: all that is decided")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		rc, err := restConfig(c.Cluster)
		if err != nil {
			return err
		}
		host.Log = newLog(c.Logging, cmd.ErrOrStderr())
		defer klog.Flush()
		if !*elect {
			host.LeaderElectionNamespace = ""
		}
		return eksanywhere.Run(cmd.Context(), rc, settings, host)
	}
	return cmd
}
