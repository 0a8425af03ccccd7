package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Ways to reach the two clusters of Cluster API.
const inclusterIncluster = "incluster-incluster"

var clusterAPIModes = []string{inclusterIncluster, "incluster-kubeconfig", "kubeconfig-incluster", "kubeconfig-kubeconfig", "single-kubeconfig"}

func (v *values) clusterAPI() {
	if v.ours.CloudProvider != "clusterapi" {
		return
	}
	t, c := &v.theirs, &v.ours.clusterAPI
	c.Mode = inclusterIncluster
	if t.ClusterAPIMode != nil {
		c.Mode = *t.ClusterAPIMode
	}
	if !slices.Contains(clusterAPIModes, c.Mode) {
		v.wrong("clusterAPIMode", "%q is none of %s", c.Mode, strings.Join(clusterAPIModes, ", "))
		return
	}
	v.unreadInMode()
	if c.Mode == inclusterIncluster {
		return
	}
	c.WorkloadPath = workloadPath
	if t.ClusterAPIWorkloadKubeconfigPath != nil {
		c.WorkloadPath = *t.ClusterAPIWorkloadKubeconfigPath
	}
	if v.manages() {
		c.CloudConfigPath = managementPath
		if t.ClusterAPICloudConfigPath != nil {
			c.CloudConfigPath = *t.ClusterAPICloudConfigPath
		}
	}
	c.Namespace = v.workloadNamespace()
	c.KubeconfigSecret = v.kubeconfigSecret()
	if !v.manages() {
		return
	}
	// One Secret is mounted, in the folder of the workload cluster's kubeconfig.
	if path.Dir(c.CloudConfigPath) != path.Dir(c.WorkloadPath) {
		moved := path.Join(path.Dir(c.WorkloadPath), path.Base(c.CloudConfigPath))
		v.note("clusterAPICloudConfigPath is %s, was %s: Plimsoll's chart mounts one Secret, in one folder", moved, c.CloudConfigPath)
		c.CloudConfigPath = moved
	}
	v.note("the Secret %s must have the kubeconfig of the management cluster under the key %q, beside what it has", c.KubeconfigSecret, path.Base(c.CloudConfigPath))
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
		{"clusterAPICloudConfigPath", t.ClusterAPICloudConfigPath != nil && *t.ClusterAPICloudConfigPath != managementPath, v.manages()},
		{"clusterAPIConfigMapsNamespace", t.ClusterAPIConfigMapsNamespace != "", mode == "kubeconfig-incluster"},
	} {
		if u.given && !u.unless {
			v.tell(u.path, fmt.Sprintf("in the clusterAPIMode %s it has no effect, in the Cluster Autoscaler's chart neither", mode))
		}
	}
}

// manages tells whether the management cluster has a kubeconfig of its own.
func (v *values) manages() bool {
	return v.ours.Mode == "incluster-kubeconfig" || v.ours.Mode == "kubeconfig-kubeconfig"
}

// kubeconfigSecret is the Secret with the kubeconfigs, or the one of their volumes
// that is mounted where they are looked for.
func (v *values) kubeconfigSecret() string {
	if s := v.theirs.ClusterAPIKubeconfigSecret; s != "" {
		return s
	}
	wanted := v.ours.WorkloadPath
	if v.ours.Mode == "incluster-kubeconfig" {
		wanted = v.ours.CloudConfigPath
	}
	for _, volume := range slices.Sorted(maps.Keys(v.theirs.ExtraVolumeSecrets)) {
		s := v.theirs.ExtraVolumeSecrets[volume]
		if path.Clean(s.MountPath) == path.Dir(wanted) {
			v.note("clusterAPIKubeconfigSecret is the Secret of extraVolumeSecrets.%s", volume)
			v.told["extraVolumeSecrets."+volume] = true
			return cmp.Or(s.Name, volume)
		}
	}
	v.wrong("clusterAPIKubeconfigSecret", "in the mode %s Plimsoll's chart needs it: the Secret with the kubeconfig, under the key %q", v.ours.Mode, path.Base(wanted))
	return ""
}

// workloadNamespace is the value of Plimsoll's chart that says where the lease is
// on the workload cluster, if that is not the one with the pod. The Cluster
// Autoscaler's chart has a value for it that counts in one mode only; in the others
// it is the namespace of its release, by name.
func (v *values) workloadNamespace() string {
	switch {
	case v.ours.CloudProvider != "clusterapi" || strings.HasPrefix(v.ours.Mode, "incluster-"):
		return ""
	case v.ours.Mode == "kubeconfig-incluster":
		return v.theirs.ClusterAPIConfigMapsNamespace
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

// handover says how one follows the other.
func (v *values) handover(p place) []string {
	in, where := "the release's namespace", "the namespace of the Cluster Autoscaler's release"
	if v.release != "" {
		in, where = "namespace "+v.release, "namespace "+v.release
	}
	if v.elsewhere() {
		in = "namespace " + v.leaseNamespace() + " of the workload cluster"
	}
	out := p.handover(in)
	if !v.elsewhere() {
		out = append([]string{fmt.Sprintf("install Plimsoll into %s: lease and ConfigMap are in the release's own", where)}, out...)
	}
	if v.elsewhere() && v.ours.Mode != "kubeconfig-incluster" && v.release == "" && p.elects {
		out[0] = fmt.Sprintf("the Cluster Autoscaler's lease is in the namespace of its release, by name, on the workload cluster; Plimsoll's is in clusterAPIConfigMapsNamespace, %s: set that to the same (plimsoll migrate --namespace does), or both act", v.leaseNamespace())
	}
	return out
}
