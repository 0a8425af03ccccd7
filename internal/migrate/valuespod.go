package migrate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// environment are the variables of the container. No secret is written out.
func (v *values) environment() {
	t := &v.theirs
	add := func(name, value string) {
		v.ours.Env = append(v.ours.Env, envVar{Name: name, Value: &value})
	}
	for _, name := range slices.Sorted(maps.Keys(t.ExtraEnv)) {
		add(name, scalar(t.ExtraEnv[name]))
	}
	if _, given := t.ExtraEnv["AWS_REGION"]; v.ours.CloudProvider == "aws" && !given {
		switch {
		case t.AWSRegion == nil:
			add("AWS_REGION", "us-east-1")
			v.note("AWS_REGION is us-east-1, the default of the Cluster Autoscaler's chart, since awsRegion is not there: is it right?")
		case *t.AWSRegion != "":
			add("AWS_REGION", *t.AWSRegion)
		}
	}
	secret := cmp.Or(t.SecretKeyRefNameOverride, "plimsoll-aws")
	for _, k := range []struct{ name, key, value string }{
		{"AWS_ACCESS_KEY_ID", "AwsAccessKeyId", t.AWSAccessKeyID}, {"AWS_SECRET_ACCESS_KEY", "AwsSecretAccessKey", t.AWSSecretAccessKey},
	} {
		if k.value != "" {
			v.ours.Env = append(v.ours.Env, envVar{Name: k.name, ValueFrom: &valueFrom{Secret: &key{secret, k.key}}})
			v.note("%s is read from the key %s of the Secret %s: make it before, the value is not written here; a role for the service account needs no keys", k.name, k.key, secret)
		}
	}
	for _, from := range []struct {
		field string
		keys  map[string]key
		ref   func(*key) *valueFrom
	}{
		{"extraEnvConfigMaps", t.ExtraEnvConfigMaps, func(k *key) *valueFrom { return &valueFrom{ConfigMap: k} }},
		{"extraEnvSecrets", t.ExtraEnvSecrets, func(k *key) *valueFrom { return &valueFrom{Secret: k} }},
	} {
		for _, name := range slices.Sorted(maps.Keys(from.keys)) {
			k := from.keys[name]
			switch {
			case k.Key == "":
				v.wrong(from.field+"."+name+".key", "it is missing")
			case k.Name == "":
				v.wrong(from.field+"."+name+".name", "it is missing, and what the Cluster Autoscaler's release makes in its place goes with it: name an object of your own")
			default:
				v.ours.Env = append(v.ours.Env, envVar{Name: name, ValueFrom: from.ref(&k)})
			}
		}
	}
}

// pod is what is carried over of the pod and what is around it.
func (v *values) pod(s Settings) {
	t, o := &v.theirs, &v.ours
	o.NodeSelector, o.Tolerations, o.Affinity, o.Spread = t.NodeSelector, t.Tolerations, t.Affinity, t.TopologySpreadConstraints
	o.Resources, o.PriorityClass, o.Annotations, o.Labels = t.Resources, t.PriorityClassName, t.PodAnnotations, t.PodLabels
	o.Name, o.FullName = t.NameOverride, t.FullnameOverride
	for _, secret := range t.Image.PullSecrets {
		o.PullSecrets = append(o.PullSecrets, name{secret})
	}
	if s.Image != "" {
		o.Image = imageOf(s.Image)
		v.note("image is %s", s.Image)
	} else if t.Image.Repository != "" || t.Image.Tag != "" {
		v.note("image is the one of Plimsoll's chart, was %s:%s", cmp.Or(t.Image.Repository, "the chart's"), cmp.Or(t.Image.Tag, "the chart's"))
	}
	if t.Image.PullPolicy != "" {
		if o.Image == nil {
			o.Image = &image{}
		}
		o.Image.PullPolicy = t.Image.PullPolicy
	}
	if t.KwokConfigMapName != "" {
		o.Kwok = &kwok{t.KwokConfigMapName}
	}
	if t.ServiceMonitor.Enabled {
		o.Monitor = &monitor{true, t.ServiceMonitor.Interval}
	}
	if t.PrometheusRule.Enabled {
		o.Rule = &enabled{true}
		v.note("prometheusRule has the rules of Plimsoll's chart; yours are not carried over")
	}
	if t.ExpanderPriorities != nil {
		v.note("expanderPriorities is dropped: its ConfigMap cluster-autoscaler-priority-expander goes with the Cluster Autoscaler's release; Plimsoll reads the same one: apply it yourself")
	}
	v.account()
}

