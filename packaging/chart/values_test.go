package chart

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// parse reads values as a person writes them.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// TestWrongValues: each kind of mistake is refused, by a message that names what is wrong.
func TestWrongValues(t *testing.T) {
	for _, c := range []struct{ name, values, message string }{
		{"nothing", `{}`, "Say where the nodes come from"},
		{"a provider that there is not", `{cloudProvider: azure}`, "/cloudProvider"},
		{"the flag's name for Gardener's", `{cloudProvider: mcm}`, "/cloudProvider"},
		{"a mode that there is not", `{cloudProvider: kwok, mode: dry-run}`, "/mode"},
		{"a value that is misspelt", `{cloudProvider: kwok, replicas: 2}`, "replicas"},
		{"one below that is misspelt", `{cloudProvider: kwok, image: {name: x}}`, "name"},
		{"aws without groups", `{cloudProvider: aws}`, "Say which Auto Scaling groups"},
		{"a group without limits", `{cloudProvider: aws, nodeGroups: [{name: a}]}`, "min"},
		{"a limit that is no number", `{cloudProvider: aws, nodeGroups: [{name: a, min: "1", max: 2}]}`, "/nodeGroups/0/min"},
		{"a limit below 0", `{cloudProvider: aws, nodeGroups: [{name: a, min: -1, max: 2}]}`, "/nodeGroups/0/min"},
		{"a name that would be another limit", `{cloudProvider: aws, nodeGroups: [{name: "a:b", min: 1, max: 2}]}`, "/nodeGroups/0/name"},
		{"groups by name where they are found", `{cloudProvider: kwok, nodeGroups: [{name: a, min: 1, max: 2}]}`, "/nodeGroups"},
		{"a tag with a comma", `{cloudProvider: aws, autoDiscovery: {tags: ["a,b"]}}`, "/autoDiscovery/tags/0"},
		{"flags with dashes", `{cloudProvider: kwok, extraArgs: {--v: 4}}`, "--v"},
		{"a flag that the chart sets", `{cloudProvider: kwok, extraArgs: {namespace: x}}`, "namespace"},
		{"one with a suffix", `{cloudProvider: kwok, extraArgs: {kubeconfig_1: x}}`, "kubeconfig_1"},
		{"a flag with a map", `{cloudProvider: kwok, extraArgs: {v: {a: b}}}`, "/extraArgs/v"},
		{"a digest that is none", `{cloudProvider: kwok, image: {digest: latest}}`, "/image/digest"},
		{"a digest in the repository", `{cloudProvider: kwok, image: {repository: "a@sha256:0"}}`, "/image/repository"},
		{"a pull policy", `{cloudProvider: kwok, image: {pullPolicy: Sometimes}}`, "/image/pullPolicy"},
		{"half a replica", `{cloudProvider: kwok, replicaCount: 1.5}`, "/replicaCount"},
		{"several that all act", `{cloudProvider: kwok, extraArgs: {leader-elect: false}}`, "all of them would act"},
		{"and by a flag that is given twice", `{cloudProvider: kwok, extraArgs: {leader-elect_1: false}}`, "all of them would act"},
		{"a Lease where there are no rights", `{cloudProvider: kwok, extraArgs: {leader-elect-resource-namespace: other}}`, "no replica would ever lead"},
		{"a page without a port", `{cloudProvider: kwok, ui: {address: 0.0.0.0}}`, "/ui/address"},
		{"a page by a flag", `{cloudProvider: kwok, extraArgs: {ui-address: ":8443"}}`, "ui-address"},
		{"a page where the metrics are", `{cloudProvider: kwok, ui: {address: ":8085"}}`, "port 8085"},
		{"two configuration files", `{cloudProvider: kwok, config: {loop: {}}, extraArgs: {config: a}}`, "there can be one config"},
		{"a mode that rights do not follow", `{cloudProvider: kwok, config: {mode: observe}}`, "config.mode"},
		{"a page that ports do not follow", `{cloudProvider: kwok, config: {page: {address: ":1"}}}`, "config.page"},
		{"two files of prices", `{cloudProvider: kwok, prices: {groups: {a: 1}}, extraArgs: {price-file: /p}}`, "there can be one file"},
		{"a certificate of nothing", `{cloudProvider: kwok, ui: {tlsSecret: s}}`, "only a page that other machines reach"},
		{"environment as a map", `{cloudProvider: kwok, env: {A: b}}`, "/env"},
		{"environment without a name", `{cloudProvider: kwok, env: [{value: b}]}`, "/env/0"},
		{"environment that is no text", `{cloudProvider: kwok, env: [{name: A, value: 1}]}`, "/env/0/value"},
		{"a label that a selector goes by", `{cloudProvider: kwok, podLabels: {app.kubernetes.io/name: ca}}`, "/podLabels"},
		{"another one", `{cloudProvider: kwok, podLabels: {app.kubernetes.io/instance: ca}}`, "/podLabels"},
		{"and the third", `{cloudProvider: kwok, podLabels: {app.kubernetes.io/component: ca}}`, "/podLabels"},
		{"labels that are no text", `{cloudProvider: kwok, nodeSelector: {a: true}}`, "/nodeSelector/a"},
		{"a toleration's effect", `{cloudProvider: kwok, tolerations: [{effect: NoSchedul}]}`, "/tolerations/0/effect"},
		{"a mode of Cluster API's", `{cloudProvider: clusterapi, clusterAPIMode: both}`, "/clusterAPIMode"},
		{"a kubeconfig that is nowhere", `{cloudProvider: clusterapi, clusterAPIMode: kubeconfig-incluster}`, "clusterAPIKubeconfigSecret"},
		{"kubeconfigs in two folders", `{cloudProvider: clusterapi, clusterAPIMode: kubeconfig-kubeconfig, clusterAPIKubeconfigSecret: s, clusterAPICloudConfigPath: /a/b/c}`, "different folders"},
		{"a path at the root", `{cloudProvider: clusterapi, clusterAPIWorkloadKubeconfigPath: /value}`, "/clusterAPIWorkloadKubeconfigPath"},
		{"a Secret that no object can be", `{cloudProvider: gardener, gardener: {targetKubeconfigSecret: A_B}}`, "/gardener/targetKubeconfigSecret"},
		{"a template without a name", `{cloudProvider: kwok, kwok: {templates: [{metadata: {}}]}}`, "/kwok/templates/0/metadata"},
		{"what a controller writes", `{controllers: {gardener: {enabled: true, writes: nothing}}}`, "/controllers/gardener/writes"},
		{"a network policy's peer that is misspelt", `{cloudProvider: kwok, networkPolicy: {enabled: true, from: [{podSelctor: {}}]}}`, "podSelctor"},
		{"an empty one, which lets in all", `{cloudProvider: kwok, networkPolicy: {enabled: true, from: [{}]}}`, "/networkPolicy/from/0"},
		{"a scan interval without a unit", `{cloudProvider: kwok, prometheusRule: {enabled: true}, extraArgs: {scan-interval: 30}}`, "extraArgs.scan-interval"},
		{"an interval without a unit", `{cloudProvider: kwok, serviceMonitor: {interval: "30"}}`, "/serviceMonitor/interval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t).Render(Default, parse(t, c.values))
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("got %v, want it to say %q", err, c.message)
			}
		})
	}
}

