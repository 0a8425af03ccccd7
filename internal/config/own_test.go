package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

// TestFlagsOfOneProvider: a flag of one provider says so with every other one.
func TestFlagsOfOneProvider(t *testing.T) {
	for _, owner := range providers.All() {
		own := pflag.NewFlagSet(owner.Name, pflag.ContinueOnError)
		owner.Bind(own)
		own.VisitAll(func(flag *pflag.Flag) {
			for _, e := range providers.All() {
				set := pflag.NewFlagSet("run", pflag.ContinueOnError)
				flags := Bind(set, providers.All())
				if err := set.Parse([]string{"--cloud-provider=" + e.Name, "--" + flag.Name + "=" + flag.DefValue}); err != nil {
					t.Fatal(err)
				}
				_, warnings, err := flags.Config()
				if err != nil {
					t.Errorf("--%s with %s: %v", flag.Name, e.Name, err)
				}
				warned := slices.ContainsFunc(warnings,
					func(w string) bool { return strings.HasPrefix(w, "--"+flag.Name+" has no effect") })
				if warned != (e.Name != owner.Name) {
					t.Errorf("--%s with %s: warnings %v", flag.Name, e.Name, warnings)
				}
			}
		})
	}
}
