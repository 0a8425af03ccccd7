package provider_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
)

func TestErrorIsOneLineForAPerson(t *testing.T) {
	cause := errors.New("connection reset")
	for want, e := range map[string]*provider.Error{
		`grow group "web" in zone z1: NoCapacity (OutOfStock): no such machine there now`: {
			Op: provider.OpGrow, Group: "web", Zone: "z1",
			Kind: provider.NoCapacity, Code: "OutOfStock", Message: "no such machine there now",
		},
		`inventory: Unavailable: connection reset`: {Op: provider.OpInventory, Kind: provider.Unavailable, Err: cause},
		`remove group "web": Unavailable: delete a node: connection reset (it may have happened all the same)`: {
			Op: provider.OpRemove, Group: "web",
			Kind: provider.Unavailable, Message: "delete a node: connection reset", Err: cause, MayHaveHappened: true,
		},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAsError(t *testing.T) {
	if e := provider.AsError(provider.OpGrow, "web", nil); e != nil {
		t.Errorf("of no error: %v", e)
	}
	own := &provider.Error{Op: provider.OpRemove, Kind: provider.Limit}
	if e := provider.AsError(provider.OpGrow, "web", fmt.Errorf("wrapped: %w", own)); e != own {
		t.Errorf("of the contract's own error: %v", e)
	}
	cause := errors.New("boom")
	if e := provider.AsError(provider.OpGrow, "web", cause); e.Kind != provider.Transient || e.Group != "web" ||
		!errors.Is(e, cause) || e.Error() != `grow group "web": Transient: boom` {
		t.Errorf("of another error: %v", e)
	}
}
