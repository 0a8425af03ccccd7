package component

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/rehearse/eks"
)

// runAWS runs the simulated AWS. Its account is in memory: one that is killed comes
// back as its file says, without its instances.
func runAWS(args []string) int {
	if err := serveAWS(args); err != nil {
		slog.Error(AWS+" ends", "error", err)
		return 1
	}
	return 0
}

func serveAWS(args []string) error {
	flags := pflag.NewFlagSet(AWS, pflag.ContinueOnError)
	address := flags.String("address", "", "address to serve AWS's API on")
	account := flags.String("account", "", "file of the account, in the form of awstest.Spec")
	if err := flags.Parse(args); err != nil {
		return err
	}
	spec, err := awstest.ReadSpec(*account)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	return awstest.Serve(ctx, *address, spec)
}

// runEKSNodes runs the controller that makes nodes of the simulated AWS's instances.
func runEKSNodes(args []string) int {
	if err := keepEKSNodes(args); err != nil {
		slog.Error(EKSNodes+" ends", "error", err)
		return 1
	}
	return 0
}

func keepEKSNodes(args []string) error {
	flags := pflag.NewFlagSet(EKSNodes, pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach kube-apiserver")
	url := flags.String("aws", "", "URL of the simulated AWS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1 // the kubelets of many nodes: each would have a rate of its own
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client: %w", err)
	}
	ctx, stop := untilSignal()
	defer stop()
	return eks.RunNodes(ctx, *url, client, slog.New(slog.NewTextHandler(os.Stderr, nil)))
}
