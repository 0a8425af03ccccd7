package gardener

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestMarksKeepWhatOthersWrote(t *testing.T) {
	text := "old, strange~yesterday,dated~2026-01-02T03:04:05+02:00,~unnamed,"
	marks := parseMarks(text)
	want := []mark{
		{machine: "old", text: "old"},
		{machine: "strange", text: "strange~yesterday"},
		{"dated", at("2026-01-02T03:04:05+02:00"), "dated~2026-01-02T03:04:05+02:00"},
	}
	if diff := cmp.Diff(want, marks, cmp.AllowUnexported(mark{})); diff != "" {
		t.Error(diff)
	}
	// A machine that is named again has the new time alone.
	got := formatMarks(addMarks(marks, []string{"new", "old"}, at("2026-02-01T00:00:00Z")))
	const all = "strange~yesterday,dated~2026-01-02T03:04:05+02:00,new~2026-02-01T00:00:00Z,old~2026-02-01T00:00:00Z"
	if got != all {
		t.Errorf("%s, want %s", got, all)
	}
	if got := formatMarks(addMarks(nil, []string{"a", "b"}, time.Time{})); got != "a,b" {
		t.Errorf("without times: %s", got)
	}
}

// A leader whose clock is behind must not write a time before one that is there:
// machines with that one would look as if they were still to come.
func TestMarkTimeNeverGoesBack(t *testing.T) {
	now := at("2026-01-01T12:00:00Z").Add(time.Second / 2)
	for _, c := range []struct{ last, mark, want string }{
		{"", "", "2026-01-01T12:00:00Z"},
		{"2026-01-01T11:00:00Z", "2026-01-01T11:30:00Z", "2026-01-01T12:00:00Z"},
		{"2026-01-01T13:00:00Z", "", "2026-01-01T13:00:00Z"},
		{"2026-01-01T13:00:00Z", "2026-01-01T14:00:00Z", "2026-01-01T14:00:00Z"},
		{"nonsense", "", "2026-01-01T12:00:00Z"},
	} {
		d := &v1alpha1.MachineDeployment{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.LastReplicaChangeAnnotation: c.last}},
		}
		var marks []mark
		if c.mark != "" {
			marks = parseMarks("x~" + c.mark)
		}
		if got := markTime(now, d, marks); !got.Equal(at(c.want)) {
			t.Errorf("after %q and %q: %s, want %s", c.last, c.mark, got, c.want)
		}
	}
}
