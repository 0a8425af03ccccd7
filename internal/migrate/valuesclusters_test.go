package migrate

import (
	"fmt"
	"strings"
	"testing"
)

// in translates values whose release is in a namespace; empty: not known.
func in(t *testing.T, release, text string) (Result, error) {
	t.Helper()
	s := settings
	s.Namespace = release
	return Translate([]byte(text), s)
}

// TestNamespaceOfExtraArgs: the Cluster Autoscaler has its lease in the last
// --namespace that it is given. Plimsoll's must be there too, or both act.
func TestNamespaceOfExtraArgs(t *testing.T) {
	const aws = "autoDiscovery: {clusterName: a}\nextraArgs: {namespace: autoscaling}\n"
	const remote = "cloudProvider: clusterapi\nautoDiscovery: {clusterName: a}\nclusterAPIKubeconfigSecret: " +
		"s\nclusterAPIMode: single-kubeconfig\nextraArgs: {namespace: autoscaling}\n"
	const install = "install Plimsoll into autoscaling, and say so here: --namespace=autoscaling"
	for _, c := range []struct {
		release, values string
		fails           string
		writes, says    []string
	}{
		{release: "", values: aws, fails: "extraArgs.namespace: "},
		{release: "kube-system", values: aws, fails: install},
		{release: "autoscaling", values: aws, says: []string{"extraArgs.namespace is dropped: ", "install Plimsoll into namespace autoscaling: ", "both have the lease cluster-autoscaler in namespace autoscaling:", "--namespace=autoscaling"}},
		{release: "kube-system", values: strings.Replace(aws, "autoscaling", "$(POD_NAMESPACE)", 1), says: []string{"both have the lease cluster-autoscaler in namespace kube-system:"}},
		{release: "", values: strings.Replace(aws, "autoscaling", "$(POD_NAMESPACE)", 1), fails: "only known in the cluster"},
		{release: "kube-system", values: "autoDiscovery: {clusterName: a}\ncustomArgs: [--namespace, autoscaling]\n", fails: install},
		// A cluster that is reached by a kubeconfig: the namespace goes by its name.
		{release: "kube-system", values: remote, writes: []string{"clusterAPIConfigMapsNamespace: autoscaling\n"}, says: []string{"in namespace autoscaling of the workload cluster: only one"}},
		{release: "", values: remote, writes: []string{"clusterAPIConfigMapsNamespace: autoscaling\n"}, says: []string{"in namespace autoscaling of the workload cluster: only one"}},
	} {
		got, err := in(t, c.release, c.values)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("in %q: error %v, want %q, for\n%s", c.release, err, c.fails, c.values)
			}
			continue
		}
		if err != nil {
			t.Errorf("in %q: %v", c.release, err)
			continue
		}
		if strings.Contains(string(got.Text), "\n  namespace:") {
			t.Errorf("in %q: the namespace is kept:\n%s", c.release, got.Text)
		}
		for _, want := range c.writes {
			if !strings.Contains(string(got.Text), want) {
				t.Errorf("in %q: %q is not in\n%s", c.release, want, got.Text)
			}
		}
		for _, want := range c.says {
			if !strings.Contains(got.Notes.String(), want) {
				t.Errorf("in %q: %q is not said in\n%s", c.release, want, got.Notes)
			}
		}
	}
}

