package main

import (
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener"
)

// gardenerControllerCommand runs the controller of Gardener's worker pools.
func gardenerControllerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "gardener",
		Annotations: map[string]string{longLived: "true"},
		Short:       "Make the machine deployments of Gardener's worker pools, without overwriting the autoscaler's replicas",
		Long: `Make one machine deployment for each zone of a Gardener shoot's worker pools, with the
limits of the whole pool on each, and leave their replicas to the autoscaler. Runs on the
seed; docs/gardener-pools.md has the rights that it needs, and how it gets on with Gardener's
own worker controllers.`,
		Example: `  plimsoll controller gardener --limits-only
  plimsoll controller gardener --status-only
  plimsoll controller gardener --namespace=shoot--p--s --kubeconfig=seed.kubeconfig --leader-elect=false`,
		Args: onlyFlags,
	}
	var settings gardener.Settings
	set := cmd.Flags()
	process := bindProcess(set, "the seed", "garden")
	statusOnly := set.Bool("status-only", false,
		"write conditions, events and metrics only; never write MachineDeployments")
	limitsOnly := set.Bool("limits-only", false, "of machine deployments, write the limits of their pool and its sizing "+
		"alone: for seeds where Gardener's own worker controllers make them")
	set.StringVar(&settings.Namespace, "namespace", "", "the namespace of the one shoot to look after; none: all")
	set.StringSliceVar(&settings.Types, "worker-type", nil, "the types of Workers to look after, such as aws; none: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *statusOnly && *limitsOnly:
			return misusef("--status-only and --limits-only: choose one, as the first writes less than the second")
		case *statusOnly:
			settings.Extent = gardener.StatusOnly
		case *limitsOnly:
			settings.Extent = gardener.LimitsOnly
		default:
			settings.Extent = gardener.Everything
		}
		rc, h, err := process.begin(cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer klog.Flush()
		return gardener.Run(cmd.Context(), rc, settings, h)
	}
	return cmd
}
