package install

import (
	"fmt"
	"os"
	"testing"

	"github.com/spf13/pflag"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

// kwokWord, as the first argument, makes this binary the kwok controller that its image has.
const kwokWord = "kwok-controller"

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	if len(os.Args) > 1 && os.Args[1] == kwokWord {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		if err := runKwok(); err != nil {
			fmt.Fprintln(os.Stderr, "kwok:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func runKwok() error {
	// cobra takes in what Kubernetes' components have bound there, --version among it.
	pflag.CommandLine = pflag.NewFlagSet("none", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := kwokcmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}
