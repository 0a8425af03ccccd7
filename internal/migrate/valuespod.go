package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// environment are the variables of the container. No secret is written out.
func (v *values) environment() {
	t := &v.theirs
	add := func(name, value string) {
		v.ours.Env = append(v.ours.Env, envVar{Name: name, Value: &value})
	}
	for _, name := range slices.Sorted(maps.Keys(t.ExtraEnv)) {
		value := scalar(t.ExtraEnv[name])
		if confidential(name, value) {
			v.ours.Env = append(v.ours.Env, envVar{Name: name, ValueFrom: &valueFrom{Secret: &key{envSecret, name}}})
			v.note("%s", intoSecret("extraEnv."+name, value, envSecret, name, v.ours.CloudProvider))
			continue
		}
		add(name, value)
	}
	if v.ours.CloudProvider == "aws" {
		v.amazon()
	}
	if t.SecretKeyRefNameOverride != "" &&
		(v.ours.CloudProvider != "aws" || t.AWSAccessKeyID == "" && t.AWSSecretAccessKey == "") {
		v.tell("secretKeyRefNameOverride", "no key of an account is in the values that would be read from it")
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
				v.wrong(from.field+"."+name+".name", "it is missing, and what the Cluster Autoscaler's release makes in its place "+
					"goes with it: name an object of your own")
			default:
				v.ours.Env = append(v.ours.Env, envVar{Name: name, ValueFrom: from.ref(&k)})
			}
		}
	}
}

// envSecret is the Secret for variables that were written out and hold a secret.
const envSecret = "plimsoll-env"

// amazon are the variables that their chart makes for AWS. Without a region, charts
// until 2025 said us-east-1; a guess may well find another cluster's groups, while
// without one the instance is asked.
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
		v.ours.Env = append(v.ours.Env, envVar{Name: "AWS_REGION", Value: region})
	}
	secret := cmp.Or(t.SecretKeyRefNameOverride, "plimsoll-aws")
	for _, k := range []struct{ name, key, value string }{
		{"AWS_ACCESS_KEY_ID", "AwsAccessKeyId", t.AWSAccessKeyID},
		{"AWS_SECRET_ACCESS_KEY", "AwsSecretAccessKey", t.AWSSecretAccessKey},
	} {
		if k.value != "" {
			v.ours.Env = append(v.ours.Env, envVar{Name: k.name, ValueFrom: &valueFrom{Secret: &key{secret, k.key}}})
			v.note("%s is read from the key %s of the Secret %s: make it before, the value is not written here; a role for the "+
				"service account needs no keys", k.name, k.key, secret)
		}
	}
}

// variables are those of the container, and where they come from.
func (v *values) variables() []variable {
	var out []variable
	for _, e := range v.ours.Env {
		switch {
		case e.Value != nil:
			out = append(out, variable{name: e.Name, value: *e.Value})
		case e.ValueFrom.Secret != nil:
			out = append(out, variable{
				name: e.Name, from: fmt.Sprintf("the key %s of the Secret %s", e.ValueFrom.Secret.Key, e.ValueFrom.Secret.Name),
			})
		default:
			out = append(out, variable{
				name: e.Name,
				from: fmt.Sprintf("the key %s of the ConfigMap %s", e.ValueFrom.ConfigMap.Key, e.ValueFrom.ConfigMap.Name),
			})
		}
	}
	if v.ours.Kwok != nil {
		out = append(out, variable{name: "KWOK_PROVIDER_CONFIGMAP", value: v.ours.Kwok.ConfigMapName})
	}
	return out
}

// pod is what is carried over of the pod and what is around it.
func (v *values) pod(s Settings) {
	t, o := &v.theirs, &v.ours
	o.NodeSelector, o.Tolerations, o.Affinity, o.Spread = t.NodeSelector, t.Tolerations, t.Affinity,
		t.TopologySpreadConstraints
	o.Resources, o.PriorityClass, o.Annotations = t.Resources, t.PriorityClassName, t.PodAnnotations
	v.limits()
	o.Labels = v.ownLabels(t.PodLabels)
	for _, secret := range t.Image.PullSecrets {
		o.PullSecrets = append(o.PullSecrets, name{secret})
	}
	if s.Image != "" {
		o.Image = imageOf(s.Image)
		v.note("image is %s", s.Image)
	} else if t.Image.Repository != "" || t.Image.Tag != "" {
		v.note("image is the one of Plimsoll's chart, was %s:%s",
			cmp.Or(t.Image.Repository, "the chart's"), cmp.Or(t.Image.Tag, "the chart's"))
	}
	if t.Image.PullPolicy != "" {
		if o.Image == nil {
			o.Image = &image{}
		}
		o.Image.PullPolicy = t.Image.PullPolicy
	}
	if o.CloudProvider == "kwok" {
		o.Kwok = &kwok{cmp.Or(t.KwokConfigMapName, "kwok-provider-config")}
		v.note("the ConfigMaps %s and kwok-provider-templates go with the Cluster Autoscaler's release: keep them "+
			"(helm.sh/resource-policy: keep), or take kwok.configMapName away and name groups under kwok.templates",
			o.Kwok.ConfigMapName)
	}
	if !empty(t.ExpanderPriorities) {
		v.note("expanderPriorities is dropped: its ConfigMap cluster-autoscaler-priority-expander goes with the Cluster " +
			"Autoscaler's release; Plimsoll reads the same one: apply it yourself")
	}
	v.account()
}

