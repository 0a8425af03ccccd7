package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNodes(t *testing.T) {
	good := map[string]groupSpec{
		"0:10:workers":       {0, 10, "workers"},
		"3:3:a":              {3, 3, "a"},
		"0:0:off":            {0, 0, "off"},
		"1:5:eks-ng:1:2/x y": {1, 5, "eks-ng:1:2/x y"}, // all after the second colon
	}
	for text, want := range good {
		got, err := parseNodes(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	bad := map[string]string{
		"":                "1 of 3 parts",
		"workers":         "1 of 3 parts",
		"1:workers":       "2 of 3 parts",
		"x:10:workers":    `minimum "x"`,
		"1:ten:workers":   `maximum "ten"`,
		"1.5:10:workers":  `minimum "1.5"`,
		":10:workers":     `minimum ""`,
		"-1:10:workers":   "minimum -1",
		"5:4:workers":     "maximum 4 is below the minimum 5",
		"0:10:":           "empty",
		"0:10: workers":   "white space",
		"0:9999999999:w":  "maximum 9999999999",
		"0:10:workers\n":  "white space",
		"0: 10:workers":   `maximum " 10"`,
		"10:workers:0":    `maximum "workers"`,
		"asg:tag=enabled": "2 of 3 parts",
	}
	for text, want := range bad {
		_, err := parseNodes(text)
		wantError(t, err, "--nodes", text, want)
	}
}

func TestDiscovery(t *testing.T) {
	good := map[string]selector{
		"asg:tag=a":                  {"a": ""},
		"asg:tag=a,b=c":              {"a": "", "b": "c"},
		"asg:tag=a=":                 {"a": ""},
		"asg:tag=a=b=c":              {"a": "b=c"},
		"asg:tag=eks:cluster-name=c": {"eks:cluster-name": "c"}, // a key may have colons
		"asg:tag=a=1,a=2":            {"a": "2"},
		"asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/prod": {"k8s.io/cluster-autoscaler/enabled": "", "k8s.io/cluster-autoscaler/prod": ""},
	}
	for text, want := range good {
		got, err := parseDiscovery(text)
		if err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	bad := map[string]string{
		"":               "no colon",
		"asg":            "no colon",
		"mig:tag=a":      `"mig"`,
		"asg:":           `"" is not tag=`,
		"asg:tag":        `"tag" is not tag=`,
		"asg:tags=a":     "is not tag=",
		"asg:label=a":    "is not tag=",
		"asg:tag=":       "names no tag",
		"asg:tag=a,,b":   "element 2 of the list is empty",
		"asg:tag=a,":     "element 2 of the list is empty",
		"asg:tag=,a":     "element 1 of the list is empty",
		"asg:tag==b":     "element 1",
		"asg:tag=a, b":   "element 2",
		"asg:tag=a=b ,c": "element 1",
	}
	for text, want := range bad {
		_, err := parseDiscovery(text)
		wantError(t, err, "--node-group-auto-discovery", text, want)
	}
}

// wantError: an error names the flag, its text, and what is wrong.
func wantError(t *testing.T, err error, flag, text, what string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s=%q is accepted", flag, text)
		return
	}
	if !strings.HasPrefix(err.Error(), quotedFlag(flag[2:], text)) || !strings.Contains(err.Error(), what) {
		t.Errorf("%s=%q: the error does not tell %q: %v", flag, text, what, err)
	}
}

// TestTagsAreAndedWithinAFlag, and flags are ORed: unlike upstream, which ANDs
// them all.
func TestTagsAreAndedWithinAFlag(t *testing.T) {
	s, err := Config{Discovery: []string{"asg:tag=enabled,cluster=one", "asg:tag=shared"}}.read()
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{settings: s}
	for _, c := range []struct {
		tags map[string]string
		want bool
	}{
		{map[string]string{"enabled": "true", "cluster": "one"}, true},
		{map[string]string{"enabled": "true", "cluster": "two"}, false},
		{map[string]string{"enabled": "true"}, false},
		{map[string]string{"shared": ""}, true},
		{map[string]string{"SHARED": ""}, false},
		{nil, false},
	} {
		if _, got := p.meant(asgWithTags("g", c.tags)); got != c.want {
			t.Errorf("tags %v: meant %v, want %v", c.tags, got, c.want)
		}
	}
}

func TestConfigTellsAllThatIsWrong(t *testing.T) {
	err := Config{
		Nodes: []string{"a", "1:2:ok"}, Discovery: []string{"b:c"}, Precedence: "mine", NodegroupTTL: time.Millisecond,
		MaxPods: "0", KubeReserved: "gpu=1",
	}.Validate()
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, part := range []string{`--nodes="a"`, `--node-group-auto-discovery="b:c"`, `--aws-template-precedence="mine"`,
		"--aws-nodegroup-cache-ttl=1ms", `--aws-max-pods="0"`, `--aws-kube-reserved="gpu=1"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
	if err := (Config{}).Validate(); err == nil || !strings.Contains(err.Error(), "no node group") {
		t.Errorf("no group at all: %v", err)
	}
}

func TestTheFirstOfTwoSpecsHolds(t *testing.T) {
	s, err := Config{Nodes: []string{"1:2:g", "3:4:g"}}.read()
	if err != nil || len(s.explicit) != 1 || s.explicit[0] != (groupSpec{1, 2, "g"}) || len(s.repeated) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func FuzzNodes(f *testing.F) {
	f.Add("0:10:workers")
	f.Add("1:2")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := parseNodes(text)
		if err == nil && (spec.min < 0 || spec.max < spec.min || spec.name == "" || !strings.HasSuffix(text, spec.name)) {
			t.Errorf("%q: %+v", text, spec)
		}
		if err != nil && !strings.Contains(err.Error(), quotedFlag("nodes", text)) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzDiscovery(f *testing.F) {
	f.Add("asg:tag=a,b=c")
	f.Add("asg:tag=a,,b")
	f.Fuzz(func(t *testing.T, text string) {
		sel, err := parseDiscovery(text)
		if err != nil {
			return
		}
		tags := map[string]string{}
		for key, value := range sel {
			if key == "" {
				t.Errorf("%q: an empty key", text)
			}
			tags[key] = value
		}
		if !sel.matches(tags) || len(sel.filters()) != len(sel) {
			t.Errorf("%q: %v does not match what it names", text, sel)
		}
	})
}
