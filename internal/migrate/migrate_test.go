package migrate

import (
	goflag "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

var rewrite = goflag.Bool("rewrite", false, "write what is wanted anew")

var settings = Settings{File: "in.yaml", DefaultImage: "example.com/plimsoll:v1", Providers: providers.All()}

// TestTranslate: each file of testdata, and what becomes of it.
func TestTranslate(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Translate(in, settings)
			if err != nil {
				t.Fatal(err)
			}
			both := commented(got)
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(both), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(both, "\n")); diff != "" {
				t.Errorf("-rewrite writes it anew (-want +got):\n%s", diff)
			}
		})
	}
}

// commented is a translation with its notes as comments at its head.
func commented(r Result) string {
	var b strings.Builder
	for line := range strings.Lines(r.Notes.String()) {
		b.WriteString("# " + line)
	}
	return b.String() + string(r.Text)
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: ca, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ca}}
  template:
    metadata: {labels: {app: ca}}
    spec:
      containers:
      - {name: ca, image: example.com/cluster-autoscaler:v1, command: [COMMAND]}
`

// TestMistakes: what cannot be translated is told by its field, and nothing comes
// out.
func TestMistakes(t *testing.T) {
	command := func(words string) string { return strings.ReplaceAll(deployment, "COMMAND", words) }
	const field = "Deployment kube-system/ca: spec.template.spec.containers[0].command"
	for in, wants := range map[string][]string{
		"":                   {"nothing in it"},
		"# a comment\n---\n": {"nothing in it"},
		"a: [":               {"document 1", "no YAML"},
		"a: 1\na: 2\n":       {"document 1", `"a" already set`},
		"- a\n":              {"document 1", "no map of fields"},
		"apiVersion: v1\nkind: Service\n---\ncloudProvider: aws\n": {"document 2", "apiVersion or kind is missing"},
		"apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n":       {"items[0]", "apiVersion"},
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n":     {"none of its objects", "cluster-autoscaler"},

		// Deployments.
		strings.Replace(deployment, "apps/v1", "extensions/v1beta1", 1):                   {"Deployment kube-system/ca", "apiVersion", "apps/v1"},
		strings.Replace(command("/cluster-autoscaler"), "selector:", "selectors:", 1):     {"Deployment kube-system/ca", `unknown field "spec.selectors"`},
		strings.Replace(command("/cluster-autoscaler"), "name: ca, image", "image", 1):    {"--cloud-provider: name one"},
		command("sh, -c, cluster-autoscaler --v=4"):                                       {field + "[0]", "shell"},
		command("/wrapper, cluster-autoscaler"):                                           {field + "[0]", `"/wrapper"`},
		command("./cluster-autoscaler, --cloud-provider=gce"):                             {field + "[1]", `no provider "gce"`, "aws, clusterapi"},
		command("./cluster-autoscaler, --v=4"):                                            {"--cloud-provider: name one of the providers"},
		command("./cluster-autoscaler, --cloud-provider=aws, --scan-interval=often"):      {field + "[2]", "scan-interval", "often"},
		command("./cluster-autoscaler, --cloud-provider=aws, --expander=grpc, --v"):       {field + "[3]", "--v has no value"},
		command("./cluster-autoscaler, --cloud-provider=aws, --expander=grpc"):            {field + "[2]", `no expander "grpc"`},
		command("./cluster-autoscaler, --cloud-provider=aws, --max-nodes-total=-1, oops"): {field + "[3]", `"oops" is no flag`},
		command("./cluster-autoscaler, --scan-interval=0s, --cloud-provider=none"):        {field + "[1]", field + "[2]"},
		command("./cluster-autoscaler") + "---\n" + command("./cluster-autoscaler"):       {"2 Deployments", "one at a time"},

		"kind: Pod\n": {"manifest of kind Pod without apiVersion"},
		"{}\n":        {"nothing in it"},
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n": {"none of its objects is a Deployment", "it has Pod"},

		// Values.
		"cluster-autoscaler: {autoDiscovery: {clusterName: a}}\n":                                             {"cluster-autoscaler", "a file of its own"},
		"autoDiscovery: {clusterName: a}\npodDisruptionBudget: {maxUnavailable: [1]}\n":                       {"podDisruptionBudget.maxUnavailable", "neither a number"},
		"autoDiscovery: {clusterName: a}\npodDisruptionBudget: 1\n":                                           {"podDisruptionBudget", "no map"},
		"autoDiscovery: {clusterName: a}\nawsRegion: '{{ .Values.region }}'\n":                                {"awsRegion", "template"},
		"autoDiscovery: {clusterName: '{{ .Values.global.cluster }}'}\n":                                      {"autoDiscovery.clusterName", "template"},
		"cloudProvider: clusterapi\nautoDiscovery: {clusterName: '{{ .Values.global.cluster }}'}\n":           {"autoDiscovery.clusterName", "template"},
		"cloudProvider: clusterapi\nautoDiscovery: {labels: [{a: '{{ .Values.b }}'}]}\n":                      {"autoDiscovery.labels[0].a", "template"},
		"autoscalingGroups: [{name: '{{ .Values.group }}', minSize: 1, maxSize: 2}]\n":                        {"autoscalingGroups[0].name", "template"},
		"autoDiscovery: {clusterName: a}\nextraArgs: {expander: '{{ .Values.expander }}'}\n":                  {"extraArgs.expander", "template"},
		"autoDiscovery: {clusterName: a}\nrbac: {serviceAccount: {annotations: {a: '{{ .Values.role }}'}}}\n": {"rbac.serviceAccount.annotations.a", "template"},
		"cloudProvider: aws\n":                                                                                                         {"autoDiscovery.clusterName", "starts nothing"},
		"cloudProvider: gce\nautoDiscovery: {clusterName: a}\n":                                                                        {"cloudProvider", `no provider "gce"`},
		"autoDiscovery: {clusterName: a, tags: ['{{ .Values.x }}']}\n":                                                                 {"autoDiscovery.tags[0]", "template"},
		"autoDiscovery: {clusterName: [a]}\n":                                                                                          {"autoDiscovery.clusterName"},
		"autoDiscovery: {clusterName: a}\nextraArgs: {expander: {a: b}}\n":                                                             {"extraArgs.expander", "no value of a flag"},
		"autoDiscovery: {clusterName: a}\nextraArgs: {scan-interval: 10}\n":                                                            {"extraArgs.scan-interval", "10"},
		"autoDiscovery: {clusterName: a}\nextraArgs: [--v=4]\n":                                                                        {"extraArgs"},
		"autoDiscovery: {clusterName: a}\ncustomArgs: [oops]\n":                                                                        {"customArgs[0]", "no flag"},
		"autoDiscovery: {clusterName: a}\nreplicaCount: many\n":                                                                        {"replicaCount"},
		"autoDiscovery: {clusterName: a}\nreplicaCount: 2\nextraArgs: {leader-elect: false}\n":                                         {"replicaCount", "all of them would act"},
		"autoscalingGroups: [{name: a, minSize: 1}]\n":                                                                                 {"autoscalingGroups[0].maxSize"},
		"autoscalingGroups: [{name: a, minSize: few, maxSize: 2}]\n":                                                                   {"few"},
		"autoscalingGroups: [{minSize: 1, maxSize: 2}]\n":                                                                              {"autoscalingGroups[0].name"},
		"autoDiscovery: {clusterName: a}\nextraEnvSecrets: {A: {name: b}}\n":                                                           {"extraEnvSecrets.A.key"},
		"autoDiscovery: {clusterName: a}\nextraEnvConfigMaps: {A: {key: b}}\n":                                                         {"extraEnvConfigMaps.A.name"},
		"cloudProvider: clusterapi\nautoDiscovery: {clusterName: a}\nclusterAPIMode: both\n":                                           {"clusterAPIMode", "single-kubeconfig"},
		"cloudProvider: clusterapi\nautoDiscovery: {clusterName: a}\nclusterAPIMode: single-kubeconfig\n":                              {"clusterAPIKubeconfigSecret", `"value"`},
		"cloudProvider: clusterapi\nautoDiscovery: {labels: [{a: b}, {a: c}]}\n":                                                       {"autoDiscovery.labels[1].a", "twice"},
		"autoDiscovery: {clusterName: a}\nextraArgs: {drain-priority-config: '0:60', max-graceful-termination-sec: 600}\n":             {"extraArgs.drain-priority-config", "--max-graceful-termination-sec"},
		"autoDiscovery: {clusterName: a}\nextraArgs: {leader-elect-resource-lock: endpoints, memory-total: '8', max-nodes-total: x}\n": {"extraArgs.memory-total", "extraArgs.max-nodes-total"},
	} {
		got, err := Translate([]byte(in), settings)
		if err == nil {
			t.Errorf("%s\n: no error", in)
			continue
		}
		if len(got.Text) > 0 || len(got.Notes.Changed) > 0 {
			t.Errorf("%s\n: something came out with the error %v", in, err)
		}
		for line := range strings.Lines(err.Error()) {
			if !strings.HasPrefix(line, "in.yaml: ") && !strings.HasPrefix(line, "  line ") {
				t.Errorf("%s\n: the error does not name the file: %s", in, line)
			}
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s\n: the error does not say %q: %v", in, want, err)
			}
		}
	}
}

// TestWhatIsLostComesFirst: a limit that Plimsoll refuses is not among what is dropped for
// good reasons; nor is an image that is not published taken for granted.
func TestWhatIsLostComesFirst(t *testing.T) {
	got, err := Translate([]byte("autoDiscovery: {clusterName: a}\nresources: {limits: {cpu: 100m, memory: 600Mi}}\nextraArgs: {gpu-total: 'nvidia.com/gpu:0:16', stderrthreshold: info, expander: 'least-waste,priority'}\n"), settings)
	if err != nil {
		t.Fatal(err)
	}
	notes := got.Notes.String()
	if want := "Lost: without these, other nodes are bought or removed than before:\n- --gpu-total=nvidia.com/gpu:0:16: accelerators have no limit"; !strings.HasPrefix(notes, want) {
		t.Errorf("it does not begin with %q:\n%s", want, notes)
	}
	for text, want := range map[string]int{
		"--gpu-total": 1, "--stderrthreshold=info is dropped": 1, "What to do next:\n- no image of Plimsoll is published yet": 1,
		"--expander stays; priority reads the ConfigMap cluster-autoscaler-priority-expander; ties": 1, "grpc": 0,
		"resources.limits.cpu is 100m and stays": 1, "resources.limits.memory is 600Mi and stays: Plimsoll's chart has 2Gi": 1,
	} {
		if n := strings.Count(notes, text); n != want {
			t.Errorf("%q is there %d times, want %d:\n%s", text, n, want, notes)
		}
	}
}

// TestBracesThatAreNoTemplates: what their chart copies as it is, and what is not
// carried over.
func TestBracesThatAreNoTemplates(t *testing.T) {
	for _, in := range []string{
		"autoDiscovery: {clusterName: a}\npodAnnotations: {a: '{{ with secret }}'}\n",
		"autoDiscovery: {clusterName: a}\nextraEnv: {A: '{{ b }}'}\nimage: {tag: '{{ .Values.tag }}'}\n",
		"autoDiscovery: {clusterName: a, tags: ['k8s.io/{{.Values.autoDiscovery.clusterName}}']}\n",
		"cloudProvider: kwok\nautoDiscovery: {clusterName: '{{ .Values.x }}'}\nawsRegion: '{{ .Values.x }}'\n",
	} {
		if _, err := Translate([]byte(in), settings); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestOneReplicaWithoutElection: two would both act.
func TestOneReplicaWithoutElection(t *testing.T) {
	got, err := Translate([]byte("autoDiscovery: {clusterName: a}\nextraArgs: {leader-elect: false, address: ':9090'}\n"), settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nreplicaCount: 1\n", "leader election is off: stop the Cluster Autoscaler before", "Deployment to 0, wait until its pod is gone, and helm upgrade", "--address=:9090 is dropped"} {
		if !strings.Contains(commented(got), want) {
			t.Errorf("%q is not in\n%s", want, got.Text)
		}
	}
	if strings.Contains(string(got.Text), "\n  address:") {
		t.Errorf("the address is kept:\n%s", got.Text)
	}
}

// TestNothingSecretIsWritten: keys in values stay where they are.
func TestNothingSecretIsWritten(t *testing.T) {
	in, err := os.ReadFile(filepath.Join("testdata", "aws-groups.values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Translate(in, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI"} {
		if !strings.Contains(string(in), secret) || strings.Contains(string(got.Text), secret) {
			t.Errorf("%q is not in the values, or is in the translation", secret)
		}
	}
}

// TestWhatIsKeptIsTakenWithoutAWarning: a run takes the flags of a translation, and
// has nothing to say of them.
func TestWhatIsKeptIsTakenWithoutAWarning(t *testing.T) {
	for _, file := range []string{"gardener.yaml", "aws-example.yaml", "from-a-cluster.yaml"} {
		in, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		once, err := Translate(in, settings)
		if err != nil {
			t.Fatal(err)
		}
		var args []located
		_, list, _ := strings.Cut(string(once.Text), "- args:\n")
		for line := range strings.Lines(list) {
			text, ok := strings.CutPrefix(strings.TrimSpace(line), "- --")
			if ok {
				args = append(args, located{"--" + text, "args"})
			}
		}
		env := map[string]string{"PROVIDER": "clusterapi", "CLUSTER": "prod", "POD_NAMESPACE": "autoscaling"}
		line, err := read(args, env, settings.Providers)
		if err != nil || len(line.dropped) > 0 || len(line.unchecked) > 0 || len(args) < 5 {
			t.Errorf("%s: %d flags: %v, %v, %v", file, len(args), err, line.dropped, line.unchecked)
		}
	}
}

// TestValuesAreOnesOfTheChart: every value that is written has its place in
// Plimsoll's chart.
func TestValuesAreOnesOfTheChart(t *testing.T) {
	chart := readYAML(t, filepath.Join("..", "..", "charts", "plimsoll", "values.yaml"))
	files, err := filepath.Glob(filepath.Join("testdata", "*.values.golden"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		inChart(t, filepath.Base(file), readYAML(t, file), chart)
	}
}

func readYAML(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// inChart checks keys against those of the chart; where the chart has an empty map,
// any key will do.
func inChart(t *testing.T, at string, got, chart map[string]any) {
	for name, value := range got {
		has, ok := chart[name]
		if !ok {
			t.Errorf("%s: Plimsoll's chart has no %s", at, name)
			continue
		}
		free, isMap := has.(map[string]any)
		if inner, ok := value.(map[string]any); ok && isMap && len(free) > 0 && name != "resources" {
			inChart(t, at+"."+name, inner, free)
		}
	}
}

// TestRightsAreThoseThatAreProven: what is asked for here is what the service
// account of the rehearsal has, where each right is proven to be needed.
func TestRightsAreThoseThatAreProven(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "rehearse", "controlplane", "manifests", "plimsoll.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var proven []string
	for _, d := range documents {
		var r rbacv1.ClusterRole
		if d["kind"] != "ClusterRole" && d["kind"] != "Role" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d, &r); err != nil {
			t.Fatal(err)
		}
		for _, rule := range r.Rules {
			names := slices.DeleteFunc(slices.Clone(rule.ResourceNames), func(n string) bool { return strings.HasPrefix(n, "kwok-") })
			if len(rule.ResourceNames) > 0 && len(names) == 0 {
				continue // the kwok provider's own
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					proven = append(proven, fmt.Sprint(d["kind"], rule.APIGroups, resource, names, verb))
				}
			}
		}
	}
	var asked []string
	add := func(kind string, needs []need) {
		for _, n := range needs {
			var names []string
			if n.name != "" {
				names = []string{n.name}
			}
			for verb := range strings.FieldsSeq(n.verbs) {
				asked = append(asked, fmt.Sprint(kind, []string{n.group}, n.resource, names, verb))
			}
		}
	}
	add("ClusterRole", clusterNeeds)
	add("Role", namespaceNeeds(place{lease: "cluster-autoscaler", status: "cluster-autoscaler-status", elects: true, writes: true}))
	slices.Sort(proven)
	slices.Sort(asked)
	if diff := cmp.Diff(slices.Compact(proven), asked); diff != "" {
		t.Errorf("-proven +asked for:\n%s", diff)
	}
}
