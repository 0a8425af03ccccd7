package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/plimsoll-dev/plimsoll/controllers/host"
	"github.com/plimsoll-dev/plimsoll/controllers/host/hosttest"
)

// sink is where a real broadcaster sends events.
type sink struct {
	mu   sync.Mutex
	made []string // the texts of events that were made
	more int      // how often one was said to have happened again
}

func (s *sink) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, e.Note)
	return e, nil
}

func (s *sink) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more++
	return e, nil
}

func (s *sink) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) { return e, nil }

// TestEveryTextIsTold: in a series of events that are equal but for their text, each
// text gets to the API server; the same words again are counted.
func TestEveryTextIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &sink{}
		broadcaster := events.NewBroadcaster(s)
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		recorder := broadcaster.NewRecorder(scheme.Scheme, "test")
		about := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "u", ResourceVersion: "7"},
		}
		for _, text := range []string{"a is written", "b is written", "a is written", "c is written"} {
			host.Tell(recorder, host.Event{About: about, Type: "Warning", Reason: "Written", Action: "Write", Text: text})
			synctest.Wait() // events travel by goroutines that overtake each other
		}
		if diff := cmp.Diff([]string{"a is written", "b is written", "c is written"}, s.made); diff != "" {
			t.Error(diff)
		}
		if s.more != 1 {
			t.Errorf("%d events were said to have happened again, want the one", s.more)
		}
		broadcaster.Shutdown()
		cancel()
	})
}

// TestLongTexts: a text that is cut is still told apart by what was cut off, and is
// no half of a letter.
func TestLongTexts(t *testing.T) {
	r := &hosttest.Recorder{}
	long := "x" + strings.Repeat("é", 600)
	for _, text := range []string{long + "1", long + "2"} {
		host.Tell(r, host.Event{About: &corev1.ConfigMap{}, Type: "Warning", Reason: "R", Action: "A", Text: text})
	}
	told := r.Take()
	if told[0].Action == told[1].Action {
		t.Errorf("both have the action %s", told[0].Action)
	}
	for _, e := range told {
		if len(e.Text) > 1000 || len(e.Text) < 998 || !utf8.ValidString(e.Text) {
			t.Errorf("the text has %d bytes: %q", len(e.Text), e.Text)
		}
	}
}
