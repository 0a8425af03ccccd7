package config

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHideServing: flags that have no part in an answer are in no help, are told of in one line, and are taken.
func TestHideServing(t *testing.T) {
	set := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	f := Bind(set, nil)
	before := f.AllHelp()
	f.HideServing()
	for _, name := range serving {
		if line := "    --" + name + " "; !strings.Contains(before, line) || strings.Contains(f.Help()+f.AllHelp(), line) {
			t.Errorf("--%s is in the help, or was in none", name)
		}
	}
	for _, text := range []string{f.Help(), f.AllHelp()} {
		if !strings.Contains(text, "have no effect.\n") || !strings.Contains(text, "--max-nodes-total") {
			t.Errorf("the help:\n%s", text)
		}
	}
	if strings.Contains(f.Help(), "Leader election:") {
		t.Error("a title without a flag")
	}
	if err := set.Parse([]string{"--leader-elect=false", "--address=:1", "--decision-log=x"}); err != nil {
		t.Error(err)
	}
}
