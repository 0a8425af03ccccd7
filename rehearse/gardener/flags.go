package gardener

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/rehearse/kinds"
)

// Flags reads the command line of a process that stands in for
// machine-controller-manager.
func Flags(args []string) (Settings, error) {
	var s Settings
	flags := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "how to reach kube-apiserver, with all rights")
	flags.StringVar(&s.Address, "address", "", "host:port to serve /healthz on")
	flags.BoolVar(&s.PoolFields, "pool-fields", true, "the CustomResourceDefinitions have poolMinimum and poolMaximum")
	flags.BoolVar(&s.KnowsPools, "knows-pools", true, "the controllers keep poolMinimum and poolMaximum when they write")
	flags.DurationVar(&s.EndTakes, "end-takes", 0,
		"how long machines take to end after their drain; the real ones 15 to 25 s")
	err := kinds.Parse(flags, args)
	return s, err
}

// Args are the command line that Flags reads these settings from.
func (s Settings) Args() []string {
	return []string{
		"--kubeconfig=" + s.Kubeconfig,
		"--address=" + s.Address,
		"--pool-fields=" + strconv.FormatBool(s.PoolFields),
		"--knows-pools=" + strconv.FormatBool(s.KnowsPools),
		"--end-takes=" + s.EndTakes.String(),
	}
}
