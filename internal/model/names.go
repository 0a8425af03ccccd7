package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Workload is what made a pod, as "Deployment shop/api"; empty of a pod that nothing made. A ReplicaSet whose name ends
// in the hash of its pods' template is a Deployment's.
func (c *Contents) Workload(p *Pod) string {
	kind, name := c.maker(p)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s %s/%s", kind, c.Specs[p.Spec].Pod.Namespace, name)
}

// maker is the kind and the name of what made a pod.
func (c *Contents) maker(p *Pod) (kind, name string) {
	if len(c.Facts) == 0 {
		return "", ""
	}
	f := c.Facts[p.Facts]
	kind, name = f.Controller, f.Maker
	if kind == "ReplicaSet" && f.Group == "apps" {
		hash := c.Labels[p.Labels].Labels["pod-template-hash"]
		if of, ok := strings.CutSuffix(name, "-"+hash); ok && hash != "" && of != "" {
			return "Deployment", of
		}
	}
	return kind, name
}

// Workloads are what made the pods of a class, each once, sorted; pods that nothing made are there as "Pod shop/debug".
func (c *Contents) Workloads(pods []*Pod) []string {
	if len(pods) == 0 {
		return []string{}
	}
	in := c.Specs[pods[0].Spec].Pod.Namespace // of one class, as all of them
	return c.eachMaker(pods, func(kind, name string) string { return kind + " " + in + "/" + name })
}

// eachMaker names what made some pods, each once, sorted. Of pods that one controller made, one is looked at.
func (c *Contents) eachMaker(pods []*Pod, text func(kind, name string) string) []string {
	type made struct {
		facts FactsID
		owner types.UID
	}
	var out []string
	seen := map[made]bool{}
	for _, p := range pods {
		m := made{p.Facts, p.Owner}
		kind, name := c.maker(p)
		switch {
		case name == "":
			kind, name = "Pod", p.Name
		case seen[m]:
			continue
		}
		seen[m] = true
		out = append(out, text(kind, name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ClassNames gives each class a name for a person, and no two of them one name: the workloads of its pods without a
// node, or the only such pod; of classes without such pods, its number.
func (s *Snapshot) ClassNames() []string {
	names, called := make([]string, len(s.Classes)), map[string]int{}
	for i := range names {
		names[i] = fmt.Sprintf("%s/class-%d", s.Classes[i].Namespace(), i)
	}
	for i := range s.Pending {
		q := &s.Pending[i]
		names[q.Class] = spelling.Some(s.Contents.short(s.Classes[q.Class].Namespace(), q.Pods))
		called[names[q.Class]]++
	}
	for i := range s.Pending {
		// Pods of one workload that differ, in their claims or by a rollout, are told apart by a pod of each.
		if q := &s.Pending[i]; called[names[q.Class]] > 1 {
			names[q.Class] += " (like " + q.Pods[0].Name + ")"
		}
	}
	return names
}

// short are the names of what made the pods of a class, without the kinds. Pods that nothing made go by what their
// names have in common, and a pod that is the only one by its own.
func (c *Contents) short(namespace string, pods []*Pod) []string {
	if len(pods) == 1 {
		return []string{namespace + "/" + pods[0].Name}
	}
	var alone, made []*Pod
	for _, p := range pods {
		if _, name := c.maker(p); name == "" {
			alone = append(alone, p)
		} else {
			made = append(made, p)
		}
	}
	out := c.eachMaker(made, func(_, name string) string { return namespace + "/" + name })
	if len(alone) > 0 {
		out = append(out, namespace+"/"+commonName(alone))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// commonName is what the pods' names begin with in common, up to the end of a word, without the dash and the digits
// that it may end in. Lists are sorted, so that the first and the last differ the most.
func commonName(pods []*Pod) string {
	first, last := pods[0].Name, pods[len(pods)-1].Name
	if first == last {
		return first
	}
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	name := strings.TrimRight(first[:n], "0123456789")
	if len(name) == n && unicode.IsLetter(rune(last[n])) { // within a word
		name = name[:strings.LastIndex(name, "-")+1]
	}
	if name = strings.TrimRight(name, "-0123456789"); name != "" {
		return name
	}
	return fmt.Sprintf("%s and %s", first, spelling.Count(len(pods)-1, "other"))
}
