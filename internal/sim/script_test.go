package sim

import (
	"strings"
	"testing"
	"time"
)

// TestMistakesInScripts: what cannot be meant is an error that names the line,
// before anything happens.
func TestMistakesInScripts(t *testing.T) {
	const group = "group g min=0 max=5 cpu=4 memory=16Gi\n"
	for text, want := range map[string]string{
		"grp g":                                     `"grp g": "grp" is none of`,
		"group":                                     "a kind and a name are wanted",
		"group g min=0 max=5 cpus=4":                `does not take "cpus"`,
		group + "seed 3":                            "seed comes before all that is in the world",
		"flags --no-such-flag=1":                    "no-such-flag",
		"flags --max-nodes-total=-1":                "max-nodes-total",
		"lags watch=often":                          "watch=often: a duration is wanted",
		"lags wach=1s":                              `"wach" is none of`,
		group + "fault boots=badly group=g":         `"boots" is none of`,
		group + "fault group=g from=1m":             `there is no fault ""`,
		group + "fault boots=drift group=h":         `there is no group "h"`,
		group + "fault boots=drift share=half":      "share=half",
		group + "fault stock=few group=g":           "few",
		group + "at soon target g 3":                "an instant and what happens are wanted",
		group + "at 1m":                             "an instant and what happens are wanted",
		group + "at 1m target g many":               "many",
		group + "at 1m explode g now":               `"explode" is none of`,
		group + "budget web":                        "either a minimum available or a maximum",
		group + "budget web min=1 max=1":            "either a minimum available or a maximum",
		group + "budget web min=few":                "min=few",
		group + "budget web mn=1":                   `"mn" is none of`,
		group + "at 1m crash calls=1 of=Dance":      "of=Dance: there is no such call",
		group + "at 1m annotate any =true":          "an annotation is wanted",
		group + "workload web count=3 stop=never":   "stop=never",
		group + "workload web count=3 colour=green": `does not take "colour"`,
		group + group:                               "the id is empty or taken",
	} {
		s := newScript()
		err := s.Add(text)
		s.World().Close()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error %v does not say %q", text, err, want)
		}
	}
}

// TestMistakesThatOnlyTimeShows: a thing that is not there when its time comes
// ends the run with an error that says when and what.
func TestMistakesThatOnlyTimeShows(t *testing.T) {
	s := newScript()
	if err := s.Add("group g min=0 max=5 cpu=4 memory=16Gi\nat 2m delete-node missing"); err != nil {
		t.Fatal(err)
	}
	defer s.World().Close()
	err := s.World().Run(5 * time.Minute)
	if err == nil || !strings.Contains(err.Error(),
		`at 00:02:00.0: a person deletes a node: there is no node "missing"`) {
		t.Fatalf("error %v", err)
	}
}

// TestMistakesInBudgets: a budget that was never made cannot be removed.
func TestMistakesInBudgets(t *testing.T) {
	s := newScript()
	if err := s.Add("group g min=0 max=5 cpu=4 memory=16Gi\nat 2m drop-budget web"); err != nil {
		t.Fatal(err)
	}
	defer s.World().Close()
	if err := s.World().Run(5 * time.Minute); err == nil ||
		!strings.Contains(err.Error(), `at 00:02:00.0: a person takes a budget away: there is no "web" in default`) {
		t.Fatalf("error %v", err)
	}
}

// TestLinesGoOn: a line that begins with a space belongs to the one before, and
// what follows # is for people.
func TestLinesGoOn(t *testing.T) {
	s := newScript()
	if err := s.Add("# a group\ngroup g min=0 max=5 # five\n      target=2 cpu=4 memory=16Gi\n"); err != nil {
		t.Fatal(err)
	}
	defer s.World().Close()
	if got, want := s.World().Show(), "group g: target 2, 2 instances, 2 nodes, 2 of them ready\n"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}