// replicas is how many there are: their chart's default is one, ours is two.
func (v *values) replicas(line commandLine) {
	v.ours.ReplicaCount = v.theirs.ReplicaCount
	n := v.theirs.ReplicaCount
	switch elects := line.config.Leader.Enabled; {
	case n == nil && elects:
		v.note("replicaCount is 2, the default of Plimsoll's chart, was 1: one leads, the other waits with a warm memory")
	case n == nil:
		v.ours.ReplicaCount = new(1)
	case *n > 1 && !elects:
		v.wrong("replicaCount", "%d replicas without leader election (extraArgs.leader-elect is false): all of them would act; set it to 1", *n)
	}
}

// imageOf takes an image's name apart.
func imageOf(ref string) *image {
	ref, digest, _ := strings.Cut(ref, "@")
	i := &image{Repository: ref, Digest: digest}
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		i.Repository, i.Tag = ref[:colon], ref[colon+1:]
	}
	return i
}

// account is the service account; of one that stands for a role in the cloud, the
// role must know the new name.
func (v *values) account() {
	t := &v.theirs.RBAC
	if t.ServiceAccount != nil || t.Create != nil {
		v.ours.RBAC = &rbac{Create: t.Create, ServiceAccount: t.ServiceAccount}
	}
	if t.ServiceAccount == nil {
		return
	}
	if role := t.ServiceAccount.Annotations["eks.amazonaws.com/role-arn"]; role != "" && t.ServiceAccount.Name == "" {
		v.note("the service account is called as Plimsoll's release is, no longer as the Cluster Autoscaler's: the trust policy of %s must name it", role)
	}
	if t.ServiceAccount.Name != "" && (t.ServiceAccount.Create == nil || *t.ServiceAccount.Create) {
		v.note("both releases make the service account %s, and Helm refuses the second: keep the account of the first (helm.sh/resource-policy: keep) and set rbac.serviceAccount.create to false, or give another name", t.ServiceAccount.Name)
	}
}

// carried are the values that the translation takes from a file.
var carried = []string{
	"affinity", "autoDiscovery", "autoscalingGroups", "awsAccessKeyID", "awsRegion", "awsSecretAccessKey", "cloudProvider",
	"clusterAPICloudConfigPath", "clusterAPIConfigMapsNamespace", "clusterAPIKubeconfigSecret", "clusterAPIMode", "clusterAPIWorkloadKubeconfigPath",
	"customArgs", "expanderPriorities", "extraArgs", "extraEnv", "extraEnvConfigMaps", "extraEnvSecrets", "extraVolumeSecrets", "fullnameOverride",
	"image", "kwokConfigMapName", "nameOverride", "nodeSelector", "podAnnotations", "podLabels", "priorityClassName", "prometheusRule",
	"rbac", "replicaCount", "resources", "secretKeyRefNameOverride", "serviceMonitor", "tolerations", "topologySpreadConstraints",
}

// leftOut says what of a file is not carried over. What is empty says nothing.
func (v *values) leftOut(raw map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(raw)) {
		if slices.Contains(carried, field) || empty(raw[field]) {
			continue
		}
		why := "the Cluster Autoscaler's chart has no such value, nor has Plimsoll's"
		for name, reason := range droppedValues {
			if prefix, ok := strings.CutSuffix(name, "*"); name == field || ok && strings.HasPrefix(field, prefix) {
				why = reason
			}
		}
		v.note("%s is dropped: %s", field, why)
	}
	if len(v.theirs.ExtraVolumeSecrets) > 0 {
		v.note("extraVolumeSecrets is dropped: %s", noMounts)
	}
}

func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, inner := range value {
			if !empty(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// rights says what Plimsoll's chart grants.
func (v *values) rights(line commandLine) {
	if scoped := v.theirs.RBAC.ClusterScoped; scoped != nil && !*scoped {
		v.note("rbac.clusterScoped is dropped: Plimsoll's chart grants rights of the cluster in the cluster with the nodes, and of Cluster API's groups where they are")
	}
	if create := v.theirs.RBAC.Create; create != nil && !*create {
		v.note("rbac.create is false: the rights that Plimsoll needs are in docs/migrate.md")
	} else {
		v.note("rights are those of Plimsoll's chart: within the Cluster Autoscaler's, and fewer (docs/migrate.md)")
	}
}
