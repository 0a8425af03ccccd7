package gardener

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// Config is what the operator says.
type Config struct {
	// Nodes are the values of --nodes: "min:max:namespace.name", or "min:max:name".
	Nodes []string
	// Discovery are the values of --node-group-auto-discovery: "mcm:...". Without
	// either of both, every MachineDeployment of the namespace is meant.
	Discovery []string
	// Namespace is the shoot's in the control cluster; if empty, the one that Nodes
	// or Discovery name.
	Namespace string
	// Sizing is how a pool's limits are spread over its zones, where no annotation
	// says so; if empty, Equitable, or Backward-Compatible for pools whose limits
	// are those of Nodes.
	Sizing string
	// DeletionMarker is how machine-controller-manager learns which machines are to go:
	// timestamped (if empty), names or priority.
	DeletionMarker string
	// RequireAvailable holds all groups while machine-controller-manager's
	// Deployment has no available replica.
	RequireAvailable bool
}

// marker is how machine-controller-manager learns which machines are to go.
type marker string

const (
	// timestamped: names with times, which v0.61.3 and newer understand. A machine
	// that is named goes, whatever becomes of the replicas.
	timestamped marker = "timestamped"
	// names alone, from v0.56.0 on: a machine that is named goes if one has to.
	names marker = "names"
	// priority: an annotation on each Machine, for older ones, and for forks that
	// have not the annotation on the MachineDeployment.
	priority marker = "priority"
)

// ControlKubeconfig says which kubeconfig leads to the control cluster, from the
// environment that Gardener gives its autoscaler; empty is the pod's own service
// account.
func ControlKubeconfig(getenv func(string) string) string { return getenv("CONTROL_KUBECONFIG") }

// TargetKubeconfig says which kubeconfig leads to the shoot, for the value of
// --kubeconfig.
func TargetKubeconfig(flag string, getenv func(string) string) string {
	if flag != "" {
		return flag
	}
	return getenv("TARGET_KUBECONFIG")
}

// ControlNamespace is the shoot's namespace in the control cluster, from the
// environment.
func ControlNamespace(getenv func(string) string) string { return getenv("CONTROL_NAMESPACE") }

// bounds are a least and a most number of machines.
type bounds struct{ min, max int }

// settings are a Config that was read and found right.
type settings struct {
	namespace string
	specs     []spec
	// static are the groups of --nodes, by name.
	static           map[string]bounds
	sizing           string // canonical, empty if not said
	marker           marker
	requireAvailable bool
}

// Validate returns everything that is wrong, each with its flag or variable.
func (c Config) Validate() error {
	_, err := c.read()
	return err
}

func (c Config) read() (settings, error) {
	s := settings{namespace: c.Namespace, static: map[string]bounds{}, marker: marker(c.DeletionMarker),
		requireAvailable: c.RequireAvailable}
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	// 1. The namespace: there is one, and to name another is a mistake.
	in := func(namespace, flag string) {
		if s.namespace == "" {
			s.namespace = namespace
		}
		if namespace != "" && namespace != s.namespace {
			wrong("%s means the namespace %s, and CONTROL_NAMESPACE or another flag %s: one autoscaler looks after one shoot, "+
				"in one namespace", flag, namespace, s.namespace)
		}
	}
	if c.Namespace != "" {
		if bad := validation.IsDNS1123Label(c.Namespace); len(bad) > 0 {
			wrong("CONTROL_NAMESPACE=%q is no namespace: %s", c.Namespace, bad[0])
		}
	}

	// 2. The groups.
	for _, text := range c.Nodes {
		g, err := parseNodes(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, twice := s.static[g.name]; twice {
			wrong("--nodes=%q names the group %s once more", text, g.name)
		}
		s.static[g.name] = g.bounds
		in(g.namespace, "--nodes="+strconv.Quote(text))
	}
	for _, text := range c.Discovery {
		sp, err := parseSpec(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.specs = append(s.specs, sp)
		in(sp.namespace, "--node-group-auto-discovery="+strconv.Quote(text))
	}
	if len(c.Nodes) == 0 && len(c.Discovery) == 0 {
		s.specs = []spec{{}}
	}
	if s.namespace == "" {
		errs = append(errs, wiring.Lacks("CONTROL_NAMESPACE is not set, and no flag names a namespace: say in which one of "+
			"the control cluster the shoot's MachineDeployments are"))
	}

	// 3. The rest.
	var err error
	if c.Sizing != "" {
		if s.sizing, err = parseSizing(c.Sizing); err != nil {
			wrong("--mcm-sizing=%q: %w", c.Sizing, err)
		}
	}
	if s.marker == "" {
		s.marker = timestamped
	}
	if known := []marker{timestamped, names, priority}; !slices.Contains(known, s.marker) {
		wrong("--mcm-deletion-marker=%q: it is one of timestamped, names and priority", c.DeletionMarker)
	}
	return s, errors.Join(errs...)
}

// nodesFlag is one value of --nodes.
type nodesFlag struct {
	namespace, name string
	bounds          bounds
}

// parseNodes reads "min:max:namespace.name". Names of MachineDeployments have no
// dot in Gardener, and namespaces have none at all.
func parseNodes(text string) (nodesFlag, error) {
	wrong := func(format string, args ...any) (nodesFlag, error) {
		return nodesFlag{}, fmt.Errorf("--nodes=%q: %s; the form is min:max:namespace.name",
			text, fmt.Sprintf(format, args...))
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return wrong("there are %d parts between colons", len(parts))
	}
	var out nodesFlag
	for i, into := range []*int{&out.bounds.min, &out.bounds.max} {
		n, err := strconv.ParseInt(parts[i], 10, 32)
		if err != nil || n < 0 {
			return wrong("%q is no number of machines", parts[i])
		}
		*into = int(n)
	}
	if out.bounds.min > out.bounds.max {
		return wrong("the minimum is above the maximum")
	}
	out.name = parts[2]
	if namespace, name, found := strings.Cut(parts[2], "."); found {
		out.namespace, out.name = namespace, name
		if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
			return wrong("%q is no namespace: %s", namespace, bad[0])
		}
	}
	if bad := validation.IsDNS1123Subdomain(out.name); len(bad) > 0 {
		return wrong("%q is no name: %s", out.name, bad[0])
	}
	return out, nil
}

// parseSizing gives a strategy's name as the contract writes it. Case does not
// matter.
func parseSizing(text string) (string, error) {
	known := []string{v1alpha1.SizingEquitable, v1alpha1.SizingLaxGreedy, v1alpha1.SizingBackwardCompatible}
	for _, name := range known {
		if strings.EqualFold(name, strings.TrimSpace(text)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("it is none of %s", strings.Join(known, ", "))
}
