package migrate

import (
	"fmt"
	"strings"
)

// place is where the lease and the status ConfigMap are, if there are any.
type place struct {
	lease, status, namespace string
	elects, writes           bool
}

// placeOf is where a command line has its lease and its status ConfigMap.
func placeOf(l commandLine) place {
	c := l.config
	return place{lease: c.Leader.Name, status: c.Report.StatusConfigMap, namespace: c.Cluster.Namespace, elects: c.Leader.Enabled, writes: c.Report.WriteStatus}
}

// handover says how Plimsoll follows the Cluster Autoscaler. in is the namespace in
// words.
func (p place) handover(in string) []string {
	var out []string
	if p.elects {
		out = append(out, fmt.Sprintf("both have the lease %s in %s: only one of the two acts, and the other waits until it ends", p.lease, in))
	} else {
		out = append(out, "leader election is off: stop the Cluster Autoscaler before Plimsoll starts, or both act")
	}
	if p.writes {
		out = append(out, fmt.Sprintf("both write the ConfigMap %s in %s, and the Cluster Autoscaler deletes it when it ends; Plimsoll makes it again, and keeps its memory there", p.status, in))
	}
	return append(out,
		"nodes with the taint ToBeDeletedByClusterAutoscaler are taken over: a removal that was begun goes on or is given back",
		"backoffs and timers of the Cluster Autoscaler were in its memory: they begin anew")
}

// next says what to do with a translation. flags are those that a run takes.
func next(flags []flag, how ...string) []string {
	words := make([]string, 0, len(flags))
	for _, f := range flags {
		switch f.name {
		case "leader-elect-resource-name", "status-config-map-name":
			continue // an observer has its own
		case "kubeconfig", "address":
			continue // and so has the person
		}
		f.value = f.resolved
		words = append(words, quoted(f.String()))
	}
	out := []string{
		"observe first: with --mode=observe Plimsoll says what it would do, and writes nothing of yours (docs/observe.md); from where kubectl works: plimsoll run --mode=observe " + strings.Join(words, " "),
	}
	out = append(out, how...)
	return append(out,
		"see what it does: plimsoll status; see why a pod waits: kubectl describe pod",
		"to go back, apply the old one again: taints, annotations, lease and ConfigMap are the same")
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	if strings.ContainsAny(s, " \t\n\"'$&|;<>()*?[]{}~#!`\\") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
