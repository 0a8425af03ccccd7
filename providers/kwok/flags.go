package kwok

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Entry offers the provider.
func Entry() wiring.Entry {
	return wiring.Entry{
		Name: "kwok", Title: "kwok", Main: []string{"kwok-keep-nodes"},
		Env:    []string{"KWOK_", "POD_NAMESPACE"},
		Groups: "the kwok provider's groups are its templates",
		Bind:   func(set *pflag.FlagSet) wiring.Maker { return bind(set) },
	}
}

// flags are what the command line says. All else is in the environment.
type flags struct{ keepNodes bool }

// bind adds the provider's flags to a set.
func bind(s *pflag.FlagSet) *flags {
	f := &flags{}
	s.BoolVar(&f.keepNodes, "kwok-keep-nodes", false, "kwok: do not delete the fake nodes when Plimsoll ends")
	return f
}

// Check finds nothing: what can be wrong is in files and ConfigMaps.
func (f *flags) Check(wiring.Host) error { return nil }

// Make makes the provider.
func (f *flags) Make(ctx context.Context, h wiring.Host) (provider.Provider, error) {
	rc, err := h.Cluster()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for the kwok provider: %w", err)
	}
	meta, err := metadata.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a metadata client for the kwok provider: %w", err)
	}
	c := ConfigFromEnv(h.Getenv)
	c.Namespace, c.KeepNodes = cmp.Or(c.Namespace, h.Namespace), f.keepNodes
	return New(ctx, client, meta, c, h.Log)
}
