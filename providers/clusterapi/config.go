package clusterapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Config is what the operator says. The zero value means every group of every
// namespace.
type Config struct {
	// Discovery are the values of --node-group-auto-discovery:
	// "clusterapi:key=value,...". Of one value all must hold; any one of the
	// values is enough.
	Discovery []string
	// APIGroup is the group of the Cluster API, and the beginning of its labels
	// and annotations; cluster.x-k8s.io if empty.
	APIGroup string
	// APIVersion is the version to read; if empty, the newest that the API
	// server serves and that this provider knows.
	APIVersion string
	// DefaultArch is the architecture of nodes of which nothing tells it; amd64
	// if empty, or, with a notice, if it is none that is known.
	DefaultArch string
	// Namespace is the one to look in, beside those that are named, where one of
	// Discovery names none and the rights do not allow to look in all; empty if there
	// is no such namespace.
	Namespace string
}

const (
	defaultAPIGroup = "cluster.x-k8s.io"
	defaultArch     = "amd64"
)

var arches = []string{"amd64", "arm64", "ppc64le", "s390x"}

// ConfigFromEnv reads what the Cluster Autoscaler reads from its environment:
// CAPI_GROUP, CAPI_VERSION and CAPI_SCALE_ZERO_DEFAULT_ARCH.
func ConfigFromEnv(getenv func(string) string) Config {
	return Config{
		APIGroup:    getenv("CAPI_GROUP"),
		APIVersion:  getenv("CAPI_VERSION"),
		DefaultArch: getenv("CAPI_SCALE_ZERO_DEFAULT_ARCH"),
	}
}

// ManagementKubeconfig says which kubeconfig leads to the management cluster,
// for the values of --cloud-config, --kubeconfig and
// --clusterapi-cloud-config-authoritative; empty is the pod's own service
// account. The workload cluster is always that of --kubeconfig, else the pod's.
func ManagementKubeconfig(cloudConfig, kubeconfig string, authoritative bool) string {
	if cloudConfig != "" || authoritative {
		return cloudConfig
	}
	return kubeconfig
}

// settings are a Config that was read and found right.
type settings struct {
	specs     []spec
	keys      keys
	version   string
	arch      string
	oddArch   string // what is wrong with the default architecture that was given
	namespace string
}

// Validate returns everything that is wrong, each with its flag or variable.
func (c Config) Validate() error {
	_, err := c.read()
	return err
}

func (c Config) read() (settings, error) {
	s := settings{keys: keys{c.APIGroup}, version: c.APIVersion, arch: c.DefaultArch, namespace: c.Namespace}
	var errs []error
	for _, text := range c.Discovery {
		sp, err := parseSpec(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.specs = append(s.specs, sp)
	}
	if len(c.Discovery) == 0 {
		s.specs = []spec{{}}
	}
	if c.APIGroup == "" {
		s.keys.group = defaultAPIGroup
	} else if wrong := validation.IsDNS1123Subdomain(c.APIGroup); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("CAPI_GROUP=%q is no API group: %s", c.APIGroup, wrong[0]))
	}
	if c.APIVersion != "" {
		if wrong := validation.IsDNS1035Label(c.APIVersion); len(wrong) > 0 {
			errs = append(errs, fmt.Errorf("CAPI_VERSION=%q is no API version such as v1beta2: %s", c.APIVersion, wrong[0]))
		}
	}
	if !slices.Contains(arches, c.DefaultArch) {
		s.arch = defaultArch
		if c.DefaultArch != "" {
			s.oddArch = fmt.Sprintf("CAPI_SCALE_ZERO_DEFAULT_ARCH=%q is none of %s: %s is taken",
				c.DefaultArch, strings.Join(arches, ", "), defaultArch)
		}
	}
	return s, errors.Join(errs...)
}

// namespaces are those to look in, sorted; one empty name stands for all.
func (s settings) namespaces() []string {
	if slices.ContainsFunc(s.specs, func(sp spec) bool { return sp.namespace == "" }) {
		return []string{""}
	}
	return s.narrowed()
}

// narrowed are those to look in where the rights do not allow to look in all, sorted:
// every one that is named, and the one for those specs that name none.
func (s settings) narrowed() []string {
	var out []string
	for _, sp := range s.specs {
		if sp.namespace == "" {
			sp.namespace = s.namespace
		}
		if sp.namespace != "" {
			out = append(out, sp.namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
