package migrate

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// asTheyAre carries over the values that both charts have. An empty text, list or map says nothing.
func (v *values) asTheyAre() {
	t, a := &v.theirs, &v.theirs.RBAC.ServiceAccount
	for path, value := range map[string]any{
		"affinity": t.Affinity, "nodeSelector": t.NodeSelector, "podAnnotations": t.PodAnnotations,
		"resources": t.Resources, "tolerations": t.Tolerations, "topologySpreadConstraints": t.TopologySpreadConstraints,
		"image.pullPolicy":         t.Image.PullPolicy,
		"rbac.serviceAccount.name": a.Name, "rbac.serviceAccount.annotations": a.Annotations,
	} {
		if reflect.ValueOf(value).Len() > 0 {
			v.out.set(path, value)
		}
	}
	if t.PriorityClassName != nil { // an empty one takes the default away
		v.out.set("priorityClassName", *t.PriorityClassName)
	}
	if t.ReplicaCount != nil {
		v.out.set("replicaCount", *t.ReplicaCount)
	}
	for path, value := range map[string]*bool{"rbac.create": t.RBAC.Create, "rbac.serviceAccount.create": a.Create} {
		if value != nil {
			v.out.set(path, *value)
		}
	}
}

// print writes values of Plimsoll's chart.
func (v *values) print(s Settings) ([]any, error) {
	v.out.set("cloudProvider", v.provider)
	if v.provider == "mcm" {
		v.out.set("cloudProvider", "gardener")
	}
	v.chartFlags()
	v.clusters()
	theirs := v.theirNamespace()
	v.setFlags()
	var env []corev1.EnvVar
	for _, e := range v.env {
		env = append(env, e.EnvVar)
	}
	if len(env) > 0 {
		v.out.set("env", env)
	}
	v.asTheyAre()
	v.labels()
	v.image(s)
	v.kwok()
	v.monitoring()
	v.budget()
	v.defaults()
	v.account()
	v.leftOut("", v.raw)
	v.insideOf()
	if create := v.theirs.RBAC.Create; create != nil && !*create {
		v.note("rbac.create is false: the rights that Plimsoll needs are in " + rightsPage)
	} else {
		v.note("rights are those of Plimsoll's chart: within the Cluster Autoscaler's, and fewer (" + rightsPage + ")")
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	v.handOver(theirs)
	wait := ""
	if !v.line.config.Leader.Enabled {
		wait = ", wait until its pod is gone"
	}
	v.apply = []string{
		"or in the cluster, beside the Cluster Autoscaler: helm install plimsoll <chart> -f <this file> --set mode=observe",
		"then scale the Cluster Autoscaler's Deployment to 0" + wait +
			", and helm upgrade plimsoll <chart> -f <this file>; uninstall its release when all is well",
	}
	return []any{v.out}, nil
}

// chartFlags says what becomes of extra flags that Plimsoll's chart makes of its own values, and refuses among
// extraArgs: the lease must stay where it is, on the same cluster.
func (v *values) chartFlags() {
	for _, f := range v.line.unchecked {
		if f.extra() && slices.Contains(ownFlags, f.name) {
			v.wrong(f.field, "%s: Plimsoll's chart has a value in its place, and what the flag stands for is only known in the "+
				"cluster: write it out", f)
		}
	}
	last := map[string]flag{}
	for _, f := range v.line.kept {
		if f.extra() && !reference.MatchString(f.resolved) {
			last[f.name] = f
		}
	}
	c := v.line.config
	for _, name := range ownFlags {
		f, ok := last[name]
		switch {
		case !ok:
		case name == "address":
			v.note("%s is dropped: Plimsoll's chart serves at :8085, where its probes and its Service look", f)
		case slices.Contains(pageFlags, name):
			v.note("%s is dropped: ui.address and ui.tlsSecret of Plimsoll's chart say where its page is", f)
		case name == "help-all":
			v.note("%s is dropped: with it Plimsoll shows its flags and ends", f)
		case name == "cloud-provider" && c.Cloud.Provider != v.provider:
			v.otherProvider(f.field, c.Cloud.Provider)
		case name == "cloud-provider":
			v.tell(f.field, "cloudProvider says it")
		case name == "namespace":
			v.ownNamespace(f, c.Cluster.Namespace)
		case v.provider == "clusterapi":
			v.tell(f.field, "clusterAPIMode, and what goes with it, says it")
		case name != "kubeconfig" || c.Cluster.Kubeconfig == "":
		case v.provider == "mcm":
			v.wrong(f.field, "Plimsoll's chart reaches the shoot by a Secret: leave this out, and set "+
				"gardener.targetKubeconfigSecret in the translation")
		default:
			v.wrong(f.field, "the Cluster Autoscaler has its lease on the cluster that it leads to, and with the cloudProvider "+
				"%s Plimsoll's chart takes no kubeconfig: translate its Deployment in place of the values (kubectl get deployment "+
				"-o yaml), which keeps the flag", v.provider)
		}
	}
}

// ownFlags are the flags that Plimsoll's chart makes of its values, the cluster flags among them, for which
// clusterAPIMode stands, and those of the page.
var (
	ownFlags = slices.Concat([]string{"cloud-provider", "namespace", "address", "help-all"}, pageFlags, clusterFlags)

	pageFlags    = []string{"ui-address", "ui-tls-cert-file", "ui-tls-private-key-file"}
	clusterFlags = []string{"kubeconfig", "cloud-config", "clusterapi-cloud-config-authoritative"}
)

// ownNamespace says what becomes of a namespace that is given as a flag.
func (v *values) ownNamespace(f flag, namespace string) {
	switch {
	case v.provider == "clusterapi" && v.line.config.Cluster.Kubeconfig != "":
		v.tell(f.field, "clusterAPIConfigMapsNamespace says it, "+namespace)
	case namespace == v.namespace:
		v.tell(f.field, "Plimsoll's chart has lease and ConfigMap where it is installed, which must be "+namespace+
			"; Secrets and ConfigMaps that values name must be there, too")
	default:
		v.wrong(f.field, "the Cluster Autoscaler has lease and ConfigMap in namespace %s, and Plimsoll's chart has them "+
			"where it is installed: install Plimsoll into %s, and say so here: --namespace=%s", namespace, namespace, namespace)
	}
}

// setFlags makes the command line as Plimsoll's chart does: its own flags are what its values say, and extraArgs the
// others. An extra flag that is there several times is a list.
func (v *values) setFlags() {
	var own, extra []flag
	args := map[string]any{}
	for _, f := range v.line.kept {
		switch {
		case f.extra() && !slices.Contains(ownFlags, f.name):
			extra = append(extra, f)
			switch before := args[f.name].(type) {
			case nil:
				args[f.name] = v.valueOf(f)
			case []any:
				args[f.name] = append(before, v.valueOf(f))
			default:
				args[f.name] = []any{before, v.valueOf(f)}
			}
		case !f.extra() && !(v.mode != "" && slices.Contains(clusterFlags, f.name)):
			own = append(own, f)
		}
	}
	add := func(name, value string) {
		own = append(own, flag{name: name, value: value, resolved: value, bare: value == "", field: "clusterAPIMode"})
	}
	if v.management != "" {
		add("cloud-config", v.management)
	}
	if v.workload != "" {
		add("kubeconfig", v.workload)
	}
	if v.mode == kubeconfigIncluster {
		add("clusterapi-cloud-config-authoritative", "")
	}
	v.line.kept = append(own, extra...)
	if len(args) > 0 {
		v.out.set("extraArgs", args)
	}
	if slices.ContainsFunc(v.line.dropped, func(d dropped) bool { return d.name == "nodes" }) {
		delete(v.out, "nodeGroups")
	}
}

// valueOf is an extra flag's value, of the type that it had.
func (v *values) valueOf(f flag) any {
	original, ok := v.theirs.ExtraArgs[strings.TrimPrefix(f.field, extraArgsField)]
	_, several := original.([]any)
	switch {
	case f.bare:
		return true
	case ok && !several:
		return original
	}
	return f.value
}

// labels are those of the pods, without those by which Plimsoll's chart finds them.
func (v *values) labels() {
	labels := maps.Clone(v.theirs.PodLabels)
	for _, name := range []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component"} {
		if _, ok := labels[name]; ok {
			delete(labels, name)
			v.tell("podLabels."+name, "by this label Plimsoll's Deployment and Service find their pods")
		}
	}
	if len(labels) > 0 {
		v.out.set("podLabels", labels)
	}
}

