package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// noticesPerCycle is how many notices get an event in one cycle; the others follow in later cycles.
// A thousand groups may share one mistake.
const noticesPerCycle = 25

// noticed sends an event for each new notice of the provider or of an operator's document.
// Providers log theirs themselves.
func (e *events) noticed(now time.Time, notices []provider.Notice) {
	sent := make(map[provider.Notice]bool, len(notices))
	left := noticesPerCycle
	for _, n := range notices {
		switch {
		case e.sentNotices[n]:
			sent[n] = true
		case left > 0 && !sent[n]:
			message := n.Message
			if n.Group != "" {
				message = fmt.Sprintf("Group %s: %s", n.Group, n.Message)
			}
			e.send(now, e.status, string(n.Group)+"/"+n.Message, corev1.EventTypeWarning, n.Code, message)
			sent[n] = true
			left--
		}
	}
	e.sentNotices = sent
}
