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

// The ways to reach the two clusters of Cluster API.
const (
	inclusterIncluster   = "incluster-incluster"
	inclusterKubeconfig  = "incluster-kubeconfig"
	kubeconfigIncluster  = "kubeconfig-incluster"
	kubeconfigKubeconfig = "kubeconfig-kubeconfig"
	singleKubeconfig     = "single-kubeconfig"
)

var clusterAPIModes = []string{
	inclusterIncluster, inclusterKubeconfig, kubeconfigIncluster, kubeconfigKubeconfig, singleKubeconfig,
}

// filePath is a file in a folder of its own, where a Secret can be mounted.
var filePath = regexp.MustCompile(`^/[^/]+(/[^/]+)+$`)

// declaredMode is clusterAPIMode as the file has it, and not what flags make of it.
func (v *values) declaredMode() string { return given(v.theirs.ClusterAPIMode, inclusterIncluster) }

// workloadFile and managementFile are the kubeconfigs as the file has them.
func (v *values) workloadFile() string {
	return given(v.theirs.ClusterAPIWorkloadKubeconfigPath, workloadPath)
}

func (v *values) managementFile() string {
	return given(v.theirs.ClusterAPICloudConfigPath, managementPath)
}

// manages reports whether the management cluster has a kubeconfig of its own, and elsewhere whether the cluster with
// the nodes, and the lease, is another one than the pod's.
func manages(mode string) bool { return mode == inclusterKubeconfig || mode == kubeconfigKubeconfig }

func elsewhere(mode string) bool { return mode != "" && !strings.HasPrefix(mode, "incluster-") }

// flagsOfMode are the flags that their chart makes of clusterAPIMode.
func (v *values) flagsOfMode() []located {
	if v.provider != "clusterapi" {
		return nil
	}
	mode := v.declaredMode()
	if !slices.Contains(clusterAPIModes, mode) {
		v.wrong("clusterAPIMode", "%q is none of %s", mode, strings.Join(clusterAPIModes, ", "))
		return nil
	}
	var out []located
	if manages(mode) {
		out = append(out, located{"--cloud-config=" + v.managementFile(), "clusterAPICloudConfigPath"})
	}
	if elsewhere(mode) {
		out = append(out, located{"--kubeconfig=" + v.workloadFile(), "clusterAPIWorkloadKubeconfigPath"})
	}
	if mode == kubeconfigIncluster {
		out = append(out, located{"--clusterapi-cloud-config-authoritative", "clusterAPIMode"})
	}
	return out
}

// modeOf is which clusters a command line reaches how.
func modeOf(line commandLine) string {
	workload, management := line.config.Cluster.Kubeconfig != "", line.management != ""
	switch {
	case workload && management:
		return kubeconfigKubeconfig
	case workload && line.authoritative:
		return kubeconfigIncluster
	case workload:
		return singleKubeconfig
	case management:
		return inclusterKubeconfig
	}
	return inclusterIncluster
}

// clusters are the ways to reach Cluster API's clusters, by the flags in force: those of the mode, and after them
// those that were given beside it.
func (v *values) clusters() {
	if v.provider != "clusterapi" {
		return
	}
	v.mode = modeOf(v.line)
	v.out.set("clusterAPIMode", v.mode)
	if declared := v.declaredMode(); v.mode != declared {
		v.note("clusterAPIMode is %s, was %s: that is what flags among extraArgs or customArgs make of it", v.mode, declared)
	}
	v.unreadInMode()
	wrong := len(v.errs)
	if elsewhere(v.mode) {
		v.workload = v.kubeconfig("kubeconfig", v.line.config.Cluster.Kubeconfig)
		if namespace := v.theirNamespace(); namespace != "" {
			v.out.set("clusterAPIConfigMapsNamespace", namespace)
		}
	}
	if manages(v.mode) {
		v.management = v.kubeconfig("cloud-config", v.line.management)
	}
	if v.mode == inclusterIncluster || len(v.errs) > wrong {
		return
	}
	secret := v.kubeconfigSecret()
	if secret == "" {
		return
	}
	v.out.set("clusterAPIKubeconfigSecret", secret)
	if v.workload != "" {
		v.out.set("clusterAPIWorkloadKubeconfigPath", v.workload)
	}
	if v.management == "" {
		return
	}
	// One Secret is mounted, in the folder of the workload cluster's kubeconfig.
	if folder := path.Dir(v.workload); v.workload != "" && path.Dir(v.management) != folder {
		name := path.Base(v.management)
		if name == path.Base(v.workload) {
			name = path.Base(managementPath) // both would be the same file
		}
		moved := path.Join(folder, name)
		v.note("clusterAPICloudConfigPath is %s, was %s: Plimsoll's chart mounts one Secret, in one folder",
			moved, v.management)
		v.management = moved
	}
	v.out.set("clusterAPICloudConfigPath", v.management)
	v.note("the Secret %s must have the kubeconfig of the management cluster under the key %q, beside what it has",
		secret, path.Base(v.management))
}

