package migrate

import (
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// chartFlags are flags that Plimsoll's chart makes of its values, and refuses among
// extraArgs.
var chartFlags = []string{"cloud-provider", "namespace", "address", "kubeconfig", "cloud-config",
	"clusterapi-cloud-config-authoritative", "help-all"}

// extra tells whether a flag was given beside the values of their chart. Such a flag
// comes last, and counts before what the chart says.
func (f flag) extra() bool {
	return strings.HasPrefix(f.field, extraArgsField) || strings.HasPrefix(f.field, customArgsField)
}

// known are the variables of the pod that stand for something known here.
func (v *values) known() map[string]string {
	if v.release == "" {
		return nil
	}
	return map[string]string{"POD_NAMESPACE": v.release}
}

// ownFlags says what becomes of extra flags that Plimsoll's chart sets itself, or
// refuses them: the lease must stay where it is, on the same cluster.
func (v *values) ownFlags(line commandLine) {
	for _, f := range line.unchecked {
		if f.extra() && slices.Contains(chartFlags, f.name) {
			v.wrong(f.field, "%s: Plimsoll's chart has a value in its place, and what the flag stands for is only known in the "+
				"cluster: write it out", f)
		}
	}
	last := map[string]flag{}
	for _, f := range line.kept {
		if f.extra() && !reference.MatchString(f.resolved) {
			last[f.name] = f
		}
	}
	for _, name := range chartFlags {
		f, ok := last[name]
		if !ok {
			continue
		}
		switch name {
		case "cloud-provider":
			v.ownProvider(f, line.config)
		case "address":
			v.note("%s is dropped: Plimsoll's chart serves at :8085, where its probes and its Service look", f)
		case "help-all":
			v.note("%s is dropped: with it Plimsoll shows its flags and ends", f)
		case "namespace":
			v.ownNamespace(f, line.config)
		default:
			v.ownCluster(f, line.config)
		}
	}
}

func (v *values) ownProvider(f flag, c config.Config) {
	if c.Cloud.Provider != v.ours.CloudProvider {
		v.wrong(f.field, "%s is not the cloudProvider, %s, by which their chart goes in all else: set that, and leave "+
			"this out", c.Cloud.Provider, v.ours.CloudProvider)
		return
	}
	v.tell(f.field, "cloudProvider says it")
}

// ownNamespace is the namespace of the lease where a flag names it. On the cluster
// with the pod, Plimsoll's chart has the lease where it is installed.
func (v *values) ownNamespace(f flag, c config.Config) {
	namespace := c.Cluster.Namespace
	switch {
	case v.ours.CloudProvider == "clusterapi" && c.Cluster.Kubeconfig != "":
		v.tell(f.field, "clusterAPIConfigMapsNamespace says it, "+namespace)
	case namespace == v.release:
		v.tell(f.field, "Plimsoll's chart has lease and ConfigMap where it is installed, which must be "+namespace+
			"; Secrets and ConfigMaps that values name must be there, too")
	default:
		v.wrong(f.field, "the Cluster Autoscaler has lease and ConfigMap in namespace %s, and Plimsoll's chart has them "+
			"where it is installed: install Plimsoll into %s, and say so here: --namespace=%s", namespace, namespace, namespace)
	}
}

// ownCluster refuses a kubeconfig where Plimsoll's chart can take none. Those of
// Cluster API go into clusterAPIMode.
func (v *values) ownCluster(f flag, c config.Config) {
	switch {
	case v.ours.CloudProvider == "clusterapi":
		v.tell(f.field, "clusterAPIMode, and what goes with it, says it")
	case f.name != "kubeconfig" || c.Cluster.Kubeconfig == "":
	case v.ours.CloudProvider == "mcm":
		v.wrong(f.field, "Plimsoll's chart reaches the shoot by a Secret: leave this out, and set "+
			"gardener.targetKubeconfigSecret in the translation")
	default:
		v.wrong(f.field, "the Cluster Autoscaler has its lease on the cluster that it leads to, and with the cloudProvider "+
			"%s Plimsoll's chart takes no kubeconfig: translate its Deployment in place of the values (kubectl get deployment "+
			"-o yaml), which keeps the flag", v.ours.CloudProvider)
	}
}

// withOwnFlags is a command line as Plimsoll's chart makes it: its own flags are what
// the translation says, and no extra one is among them.
func (v *values) withOwnFlags(line commandLine) commandLine {
	var own, extra []flag
	for _, f := range line.kept {
		switch {
		case f.extra() && !slices.Contains(chartFlags, f.name):
			extra = append(extra, f)
		case !f.extra() && !(v.ours.Mode != "" && slices.Contains(clusterFlags, f.name)):
			own = append(own, f)
		}
	}
	c := v.ours.clusterAPI
	add := func(name, value string) {
		own = append(own, flag{name: name, value: value, resolved: value, bare: value == "", field: "clusterAPIMode"})
	}
	if c.CloudConfigPath != "" {
		add("cloud-config", c.CloudConfigPath)
	}
	if c.WorkloadPath != "" {
		add("kubeconfig", c.WorkloadPath)
	}
	if c.Mode == "kubeconfig-incluster" {
		add("clusterapi-cloud-config-authoritative", "")
	}
	line.kept = append(own, extra...)
	return line
}

// clusterFlags are those that clusterAPIMode stands for.
var clusterFlags = []string{"kubeconfig", "cloud-config", "clusterapi-cloud-config-authoritative"}
