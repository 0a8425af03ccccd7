package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// selector is one value of --node-group-auto-discovery: the tags that a group
// must have, all of them. An empty value stands for any.
type selector map[string]string

// parseDiscovery reads "asg:tag=key[=value],...". A key may contain colons, a
// value equals signs; of a key that is there twice the last one counts.
func parseDiscovery(text string) (selector, error) {
	wrong := func(format string, args ...any) (selector, error) {
		return nil, fmt.Errorf("%s: %s; the form is asg:tag=key[=value],..., as in asg:tag=k8s.io/cluster-autoscaler/enabled",
			quotedFlag("node-group-auto-discovery", text), fmt.Sprintf(format, args...))
	}
	kind, rest, found := strings.Cut(text, ":")
	if !found {
		return wrong("there is no colon")
	}
	if kind != "asg" {
		return wrong("%q is no way of finding groups on AWS", kind)
	}
	what, list, found := strings.Cut(rest, "=")
	if !found || what != "tag" {
		return wrong("%q is not tag=...", rest)
	}
	if list == "" {
		return wrong("it names no tag")
	}
	sel := selector{}
	for i, element := range strings.Split(list, ",") {
		key, value, _ := strings.Cut(element, "=")
		switch {
		case element == "":
			return wrong("element %d of the list is empty", i+1)
		case blank(key):
			return wrong("element %d, %q: the tag's key is empty or has white space at an end", i+1, element)
		case strings.TrimSpace(value) != value:
			return wrong("element %d, %q: the tag's value has white space at an end", i+1, element)
		}
		sel[key] = value
	}
	return sel, nil
}

// matches reports whether a group with these tags is meant.
func (s selector) matches(tags map[string]string) bool {
	for key, value := range s {
		have, ok := tags[key]
		if !ok || value != "" && have != value {
			return false
		}
	}
	return len(s) > 0
}

// filters ask the API for the groups that are meant; it ANDs them.
func (s selector) filters() []asgtypes.Filter {
	var out []asgtypes.Filter
	for _, key := range slices.Sorted(maps.Keys(s)) {
		f := asgtypes.Filter{Name: aws.String("tag-key"), Values: []string{key}}
		if s[key] != "" {
			f = asgtypes.Filter{Name: aws.String("tag:" + key), Values: []string{s[key]}}
		}
		out = append(out, f)
	}
	return out
}
