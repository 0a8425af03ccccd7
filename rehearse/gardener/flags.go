package gardener

import (
	"flag"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
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
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlag(logging.Lookup("v"))
	if err := flags.Parse(args); err != nil {
		return Settings{}, err
	}
	for _, name := range []string{"kubeconfig", "address"} {
		if value, err := flags.GetString(name); err != nil || value == "" {
			return Settings{}, fmt.Errorf("--%s is missing", name)
		}
	}
	return s, nil
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
