package kwok

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestNodeNames(t *testing.T) {
	for group, prefix := range map[string]string{
		"web":                     "web",
		"eu.web-1":                "eu.web-1",
		"Web_Pool":                "web-pool",
		"--a//b--":                "a-b",
		"..":                      "kwok",
		"":                        "kwok",
		"日本":                      "kwok",
		strings.Repeat("x", 57):   strings.Repeat("x", 57),
		strings.Repeat("x", 58):   strings.Repeat("x", 57),
		strings.Repeat("ab-", 40): strings.TrimSuffix(strings.Repeat("ab-", 19), "-"),
	} {
		want := regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + "-[a-z]{5}$")
		if name := nodeName(group); !want.MatchString(name) {
			t.Errorf("group %q: node %q, want %s", group, name, want)
		}
	}
}

func TestNodeNamesAreValidWhateverTheGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := nodeName(rapid.String().Draw(t, "group"))
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Fatalf("node %q: %v", name, problems)
		}
		if problems := validation.IsValidLabelValue(name); len(problems) > 0 {
			t.Fatalf("node %q as its hostname label: %v", name, problems)
		}
	})
}
