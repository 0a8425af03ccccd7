package clusterapi

import (
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/rehearse/kinds"
)

// Flags reads the command line of a process that runs Cluster API.
func Flags(args []string) (Settings, error) {
	var s Settings
	flags := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "how to reach kube-apiserver, with all rights")
	flags.StringVar(&s.Address, "address", "", "host:port to serve the webhooks and /healthz on")
	flags.StringVar(&s.CertFile, "cert-file", "", "serving certificate")
	flags.StringVar(&s.KeyFile, "key-file", "", "key of the serving certificate")
	flags.StringVar(&s.CAFile, "ca-file", "", "authority that signed the serving certificate")
	err := kinds.Parse(flags, args)
	return s, err
}

// Args are the command line that Flags reads these settings from.
func (s Settings) Args() []string {
	return []string{
		"--kubeconfig=" + s.Kubeconfig,
		"--address=" + s.Address,
		"--cert-file=" + s.CertFile,
		"--key-file=" + s.KeyFile,
		"--ca-file=" + s.CAFile,
	}
}
