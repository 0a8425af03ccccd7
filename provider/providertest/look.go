package providertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Read is a provider's inventory.
func Read(t *testing.T, p provider.Provider) provider.Inventory {
	t.Helper()
	inv, err := p.Inventory(t.Context())
	if err != nil {
		t.Fatalf("Inventory: %v", err)
	}
	return inv
}

// GroupIn is a group of an inventory.
func GroupIn(t *testing.T, inv provider.Inventory, id provider.GroupID) provider.Group {
	t.Helper()
	i := slices.IndexFunc(inv.Groups, func(g provider.Group) bool { return g.ID == id })
	if i < 0 {
		t.Fatalf("no group %q among %v", id, IDs(inv))
	}
	return inv.Groups[i]
}

// IDs are those of an inventory's groups.
func IDs(inv provider.Inventory) []string {
	var out []string
	for _, g := range inv.Groups {
		out = append(out, string(g.ID))
	}
	return out
}

// Live are a group's instances that are not on their way out, sorted.
func Live(g provider.Group) []provider.InstanceID {
	var out []provider.InstanceID
	for _, i := range g.Instances {
		if i.State != provider.Deleting {
			out = append(out, i.ID)
		}
	}
	return sorted(out)
}

// Refusal is the contract's error that err is, of the kind.
func Refusal(t *testing.T, err error, kind provider.Kind) *provider.Error {
	t.Helper()
	e := provider.AsError("", "", err)
	if e == nil || e.Kind != kind {
		t.Fatalf("error %v, want one of the kind %s", err, kind)
	}
	return e
}

// Held reports whether an operation is held for the reason, with a message.
func Held(g provider.Group, op provider.Op, reason string) bool {
	return slices.ContainsFunc(g.Holds, func(h provider.Hold) bool {
		return h.Op == op && h.Reason == reason && h.Message != ""
	})
}

// Noticed reports whether there is a notice of the code with such a part.
func Noticed(inv provider.Inventory, code, part string) bool {
	return slices.ContainsFunc(inv.Notices, func(n provider.Notice) bool {
		return n.Code == code && strings.Contains(n.Message, part)
	})
}
