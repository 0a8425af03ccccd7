package clusterapi

import (
	"context"
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
		Name: "clusterapi", Title: "Cluster API",
		Discovery:       "clusterapi:clusterName=name,namespace=name,label=value,...",
		DiscoveryPrefix: "clusterapi:", Env: []string{"CAPI_"},
		Groups: "the clusterapi provider finds its groups by --node-group-auto-discovery, and their bounds in annotations",
		Bind:   func(set *pflag.FlagSet) wiring.Maker { return bind(set) },
	}
}

// flags say where the management cluster is.
type flags struct {
	// cloudConfig is a kubeconfig; authoritative: without one the management cluster is
	// the pod's own, never that of --kubeconfig.
	cloudConfig   string
	authoritative bool
}

// bind adds the provider's flags to a set.
func bind(s *pflag.FlagSet) *flags {
	f := &flags{}
	s.StringVar(&f.cloudConfig, "cloud-config", "",
		"kubeconfig file of the management cluster (default: that of --kubeconfig, else the pod's own account)")
	s.BoolVar(&f.authoritative, "clusterapi-cloud-config-authoritative", false,
		"without --cloud-config, reach the management cluster with the pod's own account, never with "+
			"--kubeconfig")
	return f
}

func (f *flags) config(h wiring.Host) Config {
	c := ConfigFromEnv(h.Getenv)
	c.Discovery = h.Discovery
	return c
}

// Check says what is wrong with the flags and the environment.
func (f *flags) Check(h wiring.Host) error { return f.config(h).Validate() }

// Make makes the provider. Its management cluster may be another one than that with the
// nodes.
func (f *flags) Make(_ context.Context, h wiring.Host) (provider.Provider, error) {
	rc, err := h.Cluster()
	if err != nil {
		return nil, err
	}
	c := f.config(h)
	management := rc
	if path := ManagementKubeconfig(f.cloudConfig, h.Kubeconfig, f.authoritative); path != h.Kubeconfig {
		if management, c.Namespace, err = managementConfig(path); err != nil {
			return nil, err
		}
		management.QPS, management.Burst, management.UserAgent = rc.QPS, rc.Burst, rc.UserAgent
	} else if _, own, err := managementConfig(path); err == nil {
		c.Namespace = own // else rc was found otherwise, by a person's KUBECONFIG, and no namespace is its own
	}
	workload, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for the nodes of the clusterapi provider: %w", err)
	}
	return New(management, workload.CoreV1().Nodes(), c, h.Log)
}

// managementConfig reads a kubeconfig, or the pod's own account if there is none, and
// its own namespace.
func managementConfig(path string) (*rest.Config, string, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	if path == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, "", fmt.Errorf("find the management cluster (--cloud-config, or the pod's own service account): %w", err)
		}
		namespace, _, err := loader.Namespace() // that of the pod's account
		return rc, namespace, err
	}
	rc, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig of the management cluster (--cloud-config): %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("read the namespace of the management cluster's kubeconfig (--cloud-config): %w", err)
	}
	return rc, namespace, nil
}
