package config

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// TestEveryFlagOfAProviderIsDocumented: each flag of a provider says whose it is, and is
// in that provider's document; and every flag of its own that is named there exists.
func TestEveryFlagOfAProviderIsDocumented(t *testing.T) {
	set := pflag.NewFlagSet("t", pflag.ContinueOnError)
	Bind(set, providers.All())
	theirs := map[string]bool{}
	for _, f := range theirFlags(t) {
		theirs[f.name] = true
	}
	for _, e := range providers.All() {
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
			if !strings.Contains(string(text), "--"+flag.Name) {
				t.Errorf("add --%s to %s: it is a flag of the %s provider", flag.Name, doc, e.Name)
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
