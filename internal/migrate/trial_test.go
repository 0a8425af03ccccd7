package migrate

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// TestVerbosityInEveryForm: all that the Cluster Autoscaler takes, and none lost.
func TestVerbosityInEveryForm(t *testing.T) {
	for _, form := range []string{"-v4", "-v=4", "-v, '4'", "--v=4", "--v, '4'"} {
		got, err := Translate([]byte(strings.ReplaceAll(deployment, "COMMAND", "./cluster-autoscaler, --cloud-provider=aws, --nodes=1:2:a, "+form)), settings)
		if err != nil || !strings.Contains(string(got.Text), "- --v=4\n") || strings.Contains(got.Notes.String(), "is dropped") {
			t.Errorf("%s in a Deployment: %v\n%s%s", form, err, got.Notes, got.Text)
		}
		got, err = Translate([]byte("autoDiscovery: {clusterName: a}\ncustomArgs: ["+form+"]\n"), settings)
		if err != nil || !strings.Contains(string(got.Text), "  v: \"4\"\n") {
			t.Errorf("%s in values: %v\n%s%s", form, err, got.Notes, got.Text)
		}
	}
	for form, says := range map[string]string{"-vx": `"x"`, "-v4x": `"4x"`, "-v": "--v has no value"} {
		_, err := Translate([]byte(strings.ReplaceAll(deployment, "COMMAND", "./cluster-autoscaler, --cloud-provider=aws, --nodes=1:2:a, "+form)), settings)
		if err == nil || !strings.Contains(err.Error(), "command[3]: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// TestGroupsAreChecked: a value that a run would refuse when it makes its provider
// is told by its field.
func TestGroupsAreChecked(t *testing.T) {
	for _, c := range []struct{ provider, arg, says string }{
		{"aws", "--nodes=1:2", "it has 2 of 3 parts"},
		{"aws", "--nodes=one:2:a", `the minimum "one" is no whole number`},
		{"aws", "--nodes=1:2.5:a", `the maximum "2.5" is no whole number`},
		{"aws", "--nodes=-1:2:a", "the minimum -1 is not between 0 and"},
		{"aws", "--nodes=3:2:a", "the maximum 2 is below the minimum 3"},
		{"aws", "'--nodes=1:2:'", "is empty or has white space"},
		{"mcm", "--nodes=2:1:ns.a", "the maximum 1 is below the minimum 2"},
		{"aws", "--node-group-auto-discovery=mig:namePrefix=a", "it begins with asg:tag="},
		{"aws", "'--node-group-auto-discovery=asg:tag='", "it names no tag"},
		{"clusterapi", "--node-group-auto-discovery=asg:tag=a", "it begins with clusterapi:"},
	} {
		text := strings.ReplaceAll(deployment, "COMMAND", "./cluster-autoscaler, --cloud-provider="+c.provider+", "+c.arg)
		_, err := Translate([]byte(text), settings)
		if err == nil || !strings.HasPrefix(err.Error(), "in.yaml: Deployment kube-system/ca: spec.template.spec.containers[0].command[2]: --node") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v", c.provider, c.arg, err)
		}
	}
	if _, err := Translate([]byte("autoscalingGroups: [{name: a, minSize: 1, maxSize: 2}, {name: b, minSize: 3, maxSize: 2}]\n"), settings); err == nil || !strings.Contains(err.Error(), "in.yaml: autoscalingGroups[1]: ") {
		t.Errorf("of values: %v", err)
	}
	for _, arg := range []string{"--nodes=0:0:a:b", "--nodes=$(GROUP)"} {
		if _, err := Translate([]byte(strings.ReplaceAll(deployment, "COMMAND", "./cluster-autoscaler, --cloud-provider=aws, "+arg)), settings); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

// TestTrialsRun: of every translation the command that observes has flags that a run
// takes, and the region where the provider needs one; what is a file of the pod, or
// known in the cluster only, is told beside it.
func TestTrialsRun(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Translate(in, settings)
		if err != nil {
			t.Fatal(err)
		}
		next := got.Notes.Next[1:] // the first is about the image
		_, command, _ := strings.Cut(next[0], "from where kubectl works: ")
		env, flags, ok := strings.Cut(command, "plimsoll run ")
		if !ok {
			t.Fatalf("%s: no command in %q", file, next[0])
		}
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		set.SetOutput(io.Discard)
		bound := config.Bind(set, settings.Providers)
		bound.BindMode()
		if err := set.Parse(strings.Fields(flags)); err != nil {
			t.Errorf("%s: %s: %v", file, flags, err)
			continue
		}
		c, warnings, err := bound.Config()
		if err != nil || len(warnings) > 0 || !set.Changed("mode") {
			t.Errorf("%s: %s: %v, %v", file, flags, err, warnings)
		}
		beside := ""
		if strings.HasPrefix(next[1], "that command needs") {
			beside = next[1]
		}
		if c.Cloud.Provider == "aws" && strings.Contains(env, "AWS_REGION=") == strings.Contains(beside, "AWS_REGION") {
			t.Errorf("%s: the region is neither there nor asked for, or both: %s\n%s", file, env, beside)
		}
		if path := set.Lookup("cloud-config").Value.String(); path != "" && !strings.Contains(beside, path+" is a file of the pod") {
			t.Errorf("%s: %s is a file of the pod, and it is not said: %s", file, path, beside)
		}
		if !set.Changed("namespace") && !strings.Contains(beside, "--namespace") {
			t.Errorf("%s: the namespace is neither there nor asked for: %s\n%s", file, flags, beside)
		}
	}
}

// TestWhatATrialNeeds: what the pod has from elsewhere is said, and no file of the
// pod is given as if it were the person's.
func TestWhatATrialNeeds(t *testing.T) {
	line, err := read([]located{{"--cloud-provider=mcm", "a"}, {"--nodes=$(GROUP)", "b"}, {"--kubeconfig=/etc/shoot", "c"}}, nil, settings.Providers)
	if err != nil {
		t.Fatal(err)
	}
	env := []variable{
		{name: "CONTROL_NAMESPACE", from: "its field metadata.namespace"}, {name: "TARGET_KUBECONFIG", value: "/etc/shoot"},
		{name: "UNRELATED", value: "x"},
	}
	notes := strings.Join(trial(line, env, "shoots"), "\n")
	for _, want := range []string{
		": plimsoll run --mode=observe --cloud-provider=mcm '--nodes=$(GROUP)' --namespace=shoots\n",
		"CONTROL_NAMESPACE, which the pod has from its field metadata.namespace", "TARGET_KUBECONFIG is a file of the pod", "CONTROL_KUBECONFIG: a kubeconfig of the control cluster",
		"what $(GROUP) is in the pod",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "/etc/shoot") || strings.Contains(notes, "UNRELATED") {
		t.Errorf("files of the pod, or variables that nobody reads, are in\n%s", notes)
	}
}

// TestLeaseOnTheWorkloadCluster: with a kubeconfig for the cluster with the nodes,
// the Cluster Autoscaler's lease is in its release's namespace by name, in all modes
// but one. Two leases would let both act.
func TestLeaseOnTheWorkloadCluster(t *testing.T) {
	in := "cloudProvider: clusterapi\nautoDiscovery: {clusterName: a}\nclusterAPIKubeconfigSecret: s\nclusterAPIConfigMapsNamespace: theirs\nclusterAPIMode: "
	for _, c := range []struct{ mode, release, namespace, says string }{
		{"kubeconfig-incluster", "", "theirs", "both have the lease cluster-autoscaler in namespace theirs of the workload cluster"},
		{"kubeconfig-incluster", "ours", "theirs", "both have the lease cluster-autoscaler in namespace theirs of the workload cluster"},
		{"single-kubeconfig", "", "", "or both act"},
		{"single-kubeconfig", "ours", "ours", "both have the lease cluster-autoscaler in namespace ours of the workload cluster"},
		{"kubeconfig-kubeconfig", "ours", "ours", "both have the lease cluster-autoscaler in namespace ours of the workload cluster"},
		{"incluster-kubeconfig", "ours", "", "install Plimsoll into namespace ours"},
	} {
		s := settings
		s.Namespace = c.release
		got, err := Translate([]byte(in+c.mode+"\n"), s)
		if err != nil {
			t.Fatal(err)
		}
		has := strings.Contains(string(got.Text), "clusterAPIConfigMapsNamespace: "+c.namespace+"\n")
		if c.namespace == "" {
			has = !strings.Contains(string(got.Text), "clusterAPIConfigMapsNamespace")
		}
		if !has || !strings.Contains(got.Notes.String(), c.says) {
			t.Errorf("%s in %q: want the namespace %q, and %q, in\n%s%s", c.mode, c.release, c.namespace, c.says, got.Notes, got.Text)
		}
	}
}

// TestPagesThatAreNamedExist: a person of the binary has no folder docs, so that
// pages are named by their addresses; and they are there.
func TestPagesThatAreNamedExist(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.golden"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ReplaceAll(string(text), docs, ""), "docs/") {
			t.Errorf("%s names a page by its path", file)
		}
		for _, after := range strings.Split(string(text), docs)[1:] {
			name, _, _ := strings.Cut(strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune(" );,\n", r) })[0], "#")
			if _, err := os.Stat(filepath.Join("..", "..", "docs", name)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("only %d pages are named", seen)
	}
}
