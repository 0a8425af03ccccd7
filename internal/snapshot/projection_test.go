package snapshot_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestSnapshotAfterANewCatalog: when observe has started a new catalog, numbers
// of the old one mean something else; nothing of the old snapshot may be used.
func TestSnapshotAfterANewCatalog(t *testing.T) {
	old := testkit.New()
	for _, app := range []string{"a", "b", "c", "d"} {
		old.Pending(testkit.Pod("default", app, "1", "1Gi", map[string]string{"app": app}), 1)
	}
	first := snapshot.New(nil, old.Observation(), model.Standing{}, model.Rules{})

	c := testkit.New()
	c.Catalog = catalog.New()
	pod := testkit.Pod("default", "z", "2", "1Gi", map[string]string{"app": "z"})
	c.Pending(pod, 2)
	s := snapshot.New(first, c.Observation(), model.Standing{}, model.Rules{})
	if len(s.Pending) != 1 || s.Classes[s.Pending[0].Class].Spec.Requests.MilliCPU != 2000 {
		t.Fatalf("pending %+v of classes %+v", s.Pending, s.Classes)
	}
}

// TestClassesByContent: pods are one class whatever their names and owners, and
// two where a label differs that some pod's selector reads.
func TestClassesByContent(t *testing.T) {
	c := testkit.New()
	for i, name := range []string{"web-0", "web-1", "web-2"} {
		c.Pending(
			testkit.Pod("default", name, "1", "1Gi", map[string]string{"app": "web", "index": string(rune('0' + i))}), 1,
		)
	}
	s := snapshot.New(nil, c.Observation(), model.Standing{}, model.Rules{})
	if len(s.Pending) != 1 || len(s.Pending[0].Pods) != 3 {
		t.Fatalf("%d classes for three pods that differ in a label that no selector reads", len(s.Pending))
	}
	picky := testkit.Pod("default", "picky", "1", "1Gi", nil)
	testkit.Apart(picky, "kubernetes.io/hostname", map[string]string{"index": "0"})
	c.Pending(picky, 1)
	s = snapshot.New(s, c.Observation(), model.Standing{}, model.Rules{})
	if len(s.Pending) != 4 {
		t.Fatalf("%d classes, want one for each of three labels that a selector now reads, and the reader's", len(s.Pending))
	}
}
