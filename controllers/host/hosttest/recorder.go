package hosttest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Recorder keeps the events that it is told.
type Recorder struct{ told []Told }

// Told is an event. Related is the kind and the name of the second object that it is about, empty
// for none.
type Told struct{ Type, Reason, Action, Related, Text string }

// Eventf implements events.EventRecorder.
func (r *Recorder) Eventf(_, related runtime.Object, kind, reason, action, note string, args ...any) {
	told := Told{Type: kind, Reason: reason, Action: action, Text: fmt.Sprintf(note, args...)}
	if o, ok := related.(client.Object); ok {
		told.Related = fmt.Sprintf("%s %s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
	}
	r.told = append(r.told, told)
}

// Take are the events since it was last asked.
func (r *Recorder) Take() []Told {
	told := r.told
	r.told = nil
	return told
}

// Texts are events as people read them: "Warning Reason text".
func Texts(told []Told) []string {
	var all []string
	for _, t := range told {
		all = append(all, t.Type+" "+t.Reason+" "+t.Text)
	}
	return all
}
