package model

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Unreadable says why a group's size is not to be counted on, nil if it is: what was
// known of it stands, and may have changed.
func Unreadable(g *Group) *Verdict {
	if g.Err == nil {
		return nil
	}
	if g.Err.Kind == provider.NotFound {
		return &Verdict{Reason: GroupNotListed, Detail: g.Err.Message, Fix: "the provider lists it again; or nothing, if it is no node group any more"}
	}
	return &Verdict{Reason: GroupUnreadable, Detail: g.Err.Error(), Fix: "the group can be read again"}
}

// PoolUnreadable says why nobody knows how large a group's pool is, nil if it is known. A
// group that was read before stays as it was, and its pool can be counted; of one that
// never was nothing is known, least of all that it is empty. Whatever needs the pool's
// maximum or minimum waits: growth, and the beginning of removals.
func PoolUnreadable(g *Group) *Verdict {
	if g.PoolUnread == "" {
		return nil
	}
	return &Verdict{Reason: GroupUnreadable, Detail: fmt.Sprintf("how large its pool %s is cannot be known: %s has not been read yet", g.Pool, g.PoolUnread),
		Fix: "that group can be read"}
}
