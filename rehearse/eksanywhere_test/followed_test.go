package eksanywhere_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// TestHistoryTellsWhatItMissed: a watch that fails is no history without events.
func TestHistoryTellsWhatItMissed(t *testing.T) {
	named := func(version, replicas string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetResourceVersion(version)
		u.SetLabels(map[string]string{"replicas": replicas})
		return u
	}
	h := &history{
		read: func(u *unstructured.Unstructured) string { return u.GetLabels()["replicas"] }, changed: make(chan struct{}),
	}
	for _, u := range []*unstructured.Unstructured{named("1", "a"), named("2", "a"), named("3", "b")} {
		h.take(watch.Event{Type: watch.Modified, Object: u})
	}
	if got := strings.Join(h.seen, " "); got != "a b" || h.at != "3" || h.err != nil {
		t.Errorf("seen %s, up to %s, %v", got, h.at, h.err)
	}
	woken := h.changed
	h.take(watch.Event{
		Type:   watch.Error,
		Object: &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Message: "too old"},
	})
	if h.err == nil || !strings.Contains(h.err.Error(), "too old") {
		t.Errorf("the failure is told as %v", h.err)
	}
	select {
	case <-woken:
	default:
		t.Error("who waits is not told")
	}
}
