package clusterapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]spec{
		"clusterapi:":               {labels: map[string]string{}},
		"clusterapi:clusterName=c1": {cluster: "c1", labels: map[string]string{}},
		"clusterapi:namespace=eksa-system,clusterName=c1":        {namespace: "eksa-system", cluster: "c1", labels: map[string]string{}},
		"clusterapi:color=green,shape=square":                    {labels: map[string]string{"color": "green", "shape": "square"}},
		"clusterapi:namespace=a,clusterName=b,example.com/own=x": {namespace: "a", cluster: "b", labels: map[string]string{"example.com/own": "x"}},
	} {
		got, err := parseSpec(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(spec{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"clusterapi:,clusterName=c1,,mylabel=,": "clusterapi:clusterName=c1,mylabel=",
		"clusterapi:namespace=,clusterName=":    "clusterapi:",
		"clusterapi:,":                          "clusterapi:",
	} {
		got, err := parseSpec(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for text, why := range map[string]string{
		"clusterapi":                        "there is no colon",
		"asg:tag=x":                         `"asg" is no way`,
		"clusterapi:a=b:c=d":                "more than one colon",
		"clusterapi:clusterName":            "not key=value",
		"clusterapi:=c1":                    "not key=value",
		"clusterapi:a=b=c":                  "not key=value",
		"clusterapi:a=b,,c":                 "element 3",
		"clusterapi:clusterName= c1":        "white space",
		"clusterapi:namespace=Not_A_Name":   "no namespace",
		"clusterapi:not a key=x":            "no label key",
		"clusterapi:key=what is this value": "no label value",
	} {
		if _, err := parseSpec(text); err == nil || !strings.Contains(err.Error(), why) ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want one that tells %q and the text", text, err, why)
		}
	}
}

// A spec that was read reads the same when it is written and read again.
func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		"clusterapi:", "clusterapi:clusterName=c1,namespace=n,a.b/c=d", "clusterapi:=,", "x:y", ":", "clusterapi:a=b:c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSpec(text)
		if err != nil {
			return
		}
		again, err := parseSpec(s.String())
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(spec{})); err != nil || diff != "" {
			t.Errorf("%q, written as %q: %v\n%s", text, s, err, diff)
		}
	})
}

func TestSpecMeans(t *testing.T) {
	g := &scalable{namespace: "n", cluster: "c", labels: map[string]string{"color": "green", "empty": ""}}
	for text, want := range map[string]bool{
		"clusterapi:":                              true,
		"clusterapi:namespace=n,clusterName=c":     true,
		"clusterapi:clusterName=c,color=green":     true,
		"clusterapi:namespace=other":               false,
		"clusterapi:clusterName=other":             false,
		"clusterapi:color=red":                     false,
		"clusterapi:empty=":                        true,
		"clusterapi:color=":                        false,
		"clusterapi:clusterName=c,shape=square":    false,
		"clusterapi:namespace=n,clusterName=c,x=y": false,
	} {
		s, err := parseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.means(g); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestConfig(t *testing.T) {
	s, err := Config{}.read()
	if err != nil || s.keys.group != "cluster.x-k8s.io" || s.arch != "amd64" || !s.meant(&scalable{namespace: "any"}) {
		t.Errorf("of nothing: %+v, %v", s, err)
	}
	env := map[string]string{
		"CAPI_GROUP": "cluster.example.com", "CAPI_VERSION": "v1beta1", "CAPI_SCALE_ZERO_DEFAULT_ARCH": "arm64",
	}
	s, err = ConfigFromEnv(func(name string) string { return env[name] }).read()
	if err != nil || s.keys.deleteMe() != "cluster.example.com/delete-machine" || s.version != "v1beta1" ||
		s.arch != "arm64" {
		t.Errorf("of the environment: %+v, %v", s, err)
	}
	if s, err = (Config{DefaultArch: "m68k"}).read(); err != nil || s.arch != "amd64" ||
		!strings.Contains(s.oddArch, "m68k") {
		t.Errorf("of an unknown architecture: %+v, %v", s, err)
	}
	err = Config{Discovery: []string{"asg:x"}, APIGroup: "Not a group", APIVersion: "2"}.Validate()
	for _, part := range []string{"node-group-auto-discovery", "CAPI_GROUP", "CAPI_VERSION"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not tell of %s", err, part)
		}
	}
}

func TestNamespaces(t *testing.T) {
	for _, c := range []struct {
		specs []string
		want  []string
	}{
		{nil, []string{""}},
		{[]string{"clusterapi:namespace=b", "clusterapi:namespace=a,clusterName=c", "clusterapi:namespace=b,x=y"}, []string{"a", "b"}},
		{[]string{"clusterapi:namespace=a", "clusterapi:clusterName=c"}, []string{""}},
	} {
		s, err := Config{Discovery: c.specs}.read()
		if diff := cmp.Diff(c.want, s.namespaces()); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", c.specs, err, diff)
		}
	}
}

// The five ways of docs/clusterapi.md.
func TestManagementKubeconfig(t *testing.T) {
	for _, c := range []struct {
		mode, cloudConfig, kubeconfig string
		authoritative                 bool
		want                          string
	}{
		{"incluster-incluster", "", "", false, ""},
		{"incluster-kubeconfig", "/mgmt", "", false, "/mgmt"},
		{"kubeconfig-incluster", "", "/workload", true, ""},
		{"kubeconfig-kubeconfig", "/mgmt", "/workload", false, "/mgmt"},
		{"kubeconfig-kubeconfig, authoritative", "/mgmt", "/workload", true, "/mgmt"},
		{"single-kubeconfig", "", "/both", false, "/both"},
	} {
		if got := ManagementKubeconfig(c.cloudConfig, c.kubeconfig, c.authoritative); got != c.want {
			t.Errorf("%s: %q, want %q", c.mode, got, c.want)
		}
	}
}

func TestChooseVersion(t *testing.T) {
	for _, c := range []struct {
		served       []string
		wanted, want string
	}{
		{[]string{"v1beta2", "v1beta1"}, "", "v1beta2"},
		{[]string{"v1beta1", "v1beta2"}, "", "v1beta2"},
		{[]string{"v1beta1"}, "", "v1beta1"},
		{[]string{"v1", "v1beta2"}, "", "v1beta2"},
		{[]string{"v1beta2", "v1beta1"}, "v1beta1", "v1beta1"},
		{[]string{"v1"}, "v1", "v1"},
		{[]string{"v1"}, "", ""},
		{[]string{"v1beta2"}, "v1beta1", ""},
	} {
		got, err := chooseVersion(c.served, c.wanted)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v, wanted %q: %q, %v", c.served, c.wanted, got, err)
		}
	}
}