// kubeconfig is the file that a flag names.
func (v *values) kubeconfig(name, file string) string {
	field := name
	for _, f := range v.line.kept {
		if f.name == name {
			field = f.field // the last one is in force
		}
	}
	if file = path.Clean(file); !filePath.MatchString(file) {
		v.wrong(field, "%q is no file in a folder of its own, where Plimsoll's chart could mount the Secret that it is in",
			file)
	}
	return file
}

// unreadInMode tells values that their chart does not read in the mode, and that are no part of the translation either.
func (v *values) unreadInMode() {
	incluster := v.mode == inclusterIncluster
	for _, u := range []struct {
		path   string
		unread bool
	}{
		{"clusterAPIKubeconfigSecret", v.theirs.ClusterAPIKubeconfigSecret != "" && incluster},
		{"clusterAPIWorkloadKubeconfigPath", v.workloadFile() != workloadPath && incluster},
		{"clusterAPICloudConfigPath", v.managementFile() != managementPath && !manages(v.mode)},
		{"clusterAPIConfigMapsNamespace",
			v.theirs.ClusterAPIConfigMapsNamespace != "" && v.declaredMode() != kubeconfigIncluster},
	} {
		if u.unread {
			v.tell(u.path, fmt.Sprintf("in the clusterAPIMode %s it has no effect, in the Cluster Autoscaler's chart neither",
				v.mode))
		}
	}
}

// kubeconfigSecret is the Secret with the kubeconfigs, or the one of their volumes that is mounted where they are
// looked for. Their chart mounts the former in the folder of the workload cluster's kubeconfig, in every mode.
func (v *values) kubeconfigSecret() string {
	wanted := cmp.Or(v.workload, v.management)
	secret := v.theirs.ClusterAPIKubeconfigSecret
	if secret != "" && path.Dir(wanted) == path.Dir(v.workloadFile()) {
		return secret
	}
	volumes := v.theirs.ExtraVolumeSecrets
	for _, volume := range slices.Sorted(maps.Keys(volumes)) {
		if path.Clean(volumes[volume].MountPath) != path.Dir(wanted) {
			continue
		}
		key := ""
		if v.workload != "" {
			key = fmt.Sprintf(", with the workload cluster's kubeconfig under the key %q", path.Base(wanted))
		}
		v.note("clusterAPIKubeconfigSecret is the Secret of extraVolumeSecrets.%s%s", volume, key)
		v.silence("extraVolumeSecrets." + volume)
		return cmp.Or(volumes[volume].Name, volume)
	}
	if secret == "" {
		v.wrong("clusterAPIKubeconfigSecret", "in the mode %s Plimsoll's chart needs it: the Secret with the kubeconfig, "+
			"under the key %q", v.mode, path.Base(wanted))
	}
	return secret
}

// theirNamespace is where the Cluster Autoscaler's lease is, by name; empty: in its release's, which is not known.
// Their chart has a value for it that counts in one mode only, and a flag counts before that.
func (v *values) theirNamespace() string {
	if slices.ContainsFunc(v.line.kept, func(f flag) bool { return f.name == "namespace" }) {
		return v.line.config.Cluster.Namespace
	}
	if v.provider == "clusterapi" && v.declaredMode() == kubeconfigIncluster {
		return cmp.Or(v.theirs.ClusterAPIConfigMapsNamespace, "kube-system")
	}
	return v.namespace
}

// handOver says how one follows the other. theirs is where the Cluster Autoscaler has its lease, by name; empty: not
// known.
func (v *values) handOver(theirs string) {
	if !elsewhere(v.mode) {
		v.leaseIn = v.namespace
		in, where := "the release's namespace", "the namespace of the Cluster Autoscaler's release"
		if v.namespace != "" {
			in, where = "namespace "+v.namespace, "namespace "+v.namespace
		}
		install := "install Plimsoll into " + where + ": lease and ConfigMap are in the release's own"
		v.handingOver = append([]string{install}, v.handover(in)...)
		return
	}
	v.leaseIn = cmp.Or(theirs, "kube-system")
	v.handingOver = v.handover("namespace " + v.leaseIn + " of the workload cluster")
	if theirs != "" {
		return
	}
	const release = "in the namespace of its release, by name, on the workload cluster"
	ours := "in clusterAPIConfigMapsNamespace, " + v.leaseIn
	c := v.line.config
	if c.Leader.Enabled {
		v.handingOver[0] = fmt.Sprintf("the Cluster Autoscaler's lease is %s; Plimsoll's is %s: set that to the same "+
			"(plimsoll migrate --namespace does), or both act", release, ours)
	}
	if c.Report.WriteStatus {
		v.handingOver[1] = fmt.Sprintf("the Cluster Autoscaler writes the ConfigMap %s %s, and deletes it when it ends; "+
			"Plimsoll the one %s, and keeps its memory there: if that is the same one, it makes it again",
			c.Report.StatusConfigMap, release, ours)
	}
}
