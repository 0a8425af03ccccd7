package config

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// TestEveryFlagHasAHelp: a flag without a text would stand in the help alone.
func TestEveryFlagHasAHelp(t *testing.T) {
	set := pflag.NewFlagSet("t", pflag.ContinueOnError)
	Bind(set, providers.All())
	set.VisitAll(func(flag *pflag.Flag) {
		if flag.Usage == "" && flag.Deprecated == "" && !flag.Hidden {
			t.Errorf("--%s has no help: say in one sentence what it does, where it is bound", flag.Name)
		}
	})
}

// TestEveryFlagOfAProviderIsDocumented: each flag of a provider says whose it is, and has a row with
// its default in that provider's document; and every flag of its own that is named there exists.
func TestEveryFlagOfAProviderIsDocumented(t *testing.T) {
	set := pflag.NewFlagSet("t", pflag.ContinueOnError)
	Bind(set, providers.All())
	theirs := map[string]bool{}
	for _, f := range theirFlags(t) {
		theirs[f.name] = true
	}
	table, err := os.ReadFile("../../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range providers.All() {
		if !strings.Contains(rowOfFlag(string(table), "cloud-provider"), "`"+e.Name+"`") {
			t.Errorf("add `%s` to the row of --cloud-provider in docs/flags.md", e.Name)
		}
		doc := "docs/" + cmp.Or(e.Alias, e.Name) + ".md"
		text, err := os.ReadFile("../../" + doc)
		if err != nil {
			t.Fatal(err)
		}
		own := pflag.NewFlagSet(e.Name, pflag.ContinueOnError)
		e.Bind(own)
		own.VisitAll(func(flag *pflag.Flag) {
			if !strings.HasPrefix(flag.Name, e.Name+"-") && !theirs[flag.Name] {
				t.Errorf("--%s of the %s provider: its name must begin with %s-, unless it is the Cluster Autoscaler's",
					flag.Name, e.Name, e.Name)
			}
			row, shown := rowOfFlag(string(text), flag.Name), flag.DefValue
			if d, err := time.ParseDuration(shown); err == nil && d%time.Minute == 0 {
				shown = strings.TrimSuffix(shown, "0s")
			}
			if row == "" || shown != "" && shown != "0" && !strings.Contains(row, "| `"+shown+"` |") {
				t.Errorf("the flags in %s want a row \"| `--%s` | `%s` | what it does |\", without `` if there is no default; "+
					"there is %q", doc, flag.Name, shown, row)
			}
		})
		prefix := e.Name + "-"
		for _, rest := range strings.Split(string(text), "--"+prefix)[1:] {
			end := strings.IndexFunc(rest, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') })
			if name := prefix + rest[:end]; set.Lookup(name) == nil {
				t.Errorf("%s tells of --%s, and there is no such flag", doc, name)
			}
		}
		for _, name := range e.Main {
			if own.Lookup(name) == nil {
				t.Errorf("the short help is to show --%s of the %s provider, and there is no such flag", name, e.Name)
			}
		}
	}
}

// rowOfFlag is the row of a table that begins with the flag, or that has it in its first column.
func rowOfFlag(doc, name string) string {
	for line := range strings.Lines(doc) {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) == 3 && cells[0] == "" && strings.Contains(cells[1], "`--"+name+"`") {
			return line
		}
	}
	return ""
}
