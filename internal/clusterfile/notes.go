package clusterfile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// TheMemory stands among the unread resources for what the leader had written down.
const TheMemory = "the leader's memory"

// meaning is what it means that nothing is known of a resource. Those that are not in it may well be
// missing: many clusters have none.
var meaning = map[string]string{
	"nodes":                  "all pods would need new nodes",
	"pods":                   "all nodes look empty",
	"namespaces":             "affinity by the labels of namespaces finds none",
	"daemonsets":             "new nodes are taken to have no DaemonSet pods",
	"poddisruptionbudgets":   "all evictions look allowed",
	"persistentvolumeclaims": "pods with claims cannot be placed",
	"persistentvolumes":      "zones of volumes are unknown",
	"storageclasses":         "it is unknown where new volumes can be made",
	"csinodes":               "limits on volumes of a node are unknown",
	TheMemory:                "timers and backoffs begin again",
}

// Notes say, for a person, what the files lack and what that means, what could not be read, and what was
// left out.
func (c *Cluster) Notes() []string {
	var out []string
	here := map[reflect.Type]bool{}
	for _, obj := range c.Objects {
		here[reflect.TypeOf(obj)] = true
	}
	for what, why := range c.Unread {
		note := fmt.Sprintf("%s could not be read (%s)", what, why)
		if means := meaning[what]; means != "" {
			note += ": " + means
		}
		out = append(out, note)
	}
	for _, k := range kinds() {
		means := meaning[k.Resource]
		if _, failed := c.Unread[k.Resource]; means != "" && !failed && !here[reflect.TypeOf(k.Example)] &&
			!slices.Contains(c.Listed, k.Resource) {
			out = append(out, fmt.Sprintf("no %s: %s", spelling.Plural(k.gvk.Kind), means))
		}
	}
	slices.Sort(out)
	out = append(out, c.odd()...)
	if n := len(c.Replaced); n > 0 {
		out = append(out, fmt.Sprintf("%s %s replaced by a later one of the same name, such as %s: are the files of one "+
			"cluster?", spelling.Count(n, "object"), spelling.Are(n), c.Replaced[0]))
	}
	inventory, _ := c.Groups() // why there are none is told in its place
	for i := range inventory.Groups {
		if g := &inventory.Groups[i]; g.Err == nil && g.Target > g.Max {
			out = append(out, fmt.Sprintf("group %s is asked for %s, and its maximum is %d: it does not grow, and nothing is "+
				"removed for a maximum", g.ID, spelling.Count(g.Target, "node"), g.Max))
		}
	}
	if len(c.Skipped) > 0 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(c.Skipped)) {
			kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, c.Skipped[kind]))
		}
		out = append(out, "left out, since deciding does not read them: "+strings.Join(kinds, ", "))
	}
	return out
}