// TestNamespaceThatIsNotKnown: of a workload cluster, the Cluster Autoscaler's lease and
// ConfigMap are in its release's namespace, and Plimsoll's in one that has a name.
func TestNamespaceThatIsNotKnown(t *testing.T) {
	const remote = "cloudProvider: clusterapi\nautoDiscovery: {clusterName: a}\nclusterAPIKubeconfigSecret: " +
		"s\nclusterAPIMode: single-kubeconfig\n"
	const lease, ours = "the Cluster Autoscaler's lease is in the namespace of its " +
		"release", "Plimsoll's is in clusterAPIConfigMapsNamespace, kube-system"
	const writes = "the Cluster Autoscaler writes the ConfigMap cluster-autoscaler-status in the namespace of its release"
	for _, c := range []struct {
		values  string
		says    []string
		saysNot string
	}{
		{"", []string{lease, writes, ours, "Plimsoll the one in clusterAPIConfigMapsNamespace, kube-system"}, "both write"},
		{"extraArgs: {leader-elect: false}\n", []string{"leader election is off", writes, "Plimsoll the one in clusterAPIConfigMapsNamespace, kube-system"}, "both write"},
		{"extraArgs: {write-status-configmap: false}\n", []string{lease, ours}, "the ConfigMap cluster-autoscaler-status"},
	} {
		got, err := in(t, "", remote+c.values)
		if err != nil {
			t.Errorf("%v, for\n%s", err, c.values)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(got.Notes.String(), want) {
				t.Errorf("%q is not said in\n%s", want, got.Notes)
			}
		}
		if strings.Contains(got.Notes.String(), c.saysNot) {
			t.Errorf("%q is said in\n%s", c.saysNot, got.Notes)
		}
	}
}

