package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// values are those of the Cluster Autoscaler's published chart.
type values struct {
	installation
	raw      map[string]any
	theirs   theirValues
	provider string
	// out are values of Plimsoll's chart.
	out tree
	// mode, and the files with kubeconfigs, are Cluster API's.
	mode, workload, management string
}

// theirValues are the values that are read. What a file does not say has the chart's default.
type theirValues struct {
	CloudProvider *string `json:"cloudProvider"`
	AutoDiscovery struct {
		ClusterName string              `json:"clusterName"`
		Namespace   string              `json:"namespace"`
		Tags        []string            `json:"tags"`
		Labels      []map[string]string `json:"labels"`
	} `json:"autoDiscovery"`
	AutoscalingGroups []struct {
		Name    string       `json:"name"`
		MinSize *json.Number `json:"minSize"`
		MaxSize *json.Number `json:"maxSize"`
	} `json:"autoscalingGroups"`

	AWSRegion                *string `json:"awsRegion"`
	AWSAccessKeyID           string  `json:"awsAccessKeyID"`
	AWSSecretAccessKey       string  `json:"awsSecretAccessKey"`
	SecretKeyRefNameOverride string  `json:"secretKeyRefNameOverride"`

	ClusterAPIMode                   *string `json:"clusterAPIMode"`
	ClusterAPIKubeconfigSecret       string  `json:"clusterAPIKubeconfigSecret"`
	ClusterAPIWorkloadKubeconfigPath *string `json:"clusterAPIWorkloadKubeconfigPath"`
	ClusterAPICloudConfigPath        *string `json:"clusterAPICloudConfigPath"`
	ClusterAPIConfigMapsNamespace    string  `json:"clusterAPIConfigMapsNamespace"`

	ExtraArgs          map[string]any `json:"extraArgs"`
	CustomArgs         []string       `json:"customArgs"`
	ExtraEnv           map[string]any `json:"extraEnv"`
	ExtraEnvConfigMaps map[string]key `json:"extraEnvConfigMaps"`
	ExtraEnvSecrets    map[string]key `json:"extraEnvSecrets"`
	ExtraVolumeSecrets map[string]struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	} `json:"extraVolumeSecrets"`
	KwokConfigMapName string `json:"kwokConfigMapName"`

	ReplicaCount *int32 `json:"replicaCount"`
	Image        struct {
		Repository  string   `json:"repository"`
		Tag         string   `json:"tag"`
		PullPolicy  string   `json:"pullPolicy"`
		PullSecrets []string `json:"pullSecrets"`
	} `json:"image"`
	RBAC struct {
		Create         *bool `json:"create"`
		ServiceAccount struct {
			Create      *bool             `json:"create"`
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"serviceAccount"`
	} `json:"rbac"`
	ServiceMonitor struct {
		Enabled   bool               `json:"enabled"`
		Interval  *string            `json:"interval"`
		Namespace *string            `json:"namespace"`
		Selector  map[string]*string `json:"selector"`
	} `json:"serviceMonitor"`
	PrometheusRule struct {
		Enabled   bool              `json:"enabled"`
		Namespace *string           `json:"namespace"`
		Labels    map[string]string `json:"additionalLabels"`
	} `json:"prometheusRule"`

	// Carried over as they are, if they are of these types.
	Affinity                  map[string]any    `json:"affinity"`
	NodeSelector              map[string]string `json:"nodeSelector"`
	Tolerations               []any             `json:"tolerations"`
	TopologySpreadConstraints []any             `json:"topologySpreadConstraints"`
	Resources                 map[string]any    `json:"resources"`
	PriorityClassName         *string           `json:"priorityClassName"`
	PodAnnotations            map[string]string `json:"podAnnotations"`
	PodLabels                 map[string]string `json:"podLabels"`
}

// key is a key of a Secret or a ConfigMap.
type key struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// readValues reads values of the Cluster Autoscaler's chart.
func readValues(raw map[string]any, s Settings) (*values, error) {
	if _, nested := raw[program].(map[string]any); nested {
		return nil, fmt.Errorf("%s: these are values of a chart that has the Cluster Autoscaler's in it: give what is "+
			"under it as a file of its own", program)
	}
	v := &values{raw: raw, out: tree{}}
	v.namespace, v.secret = s.Namespace, "plimsoll-env"
	for _, path := range nullsSayNothing {
		if value := tree(raw).at(path); value != nil {
			tree(raw).set(path, v.withoutNulls(path, value))
		}
	}
	theirs := raw["extraEnv"] != nil || raw["awsRegion"] != nil || raw["autoscalingGroups"] != nil
	for _, field := range onlyOurs {
		if _, ours := raw[field]; ours && !theirs {
			return nil, fmt.Errorf("%s: only Plimsoll's chart has it: these values are Plimsoll's already", field)
		}
	}
	if err := readInto(raw, &v.theirs); err != nil {
		return nil, err
	}
	v.provider = given(v.theirs.CloudProvider, "aws") // their chart's default
	v.templates()
	v.replicas, v.replicasField = v.theirs.ReplicaCount, "replicaCount"
	v.limits, v.limitsField = v.limitsOf(v.theirs.Resources), "resources.limits"
	v.args = slices.Concat([]located{{"--cloud-provider=" + v.provider, "cloudProvider"}}, v.groups(), v.discovery(),
		v.flagsOfMode(), v.extraPieces())
	v.environment()
	if v.namespace != "" {
		v.known = map[string]string{"POD_NAMESPACE": v.namespace} // their chart sets it
	}
	return v, nil
}

// onlyOurs are values that Plimsoll's chart has and the Cluster Autoscaler's has not, of those that people write. With
// values beside them that only the other has, they are strays, which are told.
var onlyOurs = []string{"env", "gardener", "kwok", "mode", "nodeGroups"}

// tree is a map of values by their paths.
type tree map[string]any

// at is the value at a path; nil: none.
func (t tree) at(path string) any {
	field, rest, deep := strings.Cut(path, ".")
	if !deep {
		return t[field]
	}
	inner, _ := t[field].(map[string]any)
	return tree(inner).at(rest)
}

// set puts a value at a path.
func (t tree) set(path string, value any) {
	field, rest, deep := strings.Cut(path, ".")
	if !deep {
		t[field] = value
		return
	}
	inner, ok := t[field].(map[string]any)
	if !ok {
		inner = map[string]any{}
		t[field] = inner
	}
	tree(inner).set(rest, value)
}

// given is a value, or the default of their chart.
func given(value *string, byDefault string) string {
	if value != nil {
		return *value
	}
	return byDefault
}

// nullsSayNothing are the values in which a null says nothing, to Kubernetes neither. Elsewhere it may take a default
// away.
var nullsSayNothing = []string{
	"affinity", "extraEnv", "nodeSelector", "podAnnotations", "podLabels", "prometheusRule.additionalLabels",
	"rbac.serviceAccount.annotations", "resources", "tolerations", "topologySpreadConstraints",
}

// withoutNulls is a value without the fields and elements that are null, each of which is told.
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

// limitsOf are the limits among resources. What is no amount is the chart's to refuse.
func (v *values) limitsOf(resources map[string]any) corev1.ResourceList {
	given, _ := resources["limits"].(map[string]any)
	out := corev1.ResourceList{}
	for name, amount := range given {
		if q, err := resource.ParseQuantity(fmt.Sprint(amount)); err == nil {
			out[corev1.ResourceName(name)] = q
		}
	}
	return out
}

// groups are the groups that are named.
func (v *values) groups() []located {
	var out []located
	var groups []any
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
			groups = append(groups, map[string]any{"name": g.Name, "min": *g.MinSize, "max": *g.MaxSize})
			out = append(out, located{fmt.Sprintf("--nodes=%s:%s:%s", *g.MinSize, *g.MaxSize, g.Name), field})
		}
	}
	if len(groups) > 0 {
		v.out.set("nodeGroups", groups)
	}
	return out
}

// discovery is how groups are found.
func (v *values) discovery() []located {
	d := v.theirs.AutoDiscovery
	ours := map[string]any{}
	flag := ""
	switch {
	case v.provider == "aws" && d.ClusterName != "":
		tags := d.Tags
		if tags == nil {
			tags = []string{ownTag, clusterTag}
		}
		// Their chart joins them with commas, so that one may be several.
		joined := ofCluster(strings.Join(tags, ","), d.ClusterName)
		if joined != "" {
			ours["tags"] = strings.Split(joined, ",")
		}
		flag = "asg:tag=" + joined
	case v.provider == "aws" && d.Tags != nil:
		v.tell("autoDiscovery.tags",
			"without autoDiscovery.clusterName the Cluster Autoscaler's chart does not read it either")
	case v.provider == "clusterapi":
		terms, labels := v.termsOf(d.ClusterName, d.Namespace, d.Labels)
		if flag = "clusterapi:" + strings.Join(terms, ","); len(terms) == 0 {
			flag = ""
		}
		if d.Namespace != "" {
			ours["namespace"] = d.Namespace
		}
		if len(labels) > 0 {
			ours["labels"] = labels
		}
	}
	if d.ClusterName != "" {
		ours["clusterName"] = d.ClusterName
	}
	if len(ours) > 0 {
		v.out.set("autoDiscovery", ours)
	} else if len(v.theirs.AutoscalingGroups) == 0 {
		v.wrong("autoDiscovery.clusterName", "neither it nor autoscalingGroups is there: with these values the Cluster "+
			"Autoscaler's chart starts nothing; give the file that has the groups, too")
	}
	if flag == "" {
		return nil
	}
	return []located{{"--node-group-auto-discovery=" + flag, "autoDiscovery"}}
}

// termsOf are what Cluster API's groups are found by, and the labels among them as a map.
func (v *values) termsOf(cluster, namespace string, lists []map[string]string) ([]string, map[string]any) {
	var terms []string
	if cluster != "" {
		terms = append(terms, "clusterName="+cluster)
	}
	if namespace != "" {
		terms = append(terms, "namespace="+namespace)
	}
	labels := map[string]any{}
	for i, list := range lists {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if _, twice := labels[name]; twice {
				v.wrong(fmt.Sprintf("autoDiscovery.labels[%d].%s", i, name), "the label is there twice")
			}
			labels[name] = list[name]
			terms = append(terms, name+"="+list[name])
		}
	}
	slices.Sort(terms)
	return terms, labels
}

// Fields whose flags are carried over as extraArgs; the others have values of their own.
const (
	extraArgsField  = "extraArgs."
	customArgsField = "customArgs["
)

// extra reports whether a flag was given beside the values of their chart. Such a flag comes last, and counts before
// what the chart says.
func (f flag) extra() bool {
	return strings.HasPrefix(f.field, extraArgsField) || strings.HasPrefix(f.field, customArgsField)
}

// extraPieces are the flags of extraArgs and customArgs.
func (v *values) extraPieces() []located {
	var out []located
	for _, name := range slices.Sorted(maps.Keys(v.theirs.ExtraArgs)) {
		field, value := extraArgsField+name, v.theirs.ExtraArgs[name]
		flag, _, _ := strings.Cut(name, "_") // what follows makes a name unique
		if (flag == "cloud-provider" || flag == "cloudprovider") && value != v.provider {
			v.otherProvider(field, value)
			continue
		}
		list, several := value.([]any)
		if !several {
			list = []any{value}
		}
		for _, value := range list {
			switch value.(type) {
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

func (v *values) otherProvider(field string, value any) {
	v.wrong(field, "%v is not the cloudProvider, %s, by which their chart goes in all else: set that, and leave this out",
		value, v.provider)
}

// scalar is a text, number or switch as it is written on a command line.
func scalar(value any) string {
	if n, ok := value.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// environment reads the variables of the container.
func (v *values) environment() {
	t := &v.theirs
	for _, name := range slices.Sorted(maps.Keys(t.ExtraEnv)) {
		e := corev1.EnvVar{Name: name, Value: scalar(t.ExtraEnv[name])}
		v.env = append(v.env, variable{EnvVar: e, field: "extraEnv." + name})
	}
	if v.provider == "aws" {
		v.amazon()
	}
	if t.SecretKeyRefNameOverride != "" && (v.provider != "aws" || t.AWSAccessKeyID == "" && t.AWSSecretAccessKey == "") {
		v.tell("secretKeyRefNameOverride", "no key of an account is in the values that would be read from it")
	}
	v.references("extraEnvConfigMaps", t.ExtraEnvConfigMaps, func(_ string, k key) *corev1.EnvVarSource {
		ref := corev1.LocalObjectReference{Name: k.Name}
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: k.Key}}
	})
	v.references("extraEnvSecrets", t.ExtraEnvSecrets, func(name string, k key) *corev1.EnvVarSource {
		return fromSecret(name, k.Name, k.Key).ValueFrom
	})
}

// references reads variables that come from keys of objects.
func (v *values) references(section string, keys map[string]key, from func(string, key) *corev1.EnvVarSource) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		k := keys[name]
		switch {
		case k.Key == "":
			v.wrong(section+"."+name+".key", "it is missing")
		case k.Name == "":
			v.wrong(section+"."+name+".name", "it is missing, and what the Cluster Autoscaler's release makes in its place "+
				"goes with it: name an object of your own")
		default:
			v.env = append(v.env, variable{EnvVar: corev1.EnvVar{Name: name, ValueFrom: from(name, k)}})
		}
	}
}

// amazon reads the variables that their chart makes for AWS. Without a region, charts until 2025 said us-east-1; a
// guess may well find another cluster's groups, while without one the instance is asked.
func (v *values) amazon() {
	t := &v.theirs
	_, written := t.ExtraEnv["AWS_REGION"]
	_, mapped := t.ExtraEnvConfigMaps["AWS_REGION"]
	_, secretly := t.ExtraEnvSecrets["AWS_REGION"]
	switch region := t.AWSRegion; {
	case written || mapped || secretly:
		if region != nil && *region != "" {
			v.tell("awsRegion", "AWS_REGION is among the variables, and comes after it there")
		}
	case region == nil:
		v.note("AWS_REGION is not set, since awsRegion is not there: the instance is asked for it, and where the pod " +
			"cannot ask it, Plimsoll does not start. The Cluster Autoscaler's chart said us-east-1 until 2025: if that was " +
			"right, set it under env")
	case *region != "":
		v.env = append(v.env, variable{EnvVar: corev1.EnvVar{Name: "AWS_REGION", Value: *region}, field: "awsRegion"})
	}
	secret := cmp.Or(t.SecretKeyRefNameOverride, "plimsoll-aws")
	for _, k := range []struct{ name, key, value string }{
		{"AWS_ACCESS_KEY_ID", "AwsAccessKeyId", t.AWSAccessKeyID},
		{"AWS_SECRET_ACCESS_KEY", "AwsSecretAccessKey", t.AWSSecretAccessKey},
	} {
		if k.value != "" {
			v.env = append(v.env, variable{EnvVar: fromSecret(k.name, secret, k.key)})
			v.note("%s is read from the key %s of the Secret %s: make it before, the value is not written here; a role for the "+
				"service account needs no keys", k.name, k.key, secret)
		}
	}
}
