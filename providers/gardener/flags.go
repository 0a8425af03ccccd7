package gardener

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Entry offers the provider.
func Entry() wiring.Entry {
	return wiring.Entry{
		Name: "mcm", Alias: "gardener", Title: "Gardener (mcm)",
		Nodes:           "min:max:namespace.name",
		Discovery:       "mcm:k8s.io/cluster-autoscaler/shoot or mcm:namespace=name,label=value,key,...",
		DiscoveryPrefix: "mcm:", Env: []string{"CONTROL_", "TARGET_"},
		Bind:       func(set *pflag.FlagSet) wiring.Maker { return bind(set) },
		Kubeconfig: TargetKubeconfig,
	}
}

// flags are a Config as the command line has it, and how the control cluster is asked.
type flags struct {
	Config
	// qps and burst are those of requests to the control cluster; 0 is as for the shoot.
	qps   float32
	burst int
}

// bind adds the provider's flags to a set.
func bind(s *pflag.FlagSet) *flags {
	f := &flags{Config: Config{DeletionMarker: string(timestamped), RequireAvailable: true}}
	s.StringVar(&f.Sizing, "mcm-sizing", "",
		"how the limits of a worker pool are spread over its zones, unless an annotation says so: "+
			"Equitable, Lax-Greedy or Backward-Compatible (default: Equitable; with limits from --nodes: "+
			"Backward-Compatible)")
	s.StringVar(&f.DeletionMarker, "mcm-deletion-marker", f.DeletionMarker,
		"how machine-controller-manager learns which machines to delete: timestamped (v0.61.3 and "+
			"newer), names (v0.56.0 and newer) or priority (older ones, and forks without the annotation)")
	s.BoolVar(&f.RequireAvailable, "mcm-require-available", f.RequireAvailable,
		"change no group while the Deployment of machine-controller-manager has no available replica")
	s.Float32Var(&f.qps, "control-apiserver-qps", 0,
		"requests per second to the control cluster; 0: the value of --kube-client-qps")
	s.IntVar(&f.burst, "control-apiserver-burst", 0,
		"requests at once to the control cluster; 0: the value of --kube-client-burst")
	return f
}

func (f *flags) config(h wiring.Host) Config {
	c := f.Config
	c.Nodes, c.Discovery, c.Namespace = h.Nodes, h.Discovery, ControlNamespace(h.Getenv)
	return c
}

// Check says what is wrong with the flags and the environment.
func (f *flags) Check(h wiring.Host) error {
	var rate error
	if !(f.qps >= 0) || f.burst < 0 {
		rate = fmt.Errorf("--control-apiserver-qps=%v, with --control-apiserver-burst=%d: neither may be below 0",
			f.qps, f.burst)
	}
	return errors.Join(rate, f.config(h).Validate())
}

// Make makes the provider. Its control cluster is another one than the shoot, which has
// the nodes.
func (f *flags) Make(_ context.Context, h wiring.Host) (provider.Provider, error) {
	rc, err := h.Cluster()
	if err != nil {
		return nil, err
	}
	control, err := controlConfig(ControlKubeconfig(h.Getenv))
	if err != nil {
		return nil, err
	}
	control.QPS, control.Burst, control.UserAgent = cmp.Or(f.qps, rc.QPS), cmp.Or(f.burst, rc.Burst), rc.UserAgent
	shoot, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for the nodes of the mcm provider: %w", err)
	}
	return New(control, shoot.CoreV1().Nodes(), f.config(h), h.Log)
}

// controlConfig reads a kubeconfig, or the pod's own account if there is none.
func controlConfig(path string) (*rest.Config, error) {
	read := rest.InClusterConfig
	if path != "" {
		read = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", path) }
	}
	rc, err := read()
	if err != nil {
		return nil, fmt.Errorf(
			"find the control cluster of the shoot (CONTROL_KUBECONFIG, or the pod's own service account): %w", err,
		)
	}
	return rc, nil
}