// TestOnlyTheProvider: nothing else has to be said, but on AWS the cluster's name.
func TestOnlyTheProvider(t *testing.T) {
	for _, values := range []string{"{cloudProvider: clusterapi}", "{cloudProvider: kwok}", "{cloudProvider: gardener}",
		"{cloudProvider: aws, autoDiscovery: {clusterName: prod}}"} {
		render(t, parse(t, values))
	}
}

// TestArgumentsAreFlags: Plimsoll takes whatever the chart gives it, and warns of nothing.
func TestArgumentsAreFlags(t *testing.T) {
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			all := objects(t, render(t, values))
			for _, object := range all {
				d, ok := object.(*appsv1.Deployment)
				if !ok || d.Spec.Template.Spec.Containers[0].Args[0] != "run" {
					continue
				}
				configured(t, d, all)
				c, warnings := told(t, d)
				if len(warnings) > 0 {
					t.Error(warnings)
				}
				if got := slices.Contains(
					d.Spec.Template.Spec.Containers[0].Args, "--mode=observe",
				); got != (values["mode"] == "observe") {
					t.Errorf("it observes: %t", got)
				}
				understood(t, d)
				namesGranted(t, c, objects(t, render(t, values))["role.yaml"])
			}
		})
	}
}

// configured puts the configuration file where the arguments of a Deployment name it, on this machine.
func configured(t *testing.T, d *appsv1.Deployment, all map[string]runtime.Object) {
	t.Helper()
	args := d.Spec.Template.Spec.Containers[0].Args
	held, there := all["config.yaml"].(*corev1.ConfigMap)
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--config=") })
	if !there || i < 0 {
		if there || i >= 0 {
			t.Errorf("the file is there: %t; the flag: %q", there, args)
		}
		return
	}
	file := filepath.Join(t.TempDir(), path.Base(args[i]))
	if err := os.WriteFile(file, []byte(held.Data[filepath.Base(file)]), 0o600); err != nil {
		t.Fatal(err)
	}
	args[i] = "--config=" + file
}

