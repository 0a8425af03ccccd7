package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Ways to reach the two clusters of Cluster API.
const inclusterIncluster = "incluster-incluster"

var clusterAPIModes = []string{inclusterIncluster, "incluster-kubeconfig", "kubeconfig-incluster", "kubeconfig-kubeconfig", "single-kubeconfig"}

// filePath is a file in a folder of its own, where a Secret can be mounted.
var filePath = regexp.MustCompile(`^/[^/]+(/[^/]+)+$`)

// declaredMode is clusterAPIMode as the file has it, and not what flags make of it.
func (v *values) declaredMode() string {
	if m := v.theirs.ClusterAPIMode; m != nil {
		return *m
	}
	return inclusterIncluster
}

// flagsOfMode are the flags that their chart makes of clusterAPIMode.
func (v *values) flagsOfMode() []located {
	if v.ours.CloudProvider != "clusterapi" {
		return nil
	}
	mode := v.declaredMode()
	if !slices.Contains(clusterAPIModes, mode) {
		v.wrong("clusterAPIMode", "%q is none of %s", mode, strings.Join(clusterAPIModes, ", "))
		return nil
	}
	var out []located
	if manages(mode) {
		out = append(out, located{"--cloud-config=" + given(v.theirs.ClusterAPICloudConfigPath, managementPath), "clusterAPICloudConfigPath"})
	}
	if !strings.HasPrefix(mode, "incluster-") {
		out = append(out, located{"--kubeconfig=" + given(v.theirs.ClusterAPIWorkloadKubeconfigPath, workloadPath), "clusterAPIWorkloadKubeconfigPath"})
	}
	if mode == "kubeconfig-incluster" {
		out = append(out, located{"--clusterapi-cloud-config-authoritative", "clusterAPIMode"})
	}
	return out
}

// given is a value, or the default of their chart.
func given(value *string, byDefault string) string {
	if value != nil {
		return *value
	}
	return byDefault
}

// manages tells whether the management cluster has a kubeconfig of its own.
func manages(mode string) bool {
	return mode == "incluster-kubeconfig" || mode == "kubeconfig-kubeconfig"
}

// modeOf is which clusters a command line reaches how.
func modeOf(line commandLine) string {
	workload, management := line.config.Cluster.Kubeconfig != "", line.management != ""
	switch {
	case workload && management:
		return "kubeconfig-kubeconfig"
	case workload && line.authoritative:
		return "kubeconfig-incluster"
	case workload:
		return "single-kubeconfig"
	case management:
		return "incluster-kubeconfig"
	}
	return inclusterIncluster
}

// clusters are the ways to reach Cluster API's clusters, by the flags in force:
// those of the mode, and after them those that were given beside it.
func (v *values) clusters(line commandLine) {
	if v.ours.CloudProvider != "clusterapi" {
		return
	}
	c := &v.ours.clusterAPI
	c.Mode = modeOf(line)
	if declared := v.declaredMode(); c.Mode != declared {
		v.note("clusterAPIMode is %s, was %s: that is what flags among extraArgs or customArgs make of it", c.Mode, declared)
	}
	v.unreadInMode()
	if c.Mode == inclusterIncluster {
		return
	}
	workload, management := path.Clean(line.config.Cluster.Kubeconfig), path.Clean(line.management)
	for _, f := range []struct {
		name, file string
		to         *string
		used       bool
	}{
		{"kubeconfig", workload, &c.WorkloadPath, !strings.HasPrefix(c.Mode, "incluster-")},
		{"cloud-config", management, &c.CloudConfigPath, manages(c.Mode)},
	} {
		if !f.used {
			continue
		}
		if !filePath.MatchString(f.file) {
			v.wrong(fieldOf(line, f.name), "%q is no file in a folder of its own, where Plimsoll's chart could mount the Secret that it is in", f.file)
			return
		}
		*f.to = f.file
	}
	c.Namespace = v.workloadNamespace(line)
	c.KubeconfigSecret = v.kubeconfigSecret()
	if c.KubeconfigSecret == "" || !manages(c.Mode) {
		return
	}
	// One Secret is mounted, in the folder of the workload cluster's kubeconfig.
	if c.Mode == "kubeconfig-kubeconfig" && path.Dir(c.CloudConfigPath) != path.Dir(c.WorkloadPath) {
		name := path.Base(c.CloudConfigPath)
		if name == path.Base(c.WorkloadPath) {
			name = path.Base(managementPath) // both would be the same file
		}
		moved := path.Join(path.Dir(c.WorkloadPath), name)
		v.note("clusterAPICloudConfigPath is %s, was %s: Plimsoll's chart mounts one Secret, in one folder", moved, c.CloudConfigPath)
		c.CloudConfigPath = moved
	}
	v.note("the Secret %s must have the kubeconfig of the management cluster under the key %q, beside what it has", c.KubeconfigSecret, path.Base(c.CloudConfigPath))
}

// fieldOf is where the flag in force is written: the last one.
func fieldOf(line commandLine, name string) string {
	field := name
	for _, f := range line.kept {
		if f.name == name {
			field = f.field
		}
	}
	return field
}

