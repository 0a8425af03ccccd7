package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// values is a translation of Helm values under way.
type values struct {
	theirs  theirValues
	ours    ourValues
	changed []string
	errs    []error
}

func (v *values) wrong(field, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
}

func (v *values) note(format string, args ...any) {
	v.changed = append(v.changed, fmt.Sprintf(format, args...))
}

// translateValues makes values of Plimsoll's chart out of those of the Cluster
// Autoscaler's.
func translateValues(text []byte, raw map[string]any, s Settings) (Result, error) {
	var v values
	if err := yaml.Unmarshal(text, &v.theirs); err != nil {
		return Result{}, fmt.Errorf("as values of the Cluster Autoscaler's chart: %w", err)
	}
	v.ours.CloudProvider = "aws" // their chart's default
	if p := v.theirs.CloudProvider; p != nil {
		v.ours.CloudProvider = *p
	}
	// 1. What says which groups there are, and where the clusters are.
	v.discovery()
	v.groups()
	v.clusterAPI()
	// 2. Flags: what the chart would make of the values is a command line.
	line, err := read(append(v.arguments(), v.extraPieces()...), nil, s.Providers)
	if err != nil {
		return Result{}, errors.Join(append(v.errs, err)...)
	}
	v.extraArgs(line)
	v.changed = append(v.changed, line.notes()...)
	// 3. The pod and what is around it.
	v.environment()
	v.pod(s)
	v.replicas(line)
	v.leftOut(raw)
	v.rights(line)
	if len(v.errs) > 0 {
		return Result{}, errors.Join(v.errs...)
	}
	if v.ours.CloudProvider == "mcm" {
		v.ours.CloudProvider = "gardener"
	}
	in := "the release's namespace"
	if ns := v.workloadNamespace(); ns != "" {
		in = "namespace " + ns + " of the workload cluster"
	}
	return written(Notes{
		Changed:  v.changed,
		Handover: placeOf(line).handover(in),
		Next: next(line.kept,
			"or in the cluster, beside the Cluster Autoscaler: helm install plimsoll <chart> -f <this file> --set mode=observe",
			"then scale the Cluster Autoscaler's Deployment to 0, and helm upgrade plimsoll <chart> -f <this file>; uninstall its release when all is well"),
	}, v.ours)
}

func (v *values) discovery() {
	d := v.theirs.AutoDiscovery
	ours := discovery{ClusterName: d.ClusterName}
	switch v.ours.CloudProvider {
	case "aws":
		if d.ClusterName == "" {
			break // without it, their chart heeds no tags
		}
		tags := d.Tags
		if tags == nil {
			tags = []string{"k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/{{ .Values.autoDiscovery.clusterName }}"}
		}
		for i, tag := range tags {
			for _, form := range []string{"{{ .Values.autoDiscovery.clusterName }}", "{{.Values.autoDiscovery.clusterName}}"} {
				tag = strings.ReplaceAll(tag, form, d.ClusterName)
			}
			if strings.Contains(tag, "{{") {
				v.wrong(fmt.Sprintf("autoDiscovery.tags[%d]", i), "%q is a template that only Helm can fill in: write what it stands for", tag)
			}
			ours.Tags = append(ours.Tags, tag)
		}
	case "clusterapi":
		ours.Namespace = d.Namespace
		for i, labels := range d.Labels {
			for _, name := range slices.Sorted(maps.Keys(labels)) {
				if _, twice := ours.Labels[name]; twice {
					v.wrong(fmt.Sprintf("autoDiscovery.labels[%d].%s", i, name), "the label is there twice")
				}
				if ours.Labels == nil {
					ours.Labels = map[string]string{}
				}
				ours.Labels[name] = labels[name]
			}
		}
	}
	if !reflect.DeepEqual(ours, discovery{}) {
		v.ours.AutoDiscovery = &ours
	}
}

func (v *values) groups() {
	for i, g := range v.theirs.AutoscalingGroups {
		field := fmt.Sprintf("autoscalingGroups[%d]", i)
		switch {
		case g.Name == "":
			v.wrong(field+".name", "it is missing")
		case g.MinSize == nil:
			v.wrong(field+".minSize", "it is missing")
		case g.MaxSize == nil:
			v.wrong(field+".maxSize", "it is missing")
		default:
			v.ours.NodeGroups = append(v.ours.NodeGroups, nodeGroup{g.Name, *g.MinSize, *g.MaxSize})
		}
	}
	if len(v.theirs.AutoscalingGroups) == 0 && v.ours.AutoDiscovery == nil {
		v.wrong("autoDiscovery.clusterName", "neither it nor autoscalingGroups is there: with these values the Cluster Autoscaler's chart starts nothing; give the file that has the groups, too")
	}
}

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
	if c.Mode == inclusterIncluster {
		return
	}
	c.WorkloadPath = "/etc/kubernetes/value"
	if t.ClusterAPIWorkloadKubeconfigPath != nil {
		c.WorkloadPath = *t.ClusterAPIWorkloadKubeconfigPath
	}
	if v.manages() {
		c.CloudConfigPath = "/etc/kubernetes/mgmt-kubeconfig"
		if t.ClusterAPICloudConfigPath != nil {
			c.CloudConfigPath = *t.ClusterAPICloudConfigPath
		}
	}
	c.Namespace = t.ClusterAPIConfigMapsNamespace
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
			return cmp.Or(s.Name, volume)
		}
	}
	v.wrong("clusterAPIKubeconfigSecret", "in the mode %s Plimsoll's chart needs it: the Secret with the kubeconfig, under the key %q", v.ours.Mode, path.Base(wanted))
	return ""
}

