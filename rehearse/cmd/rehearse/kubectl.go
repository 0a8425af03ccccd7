package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

const kubeconfigVariable = "KUBECONFIG"

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [arguments of kubectl]",
		Short: "Run kubectl against the running cluster",
		Long: `Run kubectl, as linked into this program. Without KUBECONFIG and --kubeconfig it
speaks to the running rehearsal, as its administrator.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if os.Getenv(kubeconfigVariable) == "" && !namesKubeconfig(args) && !isHelp(args) {
				path, err := current()
				if err != nil {
					return err
				}
				if err := os.Setenv(kubeconfigVariable, path); err != nil {
					return fmt.Errorf("set %s: %w", kubeconfigVariable, err)
				}
			}
			runKubectl(args)
			return nil
		},
	}
}

// runKubectl exits by itself, with kubectl's own code, when kubectl fails.
func runKubectl(args []string) {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	command := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		Arguments:   append([]string{"kubectl"}, args...),
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50),
		IOStreams:   streams,
	})
	command.SetArgs(args)
	if err := cli.RunNoErrOutput(command); err != nil {
		cmdutil.CheckErr(err)
	}
}

// namesKubeconfig reports whether kubectl's own arguments choose a cluster. What
// follows -- belongs to a command in a container.
func namesKubeconfig(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "--kubeconfig" || strings.HasPrefix(arg, "--kubeconfig=") ||
			arg == "--server" || arg == "-s" || strings.HasPrefix(arg, "--server=")
	})
}

// isHelp reports whether kubectl will only explain itself.
func isHelp(args []string) bool {
	return len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "--help" }) ||
		slices.Contains([]string{"help", "completion", "options"}, args[0])
}
