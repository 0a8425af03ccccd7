package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestNoticesOfWhatMatchesNothing: a policy or a pause that is about no group is told, and nothing else is.
func TestNoticesOfWhatMatchesNothing(t *testing.T) {
	text, err := policy.PausesText([]policy.GroupPause{{Group: "wbe", Since: time.Unix(0, 0)},
		{Group: "w*", Since: time.Unix(0, 0)}, {Group: policy.All, Since: time.Unix(0, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	pauses, err := policy.ParsePauses(text)
	if err != nil {
		t.Fatal(err)
	}
	set := policy.Set{Pauses: pauses, Policies: []policy.Policy{
		{Name: "typo", Groups: pattern("batsh")}, {Name: "fine", Groups: pattern("web")}}}
	var got []string
	for _, n := range set.Notices([]provider.Group{group("web", "a"), group("batch", "a")}) {
		got = append(got, n.Code+": "+n.Message)
	}
	want := `PolicyMatchesNothing: the policy "typo" matches no group; there are batch, web
PauseMatchesNothing: the pause of "wbe" matches no group; there are batch, web`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), want)
	}
	if got := set.Notices(nil); got != nil {
		t.Errorf("without groups: %v", got)
	}
}
