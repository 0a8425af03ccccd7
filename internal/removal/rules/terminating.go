package rules

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// OverdueAfter is how long a pod is still waited for after its time to end is over: the
// kubelet and the API server need a while to agree.
const OverdueAfter = 30 * time.Second

// terminating: the node waits for a pod that is being deleted. A pod that should have
// ended long ago hangs for some other reason, and is not waited for. Where it is not
// known when a pod's time is over, we err to waiting.
var terminating = rule{
	name:     "Terminating",
	fleeting: true,
	flags:    model.Terminating,
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		if p.Ends == 0 {
			return Answer{Kind: Ends}, true
		}
		over := time.Unix(p.Ends, 0).UTC().Add(OverdueAfter)
		if c.snap.Now.Before(over) {
			return Answer{Kind: Ends, Verdict: model.Verdict{Until: over}}, true
		}
		return Answer{Kind: Stays}, true
	},
}