// image is Plimsoll's, and how it is pulled.
func (v *values) image(s Settings) {
	var secrets []any
	for _, secret := range v.theirs.Image.PullSecrets {
		secrets = append(secrets, map[string]any{"name": secret})
	}
	if len(secrets) > 0 {
		v.out.set("imagePullSecrets", secrets)
	}
	if s.Image == "" {
		if was := v.theirs.Image; was.Repository != "" || was.Tag != "" {
			v.note("image is the one of Plimsoll's chart, was %s:%s",
				cmp.Or(was.Repository, "the chart's"), cmp.Or(was.Tag, "the chart's"))
		}
		return
	}
	repository, tag, digest := splitImage(s.Image)
	for field, value := range map[string]string{"repository": repository, "tag": tag, "digest": digest} {
		if value != "" {
			v.out.set("image."+field, value)
		}
	}
	v.note("image is %s", s.Image)
}

// kwok is where the kwok provider has its nodes from, and what else goes with the Cluster Autoscaler's release.
func (v *values) kwok() {
	if v.provider == "kwok" {
		name := cmp.Or(v.theirs.KwokConfigMapName, "kwok-provider-config")
		v.out.set("kwok.configMapName", name)
		// A trial needs it, which Plimsoll's chart makes of the value.
		e := corev1.EnvVar{Name: "KWOK_PROVIDER_CONFIGMAP", Value: name}
		v.env = append(v.env, variable{EnvVar: e})
		v.note("the ConfigMaps %s and kwok-provider-templates go with the Cluster Autoscaler's release: keep them "+
			"(helm.sh/resource-policy: keep), or take kwok.configMapName away and name groups under kwok.templates", name)
	}
	if !empty(v.raw["expanderPriorities"]) {
		v.note("expanderPriorities is dropped: its ConfigMap cluster-autoscaler-priority-expander goes with the Cluster " +
			"Autoscaler's release; Plimsoll reads the same one: apply it yourself")
	}
}

