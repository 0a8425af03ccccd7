// Package providers is the one list of the providers that the program has: a row makes
// a provider known to the flags, the help, the translation of other command lines and
// the process itself.
//
// What flows in: the entry that each provider's package makes. What flows out: all of
// them, by name.
//
// Who may import it: hosts (cmd) and tests.
package providers

import (
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
	"github.com/plimsoll-dev/plimsoll/providers/aws"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi"
	"github.com/plimsoll-dev/plimsoll/providers/gardener"
	"github.com/plimsoll-dev/plimsoll/providers/kwok"
)

// All are the providers, sorted by name.
func All() []wiring.Entry {
	return []wiring.Entry{
		aws.Entry(),
		clusterapi.Entry(),
		kwok.Entry(),
		gardener.Entry(), // mcm
	}
}
