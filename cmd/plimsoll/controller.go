package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// controllerCommand is for what runs beside the autoscaler, each as a process of its
// own.
func controllerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run a controller beside the autoscaler",
		Example: `  plimsoll controller eks-anywhere --status-only
  plimsoll controller gardener --limits-only
  plimsoll controller gardener --namespace=shoot--p--s --kubeconfig=seed.kubeconfig`,
	}
	return withCommands(cmd, eksAnywhereCommand(), gardenerControllerCommand())
}

// withCommands gives a command others below it, of which one must be named. Without
// this, cobra prints the help of a name that it does not know, and exits with 0.
func withCommands(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		var names []string
		for _, c := range below {
			names = append(names, c.Name())
		}
		if len(args) == 0 {
			return misusef("%s: name a command: %s", cmd.Name(), strings.Join(names, " or "))
		}
		return misusef("%s: there is no command %q; choose %s", cmd.Name(), args[0], strings.Join(names, " or "))
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil }
	return cmd
}

// eksAnywhereCommand runs the controller of EKS Anywhere's worker node groups.
func eksAnywhereCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "eks-anywhere",
		Annotations: map[string]string{longLived: "true"},
		Short:       "Keep the worker node groups of EKS Anywhere clusters, without overwriting the autoscaler's counts",
		Long: `Keep the machine deployments and the condition WorkersReady of EKS Anywhere clusters
whose worker counts an autoscaler owns. Runs in the management cluster; docs/eks-anywhere.md
has the rights that it needs, and how it gets on with EKS Anywhere's own controller.`,
		Example: `  plimsoll controller eks-anywhere --status-only
  plimsoll controller eks-anywhere --machine-deployment-namespace=clusters
  plimsoll controller eks-anywhere --kubeconfig=management.kubeconfig --leader-elect=false`,
		Args: onlyFlags,
	}
	var settings eksanywhere.Settings
	set := cmd.Flags()
	process := bindProcess(set, "the management cluster", eksanywhere.DefaultNamespace)
	set.BoolVar(&settings.StatusOnly, "status-only", false,
		"write conditions, events and metrics only; never write MachineDeployments")
	set.StringVar(&settings.Namespace, "machine-deployment-namespace", eksanywhere.DefaultNamespace,
		"where the machine deployments are")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		rc, h, err := process.begin(cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer klog.Flush()
		return eksanywhere.Run(cmd.Context(), rc, settings, h)
	}
	return cmd
}

// process is what the command line says of any controller: which cluster, and how it
// runs.
type process struct {
	config config.Config
	host   host.Host
	elect  bool
}

// bindProcess binds its flags. lease is the default namespace of the Lease.
func bindProcess(set *pflag.FlagSet, cluster, lease string) *process {
	p := &process{config: config.Defaults()}
	kubeconfig, logging := &p.config.Cluster.Kubeconfig, &p.config.Logging
	set.StringVar(kubeconfig, "kubeconfig", *kubeconfig,
		"kubeconfig file of "+cluster+"; none: the pod's own account, else as kubectl finds it")
	set.BoolVar(&p.elect, "leader-elect", true, "take a Lease before any write; without it, run one process only")
	set.StringVar(&p.host.LeaderElectionNamespace, "leader-elect-resource-namespace", lease, "where the Lease is")
	set.StringVar(&p.host.MetricsAddress, "metrics-address", ":8080", "where to serve /metrics; empty: nowhere")
	set.StringVar(&p.host.HealthAddress, "health-address", ":8081", "where to serve /healthz and /readyz; empty: nowhere")
	set.IntVar(&logging.Verbosity, "v", logging.Verbosity, "how much to log; 4: all that is decided")
	return p
}

// begin begins to log, and says how to connect and to run.
func (p *process) begin(log io.Writer) (*rest.Config, host.Host, error) {
	rc, err := restConfig(p.config.Cluster)
	if err != nil {
		return nil, host.Host{}, err
	}
	h := p.host
	h.Log = newLog(p.config.Logging, log)
	if !p.elect {
		h.LeaderElectionNamespace = ""
	}
	return rc, h, nil
}
