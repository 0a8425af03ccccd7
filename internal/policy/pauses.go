package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// All is the pattern of a pause of all groups.
const All = "*"

// GroupPause is a pause that plimsoll pause has made, of the groups that a pattern matches (see Pattern).
type GroupPause struct {
	Group  string    `json:"group"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`

	pattern *regexp.Regexp
	pause   *Pause
}

// Stands reports whether the pause holds now.
func (p GroupPause) Stands(now time.Time) bool { return p.Until.IsZero() || p.Until.After(now) }

// ParsePauses reads what PausesText has written; no text is no pause.
func ParsePauses(text string) ([]GroupPause, error) {
	if text == "" {
		return nil, nil
	}
	var out []GroupPause
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	for i := range out {
		p := &out[i]
		if p.Group == "" {
			return nil, fmt.Errorf("read the pauses: pause %d names no group; %q are all", i+1, All)
		}
		p.pattern = Pattern(p.Group)
		p.pause = &Pause{Since: p.Since, Until: p.Until, Reason: p.Reason, From: FromCommand}
	}
	return out, nil
}

// Halt is a pause of all groups, for pauses that stand somewhere and cannot be understood: a person who paused a group
// relies on it, and one who reads this can mend it.
func Halt(why error) []GroupPause {
	return []GroupPause{{Group: All, Reason: why.Error(), pattern: Pattern(All),
		pause: &Pause{Reason: why.Error(), From: FromCommand}}}
}

// PausesText writes pauses.
func PausesText(pauses []GroupPause) (string, error) {
	slices.SortFunc(pauses, func(a, b GroupPause) int { return a.Since.Compare(b.Since) })
	text, err := json.MarshalIndent(pauses, "", "  ")
	return string(text), err
}
