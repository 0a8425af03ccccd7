package migrate

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestWhichContainer: the one that runs the autoscaler, not one that speaks of it.
func TestWhichContainer(t *testing.T) {
	const nanny = "{name: nanny, image: example.com/addon-resizer:1.8, command: [/pod_nanny], args: [ARGS]}"
	const ca = "{name: ca, image: registry.example.com:5000/cluster-autoscaler:v1, command: [./cluster-autoscaler]}"
	for name, c := range map[string]struct {
		containers []string
		want       int
	}{
		"a flag's value":               {[]string{strings.Replace(nanny, "ARGS", "--deployment=kube-system/cluster-autoscaler", 1), ca}, 1},
		"a flag's value, in two words": {[]string{strings.Replace(nanny, "ARGS", "--target, deployment/cluster-autoscaler", 1), ca}, 1},
		"a name, in two words":         {[]string{strings.Replace(nanny, "ARGS", "--deployment, cluster-autoscaler", 1), ca}, 1},
		"only spoken of":               {[]string{strings.Replace(nanny, "ARGS", "--target, deployment/cluster-autoscaler", 1)}, -1},
		"by args":                      {[]string{"{name: a, image: a}", "{name: b, image: b, args: [/usr/bin/cluster-autoscaler, --v=4]}"}, 1},
		"by the image":                 {[]string{"{name: a, image: a/cluster-autoscaler-exporter:v1}", "{name: b, image: 'r:5000/cluster-autoscaler:v1@sha256:0', args: [--v=4]}"}, 1},
		"by the image, in a shell":     {[]string{"{name: a, image: a}", "{name: b, image: x/cluster-autoscaler, command: [sh, -c, exec ./cluster-autoscaler]}"}, 1},
		"by an image of one's own":     {[]string{"{name: a, image: a}", "{name: b, image: x/cluster-autoscaler-arm64:v1, args: [--v=4]}"}, 1},
		"in a wrapper":                 {[]string{"{name: a, image: a}", "{name: b, image: b, command: [/wrapper, cluster-autoscaler]}"}, 1},
		"in a shell":                   {[]string{"{name: a, image: a}", "{name: b, image: b, command: [sh, -c, ./cluster-autoscaler --v=4]}"}, 1},
		"by nothing":                   {[]string{"{name: a, image: a}"}, -1},
	} {
		var d appsv1.Deployment
		if err := yaml.Unmarshal(
			[]byte("spec: {template: {spec: {containers: ["+strings.Join(c.containers, ", ")+"]}}}"), &d,
		); err != nil {
			t.Fatal(err)
		}
		if got := autoscaler(&d); got != c.want {
			t.Errorf("%s: container %d, want %d", name, got, c.want)
		}
	}
}

// TestNobodyActsTwiceWithoutElection: then an update that starts the new pod first
// has two that act, and so have two replicas.
func TestNobodyActsTwiceWithoutElection(t *testing.T) {
	elects := strings.ReplaceAll(deployment, "COMMAND", "./cluster-autoscaler, --cloud-provider=aws, '--nodes=1:2:a'")
	not := strings.ReplaceAll(elects, "1:2:a'", "1:2:a', --leader-elect=false")
	got, err := Translate(
		[]byte(strings.Replace(not, "spec:\n", "spec:\n  strategy: {rollingUpdate: {maxSurge: 1}}\n", 1)), settings,
	)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got.Text), "  strategy:\n    type: Recreate\n") ||
		strings.Contains(string(got.Text), "rollingUpdate") {
		t.Errorf("a new pod starts before the old one has ended:\n%s", got.Text)
	}
	told := got.Notes.String()
	if !strings.Contains(told, "spec.strategy is Recreate") || !strings.Contains(told, "scale the Deployment to 0") ||
		!strings.Contains(told, "to go back, scale Plimsoll's Deployment to 0") ||
		strings.Contains(told, "wait for the lease") {
		t.Errorf("what to do is\n%s", told)
	}
	if _, err := Translate([]byte(strings.Replace(not, "spec:\n", "spec:\n  replicas: 2\n", 1)), settings); err == nil ||
		!strings.Contains(
			err.Error(), "in.yaml: Deployment kube-system/ca: spec.replicas: 2 replicas without leader election",
		) {
		t.Errorf("two replicas: %v", err)
	}
	got, err = Translate([]byte(strings.Replace(elects, "spec:\n", "spec:\n  replicas: 2\n", 1)), settings)
	if err != nil || strings.Contains(string(got.Text), "Recreate") ||
		!strings.Contains(got.Notes.String(), "wait for the lease") {
		t.Errorf("with leader election: %v\n%s%s", err, got.Notes, got.Text)
	}
}
