package story

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// notTriggered is the reason of Plimsoll's events on pods that get no node.
const notTriggered = "NotTriggerScaleUp"

// refusals are the pools of which Plimsoll has said that a pod gets no node.
type refusals struct{ pools map[string]bool }

func (r refusals) take(event *corev1.Event) {
	if event.Source.Component != eventSource || event.Reason != notTriggered {
		return
	}
	for _, one := range gardenerSizings {
		// A pod's name is its Deployment's and more, and the Deployment's is the pool's.
		if strings.HasPrefix(event.InvolvedObject.Name, one.pool+"-") {
			r.pools[one.pool] = true
		}
	}
}

// all reports whether there was a word on every pool.
func (r refusals) all() bool { return len(r.pools) == len(gardenerSizings) }

// othersNodes are the parts of a reason that say only that another pool's nodes are
// not those that a pod selects.
var othersNodes = regexp.MustCompile(`[a-z0-9-]+: NodeAffinity \([^)]*(?:\)|$)(?:; )?`)

// withoutOthers leaves of Plimsoll's reasons those that tell something in this story,
// where every pod is for one pool. What events on pods say of them, the log has said.
func withoutOthers(text string) string {
	if strings.Contains(text, ": "+notTriggered+": ") {
		return ""
	}
	return strings.TrimSuffix(othersNodes.ReplaceAllString(text, ""), "; ")
}

// String is the summary.
func (r gardenerResult) String() string {
	rows := [][]string{{"sizing"}}
	for _, one := range gardenerSizings {
		rows = append(rows, []string{one.sizing})
	}
	for _, step := range r.Steps {
		rows[0] = append(rows[0], step.What)
		for i, pool := range step.Pools {
			var zones []string
			for _, z := range pool.Zones {
				zones = append(zones, fmt.Sprint(z.Nodes.Ready))
			}
			rows[i+1] = append(rows[i+1], fmt.Sprintf("%s = %d", strings.Join(zones, "+"), pool.sum().Nodes.Ready))
		}
	}
	text := fmt.Sprintf("Machines in %s, at the end of each step:\n\n%s\n\n",
		strings.Join(gardenerZones, "+"), table(rows))
	rows = [][]string{{"sizing", "minimum", "least asked for", "most asked for", "maximum"}}
	for _, one := range gardenerSizings {
		rows = append(rows, []string{
			one.sizing, fmt.Sprint(gardenerMin), fmt.Sprint(r.Least[one.pool]), fmt.Sprint(r.Most[one.pool]),
			fmt.Sprint(gardenerMax),
		})
	}
	return text + "Asked for by each pool at once, by a watch of all that was written (the least: once the minimum was there):\n\n" + table(rows) + `

A pool's limits hold under every sizing. Under Backward-Compatible a zone that cannot grow keeps
its share of the maximum, and the pool is left below it; under the others its share is used elsewhere.`
}
