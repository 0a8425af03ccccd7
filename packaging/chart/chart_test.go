package chart

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	folder    = "../../charts/plimsoll"
	manifests = "../../deploy"
	goldens   = "testdata/golden"
)

var rewrite = flag.Bool("rewrite", false, "write what is rendered as what is expected")

func load(t *testing.T) Chart {
	t.Helper()
	c, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func render(t *testing.T, values map[string]any) Rendering {
	t.Helper()
	r, err := load(t).Render(Default, values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// valueFiles are all values that are kept: those of the plain manifests, and those of the
// goldens.
func valueFiles(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, pattern := range []string{filepath.Join(folder, "ci", "*"+valuesSuffix), "testdata/values/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is %s (%v)", pattern, err)
		}
		for _, file := range files {
			values, err := readValues(file)
			if err != nil {
				t.Fatal(err)
			}
			out[strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".yaml"), "-values")] = values
		}
	}
	return out
}

func TestLint(t *testing.T) {
	for name, values := range valueFiles(t) {
		for _, m := range lint.RunAll(folder, values, Default.Namespace).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

// TestManifests: what is in deploy is what the chart renders. -rewrite is `make manifests`.
func TestManifests(t *testing.T) {
	want, err := Manifests(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		same(t, filepath.Join(manifests, name), text)
	}
	there, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if _, ok := want[filepath.Base(file)]; !ok {
			t.Errorf("%s is of no values in %s/ci", file, folder)
		}
	}
}

func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			values, err := readValues(file)
			if err != nil {
				t.Fatal(err)
			}
			r := render(t, values)
			// These two have tests of their own.
			for _, long := range []string{"prometheusrule.yaml", "dashboards.yaml"} {
				delete(r.Objects, long)
			}
			same(t, filepath.Join(goldens, filepath.Base(file)), r.YAML()+"# Notes:\n"+commented(r.Notes))
		})
	}
}

func commented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return out.String()
}

// same compares a text with a file, or writes it.
func same(t *testing.T, file, text string) {
	t.Helper()
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) == text {
		return
	}
	have, want := strings.Split(string(data), "\n"), strings.Split(text, "\n")
	for i := range max(len(have), len(want)) {
		if i >= len(have) || i >= len(want) || have[i] != want[i] {
			t.Fatalf("%s is not what the chart renders, from line %d on:\n%s\n-rewrite updates it",
				file, i+1, strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n"))
		}
	}
}

// objects are the objects of a rendering as their Go types; those of the Prometheus
// operator are left out. An unknown or repeated field is an error.
func objects(t *testing.T, r Rendering) map[string]runtime.Object {
	t.Helper()
	out := map[string]runtime.Object{}
	for name, document := range r.Objects {
		if strings.Contains("\n"+document, "\n---") && name != "kwok-controller-configmap.yaml" {
			t.Errorf("%s has several objects", name)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
		if gvk.Group == "monitoring.coreos.com" {
			continue
		}
		object, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = object
	}
	return out
}

// TestEveryObject: the conventions, of whatever is rendered.
func TestEveryObject(t *testing.T) {
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			seen := map[string]string{}
			for file, object := range objects(t, render(t, values)) {
				o := object.(metav1.Object)
				id := fmt.Sprintf("%s %s/%s", reflect.TypeOf(object).Elem().Name(), o.GetNamespace(), o.GetName())
				if seen[id] != "" {
					t.Errorf("%s and %s are both %s", file, seen[id], id)
				}
				seen[id] = file
				for _, label := range []string{"name", "instance", "component", "version", "managed-by"} {
					if o.GetLabels()["app.kubernetes.io/"+label] == "" {
						t.Errorf("%s has no label app.kubernetes.io/%s", file, label)
					}
				}
				switch object.(type) {
				case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
				default:
					if o.GetNamespace() == "" {
						t.Errorf("%s is in no namespace", file)
					}
				}
				if d, ok := object.(*appsv1.Deployment); ok {
					hardened(t, file, d)
				}
			}
			bound(t, objects(t, render(t, values)))
		})
	}
}

