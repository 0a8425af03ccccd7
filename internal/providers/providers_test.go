package providers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/providers"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// TestEntriesAreWhole: what other packages read of an entry is there; without it, `plimsoll migrate`
// would leave out what the provider needs.
func TestEntriesAreWhole(t *testing.T) {
	all := providers.All()
	if !slices.IsSortedFunc(all, func(a, b wiring.Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("All is not sorted by name")
	}
	for _, e := range all {
		if e.Name == "" || e.Title == "" || e.Bind == nil {
			t.Errorf("the entry %q lacks its Name, Title or Bind", e.Name)
		}
		if e.Env == nil {
			t.Errorf("%s: the entry wants in Env the variables of the environment that it reads, or an empty list", e.Name)
		}
		if !strings.HasPrefix(e.Discovery, e.DiscoveryPrefix) || (e.Discovery == "") != (e.DiscoveryPrefix == "") {
			t.Errorf("%s: the entry wants in DiscoveryPrefix what each %q begins with, and has %q",
				e.Name, e.Discovery, e.DiscoveryPrefix)
		}
		for flag, form := range map[string]string{"nodes": e.Nodes, "node-group-auto-discovery": e.Discovery} {
			if form == "" && e.Groups == "" {
				t.Errorf("%s: --%s has no effect; the entry wants in Groups where groups come from", e.Name, flag)
			}
		}
	}
}
