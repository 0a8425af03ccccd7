package migrate

import "fmt"

// place is where the lease and the status ConfigMap are, if there are any.
type place struct {
	lease, status, namespace string
	elects, writes           bool
}

// placeOf is where a command line has its lease and its status ConfigMap.
func placeOf(l commandLine) place {
	c := l.config
	return place{lease: c.Leader.Name, status: c.Report.StatusConfigMap, namespace: c.Cluster.Namespace,
		elects: c.Leader.Enabled, writes: c.Report.WriteStatus}
}

// handover says how Plimsoll follows the Cluster Autoscaler. in is the namespace in
// words. The first line is of the lease, the second of the ConfigMap if one is written.
func (p place) handover(in string) []string {
	var out []string
	if p.elects {
		out = append(out, fmt.Sprintf(
			"both have the lease %s in %s: only one of the two acts, and the other waits until it ends", p.lease, in,
		))
	} else {
		out = append(out, "leader election is off: stop the Cluster Autoscaler before Plimsoll starts, or both act")
	}
	if p.writes {
		out = append(out, fmt.Sprintf("both write the ConfigMap %s in %s, and the Cluster Autoscaler deletes it when it "+
			"ends; Plimsoll makes it again, and keeps its memory there", p.status, in))
	}
	return append(out,
		"nodes with the taint ToBeDeletedByClusterAutoscaler are taken over: a removal that was begun goes on or is "+
			"given back",
		"backoffs and timers of the Cluster Autoscaler were in its memory: they begin anew")
}

// next says what to do with a translation that has been tried.
func (p place) next(tried []string, how ...string) []string {
	back := "to go back, apply the old one again"
	if !p.elects {
		back = "to go back, scale Plimsoll's Deployment to 0, wait until its pod is gone, and apply the old one again"
	}
	return append(append(tried, how...),
		"see what it does: plimsoll status; see why a pod waits: kubectl describe pod",
		back+": taints, annotations, lease and ConfigMap are the same")
}
