package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Codes of the notices that Notices gives.
const (
	PolicyMatchesNothing = "PolicyMatchesNothing"
	PauseMatchesNothing  = "PauseMatchesNothing"
)

// Notices tell of policies and pauses that are about no group, mostly since a name is mistyped. Where no group is
// known, nothing is told.
func (s *Set) Notices(groups []provider.Group) []provider.Notice {
	if len(groups) == 0 {
		return nil
	}
	var out []provider.Notice
	for i := range s.Policies {
		p := &s.Policies[i]
		if !slices.ContainsFunc(groups, func(g provider.Group) bool { return p.Matches(&g) }) {
			out = append(out, provider.Notice{Code: PolicyMatchesNothing, Message: fmt.Sprintf(
				"the policy %q matches no group; there are %s", p.Name, named(groups))})
		}
	}
	for i := range s.Pauses {
		p := &s.Pauses[i]
		matches := func(g provider.Group) bool { return p.pattern.MatchString(string(g.ID)) }
		if p.Group != All && !slices.ContainsFunc(groups, matches) {
			out = append(out, provider.Notice{Code: PauseMatchesNothing, Message: fmt.Sprintf(
				"the pause of %q matches no group; there are %s", p.Group, named(groups))})
		}
	}
	return out
}

// named names the first groups.
func named(groups []provider.Group) string {
	const most = 10
	names := make([]string, 0, most)
	for i := range groups {
		names = append(names, string(groups[i].ID))
	}
	slices.Sort(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
