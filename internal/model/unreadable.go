package model

import "fmt"

// Unreadable says why neither a group's size nor its pool's is to be counted on, nil if
// they are. A group that was read before stays as it was, and its pool can be counted; of
// one that never was nothing is known, least of all that it is empty.
func Unreadable(g *Group) *Verdict {
	switch {
	case g.Err != nil:
		return &Verdict{Reason: GroupUnreadable, Detail: g.Err.Error(), Fix: "the group can be read again"}
	case g.PoolUnread != "":
		return &Verdict{Reason: GroupUnreadable, Detail: fmt.Sprintf("how large its pool %s is cannot be known: %s has not been read yet", g.Pool, g.PoolUnread),
			Fix: "that group can be read"}
	default:
		return nil
	}
}
