package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestACourseThatIsEnded: the limit is named, moves are told as they begin, and what their old nodes still cost.
func TestACourseThatIsEnded(t *testing.T) {
	begun := model.MoveState{Text: "2 nodes for 1 of small", Goes: []string{"a", "b"}, Before: 2, Stage: "buying"}
	half := begun
	half.Stage, half.Left = "emptying", 1
	c := explain.Course{Limit: "1000 plans", Steps: []explain.CourseStep{{Moves: []model.MoveState{begun}}}}
	c.Last.Moves = []model.MoveState{half, {Text: "waits", Stage: model.MoveWaits, Before: 9}}
	var out bytes.Buffer
	if err := Course(&out, c, Table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  MOVE\n", "  2 nodes for 1 of small\n",
		"Not at rest: it was ended at the limit of 1000 plans",
		"1 move is under way. In the sums is what is bought for that, beside nodes for 1.00 per hour that are still " +
			"to go.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q:\n%s", want, out.String())
		}
	}
}

// TestNamesAreAddedUp: several classes of one name are one in what a group is bought for.
func TestNamesAreAddedUp(t *testing.T) {
	p := explain.Plan{Buy: []explain.Purchase{{Group: "g", To: 2, Max: 3, Pods: []explain.Pods{
		{Class: "web", Count: 2}, {Class: "db", Count: 1}, {Class: "web", Count: 3}}}}}
	var out bytes.Buffer
	if err := Plan(&out, p, Wide); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "6 (db x1, web x5)") {
		t.Errorf("not added up:\n%s", out.String())
	}
}