// hardened wants a Deployment to keep to the restricted pod security standard, and more.
func hardened(t *testing.T, file string, d *appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if p := pod.SecurityContext; p == nil || !*p.RunAsNonRoot || *p.RunAsUser == 0 ||
		p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: the pod's security is %+v", file, pod.SecurityContext)
	}
	for _, c := range pod.Containers {
		if s := c.SecurityContext; s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.Privileged != nil {
			t.Errorf("%s: the container's security is %+v", file, c.SecurityContext)
		}
		if c.LivenessProbe == nil || c.ReadinessProbe == nil {
			t.Errorf("%s: %s has no probe", file, c.Name)
		}
		if c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: %s requests no CPU", file, c.Name)
		}
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Errorf("%s uses what is the host's", file)
	}
	for _, label := range slices.Sorted(maps.Keys(d.Spec.Selector.MatchLabels)) {
		if d.Spec.Template.Labels[label] != d.Spec.Selector.MatchLabels[label] {
			t.Errorf("%s does not select its own pods by %s", file, label)
		}
	}
}

// TestMonitoring: the operator is given the rules as they are in the file, and Grafana the
// dashboards, byte for byte.
func TestMonitoring(t *testing.T) {
	r := render(t, parse(t, "{cloudProvider: kwok, prometheusRule: {enabled: true}, dashboards: {enabled: true}}"))
	var rule struct{ Spec any }
	if err := yaml.UnmarshalStrict([]byte(r.Objects["prometheusrule.yaml"]), &struct {
		APIVersion, Kind string
		Metadata         any
		Spec             *any
	}{Spec: &rule.Spec}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := yaml.UnmarshalStrict(data, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rule.Spec, want) {
		t.Errorf("the rules are not those of the file: %v", rule.Spec)
	}
	boards := objects(t, r)["dashboards.yaml"].(*corev1.ConfigMap)
	files, err := filepath.Glob(filepath.Join(folder, "files", "dashboards", "*.json"))
	if err != nil || len(files) == 0 || len(files) != len(boards.Data) {
		t.Fatalf("%d dashboards of %d files (%v)", len(boards.Data), len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(boards.Data[filepath.Base(file)]) != strings.TrimSpace(string(data)) {
			t.Errorf("%s is not what Grafana is given", file)
		}
	}
	if !slices.Contains(objects(t, r)["deployment.yaml"].(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Args,
		"--emit-per-nodegroup-metrics") {
		t.Error("the metrics per group, which rules ask for, are not switched on")
	}
}

// bound wants every role to be bound once, to an account that is there and that a pod uses.
func bound(t *testing.T, all map[string]runtime.Object) {
	t.Helper()
	accounts, roles, used := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, object := range all {
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			accounts[o.Name] = true
		case *rbacv1.ClusterRole:
			roles["ClusterRole "+o.Name] += 0
		case *rbacv1.Role:
			roles["Role "+o.Namespace+"/"+o.Name] += 0
		case *appsv1.Deployment:
			used[o.Spec.Template.Spec.ServiceAccountName] = true
		}
	}
	for _, object := range all {
		var subject rbacv1.Subject
		switch o := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			roles[o.RoleRef.Kind+" "+o.RoleRef.Name]++
			subject = o.Subjects[0]
		case *rbacv1.RoleBinding:
			roles[o.RoleRef.Kind+" "+o.Namespace+"/"+o.RoleRef.Name]++
			subject = o.Subjects[0]
		default:
			continue
		}
		if !accounts[subject.Name] || !used[subject.Name] || subject.Namespace != Default.Namespace {
			t.Errorf("a role is bound to %s/%s, which no pod here has", subject.Namespace, subject.Name)
		}
	}
	for role, times := range roles {
		if times != 1 {
			t.Errorf("%s is bound %d times", role, times)
		}
	}
}
