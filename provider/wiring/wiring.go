// Package wiring is how a host offers providers and makes the one that an operator
// chose: the few words that the two sides need for it.
//
// What flows in: an Entry from the package of each provider, and from a host what a
// process has. What flows out: a provider.Provider.
//
// Who may import it: providers, and what a host is made of.
package wiring

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Entry is a provider in the list of those that a program has.
type Entry struct {
	// Name is its name in --cloud-provider; Alias is another one, or empty.
	Name, Alias string
	// Title is above its own flags in the help. Main are those of them that the short
	// help shows, too.
	Title string
	Main  []string
	// Nodes and Discovery are the forms of its values of --nodes and of
	// --node-group-auto-discovery, for the help. Where one is empty, that flag has no
	// effect, and Groups is a sentence that says where groups come from.
	Nodes, Discovery, Groups string
	// DiscoveryPrefix is what each value of --node-group-auto-discovery begins with.
	DiscoveryPrefix string
	// Env are the variables of the environment that the provider reads, each by its name or
	// how it begins; not nil, but empty if there are none. `plimsoll migrate` hands them on.
	Env []string
	// Bind adds the provider's own flags to a set, with their defaults. Their names
	// begin with the provider's, unless the Cluster Autoscaler has another name.
	Bind func(*pflag.FlagSet) Maker
	// Kubeconfig says where the cluster with the nodes is, for the value of
	// --kubeconfig; nil: there.
	Kubeconfig func(given string, getenv func(string) string) string
}

// Maker makes the provider by its flags, when they are parsed.
type Maker interface {
	// Check says all that is wrong with the flags and the environment, each by its
	// name, errors.Join of one error each; of a value of a flag as `--name="value": why`.
	// What is not there, and must be, is a Missing. It makes no request, and uses Nodes,
	// Discovery and Getenv only.
	Check(Host) error
	// Make makes the provider. It is called after Check.
	Make(context.Context, Host) (provider.Provider, error)
}

// Host is what a process has for its provider.
type Host struct {
	// Nodes and Discovery are the values of --nodes and --node-group-auto-discovery.
	Nodes, Discovery []string
	// Namespace is the process's own, and Kubeconfig the file that leads to the cluster
	// with the nodes; empty: the pod's own account, or what kubectl would take.
	Namespace, Kubeconfig string
	// Cluster finds the cluster with the nodes. A provider that does not need it does
	// not call it.
	Cluster func() (*rest.Config, error)
	// Version is the program's.
	Version string
	Getenv  func(string) string
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Missing is an error about a flag or a variable that is not there. Who looks at a file
// alone leaves it out: the command line or the environment may have it.
type Missing struct{ error }

// Lacks makes one.
func Lacks(text string) error { return Missing{errors.New(text)} }
