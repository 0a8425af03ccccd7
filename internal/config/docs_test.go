package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestEveryFlagOfAProviderIsDocumented: what --help-all shows of a provider is in that
// provider's document, and every flag of its own that is named there exists.
func TestEveryFlagOfAProviderIsDocumented(t *testing.T) {
	set := pflag.NewFlagSet("t", pflag.ContinueOnError)
	f := Bind(set, providers)
	for title, doc := range map[string]struct{ file, prefix string }{
		"AWS": {"aws.md", "aws-"}, "Cluster API": {"clusterapi.md", "clusterapi-"}, "Gardener (mcm)": {"gardener.md", "mcm-"},
	} {
		text, err := os.ReadFile("../../docs/" + doc.file)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(f.sections, func(s section) bool { return s.title == title })
		if at < 0 {
			t.Fatalf("the help has no section %q", title)
		}
		f.sections[at].set.VisitAll(func(flag *pflag.Flag) {
			if !strings.Contains(string(text), "--"+flag.Name) {
				t.Errorf("docs/%s does not tell of --%s", doc.file, flag.Name)
			}
		})
		for _, rest := range strings.Split(string(text), "--"+doc.prefix)[1:] {
			end := strings.IndexFunc(rest, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') })
			if name := doc.prefix + rest[:end]; set.Lookup(name) == nil {
				t.Errorf("docs/%s tells of --%s, and there is no such flag", doc.file, name)
			}
		}
	}
}
