package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// noticesPerCycle is how many notices get an event in one cycle; the others wait
// for their turn. A thousand groups may share one mistake.
const noticesPerCycle = 25

// noticed tells of what the provider, or an operator's document, has a person know:
// once, when it begins. What providers say they log themselves.
func (e *events) noticed(now time.Time, notices []provider.Notice) {
	told := make(map[provider.Notice]bool, len(notices))
	left := noticesPerCycle
	for _, n := range notices {
		switch {
		case e.told[n]:
			told[n] = true
		case left > 0 && !told[n]:
			message := n.Message
			if n.Group != "" {
				message = fmt.Sprintf("Group %s: %s", n.Group, n.Message)
			}
			e.send(now, e.status, string(n.Group)+"/"+n.Message, corev1.EventTypeWarning, n.Code, message)
			told[n] = true
			left--
		}
	}
	e.told = told
}
