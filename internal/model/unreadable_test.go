package model

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestAGroupThatIsNotListedIsNoFault: a group that the provider no longer lists, as
// after autoscaling was switched off for it, is told as that, and not as a failure.
func TestAGroupThatIsNotListedIsNoFault(t *testing.T) {
	g := &Group{}
	g.Err = &provider.Error{Op: provider.OpInventory, Group: "g", Kind: provider.NotFound, Message: "missing from 1 of the newest answers"}
	if v := Unreadable(g); v.Reason != GroupNotListed || strings.Contains(v.Detail, "NotFound") {
		t.Errorf("%+v", v)
	}
	g.Err = &provider.Error{Op: provider.OpInventory, Group: "g", Kind: provider.Denied, Message: "no"}
	if v := Unreadable(g); v.Reason != GroupUnreadable {
		t.Errorf("%+v", v)
	}
}
