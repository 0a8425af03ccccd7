package migrate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// values is a translation of Helm values under way.
type values struct {
	// release is the namespace of the release; empty: not known.
	release string
	theirs  theirValues
	ours    ourValues
	changed []string
	// told are the values that have a note.
	told map[string]bool
	errs []error
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
	if _, nested := raw[program].(map[string]any); nested {
		return Result{}, fmt.Errorf("%s: these are values of a chart that has the Cluster Autoscaler's in it: give what is "+
			"under it as a file of its own", program)
	}
	v := values{release: s.Namespace, told: map[string]bool{}}
	if err := v.read(raw); err != nil {
		return Result{}, err
	}
	v.ours.CloudProvider = "aws" // their chart's default
	if p := v.theirs.CloudProvider; p != nil {
		v.ours.CloudProvider = *p
	}
	// 1. What says which groups there are.
	v.templates(raw)
	v.discovery()
	v.groups()
	// 2. Flags: what the chart would make of the values is a command line, and that
	// says where the clusters are.
	line, err := read(append(v.arguments(), v.extraPieces()...), v.known(), s.Providers)
	if err != nil {
		return Result{}, errors.Join(append(v.errs, err)...)
	}
	v.ownFlags(line)
	v.clusters(line)
	theirNamespace := v.theirNamespace(line)
	line = v.withOwnFlags(line)
	v.extraArgs(line)
	if slices.ContainsFunc(line.dropped, func(d dropped) bool { return d.name == "nodes" }) {
		v.ours.NodeGroups = nil
	}
	v.changed = append(v.changed, line.notes()...)
	// 3. The pod and what is around it.
	v.environment()
	v.pod(s)
	v.monitoring()
	v.budget(raw)
	v.replicas(line)
	v.verbosity(line)
	v.leftOut("", raw)
	v.insideOf(raw)
	v.rights()
	if len(v.errs) > 0 {
		return Result{}, errors.Join(v.errs...)
	}
	if v.ours.CloudProvider == "mcm" {
		v.ours.CloudProvider = "gardener"
	}
	at := placeOf(line)
	wait := ""
	if !at.elects {
		wait = ", wait until its pod is gone"
	}
	return written(Notes{
		Lost:     line.lost(),
		Changed:  v.changed,
		Handover: v.handover(at, theirNamespace),
		Next: at.next(append(s.imageFirst(), trial(line, v.variables(), v.leaseNamespace())...),
			"or in the cluster, beside the Cluster Autoscaler: helm install plimsoll <chart> -f <this file> --set mode=observe",
			"then scale the Cluster Autoscaler's Deployment to 0"+wait+
				", and helm upgrade plimsoll <chart> -f <this file>; uninstall its release when all is well"),
	}, v.ours)
}

// read takes values apart. A null in a map or a list of the pod's says nothing, to
// Kubernetes neither; elsewhere it may take a default away.
func (v *values) read(raw map[string]any) error {
	for _, path := range pruned {
		field, rest, deep := strings.Cut(path, ".")
		in := raw
		for deep && in != nil {
			in, _ = in[field].(map[string]any)
			field, rest, deep = strings.Cut(rest, ".")
		}
		if in[field] != nil {
			in[field] = v.withoutNulls(path, in[field])
		}
	}
	text, err := yaml.Marshal(raw)
	if err != nil {
		return fmt.Errorf("as values of the Cluster Autoscaler's chart: %w", err)
	}
	if err := yaml.Unmarshal(text, &v.theirs); err != nil {
		return fmt.Errorf("as values of the Cluster Autoscaler's chart: %w", err)
	}
	return nil
}

// pruned are the values in which a null says nothing.
var pruned = []string{
	"affinity", "extraEnv", "nodeSelector", "podAnnotations", "podLabels", "prometheusRule.additionalLabels",
	"rbac.serviceAccount.annotations", "resources", "tolerations", "topologySpreadConstraints",
}

// withoutNulls is a value without the fields and elements that are null, each of which
// is told.
func (v *values) withoutNulls(path string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if value[name] == nil {
				v.tell(path+"."+name, "null is no value")
				continue
			}
			out[name] = v.withoutNulls(path+"."+name, value[name])
		}
		return out
	case []any:
		out := make([]any, 0, len(value)) // an empty list stays one
		for i, one := range value {
			at := fmt.Sprintf("%s[%d]", path, i)
			if one == nil {
				v.tell(at, "null is no value")
				continue
			}
			out = append(out, v.withoutNulls(at, one))
		}
		return out
	}
	return value
}

func (v *values) discovery() {
	d := v.theirs.AutoDiscovery
	ours := discovery{ClusterName: d.ClusterName}
	switch v.ours.CloudProvider {
	case "aws":
		if d.ClusterName == "" {
			if d.Tags != nil {
				v.tell("autoDiscovery.tags",
					"without autoDiscovery.clusterName the Cluster Autoscaler's chart does not read it either")
			}
			break
		}
		tags := d.Tags
		if tags == nil {
			tags = []string{ownTag, clusterTag}
		}
		for _, tag := range tags {
			// Their chart joins them with commas, so that one may be several.
			ours.Tags = append(ours.Tags, strings.Split(ofCluster(tag, d.ClusterName), ",")...)
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
		v.wrong("autoDiscovery.clusterName", "neither it nor autoscalingGroups is there: with these values the Cluster "+
			"Autoscaler's chart starts nothing; give the file that has the groups, too")
	}
}

// arguments are the flags that the chart makes of values.
func (v *values) arguments() []located {
	out := []located{{"--cloud-provider=" + v.ours.CloudProvider, "cloudProvider"}}
	for i, g := range v.ours.NodeGroups {
		out = append(out, located{
			fmt.Sprintf("--nodes=%s:%s:%s", g.Min, g.Max, g.Name), fmt.Sprintf("autoscalingGroups[%d]", i),
		})
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
	return append(out, v.flagsOfMode()...)
}

// extraPieces are the flags of extraArgs and customArgs.
func (v *values) extraPieces() []located {
	var out []located
	for _, name := range slices.Sorted(maps.Keys(v.theirs.ExtraArgs)) {
		field := extraArgsField + name
		flag, _, _ := strings.Cut(name, "_") // what follows makes a name unique
		if given := v.theirs.ExtraArgs[name]; (flag == "cloud-provider" || flag == "cloudprovider") &&
			given != v.ours.CloudProvider {
			v.wrong(field, "%v is not the cloudProvider, %s, by which their chart goes in all else: set that, and leave "+
				"this out", given, v.ours.CloudProvider)
			continue
		}
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
		if !f.extra() {
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