// monitoring is what the Prometheus operator reads. By the labels that their chart calls a selector, Prometheus finds
// it.
func (v *values) monitoring() {
	if m := v.theirs.ServiceMonitor; m.Enabled {
		labels := map[string]any{"release": theirPrometheus}
		for name, value := range m.Selector {
			delete(labels, name)
			if value != nil { // null takes a default away
				labels[name] = *value
			}
		}
		ours := map[string]any{"enabled": true}
		if interval := given(m.Interval, theirInterval); interval != "" {
			ours["interval"] = interval
		}
		if len(labels) > 0 {
			ours["labels"] = labels
		}
		v.out.set("serviceMonitor", ours)
		v.otherNamespace("serviceMonitor", m.Namespace)
	}
	if r := v.theirs.PrometheusRule; r.Enabled {
		v.out.set("prometheusRule.enabled", true)
		if len(r.Labels) > 0 {
			v.out.set("prometheusRule.labels", r.Labels)
		}
		v.note("prometheusRule has the alerts of Plimsoll's chart")
		v.otherNamespace("prometheusRule", r.Namespace)
	}
}

// otherNamespace says that an object of Prometheus is elsewhere now. Unlike other values it is told of a default, too:
// the place differs all the same.
func (v *values) otherNamespace(section string, namespace *string) {
	was := given(namespace, "monitoring")
	if was == "" || was == v.namespace {
		v.silence(section + ".namespace") // it was in the release's
		return
	}
	v.tell(section+".namespace", "it was "+was+"; "+releaseNS)
}

// budget is the PodDisruptionBudget. Where none of the two numbers is given, it is their chart's; an empty one is none.
func (v *values) budget() {
	const section = "podDisruptionBudget"
	value, given := v.raw[section]
	fields, isMap := value.(map[string]any)
	switch {
	case !given:
		return
	case !isMap:
		if !empty(value) {
			v.wrong(section, "it is no map of values")
		}
		v.out.set(section+".enabled", false)
		return
	}
	for _, name := range []string{"minAvailable", "maxUnavailable"} {
		switch fields[name].(type) {
		case nil:
			continue
		case string, float64:
		default:
			v.wrong(section+"."+name, "it is neither a number nor a percentage")
			return
		}
		if v.out[section] != nil {
			v.tell(section+"."+name, "a budget has one of the two, and minAvailable counts here")
			return
		}
		v.out.set(section+"."+name, fields[name])
	}
}

// defaults reports two defaults that differ, where the user has not set them. Their chart's default is one replica.
func (v *values) defaults() {
	if v.replicas == nil && v.line.config.Leader.Enabled {
		v.note("replicaCount is 2, the default of Plimsoll's chart, was 1: one leads, the other waits with a warm memory")
	} else if v.replicas == nil {
		v.out.set("replicaCount", 1)
	}
	if !slices.ContainsFunc(v.line.kept, func(f flag) bool { return f.name == "v" }) {
		v.note("--v is 0, Plimsoll's default, was 4, which the Cluster Autoscaler's chart says: extraArgs.v")
	}
}

// account tells of the service account; where it stands for a role in the cloud, the role must know the new name.
func (v *values) account() {
	a := v.theirs.RBAC.ServiceAccount
	if role := a.Annotations["eks.amazonaws.com/role-arn"]; role != "" && a.Name == "" {
		v.note("the service account is called as Plimsoll's release is, no longer as the Cluster Autoscaler's: the trust "+
			"policy of %s must name it", role)
	}
	if a.Name != "" && (a.Create == nil || *a.Create) {
		v.note("both releases make the service account %s, and Helm refuses the second: keep the account of the first "+
			"(helm.sh/resource-policy: keep) and set rbac.serviceAccount.create to false, or give another name", a.Name)
	}
}