// limits tells of limits that are below those of Plimsoll's chart, which sets GOMEMLIMIT
// by itself.
func (v *values) limits() {
	given, _ := v.theirs.Resources["limits"].(map[string]any)
	limits := corev1.ResourceList{}
	for name, amount := range given {
		// What is no amount is the chart's to refuse.
		if q, err := resource.ParseQuantity(fmt.Sprint(amount)); err == nil {
			limits[corev1.ResourceName(name)] = q
		}
	}
	for _, note := range narrow("resources.limits", limits, "") {
		v.note("%s", note)
	}
}

// ownLabels are labels of the pods without those by which Plimsoll's chart finds them.
func (v *values) ownLabels(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	for _, name := range []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component"} {
		if _, ok := labels[name]; ok {
			delete(labels, name)
			v.tell("podLabels."+name, "by this label Plimsoll's Deployment and Service find their pods")
		}
	}
	return labels
}

// monitoring is what the Prometheus operator reads. By the labels that their chart
// calls a selector, Prometheus finds it.
func (v *values) monitoring() {
	if m := v.theirs.ServiceMonitor; m.Enabled {
		labels := map[string]string{"release": theirPrometheus}
		for name, value := range m.Selector {
			delete(labels, name)
			if value != nil { // null takes a default away
				labels[name] = *value
			}
		}
		interval := theirInterval
		if m.Interval != nil {
			interval = *m.Interval
		}
		v.ours.Monitor = &monitor{true, interval, labels}
		v.otherNamespace("serviceMonitor", m.Namespace)
	}
	if r := v.theirs.PrometheusRule; r.Enabled {
		v.ours.Rule = &rule{true, r.Labels}
		v.note("prometheusRule has the alerts of Plimsoll's chart")
		v.otherNamespace("prometheusRule", r.Namespace)
	}
}

// otherNamespace says that an object of Prometheus is elsewhere now. Unlike other
// values it is told of a default, too: the place differs all the same.
func (v *values) otherNamespace(section string, namespace *string) {
	was := "monitoring"
	if namespace != nil {
		was = *namespace
	}
	if was == "" || was == v.release {
		v.told[section+".namespace"] = true // it was in the release's
		return
	}
	v.tell(section+".namespace", "it was "+was+"; "+releaseNS)
}

// budget is the PodDisruptionBudget. Whoever gave none of the two numbers gets
// their chart's; an empty one is none.
func (v *values) budget(raw map[string]any) {
	const section = "podDisruptionBudget"
	value, given := raw[section]
	fields, isMap := value.(map[string]any)
	switch {
	case !given:
		return
	case !isMap:
		if !empty(value) {
			v.wrong(section, "it is no map of values")
		}
		v.ours.Budget = &budget{Enabled: new(false)}
		return
	}
	for _, name := range []string{"maxUnavailable", "minAvailable"} {
		switch fields[name].(type) {
		case nil, string, float64:
		default:
			v.wrong(section+"."+name, "it is neither a number nor a percentage")
			return
		}
	}
	b := budget{MaxUnavailable: fields["maxUnavailable"], MinAvailable: fields["minAvailable"]}
	if b.MinAvailable != nil && b.MaxUnavailable != nil {
		v.tell("podDisruptionBudget.maxUnavailable", "a budget has one of the two, and minAvailable counts here")
		b.MaxUnavailable = nil
	}
	if b != (budget{}) {
		v.ours.Budget = &b
	}
}

// verbosity tells a default that nobody asked for.
func (v *values) verbosity(line commandLine) {
	if !slices.ContainsFunc(line.kept, func(f flag) bool { return f.name == "v" }) {
		v.note("--v is 0, Plimsoll's default, was 4, which the Cluster Autoscaler's chart says: extraArgs.v")
	}
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
		v.wrong("replicaCount",
			"%d replicas without leader election (extraArgs.leader-elect is false): all of them would act; set it to 1", *n)
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
		v.note("the service account is called as Plimsoll's release is, no longer as the Cluster Autoscaler's: the trust "+
			"policy of %s must name it", role)
	}
	if t.ServiceAccount.Name != "" && (t.ServiceAccount.Create == nil || *t.ServiceAccount.Create) {
		v.note("both releases make the service account %s, and Helm refuses the second: keep the account of the first "+
			"(helm.sh/resource-policy: keep) and set rbac.serviceAccount.create to false, or give another name",
			t.ServiceAccount.Name)
	}
}

// insideOf tells what their chart does not read in lists and maps of things that
// have names.
func (v *values) insideOf(raw map[string]any) {
	groups, _ := raw["autoscalingGroups"].([]any)
	for i, g := range groups {
		v.unknownOf(fmt.Sprintf("autoscalingGroups[%d]", i), g, "name", "minSize", "maxSize")
	}
	for _, section := range []string{"extraEnvConfigMaps", "extraEnvSecrets"} {
		keys, _ := raw[section].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			v.unknownOf(section+"."+name, keys[name], "name", "key")
		}
	}
	for _, volume := range slices.Sorted(maps.Keys(v.theirs.ExtraVolumeSecrets)) {
		v.tell("extraVolumeSecrets."+volume, noMounts) // but for the one with the kubeconfigs
	}
}

// rights says what Plimsoll's chart grants.
func (v *values) rights() {
	if create := v.theirs.RBAC.Create; create != nil && !*create {
		v.note("rbac.create is false: the rights that Plimsoll needs are in %smigrate.md#rights", docs)
	} else {
		v.note("rights are those of Plimsoll's chart: within the Cluster Autoscaler's, and fewer (%smigrate.md#rights)", docs)
	}
}