// told is what the arguments of a Deployment say to Plimsoll, in the mode that they say; and
// what Plimsoll warns of.
func told(t *testing.T, d *appsv1.Deployment) (config.Config, []string) {
	t.Helper()
	flags, mode := parsed(t, d)
	c, warnings, err := flags.Config()
	if err != nil {
		t.Fatal(err)
	}
	c, _, more := mode.Apply(c)
	return c, append(warnings, more...)
}

// parsed are the flags of a Deployment.
func parsed(t *testing.T, d *appsv1.Deployment) (*config.Flags, *config.ModeFlags) {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := config.Bind(set, providers.All())
	mode := flags.BindMode()
	if err := set.Parse(d.Spec.Template.Spec.Containers[0].Args[1:]); err != nil {
		t.Fatal(err)
	}
	return flags, mode
}

// namesGranted wants the rights to name the Lease and the ConfigMap that the flags lead to.
func namesGranted(t *testing.T, c config.Config, role any) {
	t.Helper()
	r, ok := role.(*rbacv1.Role)
	if !ok {
		return // by a kubeconfig
	}
	for kind, name := range map[string]string{"leases": c.Leader.Name, "configmaps": c.Report.StatusConfigMap} {
		if !slices.ContainsFunc(r.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.Resources, kind) && slices.Contains(rule.ResourceNames, name) &&
				slices.Contains(rule.Verbs, "update")
		}) {
			t.Errorf("nothing grants update of %s %s", kind, name)
		}
	}
	if c.Cluster.Namespace != r.Namespace {
		t.Errorf("it writes in %s, and has rights in %s", c.Cluster.Namespace, r.Namespace)
	}
}

