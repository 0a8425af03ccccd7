package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// bindCluster binds the flags of a command that asks the API server, and has no others of config.
func bindCluster(set *pflag.FlagSet, c *config.Cluster) {
	set.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig,
		"the kubeconfig file; none: the pod's own account, else as kubectl finds it")
	set.StringVar(&c.Server, "kubernetes", c.Server, "the API server's address, if not the kubeconfig's")
	set.StringVarP(&c.Namespace, "namespace", "n", c.Namespace, "the namespace that the autoscaler runs in")
	config.BindRequestTimeout(set, c)
}

// clientFor is a client of the cluster that the flags name, and how it is reached. Wrong names are a misuse, and
// nothing is asked then.
func clientFor(c config.Config) (*kubernetes.Clientset, *rest.Config, error) {
	if err := config.CheckAsking(c); err != nil {
		return nil, nil, misuse{err}
	}
	rc, err := restConfig(c.Cluster)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	return client, rc, nil
}

// errNoAnswer is why a request without an answer ends.
var errNoAnswer = errors.New("the API server does not answer")

// patient bounds one request, so that a command ends where the API server does not answer. The error of the
// request says what was asked of whom, and ends in this.
func patient(ctx context.Context, c config.Cluster) (context.Context, func()) {
	if c.RequestTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.RequestTimeout, fmt.Errorf("%w within %s (--request-timeout); is the "+
		"address right, and can this machine reach it?", errNoAnswer, c.RequestTimeout))
}