// TestModeOfExtraArgs: kubeconfigs that are given as flags, as it was done before
// there was clusterAPIMode, or against it.
func TestModeOfExtraArgs(t *testing.T) {
	const begin = "cloudProvider: clusterapi\nautoDiscovery: {clusterName: prod}\n"
	const volume = "extraVolumeSecrets: {kubeconfig: {name: prod-kubeconfig, mountPath: /etc/kubernetes/prod}}\n"
	for _, c := range []struct {
		name, values string
		has, hasNot  []string
		says, fails  string
	}{
		{name: "a workload cluster, managed from here", values: volume +
			"extraArgs: {kubeconfig: /etc/kubernetes/prod/value, clusterapi-cloud-config-authoritative: true}\n",
			has: []string{"clusterAPIMode: kubeconfig-incluster\n", "clusterAPIKubeconfigSecret: prod-kubeconfig\n",
				"clusterAPIWorkloadKubeconfigPath: /etc/kubernetes/prod/value\n", "clusterAPIConfigMapsNamespace: clusters\n"},
			hasNot: []string{"extraArgs", "clusterAPICloudConfigPath"},
			says:   "both have the lease cluster-autoscaler in namespace clusters of the workload cluster"},
		{name: "one for both", values: volume + "extraArgs: {kubeconfig: /etc/kubernetes/prod/value, v: 2}\n",
			has: []string{"clusterAPIMode: single-kubeconfig\n", "  v: 2\n"}, hasNot: []string{"\n  kubeconfig:"}},
		{name: "a management cluster", values: volume + "extraArgs: {cloud-config: /etc/kubernetes/prod/value}\n",
			has: []string{"clusterAPIMode: incluster-kubeconfig\n", "clusterAPICloudConfigPath: /etc/kubernetes/prod/value\n",
				"clusterAPIKubeconfigSecret: prod-kubeconfig\n"},
			hasNot: []string{"extraArgs", "clusterAPIConfigMapsNamespace"},
			says:   "install Plimsoll into namespace clusters"},
		{name: "both, as arguments of one's own", values: volume +
			"customArgs: [--kubeconfig, /etc/kubernetes/prod/value, --cloud-config=/etc/kubernetes/prod/management]\n",
			has: []string{
				"clusterAPIMode: kubeconfig-kubeconfig\n", "clusterAPICloudConfigPath: /etc/kubernetes/prod/management\n",
			}, hasNot: []string{"extraArgs"}},
		{name: "both in files of one name", values: volume + "extraVolumeSecrets: {kubeconfig: {name: w, mountPath: /w}, " +
			"management: {mountPath: /m}}\nextraArgs: {kubeconfig: /w/value, cloud-config: /m/value}\n",
			has: []string{"clusterAPIWorkloadKubeconfigPath: /w/value\n", "clusterAPICloudConfigPath: /w/mgmt-kubeconfig\n", "clusterAPIKubeconfigSecret: w\n"}, says: `under the key "mgmt-kubeconfig"`},
		{name: "against the mode", values: "clusterAPIMode: kubeconfig-incluster\nclusterAPIKubeconfigSecret: " +
			"s\nclusterAPIConfigMapsNamespace: theirs\nextraArgs: {kubeconfig: /etc/kubernetes/other}\n",
			has: []string{"clusterAPIMode: kubeconfig-incluster\n", "clusterAPIWorkloadKubeconfigPath: /etc/kubernetes/other\n",
				"clusterAPIConfigMapsNamespace: theirs\n", "clusterAPIKubeconfigSecret: s\n"}, hasNot: []string{"extraArgs"}},
		{name: "nothing that counts", values: "extraArgs: {clusterapi-cloud-config-authoritative: false}\n",
			has: []string{"clusterAPIMode: incluster-incluster\n"}, hasNot: []string{"extraArgs"}},
		{name: "mounted by nothing", values: "extraArgs: {kubeconfig: /etc/kubernetes/prod/value}\n", fails: `clusterAPIKubeconfigSecret: in the mode single-kubeconfig`},
		{name: "at the root", values: volume + "extraArgs: {kubeconfig: /value}\n", fails: `extraArgs.kubeconfig: "/value"`},
		{name: "known in the cluster", values: volume + "extraArgs: {kubeconfig: $(CONFIG)}\n", fails: "extraArgs.kubeconfig: "},
		{name: "the mode's own, at the root", values: "clusterAPIMode: single-kubeconfig\nclusterAPIKubeconfigSecret: s\nclusterAPIWorkloadKubeconfigPath: /value\n", fails: `clusterAPIWorkloadKubeconfigPath: "/value"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := c.values
			if strings.Count(values, "extraVolumeSecrets") == 2 {
				values = strings.TrimPrefix(values, volume)
			}
			got, err := in(t, "clusters", begin+values)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(string(got.Text), want) {
					t.Errorf("%q is not in\n%s", want, got.Text)
				}
			}
			for _, no := range c.hasNot {
				if strings.Contains(string(got.Text), no) {
					t.Errorf("%q is in\n%s", no, got.Text)
				}
			}
			if !strings.Contains(got.Notes.String(), c.says) {
				t.Errorf("%q is not said in\n%s", c.says, got.Notes)
			}
		})
	}
}

// TestKubeconfigOfOtherProviders: their chart passes it on, Plimsoll's has nothing
// like it, and without it the lease would be on another cluster.
func TestKubeconfigOfOtherProviders(t *testing.T) {
	for provider, hint := range map[string]string{
		"aws": "translate its Deployment", "kwok": "translate its Deployment", "mcm": "gardener.targetKubeconfigSecret",
	} {
		_, err := in(t, "", fmt.Sprintf("cloudProvider: %s\nautoDiscovery: {clusterName: a}\nautoscalingGroups: [{name: "+
			"a.b, minSize: 1, maxSize: 2}]\nextraArgs: {kubeconfig: /a/b}\n", provider))
		if err == nil || !strings.Contains(err.Error(), "extraArgs.kubeconfig: ") || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: error %v, want it to say %q", provider, err, hint)
		}
	}
	got, err := in(t, "", "autoDiscovery: {clusterName: a}\nextraArgs: {cloud-config: /a/b, cloud-provider: aws, mode: "+
		"observe, help-all: true}\n")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got.Text), "extraArgs") {
		t.Errorf("flags are kept:\n%s", got.Text)
	}
	for _, want := range []string{"--cloud-config=/a/b is dropped: ", "extraArgs.cloud-provider is dropped: ",
		"--mode=observe is dropped: ", "--help-all=true is dropped: "} {
		if !strings.Contains(got.Notes.String(), want) {
			t.Errorf("%q is not said in\n%s", want, got.Notes)
		}
	}
	if _, err := in(t, "", "autoDiscovery: {clusterName: a}\nextraArgs: {cloud-provider: clusterapi}\n"); err == nil ||
		!strings.Contains(err.Error(), "extraArgs.cloud-provider: ") {
		t.Errorf("two providers: %v", err)
	}
}