// unreadInMode tells values that their chart does not read in the mode, and that
// are no part of the translation either.
func (v *values) unreadInMode() {
	t, mode := &v.theirs, v.ours.Mode
	for _, u := range []struct {
		path   string
		given  bool
		unless bool
	}{
		{"clusterAPIKubeconfigSecret", t.ClusterAPIKubeconfigSecret != "", mode != inclusterIncluster},
		{"clusterAPIWorkloadKubeconfigPath", t.ClusterAPIWorkloadKubeconfigPath != nil && *t.ClusterAPIWorkloadKubeconfigPath != workloadPath, mode != inclusterIncluster},
		{"clusterAPICloudConfigPath", t.ClusterAPICloudConfigPath != nil && *t.ClusterAPICloudConfigPath != managementPath, manages(mode)},
		{"clusterAPIConfigMapsNamespace", t.ClusterAPIConfigMapsNamespace != "", v.declaredMode() == "kubeconfig-incluster"},
	} {
		if u.given && !u.unless {
			v.tell(u.path, fmt.Sprintf("in the clusterAPIMode %s it has no effect, in the Cluster Autoscaler's chart neither", mode))
		}
	}
}

// kubeconfigSecret is the Secret with the kubeconfigs, or the one of their volumes
// that is mounted where they are looked for. Their chart mounts the former in the
// folder of the workload cluster's kubeconfig, in every mode.
func (v *values) kubeconfigSecret() string {
	t := &v.theirs
	wanted := v.ours.WorkloadPath
	if v.ours.Mode == "incluster-kubeconfig" {
		wanted = v.ours.CloudConfigPath
	}
	secret := t.ClusterAPIKubeconfigSecret
	if secret != "" && path.Dir(wanted) == path.Dir(given(t.ClusterAPIWorkloadKubeconfigPath, workloadPath)) {
		return secret
	}
	for _, volume := range slices.Sorted(maps.Keys(t.ExtraVolumeSecrets)) {
		s := t.ExtraVolumeSecrets[volume]
		if path.Clean(s.MountPath) == path.Dir(wanted) {
			key := ""
			if wanted == v.ours.WorkloadPath {
				key = fmt.Sprintf(", with the workload cluster's kubeconfig under the key %q", path.Base(wanted))
			}
			v.note("clusterAPIKubeconfigSecret is the Secret of extraVolumeSecrets.%s%s", volume, key)
			v.told["extraVolumeSecrets."+volume] = true
			return cmp.Or(s.Name, volume)
		}
	}
	if secret == "" {
		v.wrong("clusterAPIKubeconfigSecret", "in the mode %s Plimsoll's chart needs it: the Secret with the kubeconfig, under the key %q", v.ours.Mode, path.Base(wanted))
	}
	return secret
}

// workloadNamespace is the value of Plimsoll's chart that says where the lease is
// on the workload cluster, if that is not the one with the pod; empty: not known.
func (v *values) workloadNamespace(line commandLine) string {
	if !v.elsewhere() {
		return ""
	}
	return v.theirNamespace(line)
}

// theirNamespace is where the Cluster Autoscaler's lease is, by name; empty: in its
// release's, which is not known. Their chart has a value for it that counts in one
// mode only, and a flag counts before that.
func (v *values) theirNamespace(line commandLine) string {
	for _, f := range line.kept {
		if f.name == "namespace" {
			return line.config.Cluster.Namespace
		}
	}
	if v.ours.CloudProvider == "clusterapi" && v.declaredMode() == "kubeconfig-incluster" {
		return cmp.Or(v.theirs.ClusterAPIConfigMapsNamespace, "kube-system")
	}
	return v.release
}

// elsewhere tells whether the lease is on another cluster than the pod.
func (v *values) elsewhere() bool {
	return v.ours.CloudProvider == "clusterapi" && !strings.HasPrefix(v.ours.Mode, "incluster-")
}

// leaseNamespace is where Plimsoll's lease is; empty: in the release's namespace,
// which is not known.
func (v *values) leaseNamespace() string {
	if v.elsewhere() {
		return cmp.Or(v.ours.clusterAPI.Namespace, "kube-system")
	}
	return v.release
}

// handover says how one follows the other. theirs is where the Cluster Autoscaler
// has its lease, by name; empty: not known.
func (v *values) handover(p place, theirs string) []string {
	if !v.elsewhere() {
		in, where := "the release's namespace", "the namespace of the Cluster Autoscaler's release"
		if v.release != "" {
			in, where = "namespace "+v.release, "namespace "+v.release
		}
		return append([]string{fmt.Sprintf("install Plimsoll into %s: lease and ConfigMap are in the release's own", where)}, p.handover(in)...)
	}
	if theirs != "" {
		return p.handover("namespace " + v.leaseNamespace() + " of the workload cluster")
	}
	out := p.handover("the namespace of the Cluster Autoscaler's release, by name, on the workload cluster")
	if p.elects {
		out[0] = fmt.Sprintf("the Cluster Autoscaler's lease is in the namespace of its release, by name, on the workload cluster; Plimsoll's is in clusterAPIConfigMapsNamespace, %s: set that to the same (plimsoll migrate --namespace does), or both act", v.leaseNamespace())
	}
	if p.writes {
		out[1] = fmt.Sprintf("the Cluster Autoscaler writes the ConfigMap %s in the namespace of its release, by name, on the workload cluster, and deletes it when it ends; Plimsoll the one in clusterAPIConfigMapsNamespace, %s, and keeps its memory there: if that is the same one, it makes it again", p.status, v.leaseNamespace())
	}
	return out
}
