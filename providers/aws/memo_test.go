package aws

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestWhatIsNotFoundIsNotRemembered: trouble leaves the last answer, and a
// definite no ends it.
func TestWhatIsNotFoundIsNotRemembered(t *testing.T) {
	m := newMemo[string, int](newClock().now, always[string](time.Hour))
	m.put("a", 7)
	m.fail("a", errServer)
	if v, err := m.get("a"); v != 7 || err != nil {
		t.Errorf("after trouble: %d, %v", v, err)
	}
	m.fail("a", fmt.Errorf("describe a: %w", errNotFound))
	if v, err := m.get("a"); v != 0 || !errors.Is(err, errNotFound) {
		t.Errorf("after it was not found: %d, %v", v, err)
	}
}

// TestWhatIsNotAskedForIsForgotten, and nothing else is: an outage, in which no request can be made, is no reason.
func TestWhatIsNotAskedForIsForgotten(t *testing.T) {
	clock := newClock()
	m := newMemo[string, int](clock.now, always[string](time.Hour))
	m.due([]string{"a", "b"})
	m.put("a", 1)
	m.put("b", 2)
	clock.pass(memoKept + time.Hour)
	if due := m.due([]string{"a"}); len(due) != 1 {
		t.Errorf("due: %v", due)
	}
	if v, _ := m.get("a"); v != 1 {
		t.Errorf("what is asked for after an outage is %d", v)
	}
	if _, ok := m.kept["b"]; ok {
		t.Error("what has not been asked for is still kept")
	}
	m.fail("a", errServer)
	for range 3 {
		clock.pass(memoKept / 2)
		m.due([]string{"a"})
	}
	if v, _ := m.get("a"); v != 1 {
		t.Errorf("what is asked for all the time is %d", v)
	}
}

// TestADeletedVersionTakesNoOtherWithIt: it spoils the call for both, and that
// says nothing of the one that is there.
func TestADeletedVersionTakesNoOtherWithIt(t *testing.T) {
	group := func(name, version string) awstest.Group {
		return named(name, func(g *awstest.Group) { g.LaunchTemplate = template(version) })
	}
	spec := awstest.Spec{LaunchTemplates: []awstest.LaunchTemplate{{
		ID:       "lt-1",
		Name:     "nodes",
		Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "c5.large"}},
	}},
		Groups: []awstest.Group{group("stays", "1"), group("goes", "2")}}
	w := newWorld(t, spec, byTag)
	w.read(t)
	if err := w.Change(func(s *awstest.Spec) {
		s.LaunchTemplates[0].Versions = s.LaunchTemplates[0].Versions[:1]
	}); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(fixedTTL)
	w.Arm(awstest.Fault{Action: "DescribeLaunchTemplateVersions", Times: 1, After: true, Met: func() {
		w.Arm(awstest.Fault{Action: "DescribeLaunchTemplateVersions", Mishap: awstest.Denied})
	}})
	if g := w.group(t, "stays"); typeOf(g) != "m5.large" {
		t.Errorf("type %q, %v", typeOf(g), g.TemplateErr)
	}
}

// TestADeletedVersionIsSeen: the group launches nothing any more, and is not to be
// shown as if it could.
func TestADeletedVersionIsSeen(t *testing.T) {
	spec := awstest.Spec{LaunchTemplates: []awstest.LaunchTemplate{{
		ID:       "lt-1",
		Name:     "nodes",
		Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "c5.large"}},
	}},
		Groups: []awstest.Group{named("g", func(g *awstest.Group) { g.LaunchTemplate = template("2") })}}
	w := newWorld(t, spec, byTag)
	if typeOf(w.group(t, "g")) != "c5.large" {
		t.Fatal("it has no template")
	}
	if err := w.Change(func(s *awstest.Spec) {
		s.LaunchTemplates[0].Versions = s.LaunchTemplates[0].Versions[:1]
	}); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(fixedTTL)
	if g := w.group(t, "g"); g.Template != nil || g.TemplateErr == nil || g.TemplateErr.Kind != provider.NotFound {
		t.Errorf("type %q, %v", typeOf(g), g.TemplateErr)
	}
}