// workloadNamespace is where the lease is if not in the release's namespace.
func (v *values) workloadNamespace() string {
	if v.ours.CloudProvider != "clusterapi" || strings.HasPrefix(v.ours.Mode, "incluster-") {
		return ""
	}
	return cmp.Or(v.ours.clusterAPI.Namespace, "kube-system")
}

// arguments are the flags that the chart makes of values.
func (v *values) arguments() []located {
	out := []located{{"--cloud-provider=" + v.ours.CloudProvider, "cloudProvider"}}
	for i, g := range v.ours.NodeGroups {
		out = append(out, located{fmt.Sprintf("--nodes=%s:%s:%s", g.Min, g.Max, g.Name), fmt.Sprintf("autoscalingGroups[%d]", i)})
	}
	if d := v.ours.AutoDiscovery; d != nil {
		var terms []string
		switch v.ours.CloudProvider {
		case "aws":
			terms = append(terms, "asg:tag="+strings.Join(d.Tags, ","))
		case "clusterapi":
			for name, value := range map[string]string{"clusterName": d.ClusterName, "namespace": d.Namespace} {
				if value != "" {
					terms = append(terms, name+"="+value)
				}
			}
			for name, value := range d.Labels {
				terms = append(terms, name+"="+value)
			}
			slices.Sort(terms)
			terms = []string{"clusterapi:" + strings.Join(terms, ",")}
		}
		for _, t := range terms {
			out = append(out, located{"--node-group-auto-discovery=" + t, "autoDiscovery"})
		}
	}
	if v.ours.Mode != "" {
		if v.manages() {
			out = append(out, located{"--cloud-config=" + v.ours.CloudConfigPath, "clusterAPICloudConfigPath"})
		}
		if !strings.HasPrefix(v.ours.Mode, "incluster-") {
			out = append(out, located{"--kubeconfig=" + v.ours.WorkloadPath, "clusterAPIWorkloadKubeconfigPath"})
		}
		if v.ours.Mode == "kubeconfig-incluster" {
			out = append(out, located{"--clusterapi-cloud-config-authoritative", "clusterAPIMode"})
		}
	}
	return out
}

// extraPieces are the flags of extraArgs and customArgs.
func (v *values) extraPieces() []located {
	var out []located
	for _, name := range slices.Sorted(maps.Keys(v.theirs.ExtraArgs)) {
		field := extraArgsField + name
		flag, _, _ := strings.Cut(name, "_") // what follows makes a name unique
		list := []any{v.theirs.ExtraArgs[name]}
		if several, ok := list[0].([]any); ok {
			list = several
		}
		for _, value := range list {
			switch value := value.(type) {
			case nil:
				out = append(out, located{"--" + flag, field})
			case string, bool, float64:
				out = append(out, located{"--" + flag + "=" + scalar(value), field})
			default:
				v.wrong(field, "%v is no value of a flag: want a text, a number, true or false", value)
			}
		}
	}
	for i, arg := range v.theirs.CustomArgs {
		out = append(out, located{arg, fmt.Sprintf("%s%d]", customArgsField, i)})
	}
	return out
}

// scalar is a text, number or switch as it is written on a command line.
func scalar(value any) string {
	if n, ok := value.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// Fields whose flags are carried over as extraArgs; the others have values of their
// own.
const (
	extraArgsField  = "extraArgs."
	customArgsField = "customArgs["
)

// extraArgs are the flags that are kept; one that is there several times has a
// list.
func (v *values) extraArgs(line commandLine) {
	v.ours.ExtraArgs = extraArgs{}
	for _, f := range line.kept {
		if !strings.HasPrefix(f.field, extraArgsField) && !strings.HasPrefix(f.field, customArgsField) {
			continue
		}
		if f.name == "address" {
			v.note("%s is dropped: Plimsoll's chart serves at :8085, where its probes and its Service look", f)
			continue
		}
		var value any = f.value
		if f.bare {
			value = true
		} else if original, ok := v.theirs.ExtraArgs[strings.TrimPrefix(f.field, extraArgsField)]; ok {
			if _, several := original.([]any); !several {
				value = original
			}
		}
		switch before := v.ours.ExtraArgs[f.name].(type) {
		case nil:
			v.ours.ExtraArgs[f.name] = value
		case []any:
			v.ours.ExtraArgs[f.name] = append(before, value)
		default:
			v.ours.ExtraArgs[f.name] = []any{before, value}
		}
	}
}
