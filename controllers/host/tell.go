package host

import (
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxText is how much text an event takes.
const maxText = 1000

// Event is an event on an object. Related is a second object that it is about, nil for none.
type Event struct {
	About, Related             runtime.Object
	Type, Reason, Action, Text string
}

// Tell sends an event.
//
// Recorders count an event as one that has happened before if it agrees with an
// earlier one in everything but the text, and drop the second text. So the action
// ends in a digest of the text: what is told again in the same words is counted, and
// other words are another event.
func Tell(recorder events.EventRecorder, e Event) {
	digest := fnv.New32a()
	digest.Write([]byte(e.Text)) // never fails
	text := e.Text
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	recorder.Eventf(e.About, e.Related, e.Type, e.Reason, fmt.Sprintf("%s-%08x", e.Action, digest.Sum32()), "%s", text)
}
