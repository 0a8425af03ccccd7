package rules

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// OverdueAfter is how long after its time to end is over a pod may still be there
// and be waited for: the kubelet and the API server need a while to agree.
const OverdueAfter = 30 * time.Second

// terminating: a pod that is being deleted is let end. One that should have ended
// long ago hangs on something that this node will not solve, and is not waited
// for. Where it is not known when its time is over, we err to wait.
var terminating = rule{
	name:  "Terminating",
	flags: model.Terminating,
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