// TestModesOfClusterAPI: which cluster is reached how, by what, and with which rights.
func TestModesOfClusterAPI(t *testing.T) {
	for _, c := range []struct {
		mode                        string
		args                        []string
		token, workload, management bool
		namespace                   string
	}{
		{mode: "incluster-incluster", token: true, workload: true, management: true, namespace: "kube-system"},
		{mode: "incluster-kubeconfig", args: []string{"--cloud-config=/etc/kubernetes/mgmt-kubeconfig"}, token: true, workload: true, namespace: "kube-system"},
		{mode: "kubeconfig-incluster", args: []string{"--kubeconfig=/etc/kubernetes/value", "--clusterapi-cloud-config-authoritative"}, token: true, management: true, namespace: "elsewhere"},
		{mode: "kubeconfig-kubeconfig", args: []string{"--cloud-config=/etc/kubernetes/mgmt-kubeconfig", "--kubeconfig=/etc/kubernetes/value"}, namespace: "elsewhere"},
		{mode: "single-kubeconfig", args: []string{"--kubeconfig=/etc/kubernetes/value"}, namespace: "elsewhere"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			all := objects(t, render(t, map[string]any{"cloudProvider": "clusterapi", "clusterAPIMode": c.mode,
				"clusterAPIKubeconfigSecret": "both", "clusterAPIConfigMapsNamespace": "elsewhere"}))
			pod := all["deployment.yaml"].(*appsv1.Deployment).Spec.Template.Spec
			var kubeconfigs []string
			for _, a := range pod.Containers[0].Args {
				if strings.Contains(a, "config") {
					kubeconfigs = append(kubeconfigs, a)
				}
			}
			if !slices.Equal(kubeconfigs, c.args) {
				t.Errorf("kubeconfigs %q, want %q", kubeconfigs, c.args)
			}
			if !slices.Contains(pod.Containers[0].Args, "--namespace="+c.namespace) {
				t.Errorf("args %q, want the namespace %s", pod.Containers[0].Args, c.namespace)
			}
			if *pod.AutomountServiceAccountToken != c.token {
				t.Errorf("the account's token is mounted: %t", !c.token)
			}
			if (all["clusterrole.yaml"] != nil) != c.workload || (all["role.yaml"] != nil) != c.workload ||
				(all["clusterapi-role.yaml"] != nil) != c.management {
				t.Errorf("roles: %v %v %v", all["clusterrole.yaml"], all["role.yaml"], all["clusterapi-role.yaml"])
			}
			if c.mode == "incluster-incluster" {
				if len(pod.Volumes) > 0 {
					t.Errorf("volumes %v, which nothing reads", pod.Volumes)
				}
				return
			}
			if pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != "both" ||
				pod.Containers[0].VolumeMounts[0].MountPath != "/etc/kubernetes" {
				t.Errorf("volumes %v", pod.Volumes)
			}
		})
	}
}

// TestObserversOnlyRead: beside their own Lease and ConfigMap, and events if asked for.
func TestObserversOnlyRead(t *testing.T) {
	reads := []string{"get", "list", "watch"}
	for _, provider := range []string{"aws", "clusterapi", "gardener", "kwok"} {
		values := map[string]any{"cloudProvider": provider, "mode": "observe"}
		if provider == "aws" {
			values["autoDiscovery"] = map[string]any{"clusterName": "prod"}
		}
		all := objects(t, render(t, values))
		for file, object := range all {
			var rules []rbacv1.PolicyRule
			switch o := object.(type) {
			case *rbacv1.ClusterRole:
				rules = o.Rules
			case *rbacv1.Role:
				rules = o.Rules
			}
			for _, rule := range rules {
				writes := slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return slices.Contains(reads, v) })
				own := file == "role.yaml" && (slices.Equal(writes, []string{"create"}) || slices.Equal(rule.ResourceNames,
					[]string{"plimsoll-observe"}) || slices.Equal(rule.ResourceNames, []string{"plimsoll-observe-status"}))
				if len(writes) > 0 && !own {
					t.Errorf("%s: %s may %s %s", provider, file, writes, rule.Resources)
				}
			}
		}
	}
}

// TestNoBudgetForOne: a budget of a single pod would keep its node for ever.
func TestNoBudgetForOne(t *testing.T) {
	if o := render(t, parse(t, "{cloudProvider: kwok, replicaCount: 1}")).Objects["poddisruptionbudget.yaml"]; o != "" {
		t.Error(o)
	}
}

// TestGivenAccount: whose account and rights are made elsewhere gets neither here.
func TestGivenAccount(t *testing.T) {
	all := objects(t,
		render(t, parse(t, "{cloudProvider: kwok, rbac: {create: false, serviceAccount: {create: false, name: mine}}}")))
	for file, object := range all {
		switch object.(type) {
		case *corev1.ServiceAccount, *rbacv1.ClusterRole, *rbacv1.Role, *rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding:
			t.Errorf("%s is made", file)
		}
	}
	if got := all["deployment.yaml"].(*appsv1.Deployment).Spec.Template.Spec.ServiceAccountName; got != "mine" {
		t.Errorf("the pods' account is %s", got)
	}
}
