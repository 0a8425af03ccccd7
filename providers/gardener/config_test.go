package gardener

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func TestConfigIsReadAsAWhole(t *testing.T) {
	s, err := Config{
		Nodes:     []string{"1:3:" + ns + "." + ns + "-web-z1", "0:0:plain"},
		Discovery: []string{"mcm:k8s.io/cluster-autoscaler/prod", "mcm:namespace=" + ns + ",team=a"}, Sizing: "lax-GREEDY",
	}.read()
	if err != nil {
		t.Fatal(err)
	}
	if s.namespace != ns || s.sizing != v1alpha1.SizingLaxGreedy || s.marker != timestamped {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(
		map[string]bounds{ns + "-web-z1": {1, 3}, "plain": {0, 0}}, s.static, cmp.AllowUnexported(bounds{}),
	); diff != "" {
		t.Error(diff)
	}
}

// Everything that is wrong is told at once, each with its flag.
func TestConfigTellsAllThatIsWrong(t *testing.T) {
	err := Config{
		Nodes: []string{"1:3:other.x", "3:1:x", "a:1:x", "1:1", "1:1:a.b_c", "0:1:x", "0:1:x"},
		Discovery: []string{
			"mcm", "asg:x", "mcm:namespace=third", "mcm:a=b=c", "mcm:k8s.io/cluster-autoscaler/Not-A-Name", "mcm:,", "mcm:x=",
		},
		Namespace: ns, Sizing: "Fair", DeletionMarker: "dates",
	}.Validate()
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, part := range []string{
		`"1:3:other.x" means the namespace other`, `"3:1:x": the minimum is above`, `"a:1:x": "a" is no number`, `"1:1": there are 2 parts`, `"b_c" is no name`, `names the group x once more`,
		`there is no colon`, `"asg" is no way`, `means the namespace third`, `"b=c" is no value`, `"Not-A-Name" is no name of a shoot`, `element 1, ""`, `element 1, "x="`,
		`--mcm-sizing="Fair"`, `--mcm-deletion-marker="dates"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("nothing says %q:\n%v", part, err)
		}
	}
	if err := (Config{}).Validate(); err == nil || !strings.Contains(err.Error(), "CONTROL_NAMESPACE") {
		t.Errorf("without a namespace: %v", err)
	}
}

func TestEnvironmentOfGardener(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"CONTROL_NAMESPACE": ns, "CONTROL_KUBECONFIG": "control", "TARGET_KUBECONFIG": "shoot"}[name]
	}
	if ControlNamespace(env) != ns || ControlKubeconfig(env) != "control" || TargetKubeconfig("", env) != "shoot" ||
		TargetKubeconfig("flag", env) != "flag" {
		t.Error("the environment is not what is read")
	}
}

func TestDiscoveryMeans(t *testing.T) {
	labelled := &v1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "l", Labels: map[string]string{"team": "a", "example.com/scaled": ""}},
	}
	annotated := &v1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"example.com/scaled": "yes", "team": "a"}},
	}
	plain := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	for text, want := range map[string]string{
		"mcm:":                                      "lap",
		"mcm:namespace=" + ns:                       "lap",
		"mcm:team=a":                                "l", // a value is a label's
		"mcm:team=b":                                "",
		"mcm:example.com/scaled":                    "la",
		"mcm:example.com/scaled,team=a":             "l",
		"mcm:k8s.io/cluster-autoscaler/prod":        "lap",
		"mcm:k8s.io/cluster-autoscaler/prod,team=a": "l",
	} {
		s, err := parseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range []*v1alpha1.MachineDeployment{labelled, annotated, plain} {
			if s.means(d) {
				got += d.Name
			}
		}
		if got != want {
			t.Errorf("%s means %q, want %q", text, got, want)
		}
	}
}

// FuzzParsers: nothing that is read from a flag or an annotation ends the process, and
// what is taken says what it was made of.
func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"mcm:k8s.io/cluster-autoscaler/prod", "mcm:namespace=a,b=c,d", "mcm:", "1:2:a.b", "0:0:x",
		"a~2026-01-02T03:04:05Z,b,,c~", "~", "a~b~c", ",,", "mcm:a=,=b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if sp, err := parseSpec(text); err == nil && !strings.HasPrefix(text, "mcm:") {
			t.Errorf("%q is %+v", text, sp)
		}
		if g, err := parseNodes(text); err == nil &&
			(g.bounds.min > g.bounds.max || g.name == "" || !strings.HasSuffix(text, g.name)) {
			t.Errorf("%q is %+v", text, g)
		}
		marks := parseMarks(text)
		again := parseMarks(formatMarks(marks))
		if diff := cmp.Diff(marks, again, cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("marks of %q, written and read again: %s", text, diff)
		}
		for _, m := range marks {
			if m.machine == "" || !strings.Contains(text, m.machine) {
				t.Errorf("%q names %q", text, m.machine)
			}
		}
	})
}
