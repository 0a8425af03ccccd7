package ui

import (
	"encoding/json"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

// Who may see one namespace sees no name of another one, wherever in a text it stands.
func TestMasked(t *testing.T) {
	pod := explain.Pod{Pod: "shop/api-1", Running: &explain.RunningPod{
		Bought: explain.Bought{For: []string{
			"other/db-2 is there (other-2/x), shop/api-2; eu/other/x, Deployment other/web", "<other/web>\nother/db"}},
	}}
	got, err := masked(pod, "shop", []string{"shop", "other", "other-2"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back explain.Pod
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	const hidden = "(another namespace's)"
	for i, want := range []string{hidden + " is there (" + hidden + "), shop/api-2; eu/other/x, Deployment " + hidden,
		"<" + hidden + ">\n" + hidden} {
		if got := back.Running.For[i]; got != want || back.Pod != "shop/api-1" {
			t.Errorf("got %s", got)
		}
	}
}
